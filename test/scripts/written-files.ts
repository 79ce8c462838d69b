// Every file that the local service has written, and the forms of a private key for which they are searched.
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";

/** Files with secrets on purpose, which belong to the developer and not to the service. */
const HANDED_OVER = new Set(["secrets.json", "service.json", "worker.env"]);

/** Reads the files that the service has written into its folder. */
export function written(folder: string): { path: string; bytes: Buffer }[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => !HANDED_OVER.has(name) && statSync(join(folder, name)).isFile())
    .map((name) => ({ path: name, bytes: readFileSync(join(folder, name)) }));
}

/** The secret number in every form in which it could be written, in pieces, because a database page may cut it. */
export function fragmentsOf(pem: string): (string | Buffer)[] {
  const body = pem.replace(/-----[A-Z ]+-----|\s/g, "");
  const der = Buffer.from(body, "base64");
  // PKCS#8 of P-256: 36 bytes that all keys share, then the 32 secret ones.
  const secret = der.subarray(36, 68);
  expect(secret).toHaveLength(32);
  const text = body.slice(48, 90);
  const whole = [
    secret.subarray(0, 16),
    secret.subarray(16),
    secret.toString("base64url").slice(2, 22),
    secret.toString("hex").slice(0, 24),
  ];
  return [...whole, text.slice(0, 20), text.slice(20, 40)];
}
