// One-time codes of an authenticator app (RFC 6238: SHA-1, six digits, 30 seconds), and recovery codes for a person who has lost the app (CRED-28).
import { computeSha256Hex, encodeBase32 } from "../core/encoding.ts";
import { writeNumber } from "../core/ids.ts";
import { RECOVERY_CODES, SECOND_MS, TOTP_STEP_SECONDS } from "../core/limits.ts";

/** RFC 4648. */
const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const SECRET_BYTES = 20;
/** 80 bits, so that its hash reveals nothing. */
const RECOVERY_BYTES = 10;
const COUNTER_BYTES = 8;
const HMAC = { name: "HMAC", hash: "SHA-1" };

const drawBytes = (length: number) => crypto.getRandomValues(new Uint8Array(length));

export const drawTotpSecret = (): Uint8Array<ArrayBuffer> => drawBytes(SECRET_BYTES);

/** The secret in the forms that an authenticator app accepts: typed, or as a link in a QR code. */
export function toAppSecret(secret: Uint8Array, issuer: string, email: string) {
  const text = encodeBase32(secret, ALPHABET);
  const label = `${encodeURIComponent(issuer)}:${encodeURIComponent(email)}`;
  const query = `secret=${text}&issuer=${encodeURIComponent(issuer)}&algorithm=SHA1&digits=6&period=${TOTP_STEP_SECONDS}`;
  return { secret: text, otpauth_uri: `otpauth://totp/${label}?${query}` };
}

/** The code of a time step (RFC 4226, section 5.3). */
export async function computeTotpCode(secret: Uint8Array<ArrayBuffer>, step: number): Promise<string> {
  const counter = new Uint8Array(COUNTER_BYTES);
  writeNumber(counter, step);
  const key = await crypto.subtle.importKey("raw", secret, HMAC, false, ["sign"]);
  const mac = new DataView(await crypto.subtle.sign("HMAC", key, counter));
  const offset = mac.getUint8(mac.byteLength - 1) & 0xf;
  return String((mac.getUint32(offset) & 0x7fffffff) % 1_000_000).padStart(6, "0");
}

export const toTimeStep = (now: number): number => Math.floor(now / (TOTP_STEP_SECONDS * SECOND_MS));

/** The step of a code that counts now: the current step or a neighbour, because clocks differ, and later than the last used step. Null: none. */
export async function findMatchingStep(
  secret: Uint8Array<ArrayBuffer>,
  code: string,
  now: number,
  usedStep: number,
): Promise<number | null> {
  const current = toTimeStep(now);
  for (const step of [current - 1, current, current + 1])
    if (step > usedStep && (await computeTotpCode(secret, step)) === code) return step;
  return null;
}

/** Recovery codes in groups of four characters, with their hashes. */
export const drawRecoveryCodes = (): Promise<{ readonly code: string; readonly hash: string }[]> =>
  Promise.all(
    Array.from({ length: RECOVERY_CODES }, async () => {
      const text = encodeBase32(drawBytes(RECOVERY_BYTES), ALPHABET);
      return { code: text.replace(/.{4}(?!$)/g, "$&-"), hash: await computeSha256Hex(text) };
    }),
  );

/** Removes the grouping and the case that people type. */
export const normalizeCode = (typed: string): string => typed.replace(/[\s-]/g, "").toUpperCase();
export const isTotpCode = (code: string): boolean => /^\d{6}$/.test(code);
