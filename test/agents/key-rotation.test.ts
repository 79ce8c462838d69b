// The rotation of an agent's key (AGT-32): the new key is valid at once, and the previous one until the last second of its grace.
import { eq } from "drizzle-orm";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { HOUR_MS } from "../../src/core/limits.ts";
import { certificates } from "../../src/db/tables/agents.ts";
import { importPrivateKeyPem } from "../../src/protocol/ecdsa.ts";
import { openIntent, seller } from "../payments/support.ts";
import { isWhole } from "../support/scale.ts";
import { dumpDatabase } from "../support/variants.ts";
import { type Agent, createWorld, expectStatus, type Json, type Reply, type World } from "../support/world.ts";
import { agentIn, readAgent, STATES } from "./support.ts";

const AT_ONCE = isWhole() ? 50 : 10;

let world: World;
let shop: Agent;
beforeAll(async () => {
  world = await createWorld();
  shop = await seller(world);
});
afterEach(() => {
  vi.useRealTimers();
});

const rotate = (did: string, body?: unknown, headers: Record<string, string> = {}, of = world): Promise<Reply> =>
  of.call("POST", `/v1/agents/${did}/rotate-key`, { headers, ...(body !== undefined && { body }) });
const held = async (agent: Agent, { private_key: pem, certificate }: Json): Promise<Agent> => ({
  ...agent,
  pem,
  certificate,
  privateKey: await importPrivateKeyPem(pem),
});
const publicly = async (path: string): Promise<Json> => expectStatus(await world.call("GET", path, { key: null }), 200);
const outcome = ({ status, body }: Reply): [number, string] => [status, body?.code];
/** Whether the agent may call with its credentials. */
const admitted = async (agent: Agent): Promise<boolean> => {
  const { status } = await world.as(agent, "GET", "/v1/payment-intents/pin_none");
  expect([401, 404]).toContain(status);
  return status === 404;
};
const keysIn = async (did: string): Promise<string[]> =>
  (await publicly(`/v1/agents/${did}/did.json`)).verificationMethod.map(({ publicKeyJwk }: Json) => publicKeyJwk.kid);
/** Certificates and proofs are checked against real time. */
const at = (instant: number): void => {
  vi.useFakeTimers({ toFake: ["Date"], now: instant });
};

describe("a rotation", () => {
  it("returns the new key once; the document states it, and the old one is refused at once", async () => {
    const old = await world.consumer();
    const before = await readAgent(world, old.did);
    const answer = expectStatus(await rotate(old.did), 200);
    expect(answer).toMatchObject({ did: old.did, status: "ACTIVE", warnings: [] });
    expect(answer.key_id).not.toBe(before.key_id);
    expect(Date.parse(answer.previous_key_expires_at)).toBeLessThanOrEqual(Date.now());
    const aid = await publicly(`/v1/agents/${old.did}/aid`);
    expect([aid.identity.certificate, aid.version]).toEqual([answer.certificate, before.version + 1]);
    expect(await publicly(`/v1/agents/${old.did}/certificate`)).toMatchObject({ key_id: answer.key_id });
    expect(await readAgent(world, old.did)).toMatchObject({ key_id: answer.key_id, version: before.version + 1 });
    expect(await keysIn(old.did)).toEqual([answer.key_id]);
    const renewed = await held(old, answer);
    expect([await admitted(old), await admitted(renewed)]).toEqual([false, true]);
    expectStatus(await openIntent(world, renewed, shop, "1.00"), 201);
    // Neither half of the new pair works with a half of the old one.
    expect(await admitted({ ...renewed, privateKey: old.privateKey })).toBe(false);
    expect(await admitted({ ...old, privateKey: renewed.privateKey })).toBe(false);
    const { pem } = renewed;
    const secret = pem.split("\n")[1] ?? pem;
    expect(JSON.stringify(await dumpDatabase())).not.toContain(secret);
  });

  it("with a grace accepts the old key to the last second, and lists both keys meanwhile, newest first", async () => {
    const old = await world.consumer();
    const { key_id } = await readAgent(world, old.did);
    const start = Date.now();
    const answer = expectStatus(await rotate(old.did, { grace_hours: 2 }), 200);
    const renewed = await held(old, answer);
    const until = Date.parse(answer.previous_key_expires_at);
    expect(until - start).toBeGreaterThanOrEqual(2 * HOUR_MS);
    expect([await admitted(old), await admitted(renewed)]).toEqual([true, true]);
    expect(await keysIn(old.did)).toEqual([answer.key_id, key_id]);
    expectStatus(await openIntent(world, old, shop, "1.00"), 201);
    at(until - 1_000);
    expect([await admitted(old), await keysIn(old.did)]).toEqual([true, [answer.key_id, key_id]]);
    at(until);
    expect([await admitted(old), await keysIn(old.did)]).toEqual([false, [answer.key_id]]);
    expect(await admitted(renewed)).toBe(true);
  });

  it("ends the grace of the previous rotation", async () => {
    const first = await world.consumer();
    const second = await held(first, expectStatus(await rotate(first.did, { grace_hours: 24 }), 200));
    const { key_id } = await readAgent(world, first.did);
    const answer = expectStatus(await rotate(first.did, { grace_hours: 1 }), 200);
    const third = await held(first, answer);
    expect([await admitted(first), await admitted(second), await admitted(third)]).toEqual([false, true, true]);
    expect(await keysIn(first.did)).toEqual([answer.key_id, key_id]);
    expectStatus(await rotate(first.did), 200);
    expect([await admitted(second), await admitted(third)]).toEqual([false, false]);
  });

  it("loses its grace with the certificates that a reactivation replaces", async () => {
    const old = await world.consumer();
    const answer = expectStatus(await rotate(old.did, { grace_hours: 24 }), 200);
    const status = (body: Json) => world.call("PATCH", `/v1/agents/${old.did}/status`, { body });
    expectStatus(await status({ status: "SUSPENDED" }), 200);
    const attestations = `/v1/principals/${old.principalId}/attestations`;
    expectStatus(await world.call("POST", attestations, { body: { placeholder: true } }), 201);
    expectStatus(await status({ status: "ACTIVE" }), 200);
    expect(await admitted(old)).toBe(false);
    expect(await keysIn(old.did)).toEqual([answer.key_id]);
  });

  it.each(STATES.map((state) => [state, ["ACTIVE", "SUSPENDED", "FUNDING"].includes(state) ? 200 : 409] as const))(
    "of an agent that is %s answers %i",
    async (state, status) => {
      const did = await agentIn(world, state);
      const before = await dumpDatabase();
      const reply = await rotate(did);
      expect(reply.status).toBe(status);
      if (status === 200) return expect(reply.body.status).toBe(state);
      expect(reply.body).toMatchObject({ code: "invalid_status", detail: { status: state } });
      return expect(await dumpDatabase()).toEqual(before);
    },
  );

  it("is refused under a principal that is not ACTIVE", async () => {
    const { did, principalId } = await world.consumer();
    expectStatus(await world.call("POST", `/v1/principals/${principalId}/suspend`), 200);
    const refused = await rotate(did);
    expect(outcome(refused)).toEqual([409, "invalid_status"]);
    expect(refused.body.detail).toMatchObject({ principal_status: "SUSPENDED" });
  });

  it.each([
    [{ grace_hours: 25 }, { grace_hours: "too_big" }],
    [{ grace_hours: -1 }, { grace_hours: "too_small" }],
    [{ grace_hours: 1.5 }, { grace_hours: "invalid_type" }],
    [{ grace_hours: "1" }, { grace_hours: "invalid_type" }],
    [{ reason: "x" }, { reason: "unknown_field" }],
  ])("refuses %o", async (body, faults) => {
    const { did } = await world.consumer();
    const reply = await rotate(did, body);
    const found = Object.fromEntries(reply.body.field_errors.map(({ field, code }: Json) => [field, code]));
    expect([reply.status, found]).toEqual([422, faults]);
  });

  it("is limited to the platform's own agents", async () => {
    const { did } = await world.consumer();
    expect(outcome(await rotate(did, undefined, {}, await createWorld()))).toEqual([404, "not_found"]);
  });
});

describe("a repeated rotation", () => {
  it("under the same Idempotency-Key returns the same answer with the private key, and rotates nothing", async () => {
    const { did } = await world.consumer();
    const headers = { "Idempotency-Key": crypto.randomUUID() };
    const [first, again] = [
      await rotate(did, { grace_hours: 1 }, headers),
      await rotate(did, { grace_hours: 1 }, headers),
    ];
    expect(expectStatus(again, 200)).toEqual(expectStatus(first, 200));
    expect(again.headers.get("idempotent-replayed")).toBe("true");
    expect(await world.deps.db.select().from(certificates).where(eq(certificates.did, did))).toHaveLength(2);
    const other = await rotate(did, { grace_hours: 2 }, headers);
    expect(outcome(other)).toEqual([422, "idempotency_key_reused"]);
  });
});

describe("rotations at the same moment", () => {
  it("return a different key each, and only the last one is valid", async () => {
    const agent = await world.consumer();
    const answers = await Promise.all(Array.from({ length: AT_ONCE }, () => rotate(agent.did)));
    const given = answers.filter(({ status }) => status === 200).map(({ body }) => body);
    expect(answers.filter(({ status }) => status !== 200).map(outcome)).toEqual([]);
    expect(new Set(given.map(({ key_id }) => key_id)).size).toBe(AT_ONCE);
    const { key_id, version } = await readAgent(world, agent.did);
    expect(version).toBe(2 + AT_ONCE);
    for (const one of given.slice(0, 10).concat(given.filter((each) => each.key_id === key_id))) {
      expect(await admitted(await held(agent, one))).toBe(one.key_id === key_id);
    }
  });
});
