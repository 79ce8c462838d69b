// Checks an endpoint's address before a delivery (EVT-21): the URL again and, if a resolver is configured, the addresses that its name has now. The
// runtime resolves the name once more when it connects, and that result cannot be seen.
import type { Env } from "../context.ts";
import { SECOND_MS } from "../core/limits.ts";
import { isPublicAddress, judgeAddress } from "./address.ts";
import type { AttemptError } from "./post.ts";

const WAIT_MS = 5 * SECOND_MS;
const A = 1;
const AAAA = 28;

/** Null if the address is accepted. @throws Error if the resolver does not answer */
export async function judgeReceiver(env: Env, url: string): Promise<AttemptError | null> {
  const local = isLocal(env);
  if (judgeAddress(url, { local, own: parseOwnHost(env) }) !== null) return "address_refused";
  const { hostname, protocol } = new URL(url);
  // An address on this machine needs no resolver.
  if (local && (protocol === "http:" || hostname === "localhost" || !/[a-z]/.test(hostname))) return null;
  if (env.WEBHOOK_RESOLVER === "") return null;
  const addresses = await resolveName(env.WEBHOOK_RESOLVER, hostname);
  if (addresses.length === 0) return "name_not_resolved";
  return addresses.every(isPublicAddress) ? null : "address_refused";
}

export const isLocal = ({ WEBHOOK_LOOPBACK }: Pick<Env, "WEBHOOK_LOOPBACK">): boolean => WEBHOOK_LOOPBACK === "on";

/** Empty if no address is configured: then the service knows no host of its own. */
export const parseOwnHost = ({ ISSUER }: Pick<Env, "ISSUER">): string =>
  URL.canParse(ISSUER) ? new URL(ISSUER).hostname : "";

/** Addresses of both families; empty if the name has none. */
const resolveName = async (resolver: string, name: string): Promise<string[]> =>
  (await Promise.all(["A", "AAAA"].map((type) => askResolver(resolver, name, type)))).flat();

async function askResolver(resolver: string, name: string, type: string): Promise<string[]> {
  const url = new URL(resolver);
  url.searchParams.set("name", name);
  url.searchParams.set("type", type);
  try {
    const response = await fetch(url, {
      headers: { Accept: "application/dns-json" },
      redirect: "manual",
      signal: AbortSignal.timeout(WAIT_MS),
    });
    if (!response.ok) throw new Error(`it answered ${response.status}`);
    const { Status, Answer = [] } = (await response.json()) as ResolverAnswer;
    if (typeof Status !== "number") throw new Error("it answered without a status");
    return Answer.filter((one) => one.type === A || one.type === AAAA).map((one) => one.data);
  } catch (thrown) {
    const cause = thrown instanceof Error ? thrown.message : "unknown";
    throw new Error(`the resolver of WEBHOOK_RESOLVER fails: ${cause}`);
  }
}

type ResolverAnswer = {
  readonly Status?: number;
  readonly Answer?: readonly { readonly type: number; readonly data: string }[];
};

/** @throws Error if WEBHOOK_RESOLVER is neither empty nor a URL, or WEBHOOK_LOOPBACK is neither on nor off */
export function checkResolver({ WEBHOOK_RESOLVER, WEBHOOK_LOOPBACK }: Env): unknown {
  if (WEBHOOK_LOOPBACK !== "on" && WEBHOOK_LOOPBACK !== "off") throw new Error("WEBHOOK_LOOPBACK must be on or off");
  if (WEBHOOK_RESOLVER === "") return null;
  const url = URL.canParse(WEBHOOK_RESOLVER) ? new URL(WEBHOOK_RESOLVER) : null;
  if (url?.protocol === "https:" || (url?.protocol === "http:" && url.hostname === "127.0.0.1")) return url;
  throw new Error("WEBHOOK_RESOLVER must be empty or an https URL");
}
