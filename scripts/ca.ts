// The keys of the CA: draws a key, and checks a new secret against the keys that a service still needs (IDN-38).
import { readFileSync } from "node:fs";
import { findKeyFaults, type KeyFault, type SeenKey } from "../src/identity/authority.ts";
import { openCertificateAuthority } from "../src/protocol/certificate-authority.ts";
import { newSigningJwk } from "./secrets.ts";

const USAGE = `npm run ca new                     prints a new key, to be put into CA_KEYS
npm run ca check FILE URL          compares the keys in FILE, the next CA_KEYS, with those that the service at URL
                                   has had; OPERATOR_KEY is an operator's key. Exits with 1 if they must not be set.`;

type View = {
  readonly keys: readonly {
    readonly kid: string;
    readonly published_at: string;
    readonly first_certificate_at: string | null;
    readonly last_certificate_at: string | null;
  }[];
};

const instant = (text: string | null): number | null => (text === null ? null : Date.parse(text));

async function seenBy(origin: string, operatorKey: string): Promise<SeenKey[]> {
  const headers = { Authorization: `Bearer ${operatorKey}` };
  const response = await fetch(new URL("/v1/operator/ca", origin), { headers });
  if (response.status !== 200) throw new Error(`the service answered ${response.status}: ${await response.text()}`);
  const { keys } = (await response.json()) as View;
  return keys.map((key) => ({
    kid: key.kid,
    publishedAt: Date.parse(key.published_at),
    signsFrom: instant(key.first_certificate_at),
    signedUntil: instant(key.last_certificate_at),
  }));
}

async function check(file: string, origin: string): Promise<KeyFault[]> {
  const { keys } = await openCertificateAuthority(readFileSync(file, "utf8"));
  return findKeyFaults(keys, await seenBy(origin, process.env["OPERATOR_KEY"] ?? ""), Date.now());
}

async function run([command, file, origin]: readonly string[]): Promise<number> {
  if (command === "new") {
    console.log(JSON.stringify({ jwk: newSigningJwk(), use: "published" }));
    return 0;
  }
  if (command !== "check" || file === undefined || origin === undefined) {
    console.error(USAGE);
    return 2;
  }
  const faults = await check(file, origin);
  for (const { kid, message } of faults) console.error(`${kid} ${message}`);
  if (faults.length === 0) console.log("These keys may be set.");
  return faults.length === 0 ? 0 : 1;
}

try {
  process.exitCode = await run(process.argv.slice(2));
} catch (thrown) {
  console.error(thrown instanceof Error ? thrown.message : "unknown");
  process.exitCode = 2;
}
