// The isolate dies at each step of a stop and of a reactivation of many agents (PRN-17, PRN-21): the jobs finish the work, and each agent has its
// entry, its event and its directory record once.
import { and, inArray, isNull } from "drizzle-orm";
import { beforeAll, expect, it } from "vitest";
import { finishCascades } from "../../src/cascades/cascades.ts";
import { finishRestatements } from "../../src/cascades/restate-agents.ts";
import { agents, certificates } from "../../src/db/tables/agents.ts";
import { walks } from "../../src/db/tables/walks.ts";
import { cutsLeaving, isBeside, killAtEveryStep, leftAt, momentsOfMany } from "../support/cuts.ts";
import { createWorld, env, expectStatus, type Json, type Reply, type World } from "../support/world.ts";
import { attestationBy } from "../verifiers/support.ts";
import { crowd, operator, publicly } from "./account-support.ts";
import { readPrincipal } from "./customer-support.ts";
import { revokeAs } from "./revocation-support.ts";

/** One call runs three slices of two, and leaves the last agent to the queue. */
const AGENTS = 7;
const VERIFIER = "acme-verification";

let world: World;
beforeAll(async () => {
  world = await createWorld();
  Object.assign(world.deps, { slices: { agents: 2 } });
});

type Stage = {
  readonly world: World;
  readonly principalId: string;
  readonly dids: readonly string[];
  readonly attestation: Json;
  /** Reports about the agents before the act. */
  readonly before: readonly Json[];
  /** The Idempotency-Key of the renewal, so that the caller can repeat it. */
  readonly key: string;
};

const record = (of: World, principalId: string, body: Json, headers: Record<string, string> = {}): Promise<Reply> =>
  of.call("POST", `/v1/principals/${principalId}/attestations`, { body, headers });
const stop = (of: World, { attestation }: Stage): Promise<Reply> =>
  revokeAs(of, attestation.attestation_id, operator(), { verifier_id: VERIFIER });
const renew = (of: World, { principalId, key }: Stage): Promise<Reply> =>
  record(of, principalId, { placeholder: true, reactivate_agents: true }, { "Idempotency-Key": key });

async function attested(): Promise<Stage> {
  const { first, dids } = await crowd(world, AGENTS);
  const attestation = attestationBy(VERIFIER);
  expectStatus(await record(world, first.principalId, attestation), 201);
  await world.run(finishRestatements);
  const before = await reportsOf(dids);
  return { world, principalId: first.principalId, dids, attestation, before, key: crypto.randomUUID() };
}
async function stopped(): Promise<Stage> {
  const stage = await attested();
  expectStatus(await stop(world, stage), 200);
  await world.run(finishCascades);
  return { ...stage, before: await reportsOf(stage.dids) };
}

/** Each agent is shown like its principal, even if its row follows later. */
async function expectShown({ principalId, dids }: Stage): Promise<void> {
  const { status } = await readPrincipal(world, principalId);
  for (const did of [dids[0], dids.at(-1)]) {
    const shown = await publicly(world, `/v1/agents/${did}/status`);
    expect(shown.principal_status).toBe(status);
    if (status !== "ACTIVE") expect(shown.status).toBe("SUSPENDED");
  }
}

/** How often the log, the outbox and the directory's feed report a change of each agent. */
async function reportsOf(dids: readonly string[]): Promise<Json[]> {
  const { results } = await env.DB.prepare(
    `select a.did,
      (select count(*) from activity_entries e where e.subject_id = a.did and e.action in ('agent.suspended', 'agent.reactivated')) as entries,
      (select count(*) from events e where e.agent_did = a.did and e.type = 'agent.status_changed') as events,
      (select count(*) from directory_changes c where c.did = a.did and c.change_type = 'status_changed') as records
     from agents a where a.did in (select value from json_each(?)) order by a.did`,
  )
    .bind(JSON.stringify(dids))
    .all<Json>();
  return results;
}
/** How many agents of a stage have one more report. */
const movedOf = async ({ dids, before }: Stage): Promise<number> =>
  (await reportsOf(dids)).filter(({ entries }, n) => entries > before[n].entries).length;
const onceMore = (before: readonly Json[]): Json[] =>
  before.map(({ did, entries, events, records }) => ({
    did,
    entries: entries + 1,
    events: events + 1,
    records: records + 1,
  }));

const statusesOf = async ({ dids }: Stage): Promise<string[]> => {
  const rows = await world.deps.db
    .select()
    .from(agents)
    .where(inArray(agents.did, [...dids]));
  return [...new Set(rows.map(({ status }) => status))].sort();
};
/** The agents of a stage, once for each certificate that counts. */
async function certified({ dids }: Stage): Promise<string[]> {
  const counts = and(inArray(certificates.did, [...dids]), isNull(certificates.replacedAt));
  const rows = await world.deps.db.select().from(certificates).where(counts);
  return rows.map(({ did }) => did).sort();
}

it("a stop that dies at any step stops each agent, and reports it once", async () => {
  const found: string[] = [];
  await killAtEveryStep(
    attested,
    stop,
    async (stage, cut) => {
      found.push(leftAt(cut, isBeside(cut) ? undefined : await movedOf(stage)));
      await expectShown(stage);
      // The caller got no answer, and repeats the call.
      expectStatus(await stop(world, stage), 200);
      await expectShown(stage);
      await world.run(finishCascades);
      expect(await statusesOf(stage)).toEqual(["SUSPENDED"]);
      expect(await reportsOf(stage.dids)).toEqual(onceMore(stage.before));
      expect(await world.deps.db.select().from(walks)).toEqual([]);
    },
    momentsOfMany(),
  );
  expect(found).toEqual(
    cutsLeaving(
      [
        ["DB.batch", 0],
        ["DB.batch", 0, 2],
        ["OUTBOX_QUEUE.send"],
        ["DB.batch", 2],
        ["DB.batch", 2, 4],
        ["OUTBOX_QUEUE.send"],
        ["DB.batch", 4],
        ["DB.batch", 4, 6],
        ["OUTBOX_QUEUE.send"],
        // For the last agent.
        ["JOB_QUEUE.send", 6],
      ],
      momentsOfMany(),
    ),
  );
});

it("a renewal that dies at any step reactivates each agent once, under one new certificate", async () => {
  const found: string[] = [];
  await killAtEveryStep(
    stopped,
    renew,
    async (stage, cut) => {
      found.push(leftAt(cut, isBeside(cut) ? undefined : await movedOf(stage)));
      await expectShown(stage);
      expectStatus(await renew(world, stage), 201);
      await world.run(finishRestatements);
      expect((await readPrincipal(world, stage.principalId)).status).toBe("ACTIVE");
      expect(await statusesOf(stage)).toEqual(["ACTIVE", "FUNDING"]);
      expect(await reportsOf(stage.dids)).toEqual(onceMore(stage.before));
      expect(await certified(stage)).toEqual(stage.dids);
      expect(await world.deps.db.select().from(walks)).toEqual([]);
    },
    momentsOfMany(),
  );
  expect(found).toEqual(
    cutsLeaving(
      [
        ["DB.batch", 0],
        ["IDEMPOTENCY.begin", 0],
        // The places of the slice's new certificates.
        ["DB.batch", 0],
        ["DB.batch", 0, 2],
        ["OUTBOX_QUEUE.send"],
        ["DB.batch", 2],
        // The caller gets its answer, and the slices continue.
        ["IDEMPOTENCY.end"],
        ["DB.batch", 2],
        ["DB.batch", 2, 4],
        ["OUTBOX_QUEUE.send"],
        ["DB.batch", 4],
        ["DB.batch", 4],
        ["DB.batch", 4, 6],
        ["OUTBOX_QUEUE.send"],
        ["DB.batch", 6],
        ["DB.batch", 6],
        ["DB.batch", 6, 7],
        ["OUTBOX_QUEUE.send"],
      ],
      momentsOfMany(),
    ),
  );
});
