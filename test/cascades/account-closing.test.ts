// Closes accounts with many agents: from the first commit every surface shows the account as closed, and the rows follow in slices, even after a
// crash (ACC-27, PRN-16, PRN-17).
import { eq } from "drizzle-orm";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { finishCascades } from "../../src/cascades/cascades.ts";
import { endAttestations } from "../../src/cascades/expire.ts";
import { commit } from "../../src/db/batch.ts";
import { agents } from "../../src/db/tables/agents.ts";
import { principals } from "../../src/db/tables/principals.ts";
import { walks } from "../../src/db/tables/walks.ts";
import { openIntent, seller } from "../payments/support.ts";
import { createWorld, expectStatus, type World } from "../support/world.ts";
import {
  cascadesLeft,
  close,
  crowd,
  dieBefore,
  each,
  entriesOf,
  givePassword,
  inStatus,
  outcome,
  principalsOf,
  publicly,
  reinstate,
  revocations,
  suspend,
} from "./account-support.ts";
import { createSlicedWorld, SLICE } from "./slices.ts";

const COUNT = 2 * SLICE + SLICE / 2;

let world: World;
let other: World;
beforeAll(async () => {
  other = await createWorld();
});
beforeEach(async () => {
  world = await createSlicedWorld();
  await givePassword(world);
  // Removes cascades that an earlier test left unfinished.
  await world.deps.db.delete(walks);
});

describe("from the first commit, before any slice has followed", () => {
  it("every surface shows the agents revoked, even if their rows do not say so yet", async () => {
    const { first } = await crowd(world, COUNT);
    const provider = await seller(world);
    const draft = await world.draft("CONSUMER");
    const buyer = await other.consumer();
    const shop = await seller(other);
    await world.person("GET", "/v1/platform");
    dieBefore(world, 3);
    expectStatus(await close(world), 200);
    expect(await inStatus(world, "REVOKED")).toHaveLength(SLICE);
    for (const { did } of [first, provider, draft]) {
      await world.deps.db.update(agents).set({ status: "ACTIVE" }).where(eq(agents.did, did));
    }
    for (const { did } of [first, provider]) {
      expect(await publicly(world, `/v1/agents/${did}/status`)).toMatchObject({
        status: "REVOKED",
        principal_status: "CLOSED",
      });
      expect((await publicly(world, `/v1/agents/${did}/aid`)).live).toMatchObject({ status: "REVOKED" });
      const document = await publicly(world, `/v1/agents/${did}/did.json`);
      expect([document.verificationMethod, document.service]).toEqual([[], undefined]);
    }
    expect(outcome(await openIntent(other, buyer, provider, "10.00"))).toEqual([409, "agent_not_active"]);
    expect(outcome(await openIntent(world, first, shop, "10.00"))).toEqual([401, "aeap_verification_failed"]);
    expect(await cascadesLeft(world)).toMatchObject([
      { trigger: "principal_closes", payload: { actor: { type: "dashboard_admin" } } },
    ]);
    // The end of an attestation is no longer recorded.
    world.advance(400 * 24 * 3_600_000);
    await world.run(endAttestations);
    expect(await entriesOf(world, "principal.attestation_expired")).toEqual([]);
  });

  it.each([
    ["before the second slice is read", 3],
    ["before the second slice is written", 4],
    ["before the third slice is written", 6],
  ])("a crash %s is continued by the job, which reports each agent and principal once", async (_when, trip) => {
    const { dids } = await crowd(world, COUNT);
    const { db } = world.deps;
    const [row] = (await principalsOf(world)).filter(({ tenant }) => !tenant);
    if (!row) throw new Error("no principal");
    const copies = Array.from({ length: SLICE + SLICE / 2 }, (_, i) => ({
      ...row,
      principalId: `${row.principalId}-${i}`,
      externalRef: `copy-${i}`,
      nameFolded: `copy ${i}`,
    }));
    await commit(
      db,
      copies.map((copy) => db.insert(principals).values(copy)),
    );
    await world.person("GET", "/v1/platform");
    dieBefore(world, trip);
    expectStatus(await close(world), 200);
    expect(await world.run(finishCascades)).toBe(1);
    expect(await inStatus(world, "REVOKED")).toEqual(dids);
    expect(await revocations(world).then(({ log, outbox }) => ({ log, outbox }))).toEqual({ log: dids, outbox: dids });
    expect((await revocations(world)).feed).toEqual(each(dids).feed);
    const closed = await principalsOf(world);
    expect(new Set(closed.map(({ status }) => status))).toEqual(new Set(["CLOSED"]));
    const entries = await entriesOf(world, "principal.closed");
    expect(entries.map(({ subjectId }) => subjectId).sort()).toEqual(closed.map((one) => one.principalId).sort());
    expect(await cascadesLeft(world)).toEqual([]);
    expect(await world.run(finishCascades)).toBe(0);
  });

  it("the closing takes over an unfinished reinstatement", async () => {
    const { dids } = await crowd(world, COUNT);
    expectStatus(await suspend(world), 200);
    dieBefore(world, 3);
    expectStatus(await reinstate(world), 200);
    await world.person("GET", "/v1/platform");
    dieBefore(world, 3);
    expectStatus(await close(world), 200);
    await world.run(finishCascades);
    expect(await inStatus(world, "REVOKED")).toEqual(dids);
    expect((await revocations(world)).log).toEqual(dids);
    expect(await cascadesLeft(world)).toEqual([]);
  });
});
