// Passwords at rest (CRED-20): scrypt with its parameters next to the hash, so that stronger ones replace them at the next log-in. An isolate
// derives one at a time, because a derivation blocks it. Only attempts.ts imports this file, so that each derivation has a place in the bucket of
// its client's network.
import crypto, { randomBytes, timingSafeEqual } from "node:crypto";
import type { PasswordCost } from "../context.ts";
import { decodeBase64Url, encodeBase64Url } from "../core/encoding.ts";
import { limitTurns } from "../core/retry.ts";

const CURRENT_COST: PasswordCost = { N: 2 ** 14, r: 8, p: 5 };
const SALT_BYTES = 16;
const HASH_BYTES = 32;
/** By default Node refuses to derive with more than 32 MiB; the parameters need 128 · N · r bytes. */
const MEMORY_FACTOR = 256;

/** A derivation blocks the isolate: after each one it serves other requests for twice as long as the derivation took. */
const runInTurn = limitTurns(
  { atOnce: 1, inAll: 1, patienceSeconds: 10, leaseSeconds: 30, rest: 2 },
  // Measures durations, so it must not be a clock that can be set.
  { now: () => performance.now(), wait: (ms) => scheduler.wait(ms) },
);

/** `scrypt$N$r$p$salt$hash`, salt and hash in base64url. */
export const hashPassword = (password: string, cost = CURRENT_COST): Promise<string> =>
  runInTurn("scrypt", () => deriveNewHash(password, cost));

async function deriveNewHash(password: string, cost: PasswordCost): Promise<string> {
  const salt = randomBytes(SALT_BYTES);
  return formatHash(cost, salt, await deriveScrypt(password, salt, cost));
}

const formatHash = ({ N, r, p }: PasswordCost, salt: Uint8Array, hash: Uint8Array): string =>
  ["scrypt", N, r, p, encodeBase64Url(salt), encodeBase64Url(hash)].join("$");

/** An unknown address is compared with this hash, so that it costs the same as a known one. */
const buildUnknownAddressHash = (cost: PasswordCost): string =>
  formatHash(cost, new Uint8Array(SALT_BYTES), new Uint8Array(HASH_BYTES));

/** `hash`: the hash to store from now on, if any. */
export type PasswordCheck = { readonly matches: boolean; readonly hash: string | null };
/** Names the password to store once the presented one matches. `outdated`: the stored hash was made with other parameters than the current ones. */
export type ChooseNextPassword = (outdated: boolean) => string | null;

/** `stored` is null for an unknown address. Both derivations share one turn, so that a caller waits once. */
export const checkPassword = (
  password: string,
  stored: string | null,
  cost = CURRENT_COST,
  next: ChooseNextPassword = () => null,
): Promise<PasswordCheck> =>
  runInTurn("scrypt", async () => {
    const { parameters, salt, hash } = parseHash(stored ?? buildUnknownAddressHash(cost));
    const derived = await deriveScrypt(password, salt, parameters);
    if (!timingSafeEqual(derived, hash) || stored === null) return { matches: false, hash: null };
    const { N, r, p } = parameters;
    const wanted = next(N !== cost.N || r !== cost.r || p !== cost.p);
    return { matches: true, hash: wanted === null ? null : await deriveNewHash(wanted, cost) };
  });

function parseHash(stored: string) {
  const [scheme, N, r, p, salt = "", hash = ""] = stored.split("$");
  const [saltBytes, hashBytes] = [decodeBase64Url(salt), decodeBase64Url(hash)];
  if (scheme !== "scrypt" || !saltBytes || hashBytes?.length !== HASH_BYTES) throw new Error("no hash of a password");
  return { parameters: { N: Number(N), r: Number(r), p: Number(p) }, salt: saltBytes, hash: hashBytes };
}

const deriveScrypt = (password: string, salt: Uint8Array, { N, r, p }: PasswordCost): Promise<Uint8Array> =>
  new Promise((resolve, reject) => {
    const options = { N, r, p, maxmem: MEMORY_FACTOR * N * r };
    // Normalises the text: an accent typed as one character or as two is the same password.
    crypto.scrypt(password.normalize("NFKC"), salt, HASH_BYTES, options, (failed, hash) =>
      failed ? reject(failed) : resolve(hash),
    );
  });
