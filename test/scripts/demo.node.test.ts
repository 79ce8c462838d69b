// The whole path on the whole stack: the demo as a person runs it, then a search of every file that the service wrote.
import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { decodeFunctionData, type Hex, parseEventLogs } from "viem";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { clientFor } from "../../scripts/chain/client.ts";
import { type Stack, startStack } from "../../scripts/stack.ts";
import { settlementAbi } from "../../src/chain/contracts/abi.ts";
import { verifyAward } from "../../src/protocol/award.ts";

const root = join(import.meta.dirname, "../..");
const dir = mkdtempSync(join(tmpdir(), "demo-"));
let stack: Stack;
let logged = "";

beforeAll(async () => {
  stack = await startStack({
    dir,
    ports: { service: 0, chain: 0, chainProduction: 0 },
    signal: new AbortController().signal,
    log: (text) => {
      logged += text;
    },
  });
}, 90_000);

afterAll(async () => {
  await stack?.stop();
  rmSync(dir, { recursive: true, force: true });
}, 30_000);

type Played = { code: number | null; output: string };

function demo(): Promise<Played> {
  const env = { ...process.env, DEV_DIR: dir };
  const child = spawn(process.execPath, ["scripts/demo.ts"], { cwd: root, env });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (output += String(chunk)));
  return new Promise((resolve) => child.once("close", (code) => resolve({ code, output })));
}

async function manage(path: string, body?: unknown, headers: Record<string, string> = {}) {
  const { base_url, sandbox_key } = stack.description;
  const response = await fetch(new URL(path, base_url), {
    method: "POST",
    headers: { "Service-Api-Key": sandbox_key, "Content-Type": "application/json", ...headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return {
    status: response.status,
    replayed: response.headers.get("idempotent-replayed"),
    body: (await response.json()) as Record<string, string>,
  };
}

describe("npm run demo", () => {
  it("plays the whole path to the refund of a dispute and both ratings move, twice on one service", async () => {
    for (let round = 0; round < 2; round++) {
      const { code, output } = await demo();
      expect(code, output).toBe(0);
      await expectRefunded(output);
      const [, sold, lost] = /rating of the provider +unrated → (0\.\d+) → (0\.\d+)$/m.exec(output) ?? [];
      const [, bought, won] = /rating of the consumer +unrated → (0\.\d+) → (0\.\d+)$/m.exec(output) ?? [];
      expect(Number(lost)).toBeLessThan(Number(sold));
      expect(Number(won)).toBeGreaterThan(Number(bought));
      // The consumer fixes wallet, fee, deadline and place of refunds.
      const [, hash = ""] = /transaction +(0x[0-9a-f]{64})/.exec(output) ?? [];
      const { input } = await clientFor(stack.description.chain.rpc_url).getTransaction({ hash: hash as Hex });
      expect(decodeFunctionData({ abi: settlementAbi, data: input }).functionName).toBe("settle");
    }
  }, 120_000);
});

/** In the order in which they are played. */
const DISPUTED = [
  /^✓ POST \/v1\/disputes /m,
  /^✓ POST …\/disputes\/\{id\}\/respond /m,
  /^✓ POST …\/disputes\/\{id\}\/evidence /m,
  /^✓ on-chain +the provider puts 10\.00 USDC into its vault /m,
  /^✓ POST \/v1\/sandbox\/clock\/advance +the sandbox's clock goes forward by seven days /m,
  /^✓ GET {2}\/v1\/disputes\/\{id\} .*: arbitration /m,
  /^✓ POST …\/disputes\/\{id\}\/resolve /m,
  /^✓ offline +the award verifies/m,
  /^✓ GET {2}\/v1\/disputes\/\{id\} .*: paid /m,
  /^✓ on-chain +the consumer's wallet holds the refund/m,
  /^✓ GET {2}\/v1\/tasks\/\{id\} .*: rejected /m,
  /^✓ GET {2}\/v1\/agents\/\{did\}\/rating /m,
];

/** The dispute that the demo names, as the service, the published keys and the chain tell of it. */
async function expectRefunded(output: string): Promise<void> {
  const places = DISPUTED.map((step) => output.search(step));
  expect(places.filter((at) => at < 0)).toEqual([]);
  expect(places).toEqual(places.toSorted((one, other) => one - other));
  const { base_url, operator_key, chain } = stack.description;
  const read = async <T>(path: string, headers: Record<string, string> = {}): Promise<T> =>
    (await fetch(new URL(path, base_url), { headers })).json() as Promise<T>;
  const [, id = ""] = /^ +dispute +(dsp_\w+), upheld$/m.exec(output) ?? [];
  const file = await read<Record<string, unknown>>(`/v1/operator/disputes/${id}`, {
    Authorization: `Bearer ${operator_key}`,
  });
  expect(file).toMatchObject({
    status: "resolved",
    resolution: "upheld",
    disputed_amount: "8.00",
    escalated_at: file["pre_arb_deadline"],
    messages: [{ offer_amount: "2.00" }],
    evidence: [{ submitted_by: "consumer" }],
    refund_status: "paid",
    paid_from_vault: "9.00",
    bounty_outstanding: "0.00",
    task: { status: "confirmed", outcome: "rejected", score: 0 },
  });
  const keys = await read<{ keys: JsonWebKey[] }>("/.well-known/aeap-ca-jwks");
  expect(await verifyAward(file["award"], keys, { issuer: base_url })).toMatchObject({
    ok: true,
    claims: { jti: id, refund_amount: "8.00", bounty_amount: "1.00" },
  });
  const [, hash = ""] = /^ +paid by the vault +9\.00 in (0x[0-9a-f]{64}) /m.exec(output) ?? [];
  const { logs } = await clientFor(chain.rpc_url).getTransactionReceipt({ hash: hash as Hex });
  const [paid] = parseEventLogs({ abi: settlementAbi, logs, eventName: "PaidOut" });
  expect(paid?.args).toMatchObject({ refundTo: chain.accounts.at(-1)?.address, amount: 9_000_000n });
}

describe("a private key", () => {
  it("is answered the same on a retry, and stands in the clear in no file or log of the service", async () => {
    const principal = await manage("/v1/principals", {
      legal_name: "Scanned GmbH",
      country: "DE",
      entity_type: "company",
      external_ref: `scan-${Date.now()}`,
      verification_attestation: { placeholder: true },
    });
    expect(principal.status).toBe(201);
    const agent = await manage("/v1/agents", {
      principal_id: principal.body["principal_id"],
      economic_role: "CONSUMER",
      profile: { display_name: "Marked-by-the-scan" },
      endpoint_url: "https://agent.example",
      scope: { authorized_actions: ["purchase"], capabilities: [] },
    });
    expect(agent.status).toBe(201);
    const key = { "Idempotency-Key": crypto.randomUUID() };
    const first = await manage(`/v1/agents/${agent.body["did"]}/activate`, undefined, key);
    const again = await manage(`/v1/agents/${agent.body["did"]}/activate`, undefined, key);
    expect(first.status).toBe(200);
    expect(again.replayed).toBe("true");
    expect(again.body["private_key"]).toBe(first.body["private_key"]);

    const { description } = stack;
    await stack.stop();
    const files = written(dir);
    // The search itself must be able to find: what is no secret is there.
    expect(files.some(({ bytes }) => bytes.includes("Marked-by-the-scan"))).toBe(true);
    const secrets = [
      ...fragmentsOf(first.body["private_key"] ?? ""),
      description.sandbox_key,
      description.operator_key,
    ];
    for (const { path, bytes } of [...files, { path: "the log", bytes: Buffer.from(logged) }]) {
      for (const secret of secrets) expect(bytes.includes(secret), `a secret in ${path}`).toBe(false);
    }
  }, 60_000);
});

/** The files that hold the secrets on purpose: the developer's own, not the service's. */
const HANDED_OVER = new Set(["secrets.json", "service.json", "worker.env"]);

function written(folder: string): { path: string; bytes: Buffer }[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => !HANDED_OVER.has(name) && statSync(join(folder, name)).isFile())
    .map((name) => ({ path: name, bytes: readFileSync(join(folder, name)) }));
}

/** The secret number in every form it could be written in; pieces too, because a database page may cut it. */
function fragmentsOf(pem: string): (string | Buffer)[] {
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
