// Rate limits: 429 with Retry-After, and the RateLimit headers of the IETF draft (HTTP-29, HTTP-30). Cloudflare's limiter decides, per location; the
// headers show the counts of this isolate, so `r` is an upper bound.
import type { Deps, Env } from "../context.ts";
import { toClientNetwork } from "../core/client-network.ts";
import { ServiceError } from "../core/errors.ts";
import { SECOND_MS } from "../core/limits.ts";
import { memoizeBy } from "../core/retry.ts";
import type { AppContext, RateState } from "./app-env.ts";

type Window = { readonly start: number; readonly used: number };
type Policy = "credential" | "address";

const windowsOf = memoizeBy((_env: Env) => new Map<string, Window>());
const accountsOf = memoizeBy((_env: Env) => new Map<string, string>());
const MAX_REMEMBERED = 10_000;

function rememberInMap<T>(map: Map<string, T>, key: string, value: T): void {
  if (map.size > MAX_REMEMBERED) map.clear();
  map.set(key, value);
}

export const chargeAgent = (context: AppContext, deps: Deps, did: string): Promise<void> =>
  charge(context, deps, "credential", did);

export function chargeAccount(context: AppContext, deps: Deps, credential: string, account: string): Promise<void> {
  rememberInMap(accountsOf(deps.env), credential, account);
  return charge(context, deps, "credential", account);
}

export const chargeAddress = (context: AppContext, deps: Deps): Promise<void> =>
  charge(context, deps, "address", toClientNetwork(readClientAddress(context)));

/** Refuses a credential whose account this isolate knows as exhausted, before the trip that would find its owner. */
export function refuseExhausted(context: AppContext, deps: Deps, credential: string): void {
  const account = accountsOf(deps.env).get(credential);
  const state = toRateState(deps, "credential", account === undefined ? 0 : readUsed(deps, "credential", account));
  context.set("rate", state);
  if (state.remaining <= 0) refuseRateLimited(state);
}

/** Cloudflare sets the header; a local server has none. */
export const readClientAddress = (context: AppContext): string => context.req.header("cf-connecting-ip") ?? "local";

const pickQuota = ({ config: { rate } }: Deps, policy: Policy): number =>
  policy === "credential" ? rate.credentialQuota : rate.addressQuota;

async function charge(context: AppContext, deps: Deps, policy: Policy, key: string): Promise<void> {
  const used = readUsed(deps, policy, key) + 1;
  setUsed(deps, policy, key, used);
  const state = toRateState(deps, policy, used);
  context.set("rate", state);
  const limiter = policy === "credential" ? deps.env.RATE_CREDENTIAL : deps.env.RATE_ADDRESS;
  const { success } = await limiter.limit({ key });
  if (success && state.remaining >= 0) return;
  // Cloudflare counts the calls of other isolates too.
  if (!success) setUsed(deps, policy, key, Math.max(used, pickQuota(deps, policy)));
  refuseRateLimited(state);
}

function refuseRateLimited(state: RateState): never {
  state.remaining = 0;
  throw new ServiceError("rate_limited", { headers: { "Retry-After": String(state.resetSeconds) } });
}

/** The present window, in real time, without the offset of a sandbox's clock (ACC-9). */
function computeWindow({ clock, config }: Deps) {
  const span = config.rate.windowSeconds * SECOND_MS;
  const now = clock.now();
  const start = now - (now % span);
  return { start, resetSeconds: Math.ceil((start + span - now) / SECOND_MS) };
}

function readUsed(deps: Deps, policy: Policy, key: string): number {
  const window = windowsOf(deps.env).get(`${policy}:${key}`);
  return window?.start === computeWindow(deps).start ? window.used : 0;
}

const setUsed = (deps: Deps, policy: Policy, key: string, used: number): void =>
  rememberInMap(windowsOf(deps.env), `${policy}:${key}`, { start: computeWindow(deps).start, used });

function toRateState(deps: Deps, policy: Policy, used: number): RateState {
  const quota = pickQuota(deps, policy);
  const { windowSeconds } = deps.config.rate;
  return { policy, quota, windowSeconds, remaining: quota - used, resetSeconds: computeWindow(deps).resetSeconds };
}

export function toRateHeaders(state: RateState): Record<string, string> {
  const { policy, quota, windowSeconds, remaining, resetSeconds } = state;
  return {
    RateLimit: `"${policy}";r=${Math.max(0, remaining)};t=${resetSeconds}`,
    "RateLimit-Policy": `"${policy}";q=${quota};w=${windowSeconds}`,
  };
}
