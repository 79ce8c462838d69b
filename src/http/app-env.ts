// The Hono environment of a request: the bindings, and the values that middleware and surfaces set for the answer.
import type { Context } from "hono";
import { type Deps, type Env, getDeps } from "../context.ts";

export type RateState = {
  policy: string;
  quota: number;
  windowSeconds: number;
  remaining: number;
  resetSeconds: number;
};

export type AppEnv = {
  Bindings: Env;
  /** `challenge`: of a 401. `deprecation`: headers of the route. `sandboxOffset`: of the caller's own clock, in milliseconds (ACC-28). */
  Variables: {
    requestId: string;
    rate?: RateState;
    deps?: Deps;
    challenge?: string;
    deprecation?: Readonly<Record<string, string>>;
    sandboxOffset?: number;
  };
};
export type AppContext = Context<AppEnv>;

/** Tests bring their own clock; everything else comes from the bindings. */
export const findDeps = (context: AppContext): Deps =>
  context.get("deps") ?? getDeps(context.env, new URL(context.req.url).origin);
