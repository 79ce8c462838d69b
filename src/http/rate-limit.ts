// Rate limits: 429 with Retry-After, and the RateLimit headers of the IETF draft (HTTP-29, HTTP-30). Cloudflare's limiter decides, per
// location; the headers show the counts of this isolate, so `r` is an upper bound.

import type { Deps, Env } from "../context.ts";
import { clientNetwork } from "../core/client-network.ts";
import { ServiceError } from "../core/errors.ts";
import { SECOND_MS } from "../core/limits.ts";
import { memoizeBy } from "../core/memo.ts";
import type { AppContext, RateState } from "./app-env.ts";

type Window = { readonly start: number; readonly used: number };

const windowsOf = memoizeBy((_env: Env) => new Map<string, Window>());
const WINDOWS_KEPT = 10_000;

/** Charges a credential: a well-formed management key's hash, or an agent's DID. */
export const chargeCredential = (context: AppContext, deps: Deps, credential: string): Promise<void> =>
  charge(context, deps, "credential", deps.env.RATE_CREDENTIAL, deps.config.rate.credentialQuota, credential);

/** Charges the client's address: public routes, and calls with an unusable credential. */
export const chargeAddress = (context: AppContext, deps: Deps): Promise<void> =>
  charge(
    context,
    deps,
    "address",
    deps.env.RATE_ADDRESS,
    deps.config.rate.addressQuota,
    clientNetwork(clientAddress(context)),
  );

/** Cloudflare sets the header; on a laptop there is none. */
export const clientAddress = (context: AppContext): string => context.req.header("cf-connecting-ip") ?? "local";

async function charge(
  context: AppContext,
  deps: Deps,
  policy: string,
  limiter: RateLimit,
  quota: number,
  key: string,
): Promise<void> {
  const state = count(deps, `${policy}:${key}`, policy, quota);
  context.set("rate", state);
  const { success } = await limiter.limit({ key });
  if (success && state.remaining >= 0) return;
  state.remaining = 0;
  throw new ServiceError("rate_limited", { headers: { "Retry-After": String(state.resetSeconds) } });
}

function count({ env, clock, config }: Deps, key: string, policy: string, quota: number): RateState {
  const { windowSeconds } = config.rate;
  // Real time: the offset of a sandbox's clock is not part of it (ACC-9).
  const now = clock.now();
  const span = windowSeconds * SECOND_MS;
  const start = now - (now % span);
  const windows = windowsOf(env);
  const window = windows.get(key);
  if (windows.size > WINDOWS_KEPT) windows.clear();
  const used = (window?.start === start ? window.used : 0) + 1;
  windows.set(key, { start, used });
  return {
    policy,
    quota,
    windowSeconds,
    remaining: quota - used,
    resetSeconds: Math.ceil((start + span - now) / SECOND_MS),
  };
}

export function rateHeaders(state: RateState): Record<string, string> {
  const { policy, quota, windowSeconds, remaining, resetSeconds } = state;
  return {
    RateLimit: `"${policy}";r=${Math.max(0, remaining)};t=${resetSeconds}`,
    "RateLimit-Policy": `"${policy}";q=${quota};w=${windowSeconds}`,
  };
}
