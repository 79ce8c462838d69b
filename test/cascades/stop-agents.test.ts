// All agents of a principal stop at once, whatever changes the principal. Any later run continues what a crash leaves, and each agent is reported
// once (PRN-16, PRN-17).

import { and, eq } from "drizzle-orm";
import { beforeEach, describe, expect, it } from "vitest";
import { finishCascades, stopAgents } from "../../src/cascades/cascades.ts";
import { endAttestations } from "../../src/cascades/expire.ts";
import type { Cause } from "../../src/cascades/slice.ts";
import { findAgentsToStop } from "../../src/cascades/subjects.ts";
import { commitAll } from "../../src/commit.ts";
import { move } from "../../src/core/machine.ts";
import type { ChangeType, PrincipalStatus } from "../../src/core/vocabulary.ts";
import { commit, readBatch } from "../../src/db/batch.ts";
import { agents, certificates } from "../../src/db/tables/agents.ts";
import { directoryChanges } from "../../src/db/tables/directory.ts";
import { activityEntries, events } from "../../src/db/tables/journal.ts";
import { principals } from "../../src/db/tables/principals.ts";
import { walks } from "../../src/db/tables/walks.ts";
import { principalMachine } from "../../src/principals/states.ts";
import { changePrincipal, findPrincipalById } from "../../src/principals/store.ts";
import { CERTIFICATE_STATUS } from "../../src/protocol/status-list.ts";
import { copyDid } from "../support/copies.ts";
import type { World } from "../support/world.ts";
import { withQueue } from "./customer-support.ts";
import { createSlicedWorld, SLICE, workCascades } from "./slices.ts";

const HOUR_MS = 3_600_000;

let world: World;
let principalId: string;
beforeEach(async () => {
  world = await createSlicedWorld();
  const now = world.now();
  const verification_attestation = {
    attestation_id: "att_short",
    verifier_id: "ver_1",
    model: "kyb",
    issued_at: new Date(now - HOUR_MS).toISOString(),
    expires_at: new Date(now + HOUR_MS).toISOString(),
  };
  principalId = await world.principal({ verification_attestation });
});

const stored = (did: string) => world.deps.db.select().from(agents).where(eq(agents.did, did));
const cascadesLeft = () => world.deps.db.select().from(walks).where(eq(walks.subject, principalId));

/** Makes `count` active agents: one that was activated, and copies of its row. */
async function run(count: number): Promise<string[]> {
  const { did } = await world.consumer({ principal_id: principalId });
  const [row] = await stored(did);
  if (!row) throw new Error("no agent");
  const copies = Array.from({ length: count - 1 }, (_, i) => ({
    ...row,
    did: copyDid(did, i),
    status: i % 5 === 0 ? ("FUNDING" as const) : ("ACTIVE" as const),
  }));
  await commit(
    world.deps.db,
    copies.map((copy) => world.deps.db.insert(agents).values(copy)),
  );
  return [did, ...copies.map((copy) => copy.did)].sort();
}

const inStatus = async (status: "SUSPENDED" | "REVOKED"): Promise<string[]> => {
  const ofPrincipal = and(eq(agents.principalId, principalId), eq(agents.status, status));
  const found = await world.deps.db.select({ did: agents.did }).from(agents).where(ofPrincipal);
  return found.map(({ did }) => did).sort();
};

/** The agents that the log, the outbox and the feed report, once for each report. */
async function reported(action: string, change: ChangeType, status: string): Promise<Record<string, string[]>> {
  const { db } = world.deps;
  const entries = await db
    .select({ did: activityEntries.subjectId })
    .from(activityEntries)
    .where(and(eq(activityEntries.platformId, world.platformId), eq(activityEntries.action, action)));
  const sent = await db.select({ object: events.object }).from(events).where(eq(events.platformId, world.platformId));
  const listed = await db
    .select({ did: directoryChanges.did })
    .from(directoryChanges)
    .where(eq(directoryChanges.changeType, change));
  const own = new Set(
    (await db.select().from(agents).where(eq(agents.principalId, principalId))).map(({ did }) => did),
  );
  return {
    log: entries.map(({ did }) => did).sort(),
    outbox: sent
      .flatMap(({ object }) => (object["status"] === status && object["did"] ? String(object["did"]) : []))
      .sort(),
    feed: listed.flatMap(({ did }) => (own.has(did) ? did : [])).sort(),
  };
}

const suspensions = () => reported("agent.suspended", "status_changed", "SUSPENDED");
const each = (dids: readonly string[]) => ({ log: dids, outbox: dids, feed: dids });

/** Moves the principal and stops its agents, like an operation on the principal. `dies`: before the slices after the first. */
async function stop(trigger: "suspend" | "close", how: Cause, dies = false): Promise<void> {
  const { deps } = world;
  const { db } = deps;
  const { principal: before, ...found } = await readBatch(db, {
    principal: findPrincipalById(db, principalId),
    ...findAgentsToStop(deps, principalId, how.trigger),
  });
  if (!before) throw new Error("no principal");
  const moved = move(principalMachine, before.status, trigger);
  const principal = { ...before, status: moved.to, updatedAt: Math.max(world.now(), before.updatedAt + 1) };
  const above = { principals: [principal], statements: changePrincipal(db, before, principal) };
  const stopping = stopAgents(deps, above, how, found, world.now());
  await commitAll(deps, stopping.statements);
  if (!dies) await stopping.rest();
}

const principalStatus = async (): Promise<PrincipalStatus | undefined> =>
  (await world.deps.db.select().from(principals).where(eq(principals.principalId, principalId)))[0]?.status;

const ACTOR = { type: "operator", id: "op_1" } as const;
const SUSPENDS: Cause = { trigger: "principal_stops", reason: "principal", actor: ACTOR };
const CLOSES: Cause = { trigger: "principal_closes", reason: "principal", actor: ACTOR };

describe("a stop that crashes", () => {
  const count = 2 * SLICE + SLICE / 2;
  const died = () => Promise.reject(new Error("the isolate died"));

  /** Ends the attestation: the job takes the first slice, and queues the others in messages that are lost. */
  async function end(): Promise<unknown[]> {
    world.advance(HOUR_MS);
    const { held, sent } = withQueue(world);
    expect(await held.run(endAttestations, held.deps)).toBe(1);
    return sent;
  }

  // The job's trips: one finds cascades, and each slice takes two.
  it.each([
    ["before the second slice is read", 2, SLICE],
    ["before the second slice is written", 3, SLICE],
    ["before the third slice is written", 5, 2 * SLICE],
  ])("%s is continued by the job, and reports each agent once", async (_when, trip, before) => {
    const dids = await run(count);
    const rest = { kind: "record", job: finishCascades.name, ids: [principalId], apart: true };
    expect(await end()).toEqual([rest]);
    world.meter.beforeBatch(trip, died);
    expect(await world.run(finishCascades)).toBe(0);
    expect(await principalStatus()).toBe("ATTESTATION_EXPIRED");
    expect((await inStatus("SUSPENDED")).length).toBe(before);
    expect((await suspensions())["log"]).toEqual(await inStatus("SUSPENDED"));
    expect(await cascadesLeft()).toMatchObject([{ trigger: "principal_stops", payload: { reason: "attestation" } }]);

    expect(await world.run(finishCascades)).toBe(1);
    expect(await inStatus("SUSPENDED")).toEqual(dids);
    expect(await suspensions()).toEqual(each(dids));
    expect(await cascadesLeft()).toEqual([]);
    expect(await world.run(finishCascades)).toBe(0);
    expect(await suspensions()).toEqual(each(dids));
  });

  it("in the third of ten slices is continued by the job, and reports each agent once", async () => {
    const dids = await run(10 * SLICE);
    await end();
    world.meter.beforeBatch(4, died);
    expect(await world.run(finishCascades)).toBe(0);
    const done = await inStatus("SUSPENDED");
    expect(done).toHaveLength(2 * SLICE);
    expect(await suspensions()).toEqual(each(done));
    await world.run(finishCascades);
    expect(await inStatus("SUSPENDED")).toEqual(dids);
    expect(await suspensions()).toEqual(each(dids));
    expect(await cascadesLeft()).toEqual([]);
    expect(await world.run(finishCascades)).toBe(0);
    expect(await suspensions()).toEqual(each(dids));
  });

  it("is continued by messages of the queue, even if several run at once, and reports each agent once", async () => {
    const dids = await run(count);
    await stop("suspend", SUSPENDS, true);
    expect((await inStatus("SUSPENDED")).length).toBe(SLICE);
    const message = { kind: "record", job: finishCascades.name, ids: [principalId] } as const;
    await Promise.all([1, 2, 3].map(() => workCascades(world, [message, message])));
    expect(await inStatus("SUSPENDED")).toEqual(dids);
    expect(await suspensions()).toEqual(each(dids));
    expect(await cascadesLeft()).toEqual([]);
  });

  it("queues the slices that one invocation has no room for, and the queue finishes them", async () => {
    const dids = await run(5 * SLICE);
    const { held, sent, drain } = withQueue(world);
    world = held;
    await stop("suspend", SUSPENDS);
    expect((await inStatus("SUSPENDED")).length).toBe(3 * SLICE);
    expect(sent).toEqual([{ kind: "record", job: finishCascades.name, ids: [principalId], apart: true }]);
    await drain();
    expect(await inStatus("SUSPENDED")).toEqual(dids);
    expect(await suspensions()).toEqual(each(dids));
    expect(await cascadesLeft()).toEqual([]);
  });

  it("is continued with the reason and the actor that it began with", async () => {
    await run(SLICE + 1);
    await stop("suspend", SUSPENDS, true);
    const { db } = world.deps;
    const running = await db.select().from(agents).where(eq(agents.principalId, principalId));
    const [last] = running.filter(({ status }) => status !== "SUSPENDED");
    if (!last) throw new Error("no agent is left");
    await world.run(finishCascades);
    const { did, status: from } = last;
    expect((await stored(did))[0]).toMatchObject({
      status: "SUSPENDED",
      suspensionReason: "principal",
      suspendedFrom: from,
    });
    const [entry] = await db
      .select()
      .from(activityEntries)
      .where(and(eq(activityEntries.subjectId, did), eq(activityEntries.action, "agent.suspended")));
    expect(entry).toMatchObject({
      actorType: "operator",
      actorId: "op_1",
      changes: { status: { from, to: "SUSPENDED" } },
    });
  });

  it("leaves the work to another run that commits between its reading and its commit", async () => {
    const dids = await run(count);
    await stop("suspend", SUSPENDS, true);
    // The job's trips: it finds cascades, reads a slice, and writes a slice.
    world.meter.beforeBatch(3, () => world.run(finishCascades));
    expect(await world.run(finishCascades)).toBe(0);
    expect(await suspensions()).toEqual(each(dids));
  });
});

describe("the closing of a principal", () => {
  it("revokes its agents in every status that is not final", async () => {
    const running = await world.consumer({ principal_id: principalId });
    const paused = await world.consumer({ principal_id: principalId });
    const gone = await world.consumer({ principal_id: principalId });
    const draft = await world.draft("CONSUMER", { principal_id: principalId });
    for (const [{ did }, status] of [
      [paused, "SUSPENDED"],
      [gone, "TERMINATED"],
    ] as const) {
      await world.call("PATCH", `/v1/agents/${did}/status`, { body: { status } });
    }
    await stop("close", CLOSES);
    expect(await principalStatus()).toBe("CLOSED");
    const dids = [running.did, paused.did, draft.did].sort();
    expect(await inStatus("REVOKED")).toEqual(dids);
    for (const did of dids) {
      expect((await stored(did))[0]).toMatchObject({ suspensionReason: null, suspendedFrom: null });
    }
    // A DRAFT is not in the directory.
    const certified = [running.did, paused.did].sort();
    const listed = [...certified, gone.did].sort();
    expect(await reported("agent.revoked", "revoked", "REVOKED")).toEqual({ log: dids, outbox: dids, feed: listed });
    const issued = await world.deps.db.select().from(certificates).where(eq(certificates.did, running.did));
    expect(issued.map(({ listedStatus }) => listedStatus)).toEqual([CERTIFICATE_STATUS.invalid]);
  });

  it("never sets an agent's last change back, even if a job writes the slice on the real clock", async () => {
    const ahead = world.now() + HOUR_MS;
    const dids = await run(SLICE + 1);
    await world.deps.db.update(agents).set({ updatedAt: ahead }).where(eq(agents.principalId, principalId));
    await stop("suspend", SUSPENDS, true);
    await world.run(finishCascades);
    expect(await inStatus("SUSPENDED")).toEqual(dids);
    const rows = await world.deps.db.select().from(agents).where(eq(agents.principalId, principalId));
    expect(new Set(rows.map(({ updatedAt }) => updatedAt))).toEqual(new Set([ahead]));
    const told = await world.deps.db.select().from(events).where(eq(events.type, "agent.status_changed"));
    const own = told.flatMap(({ object }) =>
      object["status"] === "SUSPENDED" && object["principal_id"] === principalId ? [object["updated_at"]] : [],
    );
    expect(new Set(own)).toEqual(new Set([new Date(ahead).toISOString()]));
  });

  it("takes over an unfinished suspension, and is continued after a crash", async () => {
    const dids = await run(2 * SLICE + 1);
    await stop("suspend", SUSPENDS, true);
    await stop("close", CLOSES, true);
    expect((await inStatus("REVOKED")).length).toBe(SLICE);
    expect(await world.run(finishCascades)).toBe(1);
    expect(await inStatus("REVOKED")).toEqual(dids);
    expect(await reported("agent.revoked", "revoked", "REVOKED")).toEqual(each(dids));
    expect(await cascadesLeft()).toEqual([]);
  });

  it("is not ended by the suspension that it replaced", async () => {
    const dids = await run(SLICE + 1);
    // The oldest agents, so that both stops take them first.
    for (const did of dids.slice(0, SLICE)) {
      await world.deps.db.update(agents).set({ createdAt: 1 }).where(eq(agents.did, did));
    }
    await stop("suspend", SUSPENDS, true);
    // The suspension's last slice is read, then the closing begins, then the slice is written.
    world.meter.beforeBatch(3, () => stop("close", CLOSES, true));
    await world.run(finishCascades);
    expect(await inStatus("REVOKED")).toEqual(dids);
    expect(await suspensions()).toEqual(each(dids.slice(0, SLICE)));
    expect(await cascadesLeft()).toEqual([]);
  });
});
