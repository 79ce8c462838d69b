// An invocation may send the database 1,000 statements (JOB-12), so each job's messages are cut so that the longest fits.
import { eq, sql } from "drizzle-orm";
import { beforeAll, describe, expect, it } from "vitest";
import { finishCascades } from "../../src/cascades/cascades.ts";
import { endAttestations } from "../../src/cascades/expire.ts";
import type { JobMessage } from "../../src/context.ts";
import { agents } from "../../src/db/tables/agents.ts";
import { jobs } from "../../src/db/tables/journal.ts";
import { principals } from "../../src/db/tables/principals.ts";
import { walks } from "../../src/db/tables/walks.ts";
import { runMessage } from "../../src/jobs/run.ts";
import { startJobs } from "../../src/jobs/start.ts";
import { SLICE } from "../../src/jobs/walk.ts";
import { createWorld, type World } from "../support/world.ts";

const MOST = 1_000;
const PRINCIPALS = 20;
/** More agents than one invocation suspends for one principal. */
const AGENTS = 3 * SLICE + 50;

let world: World;
let sent: JobMessage[];
beforeAll(async () => {
  world = await createWorld();
  const { did } = await world.consumer();
  const { db } = world.deps;
  const [agent] = await db.select().from(agents).where(eq(agents.did, did));
  if (!agent) throw new Error("no agent");
  const [principal] = await db.select().from(principals).where(eq(principals.principalId, agent.principalId));
  if (!principal) throw new Error("no principal");
  const ids = Array.from({ length: PRINCIPALS }, (_, n) => `prn_busy${n}`);
  for (const principalId of ids)
    await db
      .insert(principals)
      .values({ ...principal, principalId, externalRef: principalId, nameFolded: principalId });
  const columns = (await db.all<{ name: string }>(sql`select name from pragma_table_info('agents')`)).map(
    ({ name }) => name,
  );
  const copied = columns.map((name) =>
    name === "did"
      ? "'did:aeap:' || printf('%08x-%04x', n.i, p.key) || substr(a.did, 23)"
      : name === "principal_id"
        ? "p.value"
        : `a.${name}`,
  );
  await db.run(
    sql.raw(`with recursive n(i) as (select 1 union all select i + 1 from n where i < ${AGENTS})
      insert into agents (${columns.join(", ")})
      select ${copied.join(", ")} from agents a, n, json_each('${JSON.stringify(ids)}') p where a.did = '${did}'`),
  );
});

async function start(job: typeof endAttestations): Promise<JobMessage[]> {
  sent = [];
  await world.deps.db.delete(jobs);
  await startJobs(metered(), [job]);
  return sent.splice(0);
}
function metered() {
  const JOB_QUEUE = {
    send: async (body: JobMessage) => void sent.push(body),
    sendBatch: async (batch: { body: JobMessage }[]) => void sent.push(...batch.map(({ body }) => body)),
  };
  return { ...world.deps, env: { ...world.deps.env, JOB_QUEUE: JOB_QUEUE as never } };
}

describe(`${PRINCIPALS} principals, each with more agents than one invocation suspends`, () => {
  it.each([
    ["whose attestations end", endAttestations],
    ["whose suspensions were interrupted", finishCascades],
  ] as const)(
    "%s, send fewer statements than an invocation may",
    async (_what, job) => {
      const { db } = world.deps;
      const now = world.now();
      if (job === endAttestations) {
        await db
          .update(principals)
          .set({ attestationExpiresAt: now - 1 })
          .where(sql`principal_id like 'prn_busy%'`);
      } else {
        await db.delete(walks);
        await db.run(sql`insert into walks (kind, subject, started_at, after_at, after_id, "trigger", payload)
        select 'cascade', principal_id, ${now}, 0, '', 'principal_closes',
          '{"reason":"principal","actor":{"type":"system","id":"test"}}' from principals
        where principal_id like 'prn_busy%'`);
      }
      const messages = await start(job);
      expect(messages.flatMap((message) => ("ids" in message ? message.ids : []))).toHaveLength(PRINCIPALS);
      const [longest] = messages;
      if (!longest) throw new Error("nothing was due");
      world.meter.reset();
      await runMessage(metered(), [job], longest);
      const { statements } = world.meter.reading;
      expect(statements).toBeGreaterThan(100);
      // Leaves room to retry a slice that another writer refused.
      expect(statements).toBeLessThan(MOST - (SLICE + 25));
    },
    120_000,
  );
});
