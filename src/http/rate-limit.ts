// Contract section 1: 429 with Retry-After, and the RateLimit headers of the IETF draft on every answer. Cloudflare's
// limiter decides (per location); the counts that the headers show are this isolate's, so `r` is an upper bound.
import type { Deps } from "../context.ts";
import { ServiceError } from "../core/errors.ts";
import { SECOND_MS } from "../core/limits.ts";
import type { AppContext, RateState } from "./app-env.ts";

const windows = new Map<string, { start: number; used: number }>();
const WINDOWS_KEPT = 10_000;

/** By credential: a management key's hash or an agent's DID, once it is known to be well-formed. */
export const chargeCredential = (context: AppContext, deps: Deps, credential: string): Promise<void> =>
  charge(
    context,
    "credential",
    deps.env.RATE_CREDENTIAL,
    deps.config.rate.credentialQuota,
    deps.config.rate.windowSeconds,
    credential,
  );

/** By client address: public routes, and calls whose credential is none. */
export const chargeAddress = (context: AppContext, deps: Deps): Promise<void> =>
  charge(
    context,
    "address",
    deps.env.RATE_ADDRESS,
    deps.config.rate.addressQuota,
    deps.config.rate.windowSeconds,
    context.req.header("cf-connecting-ip") ?? "local",
  );

async function charge(
  context: AppContext,
  policy: string,
  limiter: RateLimit,
  quota: number,
  windowSeconds: number,
  key: string,
): Promise<void> {
  const state = count(`${policy}:${key}`, policy, quota, windowSeconds);
  context.set("rate", state);
  const { success } = await limiter.limit({ key });
  if (success && state.remaining >= 0) return;
  state.remaining = 0;
  throw new ServiceError("rate_limited", { headers: { "Retry-After": String(state.resetSeconds) } });
}

function count(key: string, policy: string, quota: number, windowSeconds: number): RateState {
  // The wall clock: a quota is of real time (contract section 3, test clock).
  const now = Date.now();
  const span = windowSeconds * SECOND_MS;
  const start = now - (now % span);
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
