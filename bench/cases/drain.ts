// Records or removes everything that the cases before have left due, before a job's own case.
import { setTimeout as sleep } from "node:timers/promises";
import type { Play } from "../play.ts";
import type { Stage } from "../stage.ts";
import { type Ask, send } from "../wire.ts";

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const SETTLED_WITHIN_MS = 3 * MINUTE_MS;
const RESTED_WITHIN_MS = 20 * SECOND_MS;

export const runOf = (job: string, done: number): Ask => ({
  method: "POST",
  path: `/__bench/job?name=${job}&done=${done}`,
});

export const change = ({ sql }: Stage, text: string, ...params: unknown[]) => sql([{ sql: text, params }]);

/** Waits until the queue has ended the cascades that the cases before have begun, because their rows do not belong to this case. */
export async function settleCascades({ stage }: Play): Promise<void> {
  const open = `select (select count(*) from walks where kind = 'cascade')
    + (select coalesce(max(pending), 0) from jobs where name = 'finish_cascades') as open`;
  for (const until = Date.now() + SETTLED_WITHIN_MS; ; await sleep(100)) {
    const [[row] = []] = await stage.sql([{ sql: open }]);
    if (row?.["open"] === 0) return;
    if (Date.now() > until) throw new Error("cascades of the cases before do not end");
    await send(stage.origin, runOf("finish_cascades", 0));
  }
}

/** Records rows that fell due while the bench ran. */
export async function drain(play: Play, job: string): Promise<void> {
  const { stage } = play;
  await settleCascades(play);
  await change(stage, "update chain_operations set next_check_at = null where status = 'done' or kind = 'release'");
  // Escrows that the cases before have left are no longer due.
  await change(stage, "update escrows set base_threshold = 0 where did not in (select did from agent_markets)");
  // Intents of ended agents would wait until the chain was read half a minute further.
  const ended =
    "update payment_intents set status = 'ABANDONED', abandon_rated = 1 where status = 'OPEN' and expires_at <= ?";
  await change(stage, ended, Date.now());
  await change(stage, "update escrows set chain_threshold = threshold where chain_threshold <> threshold");
  for (const mark of ["all", "listed", "webhooks"])
    await change(stage, "insert or replace into outbox (name, seq) select ?, max(seq) from events", mark);
  // Announcements of the cases before have many accounts to reach.
  await change(stage, "delete from walks where kind = 'announcement'");
  await change(stage, "delete from notices where due_at <= ?", Date.now());
  // Rows that the queue finishes stay due until it has; while the network rests it finishes nothing.
  for (const until = Date.now() + RESTED_WITHIN_MS; ; await sleep(500)) {
    const { status } = await send(stage.origin, runOf(job, 0));
    if (status === 200 || Date.now() > until) return;
  }
}
