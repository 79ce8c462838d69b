// Finds the Deps of a request. Tests bring their own clock; everything else comes from the bindings.
import { type Deps, getDeps } from "../context.ts";
import type { AppContext } from "./app-env.ts";

export const findDeps = (context: AppContext): Deps =>
  context.get("deps") ?? getDeps(context.env, new URL(context.req.url).origin);
