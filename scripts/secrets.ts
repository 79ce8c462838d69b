// The secrets of a local stack: drawn once, and kept in one file that only its owner can read, never in the repository.
import { generateKeyPairSync, randomBytes } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { generatePrivateKey, privateKeyToAddress } from "viem/accounts";
import { z } from "zod";
import { generateManagementKey, type KeyBrands, parseKeyBrands } from "../src/accounts/keys.ts";
import { encodeBase64Url } from "../src/core/encoding.ts";
import { createId } from "../src/core/ids.ts";
import { DID_PATTERN, generateDid } from "../src/protocol/did.ts";
import { StackError } from "./processes.ts";

const hex = (digits: number) => z.templateLiteral(["0x", z.string().regex(new RegExp(`^[0-9a-fA-F]{${digits}}$`))]);
const account = z.object({ address: hex(40), private_key: hex(64) });
const secretsSchema = z.object({
  ca_keys: z.array(
    z.object({ jwk: z.record(z.string(), z.string()), use: z.enum(["signing", "published", "revoked"]) }),
  ),
  service_did: z.string().regex(DID_PATTERN),
  nonce_key: z.string(),
  webhook_seal_keys: z.string(),
  account_seal_keys: z.string(),
  operator_key: z.string(),
  chain: z.object({
    owner: account,
    admin: account,
    registrar: account,
    arbiter: account,
    guardian: account,
    fee_recipient: account,
  }),
  platform: z.object({ platform_id: z.string(), tenant_principal_id: z.string(), sandbox_key: z.string() }),
});
export type Secrets = z.infer<typeof secretsSchema>;

export async function loadOrCreateSecrets(file: string): Promise<Secrets> {
  if (existsSync(file)) {
    addMissingSecrets(file);
    return loadSecrets(file);
  }
  const secrets = await createSecrets();
  writePrivately(file, secrets);
  return secrets;
}

/** Draws the secrets that an earlier edition of the file did not have. */
function addMissingSecrets(file: string): void {
  const stored = z.looseObject({ chain: z.looseObject({}) }).safeParse(parse(readFileSync(file, "utf8"))).data;
  if (stored === undefined) return;
  const missing = ["webhook_seal_keys", "account_seal_keys"].filter((name) => !(name in stored));
  const hasOwner = "owner" in stored.chain;
  if (missing.length === 0 && hasOwner) return;
  const chain = hasOwner ? stored.chain : { owner: newAccount(), ...stored.chain };
  writePrivately(file, { ...stored, ...Object.fromEntries(missing.map((name) => [name, newSealKey()])), chain });
}

export function loadSecrets(file: string): Secrets {
  const parsed = secretsSchema.safeParse(parse(readFileSync(file, "utf8")));
  if (!parsed.success)
    throw new StackError(`${file} is damaged or of an earlier edition: \`npm run reset\` starts afresh`);
  return parsed.data;
}

/** Writes the file in one step, so that no process reads half of it, and only for its owner. */
export function writePrivately(file: string, content: unknown): void {
  mkdirSync(dirname(file), { recursive: true });
  const draft = `${file}.${process.pid}`;
  writeFileSync(draft, typeof content === "string" ? content : `${JSON.stringify(content, null, 2)}\n`, {
    mode: 0o600,
  });
  chmodSync(draft, 0o600);
  renameSync(draft, file);
}

async function createSecrets(): Promise<Secrets> {
  const now = Date.now();
  const { rawKey } = await generateManagementKey("sandbox", await localBrands());
  return {
    ca_keys: [{ jwk: newSigningJwk(), use: "signing" }],
    service_did: generateDid(),
    nonce_key: randomText(32),
    webhook_seal_keys: newSealKey(),
    account_seal_keys: newSealKey(),
    operator_key: randomText(32),
    chain: {
      owner: newAccount(),
      admin: newAccount(),
      registrar: newAccount(),
      arbiter: newAccount(),
      guardian: newAccount(),
      fee_recipient: newAccount(),
    },
    platform: { platform_id: createId("plt", now), tenant_principal_id: createId("prn", now), sandbox_key: rawKey },
  };
}

/** Reads the brands that wrangler.toml configures. Loading wrangler takes a second, and only a first start needs it. */
async function localBrands(): Promise<KeyBrands> {
  const { experimental_readRawConfig } = await import("wrangler");
  const { rawConfig } = experimental_readRawConfig({ config: join(import.meta.dirname, "../wrangler.toml") });
  return parseKeyBrands(String(rawConfig.vars?.["MANAGEMENT_KEY_BRANDS"]));
}

export function newSigningJwk(): Record<string, string> {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const { kty = "", crv = "", x = "", y = "", d = "" } = privateKey.export({ format: "jwk" });
  return { kty, crv, x, y, d };
}

/** A key that seals secrets at rest. */
export const newSealKey = (): string => randomBytes(32).toString("base64");

function newAccount(): z.infer<typeof account> {
  const privateKey = generatePrivateKey();
  return { address: privateKeyToAddress(privateKey), private_key: privateKey };
}

export const randomText = (bytes: number): string => encodeBase64Url(randomBytes(bytes));

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
