// What `reactivate_agents` gives back (PRN-21): what was asked for once is given, whatever is recorded meanwhile, and no agent whose escrow is
// constrained.
import { eq } from "drizzle-orm";
import { beforeEach, describe, expect, it } from "vitest";
import { HOUR_MS } from "../../src/core/limits.ts";
import { escrows } from "../../src/db/tables/money.ts";
import { cascades, restatements } from "../../src/db/tables/principals.ts";
import { finishCascades } from "../../src/standing/cascades.ts";
import { endAttestations } from "../../src/standing/expire.ts";
import { finishRestatements } from "../../src/standing/restate-agents.ts";
import { setEscrow } from "../payments/support.ts";
import { expectStatus, type Json, type World } from "../support/world.ts";
import { crowd, dieBefore, inStatus, returns, storedAgent } from "./account-support.ts";
import { createSlicedWorld, SLICE } from "./slices.ts";

let world: World;
beforeEach(async () => {
  world = await createSlicedWorld();
  // What an earlier test left unfinished.
  await world.deps.db.delete(cascades);
  await world.deps.db.delete(restatements);
});

/** By a Verifier that nobody has registered, from an hour ago. */
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

/** Lets the attestation of an hour end, with all agents. */
async function end(): Promise<void> {
  world.advance(2 * HOUR_MS);
  await world.run(endAttestations);
  await world.run(finishCascades);
  expect(await running()).toEqual([]);
}

/** A principal whose agents an end has taken; the slices behind the first of their return wait. */
async function halfBack(lasts: number): Promise<{ principalId: string; dids: readonly string[] }> {
  const { first, dids } = await crowd(world, 2 * SLICE + 1);
  await record(first.principalId, given(HOUR_MS));
  await end();
  // The call's two trips, one for the places and one for the key's last use; dies in the second slice.
  dieBefore(world, 5);
  await record(first.principalId, given(lasts, AND_BACK));
  expect(await running()).toHaveLength(SLICE);
  return { principalId: first.principalId, dids };
}

describe("a renewal while agents are still being given back", () => {
  it("forgets none of them, though it asks for none", async () => {
    const { principalId, dids } = await halfBack(9 * HOUR_MS);
    await record(principalId, given(10 * HOUR_MS));
    await world.run(finishRestatements);
    expect(await running()).toEqual(dids);
    expect(await returns(world)).toEqual(dids);
  });

  it("behind another end, which nobody has asked back, gives back nothing", async () => {
    const { principalId } = await halfBack(HOUR_MS);
    await end();
    await record(principalId, given(10 * HOUR_MS));
    await world.run(finishRestatements);
    expect(await running()).toEqual([]);
    expect(await returns(world)).toHaveLength(SLICE);
  });
});

it("an agent whose escrow is constrained stays, and returns no sooner than by its own return", async () => {
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

it("a key that was in its grace ends with the certificates that are replaced (AGT-32)", async () => {
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
