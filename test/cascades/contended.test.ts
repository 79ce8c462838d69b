// Callers that keep changing what a stop affects cannot delay it: the stop commits although they change it before each of its commits (PRN-24,
// PRN-25, ACC-25). The changed rows follow once, by their cascade.
import { beforeEach, describe, expect, it } from "vitest";
import { finishCascades } from "../../src/cascades/cascades.ts";
import { walks } from "../../src/db/tables/walks.ts";
import { withDatabase } from "../support/variants.ts";
import { createWorld, env, expectStatus, type Json, principalBody, type World } from "../support/world.ts";
import { attestationBy } from "../verifiers/support.ts";
import { each, entriesOf, operator, publicly, storedAgent, suspend, suspensions } from "./account-support.ts";
import { grouped, ofCustomer, reportedPrincipals } from "./customer-support.ts";
import { revokeAs } from "./revocation-support.ts";

let world: World;
beforeEach(async () => {
  world = await createWorld();
  // Removes cascades that an earlier test left unfinished.
  await world.deps.db.delete(walks);
});

/** Runs a change between every reading and its commit. Returns a function that tells how often. */
function beforeEachCommit(change: (n: number) => Promise<unknown>): () => number {
  let times = 0;
  const again = async () => {
    times += 1;
    await change(times);
    world.meter.beforeBatch(2, again);
  };
  world.meter.beforeBatch(2, again);
  return () => times;
}

/** A view of the platform whose calls bypass the meter. */
const busy = (): World => withDatabase(world, env.DB);

async function expectStoppedOnce(dids: readonly string[]): Promise<void> {
  world.meter.reset();
  for (const did of dids) expect((await publicly(world, `/v1/agents/${did}/status`)).status).toBe("SUSPENDED");
  await world.run(finishCascades);
  for (const did of dids) expect((await storedAgent(world, did))?.status).toBe("SUSPENDED");
  expect(await suspensions(world)).toEqual(each([...dids].sort()));
}

describe("under constant changes", () => {
  it("an attestation is revoked although a platform keeps patching one of its principals", async () => {
    const attestation = attestationBy("acme-verification");
    const body = principalBody({ verification_attestation: attestation });
    const victim = await world.consumer({
      principal_id: expectStatus(await world.call("POST", "/v1/principals", { body }), 201).principal_id,
    });
    const hostile = await createWorld();
    const backed = principalBody({ verification_attestation: attestation });
    const { principal_id } = expectStatus(await hostile.call("POST", "/v1/principals", { body: backed }), 201);
    const times = beforeEachCommit((n) =>
      hostile.call("PATCH", `/v1/principals/${principal_id}`, { body: { metadata: { n: String(n) } } }),
    );
    const verifier = { verifier_id: "acme-verification" };
    expectStatus(await revokeAs(world, attestation.attestation_id, operator(), verifier), 200);
    expect(times()).toBe(2);
    await expectStoppedOnce([victim.did]);
    expect(await entriesOf(world, "principal.attestation_revoked")).toHaveLength(1);
    expect(await entriesOf(hostile, "principal.attestation_revoked")).toHaveLength(1);
  });

  it.each<[string, (of: World, did: string, n: number) => Promise<Json>]>([
    ["although it keeps certifying an agent", (of, did) => of.call("POST", `/v1/agents/${did}/certificate`)],
    [
      "although it keeps changing its profile",
      (of, _did, n) => of.call("PATCH", "/v1/platform", { body: { website: `https://n${n}.example/` } }),
    ],
  ])("an account is suspended %s", async (_name, change) => {
    const dids = [(await world.consumer()).did, (await world.consumer()).did];
    const of = busy();
    beforeEachCommit((n) => change(of, dids[0] ?? "", n));
    expectStatus(await suspend(world), 200);
    await expectStoppedOnce(dids);
    expect(await entriesOf(world, "account.suspended")).toHaveLength(1);
  });

  it("a customer is suspended although one of its principals is being patched", async () => {
    const { customerId, principalIds, dids } = await grouped(world, 3, 2);
    const of = busy();
    const times = beforeEachCommit((n) =>
      of.call("PATCH", `/v1/principals/${principalIds[1]}`, { body: { metadata: { n: String(n) } } }),
    );
    expectStatus(await ofCustomer(world, customerId, "suspend"), 200);
    expect(times()).toBe(2);
    await expectStoppedOnce(dids);
    const told = await reportedPrincipals(world, "principal.suspended", "SUSPENDED");
    expect(told).toEqual({ log: [...principalIds].sort(), outbox: [...principalIds].sort() });
  });
});
