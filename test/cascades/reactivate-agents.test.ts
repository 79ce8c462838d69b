// `reactivate_agents` at a renewal, and at the reactivation of a principal and of a customer (PRN-18, PRN-21, PRN-24): agents that a stop of their
// principal suspended return once, even after a crash, except agents whose escrow is constrained.
import { eq } from "drizzle-orm";
import { beforeEach, describe, expect, it } from "vitest";
import { finishCascades } from "../../src/cascades/cascades.ts";
import { endAttestations } from "../../src/cascades/expire.ts";
import { finishRestatements } from "../../src/cascades/restate-agents.ts";
import { HOUR_MS } from "../../src/core/limits.ts";
import { agents } from "../../src/db/tables/agents.ts";
import { escrows } from "../../src/db/tables/money.ts";
import { walks } from "../../src/db/tables/walks.ts";
import { setEscrow } from "../payments/support.ts";
import { expectStatus, type Json, type Reply, type World } from "../support/world.ts";
import { crowd, dieBefore, inStatus, returns, storedAgent } from "./account-support.ts";
import { grouped, newCustomer, ofCustomer, ofPrincipal, readPrincipal } from "./customer-support.ts";
import { createSlicedWorld, FIRST_PRINCIPALS, SLICE } from "./slices.ts";

let world: World;
beforeEach(async () => {
  world = await createSlicedWorld();
  // Removes cascades and restatements that an earlier test left unfinished.
  await world.deps.db.delete(walks);
});

/** An attestation from an hour ago, by a Verifier that is not registered. */
const given = (lasts: number, overrides: Json = {}): Json => ({
  attestation_id: `att_${crypto.randomUUID()}`,
  verifier_id: "acme-verification",
  model: "kyb",
  issued_at: new Date(world.now() - HOUR_MS).toISOString(),
  expires_at: new Date(world.now() + lasts).toISOString(),
  ...overrides,
});
const record = async (principalId: string, body: Json): Promise<Json> =>
  expectStatus(await world.call("POST", `/v1/principals/${principalId}/attestations`, { body }), 201);
const AND_BACK = { reactivate_agents: true };
const running = () => inStatus(world, "ACTIVE", "FUNDING");

/** Ends the attestation of an hour, and suspends all agents. */
async function end(): Promise<void> {
  world.advance(2 * HOUR_MS);
  await world.run(endAttestations);
  await world.run(finishCascades);
  expect(await running()).toEqual([]);
}

/** A principal whose agents an end suspended. The first slice is reactivated, and the others wait. */
async function halfBack(lasts: number): Promise<{ principalId: string; dids: readonly string[] }> {
  const { first, dids } = await crowd(world, 2 * SLICE + 1);
  await record(first.principalId, given(HOUR_MS));
  await end();
  // The call has two trips, one for the places and one for the key's last use. It dies in the second slice.
  dieBefore(world, 5);
  await record(first.principalId, given(lasts, AND_BACK));
  expect(await running()).toHaveLength(SLICE);
  return { principalId: first.principalId, dids };
}

describe("a renewal while agents are still being reactivated", () => {
  it("keeps their reactivation, although it requests none", async () => {
    const { principalId, dids } = await halfBack(9 * HOUR_MS);
    await record(principalId, given(10 * HOUR_MS));
    await world.run(finishRestatements);
    expect(await running()).toEqual(dids);
    expect(await returns(world)).toEqual(dids);
  });

  it("reactivates none if another end has suspended them since, and it requests none", async () => {
    const { principalId } = await halfBack(HOUR_MS);
    await end();
    await record(principalId, given(10 * HOUR_MS));
    await world.run(finishRestatements);
    expect(await running()).toEqual([]);
    expect(await returns(world)).toHaveLength(SLICE);
  });
});

it("an agent whose escrow is constrained stays SUSPENDED until its own reactivation", async () => {
  const principalId = await world.principal({ verification_attestation: given(HOUR_MS) });
  const consumer = await world.consumer({ principal_id: principalId });
  const provider = await world.agent("PROVIDER", { principal_id: principalId });
  await setEscrow(world, provider.did, "ACTIVE");
  await world.deps.db.update(escrows).set({ state: "CONSTRAINED" }).where(eq(escrows.did, provider.did));
  await end();
  await record(principalId, given(9 * HOUR_MS, AND_BACK));
  expect(await returns(world)).toEqual([consumer.did]);
  expect(await storedAgent(world, provider.did)).toMatchObject({
    status: "SUSPENDED",
    suspensionReason: "attestation",
  });
});

it("a key in its grace ends with the certificates that are replaced (AGT-32)", async () => {
  const { did, principalId } = await world.consumer({
    principal_id: await world.principal({ verification_attestation: given(HOUR_MS) }),
  });
  const path = `/v1/agents/${did}/rotate-key`;
  const { key_id } = expectStatus(await world.call("POST", path, { body: { grace_hours: 24 } }), 200);
  const keys = async (): Promise<string[]> => {
    const document = expectStatus(await world.call("GET", `/v1/agents/${did}/did.json`, { key: null }), 200);
    return document.verificationMethod.map(({ publicKeyJwk }: Json) => publicKeyJwk.kid);
  };
  expect(await keys()).toHaveLength(2);
  await end();
  await record(principalId, given(9 * HOUR_MS, AND_BACK));
  expect(await running()).toEqual([did]);
  expect(await keys()).toEqual([key_id]);
});

const NONE_LEFT = { escrow_constrained: 0, platform: 0, operator: 0, principal_not_active: 0 };
const ok = async (call: Promise<Reply>): Promise<Json> => expectStatus(await call, 200);
const reactivateAll = (subject: "principals" | "customers", id: string) =>
  ok(world.call("POST", `/v1/${subject}/${id}/reactivate`, { body: AND_BACK }));
const certificateOf = async (did: string): Promise<string> =>
  expectStatus(await world.call("GET", `/v1/agents/${did}/certificate`, { key: null }), 200).certificate;

describe("the reactivation of a principal", () => {
  it("reactivates its agents, each with its present certificate", async () => {
    const { did, principalId } = await world.consumer();
    const certificate = await certificateOf(did);
    const before = await storedAgent(world, did);
    await ok(ofPrincipal(world, principalId, "suspend"));
    const answer = await reactivateAll("principals", principalId);
    expect(answer).toMatchObject({
      principal_id: principalId,
      status: "ACTIVE",
      reactivation: { agents_reactivated: 1, agents_left: NONE_LEFT, more: false },
    });
    expect(await running()).toEqual([did]);
    expect(await storedAgent(world, did)).toMatchObject({
      version: before?.version,
      suspensionReason: null,
      suspendedFrom: null,
    });
    expect(await certificateOf(did)).toBe(certificate);
    const valid = { valid: true, reason: null };
    expect(await ok(world.call("POST", "/v1/verify/certificate", { key: null, body: { certificate } }))).toMatchObject(
      valid,
    );
    expect(await returns(world)).toEqual([did]);
  });

  it("without it shows no counts and leaves the agents, and the next renewal with it reactivates them", async () => {
    const { did, principalId } = await world.consumer();
    await ok(ofPrincipal(world, principalId, "suspend"));
    expect(await ok(ofPrincipal(world, principalId, "reactivate"))).not.toHaveProperty("reactivation");
    expect(await running()).toEqual([]);
    expect((await record(principalId, given(9 * HOUR_MS, AND_BACK))).reactivation).toEqual({
      agents_reactivated: 1,
      agents_left: NONE_LEFT,
      more: false,
    });
    expect(await running()).toEqual([did]);
  });

  it("shows why agents stay: their platform, an operator, a constrained escrow, or another stop of the principal", async () => {
    const principalId = await world.principal({ customer_id: await newCustomer(world) });
    const of = { principal_id: principalId };
    const [own, byOperator, back] = [await world.consumer(of), await world.consumer(of), await world.consumer(of)];
    const provider = await world.agent("PROVIDER", of);
    await setEscrow(world, provider.did, "ACTIVE");
    await world.deps.db.update(escrows).set({ state: "CONSTRAINED" }).where(eq(escrows.did, provider.did));
    await ok(world.call("PATCH", `/v1/agents/${own.did}/status`, { body: { status: "SUSPENDED" } }));
    await ok(ofPrincipal(world, principalId, "suspend"));
    await world.deps.db.update(agents).set({ suspensionReason: "operator" }).where(eq(agents.did, byOperator.did));
    const { customer_id } = await readPrincipal(world, principalId);
    await ok(ofCustomer(world, customer_id, "suspend"));
    const stopped = await reactivateAll("principals", principalId);
    expect([stopped.status, stopped.reactivation]).toEqual([
      "SUSPENDED",
      {
        agents_reactivated: 0,
        agents_left: { escrow_constrained: 0, platform: 1, operator: 1, principal_not_active: 2 },
        more: false,
      },
    ]);
    expect(await running()).toEqual([]);
    expect((await reactivateAll("customers", customer_id)).reactivation).toEqual({
      agents_reactivated: 1,
      agents_left: { escrow_constrained: 1, platform: 1, operator: 1, principal_not_active: 0 },
      more: false,
    });
    expect(await running()).toEqual([back.did]);
  });

  it("issues another certificate if the attestation or the scope has changed, or the present one has an end", async () => {
    const principalId = await world.principal();
    const of = { principal_id: principalId };
    const [changed, ended, same] = [await world.consumer(of), await world.consumer(of), await world.consumer(of)];
    await ok(ofPrincipal(world, principalId, "suspend"));
    const scope = (did: string, capabilities: string[]) =>
      ok(world.call("PATCH", `/v1/agents/${did}/scope`, { body: { capabilities } }));
    await scope(changed.did, ["a", "b"]);
    const { capabilities } = (await ok(world.call("GET", `/v1/agents/${ended.did}`))).scope;
    await scope(ended.did, ["narrower"]);
    await scope(ended.did, capabilities);
    const versionOf = async ({ did }: { did: string }) => (await storedAgent(world, did))?.version ?? 0;
    const before = [await versionOf(changed), await versionOf(ended), await versionOf(same)];
    expect((await reactivateAll("principals", principalId)).reactivation.agents_reactivated).toBe(3);
    const after = [await versionOf(changed), await versionOf(ended), await versionOf(same)];
    expect(after.map((version, i) => version - (before[i] ?? 0))).toEqual([1, 1, 0]);
    await ok(ofPrincipal(world, principalId, "suspend"));
    await record(principalId, given(9 * HOUR_MS));
    expect((await reactivateAll("principals", principalId)).reactivation.agents_reactivated).toBe(3);
    expect((await versionOf(same)) - (after[2] ?? 0)).toBe(1);
  });

  it("answers with the first slice of many agents, and each of them is reported once", async () => {
    const { first, dids } = await crowd(world, 2 * SLICE + 1);
    await ok(ofPrincipal(world, first.principalId, "suspend"));
    await world.run(finishCascades);
    expect((await reactivateAll("principals", first.principalId)).reactivation).toEqual({
      agents_reactivated: SLICE,
      agents_left: NONE_LEFT,
      more: true,
    });
    await world.run(finishRestatements);
    expect(await running()).toEqual(dids);
    expect(await returns(world)).toEqual(dids);
  });

  it("is forgotten if the principal is stopped before the last slice and reactivated without it", async () => {
    const { first } = await crowd(world, 2 * SLICE + 1);
    await ok(ofPrincipal(world, first.principalId, "suspend"));
    await world.run(finishCascades);
    dieBefore(world, 5);
    await reactivateAll("principals", first.principalId);
    expect(await running()).toHaveLength(SLICE);
    await ok(ofPrincipal(world, first.principalId, "suspend"));
    await world.run(finishCascades);
    await ok(ofPrincipal(world, first.principalId, "reactivate"));
    await world.run(finishRestatements);
    expect(await running()).toEqual([]);
  });

  it.each([
    [{ reactivate_agents: "yes" }, [["reactivate_agents", "invalid_type"]]],
    [{ reactivate: true }, [["reactivate", "unknown_field"]]],
  ])("refuses %j", async (body, faults) => {
    const { principalId } = await world.consumer();
    await ok(ofPrincipal(world, principalId, "suspend"));
    const refused = await world.call("POST", `/v1/principals/${principalId}/reactivate`, { body });
    expect([refused.status, refused.body.field_errors.map(({ field, code }: Json) => [field, code])]).toEqual([
      422,
      faults,
    ]);
  });
});

describe("the reactivation of a customer", () => {
  it("reactivates the agents of all its principals that have no other stop", async () => {
    const { customerId, principalIds, dids } = await grouped(world, 3, 2);
    await ok(ofPrincipal(world, principalIds[2] ?? "", "suspend"));
    await ok(ofCustomer(world, customerId, "suspend"));
    await world.run(finishCascades);
    const answer = await reactivateAll("customers", customerId);
    expect(answer).toMatchObject({
      customer_id: customerId,
      status: "ACTIVE",
      reactivation: { agents_reactivated: 4, agents_left: { ...NONE_LEFT, principal_not_active: 2 }, more: false },
    });
    expect(await running()).toHaveLength(4);
    expect(await returns(world)).toHaveLength(4);
    await reactivateAll("principals", principalIds[2] ?? "");
    expect(await running()).toEqual(dids);
  });

  it("reaches every principal and every agent, and reports each once, however many it groups", async () => {
    const { customerId, dids } = await grouped(world, FIRST_PRINCIPALS + 2, SLICE - 1);
    await ok(ofCustomer(world, customerId, "suspend"));
    while ((await world.run(finishCascades)) > 0);
    expect(await running()).toEqual([]);
    expect((await reactivateAll("customers", customerId)).reactivation).toMatchObject({
      agents_reactivated: SLICE,
      agents_left: NONE_LEFT,
      more: true,
    });
    while ((await world.run(finishRestatements)) > 0);
    expect(await running()).toEqual(dids);
    expect(await returns(world)).toEqual(dids);
    expect(await world.deps.db.select().from(walks).where(eq(walks.kind, "restatement"))).toEqual([]);
  });

  it("without it leaves them all, even if an earlier reactivation with it crashed", async () => {
    const { customerId } = await grouped(world, FIRST_PRINCIPALS + 2, 1);
    const suspend = async () => {
      await ok(ofCustomer(world, customerId, "suspend"));
      while ((await world.run(finishCascades)) > 0);
    };
    await suspend();
    await reactivateAll("customers", customerId);
    expect(await running()).toHaveLength(FIRST_PRINCIPALS);
    await suspend();
    await ok(ofCustomer(world, customerId, "reactivate"));
    while ((await world.run(finishRestatements)) > 0);
    expect(await running()).toEqual([]);
  });
});
