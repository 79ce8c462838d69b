// Finds the Deps of a request. Tests bring their own clock; everything else comes from the bindings.
import { type Deps, depsFor } from "../context.ts";
import type { AppContext } from "./app-env.ts";

export const findDeps = (context: AppContext): Deps =>
  context.get("deps") ?? depsFor(context.env, new URL(context.req.url).origin);
