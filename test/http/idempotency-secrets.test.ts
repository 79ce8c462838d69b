// The private key of an activation is replayed only to its caller, and no secret is at rest or in a log (IDM-8).
import { exportJWK, importPKCS8 } from "jose";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { generateManagementKey } from "../../src/accounts/keys.ts";
import { managementKeys } from "../../src/db/tables/accounts.ts";
import { dumpDatabase, dumpObjects } from "../support/variants.ts";
import { BRANDS, createWorld, env, expectStatus, principalBody, type World } from "../support/world.ts";
import { activate, failingCommit, isReplay } from "./support.ts";

let world: World;
beforeAll(async () => {
  world = await createWorld();
});

describe("an activation", () => {
  it("is the same request with the DID raw and with %3A: another client's encoding does not lose the key", async () => {
    const { did } = await world.draft("CONSUMER");
    const key = crypto.randomUUID();
    const first = expectStatus(await activate(world, did, key), 200);
    const second = await activate(world, did.replaceAll(":", "%3A"), key);
    expect([isReplay(second), second.body]).toEqual([true, first]);
  });

  it("that is requested twenty times at once with one key has one private key", async () => {
    const { did } = await world.draft("PROVIDER");
    const key = crypto.randomUUID();
    const replies = await Promise.all(Array.from({ length: 20 }, () => activate(world, did, key)));
    const good = replies.filter(({ status }) => status === 200);
    const rest = replies.filter(({ status }) => status !== 200);
    expect(good.length).toBeGreaterThan(0);
    expect(rest.filter(({ body }) => body.code !== "idempotency_key_processing")).toEqual([]);
    expect(new Set(good.map(({ body }) => body.private_key)).size).toBe(1);
    expect((await activate(world, did, key)).body.private_key).toBe(good[0]?.body.private_key);
  });

  it("is not opened to another credential of the platform", async () => {
    const { did } = await world.draft("CONSUMER");
    const key = crypto.randomUUID();
    expectStatus(await activate(world, did, key), 200);
    const second = await generateManagementKey("sandbox", BRANDS);
    const now = Date.now();
    const row = {
      keyHash: second.keyHash,
      keyId: `key_${now}`,
      keyPrefix: second.keyPrefix,
      createdAt: now,
      expiresAt: now + 60_000,
    };
    await world.deps.db.insert(managementKeys).values({ ...row, platformId: world.platformId, environment: "sandbox" });
    const reply = await activate(world, did, key, second.rawKey);
    expect([reply.status, reply.body.code]).toEqual([422, "idempotency_key_reused"]);
    expect(reply.text).not.toContain("PRIVATE KEY");
  });
});

describe("nothing secret", () => {
  const methods = ["log", "info", "warn", "error", "debug", "trace"] as const;
  const spies = methods.map((method) => vi.spyOn(console, method).mockImplementation(() => undefined));
  afterEach(() => {
    for (const spy of spies) spy.mockClear();
  });
  const printed = () => spies.flatMap((spy) => spy.mock.calls.map((call) => call.map(String).join(" "))).join("\n");

  /** Every form in which the secrets of a call could occur. */
  async function secretsOf(pem: string, idempotencyKey: string): Promise<string[]> {
    const lines = pem.split("\n").filter((line) => line !== "" && !line.startsWith("-----"));
    const { d = "?" } = await exportJWK(await importPKCS8(pem, "ES256", { extractable: true }));
    const hex = Array.from(atob(d.replaceAll("-", "+").replaceAll("_", "/")), (char) =>
      char.charCodeAt(0).toString(16).padStart(2, "0"),
    ).join("");
    return ["PRIVATE KEY", ...lines, lines.join(""), d, hex, idempotencyKey, world.key, world.key.slice(-30)];
  }

  it("is at rest after an activation, in any column of a table or in a Durable Object", async () => {
    const { did } = await world.draft("CONSUMER");
    const idempotencyKey = crypto.randomUUID();
    const { private_key: pem } = expectStatus(await activate(world, did, idempotencyKey), 200);
    const tables = await dumpDatabase();
    const objects = await Promise.all(
      [env.IDEMPOTENCY, env.AGENTS, env.REPLAY, env.CHAIN_SIGNER].map((namespace) => dumpObjects(namespace as never)),
    );
    // The dump includes the expected rows: the agent, its certificate and the sealed answer.
    expect(tables["agents"]?.filter((row) => row.includes(did))).toHaveLength(1);
    expect(tables["certificates"]?.filter((row) => row.includes(did))).toHaveLength(1);
    expect(tables["idempotency_outcomes"]?.some((row) => row.includes('"sealed":1'))).toBe(true);
    expect(objects.flat().length).toBeGreaterThan(1);
    const everything = JSON.stringify([tables, objects]);
    for (const secret of await secretsOf(pem, idempotencyKey)) expect(everything.includes(secret)).toBe(false);
  });

  it("is printed by an activation, by calls that fail or by a crash in the middle", async () => {
    const { did } = await world.draft("CONSUMER");
    const idempotencyKey = crypto.randomUUID();
    const broken = failingCommit(world, "after");
    expect((await activate(broken, did, idempotencyKey)).status).toBe(500);
    const { private_key: pem } = expectStatus(await activate(world, did, idempotencyKey), 200);
    expect((await activate(world, did, crypto.randomUUID())).status).toBe(409);
    expect((await world.call("GET", "/v1/platform", { key: `${world.key.slice(0, -1)}!` })).status).toBe(401);
    const unknown = await generateManagementKey("sandbox", BRANDS);
    expect((await world.call("GET", "/v1/platform", { key: unknown.rawKey })).status).toBe(401);
    const rawBody = JSON.stringify({ legal_name: "secret-legal-name" }).slice(0, -1);
    expect((await world.call("POST", "/v1/principals", { rawBody })).status).toBe(400);
    const named = principalBody({ legal_name: "secret-legal-name" });
    expect((await failingCommit(world, "before").call("POST", "/v1/principals", { body: named })).status).toBe(500);
    const agent = await world.consumer();
    const proof = await world.prove(agent, "GET", "/v1/payment-intents/x");
    await world.call("GET", "/v1/payment-intents/x", { key: null, headers: { ...proof, "AEAP-Timestamp": "1" } });

    const text = printed();
    // The crash and the refusals were logged.
    expect(text).toContain('"event":"failed"');
    expect(text).toContain('"event":"refused"');
    const secrets = [
      ...(await secretsOf(pem, idempotencyKey)),
      unknown.rawKey,
      "secret-legal-name",
      proof["AEAP-Proof"] ?? "?",
      agent.certificate,
    ];
    for (const secret of secrets) expect(text.includes(secret)).toBe(false);
  });
});
