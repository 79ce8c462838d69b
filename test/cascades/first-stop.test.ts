// An agent that several stops affect belongs to the first of them, whether or not a job has written it before the next one: reinstatement reactivates
// only agents that were suspended for the reason that ended (PRN-16, PRN-17, PRN-21).
import { eq } from "drizzle-orm";
import { beforeEach, describe, expect, it } from "vitest";
import { finishCascades } from "../../src/cascades/cascades.ts";
import { endAttestations } from "../../src/cascades/expire.ts";
import { finishRestatements } from "../../src/cascades/restate-agents.ts";
import { platforms } from "../../src/db/tables/accounts.ts";
import { agents } from "../../src/db/tables/agents.ts";
import { activityEntries } from "../../src/db/tables/journal.ts";
import { attestations, principals } from "../../src/db/tables/principals.ts";
import { walks } from "../../src/db/tables/walks.ts";
import { expectStatus, type Json, type World } from "../support/world.ts";
import { attestationBy } from "../verifiers/support.ts";
import {
  crowd,
  dieBefore,
  each,
  inStatus,
  operator,
  reinstate,
  returns,
  storedAgent,
  suspend,
  suspensions,
} from "./account-support.ts";
import {
  grouped,
  historyOf,
  ofCustomer,
  ofPrincipal,
  readPrincipal,
  regroup,
  statesTold,
  stored,
  withQueue,
} from "./customer-support.ts";
import { revokeAs } from "./revocation-support.ts";
import { createSlicedWorld, FIRST_PRINCIPALS, SLICE } from "./slices.ts";

const HOUR_MS = 3_600_000;
const AND_BACK = { placeholder: true, reactivate_agents: true };
const ENDED = "principal.attestation_expired: ACTIVE → ATTESTATION_EXPIRED";
const SUSPENDED = "principal.suspended: ATTESTATION_EXPIRED → SUSPENDED";

let world: World;
beforeEach(async () => {
  world = await createSlicedWorld();
  await world.deps.db.delete(walks);
});

const anHour = (): Json => ({
  attestation_id: `att_${crypto.randomUUID()}`,
  verifier_id: `ver-${world.platformId}`,
  model: "kyb",
  issued_at: new Date(world.now() - HOUR_MS).toISOString(),
  expires_at: new Date(world.now() + HOUR_MS).toISOString(),
});
const record = (principalId: string, body: unknown) =>
  world.call("POST", `/v1/principals/${principalId}/attestations`, { body });
const takeBack = async ({ attestation_id, verifier_id }: Json) =>
  expectStatus(await revokeAs(world, attestation_id, operator(), { verifier_id }), 200);
const withAgent = () =>
  world.principal({ verification_attestation: anHour() }).then((principal_id) => world.consumer({ principal_id }));

/** How many agents have which suspension reason. */
async function reasons(): Promise<Json> {
  const own = await world.deps.db.select().from(agents).where(eq(agents.platformId, world.platformId));
  const by = Map.groupBy(own, ({ suspensionReason }) => String(suspensionReason));
  return Object.fromEntries([...by].map(([reason, all]) => [reason, all.length]));
}
const takers = async (did: string) =>
  (await world.deps.db.select().from(activityEntries).where(eq(activityEntries.subjectId, did)))
    .filter(({ action }) => action === "agent.suspended")
    .map(({ actorType }) => actorType);
/** Lets an attestation also back a copy of its principal. */
const backs = async ({ attestation_id }: Json, principalId: string) => {
  const { db } = world.deps;
  const [row] = await db.select().from(attestations).where(eq(attestations.attestationId, attestation_id));
  if (row) await db.insert(attestations).values({ ...row, principalId });
};
/** Ends the attestations of all principals of the world. */
async function endAll(): Promise<void> {
  await world.deps.db
    .update(principals)
    .set({ attestationExpiresAt: world.now() })
    .where(eq(principals.platformId, world.platformId));
}

describe("a revocation after an unfinished suspension", () => {
  it("leaves the agents to the suspension", async () => {
    const attestation = attestationBy(`ver-${world.platformId}`);
    const { first, dids } = await crowd(world, 2 * SLICE + SLICE / 2);
    const { principalId } = first;
    expectStatus(await record(principalId, attestation), 201);
    await world.run(finishRestatements);
    dieBefore(world, 3);
    expectStatus(await ofPrincipal(world, principalId, "suspend"), 200);
    expect(await reasons()).toMatchObject({ principal: SLICE });
    await takeBack(attestation);
    await world.run(finishCascades);
    expect(await reasons()).toEqual({ principal: dids.length });
    expect(await suspensions(world)).toEqual(each(dids));
    expectStatus(await ofPrincipal(world, principalId, "reactivate"), 200);
    expectStatus(await record(principalId, AND_BACK), 201);
    await world.run(finishRestatements);
    expect(await inStatus(world, "ACTIVE", "FUNDING")).toEqual(dids);
    expect(await returns(world)).toEqual(dids);
  });

  it("leaves them to it for each principal of a customer too", async () => {
    const { customerId, principalIds } = await grouped(world, FIRST_PRINCIPALS + 10, 1);
    const { verification_attestation } = await readPrincipal(world, principalIds[0] ?? "");
    const { held } = withQueue(world);
    expectStatus(await ofCustomer(held, customerId, "suspend"), 200);
    for (const principal_id of principalIds.slice(1)) await backs(verification_attestation, principal_id);
    await takeBack(verification_attestation);
    await world.run(finishCascades);
    expect(await reasons()).toEqual({ principal: FIRST_PRINCIPALS + 10 });
  });
});

describe("a suspension after an end that no job has recorded", () => {
  it.each(["with the job between them", "without"])("has the same effect %s", async (job) => {
    const { principalId, did } = await withAgent();
    world.advance(2 * HOUR_MS);
    if (job !== "without") await world.run(endAttestations);
    expectStatus(await ofPrincipal(world, principalId, "suspend"), 200);
    expect(await storedAgent(world, did)).toMatchObject({ suspensionReason: "attestation" });
    expect(await takers(did)).toEqual(["system"]);
    expectStatus(await ofPrincipal(world, principalId, "reactivate"), 200);
    expect(await historyOf(world, principalId)).toEqual([
      ENDED,
      SUSPENDED,
      "principal.reactivated: SUSPENDED → ATTESTATION_EXPIRED",
    ]);
    expect(await statesTold(world, principalId)).toEqual(["ATTESTATION_EXPIRED", "SUSPENDED", "ATTESTATION_EXPIRED"]);
    expectStatus(await record(principalId, AND_BACK), 201);
    expect((await storedAgent(world, did))?.status).toBe("ACTIVE");
  });

  it.each(["with the job between them", "without"])("logs the end before a closing %s", async (job) => {
    const { principalId } = await withAgent();
    world.advance(2 * HOUR_MS);
    if (job !== "without") await world.run(endAttestations);
    expectStatus(await ofPrincipal(world, principalId, "close"), 200);
    expect(await historyOf(world, principalId)).toEqual([ENDED, "principal.closed: ATTESTATION_EXPIRED → CLOSED"]);
  });

  it("leaves the agents of an unfinished end to that end", async () => {
    const { first, dids } = await crowd(world, 2 * SLICE + SLICE / 2);
    expectStatus(await record(first.principalId, anHour()), 201);
    await world.run(finishRestatements);
    world.advance(2 * HOUR_MS);
    const { held } = withQueue(world);
    await held.run(endAttestations, held.deps);
    expect(await reasons()).toMatchObject({ attestation: SLICE });
    expectStatus(await ofPrincipal(held, first.principalId, "suspend"), 200);
    await world.run(finishCascades);
    expect(await reasons()).toEqual({ attestation: dids.length });
    expect(await suspensions(world)).toEqual(each(dids));
  });

  it.each(["with the job between them", "without"])(
    "has the same effect for each principal of a customer, %s",
    async (job) => {
      const { customerId, principalIds } = await grouped(world, FIRST_PRINCIPALS + 10, 1);
      await endAll();
      // Two attestations have not ended: the batch of the suspension reports one of the principals, and its cascade the other.
      const standing = [...principalIds.slice(0, 1), ...principalIds.slice(-1)];
      for (const id of standing) {
        const later = { attestationExpiresAt: world.now() + 24 * HOUR_MS };
        await world.deps.db.update(principals).set(later).where(eq(principals.principalId, id));
      }
      if (job !== "without") await world.run(endAttestations);
      await world.run(finishCascades);
      expectStatus(await ofCustomer(world, customerId, "suspend"), 200);
      await world.run(finishCascades);
      expect(await reasons()).toEqual({ attestation: FIRST_PRINCIPALS + 8, principal: 2 });
      expect((await stored(world)).principals).toEqual({ SUSPENDED: FIRST_PRINCIPALS + 10 });
      for (const id of principalIds) {
        const stands = standing.includes(id);
        expect(await historyOf(world, id)).toEqual(
          stands ? ["principal.suspended: ACTIVE → SUSPENDED"] : [ENDED, SUSPENDED],
        );
        expect(await statesTold(world, id)).toEqual(stands ? ["SUSPENDED"] : ["ATTESTATION_EXPIRED", "SUSPENDED"]);
      }
      expectStatus(await ofCustomer(world, customerId, "reactivate"), 200);
      await world.run(finishCascades);
      expect((await stored(world)).principals).toEqual({ ACTIVE: 2, ATTESTATION_EXPIRED: FIRST_PRINCIPALS + 8 });
    },
  );
});

describe("an attestation that ends while its principal is stopped for another reason", () => {
  it("is recorded and reported once, when the other stop ends", async () => {
    const { customerId, principalIds } = await grouped(world, 2, 0);
    const [returned = "", left = ""] = principalIds;
    const own = await world.principal();
    expectStatus(await ofPrincipal(world, own, "suspend"), 200);
    expectStatus(await ofCustomer(world, customerId, "suspend"), 200);
    await endAll();
    await world.run(endAttestations);
    expect(expectStatus(await regroup(world, left, null), 200).status).toBe("ATTESTATION_EXPIRED");
    expectStatus(await ofCustomer(world, customerId, "reactivate"), 200);
    expect(expectStatus(await ofPrincipal(world, own, "reactivate"), 200).status).toBe("ATTESTATION_EXPIRED");
    // The job has nothing left to record.
    expect(await world.run(endAttestations)).toBe(0);
    const now = (id: string) => historyOf(world, id).then((entries) => entries.at(-1));
    expect([await now(own), await now(returned), await now(left)]).toEqual([
      "principal.reactivated: SUSPENDED → ATTESTATION_EXPIRED",
      "principal.reactivated: SUSPENDED → ATTESTATION_EXPIRED",
      "principal.updated: SUSPENDED → ATTESTATION_EXPIRED",
    ]);
    for (const id of [own, returned, left]) {
      expect(await readPrincipal(world, id)).toMatchObject({ status_reason: "attestation_expired" });
      expect(await statesTold(world, id)).toEqual(["SUSPENDED", "ATTESTATION_EXPIRED"]);
    }
  });
});

describe("an attestation that ends or is revoked while the account is suspended", () => {
  it("is reported as such, and the account's reinstatement reports nothing", async () => {
    const [taken, over] = [attestationBy(`ver-${world.platformId}`), anHour()];
    const revoked = await world.principal({ verification_attestation: taken });
    const ended = await world.principal({ verification_attestation: over });
    expectStatus(await suspend(world), 200);
    await takeBack(taken);
    world.advance(2 * HOUR_MS);
    await world.run(endAttestations);
    expectStatus(await reinstate(world), 200);
    for (const id of [revoked, ended]) {
      expect(await statesTold(world, id)).toEqual([(await readPrincipal(world, id)).status]);
      expect(await statesTold(world, id)).toEqual(["ATTESTATION_EXPIRED"]);
    }
  });
});

describe("a renewal of a principal with many agents, on a clock that was moved", () => {
  it("succeeds as soon as they are suspended", async () => {
    const { first } = await crowd(world, SLICE + SLICE / 2);
    expectStatus(await record(first.principalId, anHour()), 201);
    await world.run(finishRestatements);
    const moved = { clockOffsetMs: 2 * HOUR_MS };
    await world.deps.db.update(platforms).set(moved).where(eq(platforms.platformId, world.platformId));
    const { status, body } = await record(first.principalId, AND_BACK);
    expect([status, body.code]).toEqual([409, "invalid_status"]);
    await world.run(finishCascades);
    expectStatus(await record(first.principalId, AND_BACK), 201);
  });
});
