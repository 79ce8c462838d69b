// The Deps of a request. Tests put their own clock in; everything else comes from the bindings.
import { type Deps, depsFor } from "../context.ts";
import type { AppContext } from "./app-env.ts";

export const depsOf = (context: AppContext): Deps =>
  context.get("deps") ?? depsFor(context.env, new URL(context.req.url).origin);
