// Waits for the queue, which hashes new entries of the activity log after each commit: a case that hashes or not would cost now this, now that.
import { setTimeout as sleep } from "node:timers/promises";
import type { Stage } from "../stage.ts";

const WAIT_MS = 20_000;

/** Returns when every entry of the platform has its hash. */
export async function hashed(stage: Stage): Promise<void> {
  const text = `select (select max(seq) from activity_entries where platform_id = c.platform_id) - c.seq as waiting
    from activity_chains c where c.platform_id = ?`;
  for (const until = Date.now() + WAIT_MS; ; ) {
    const [rows = []] = await stage.sql([{ sql: text, params: [stage.platform.platformId] }]);
    if (rows[0]?.["waiting"] === 0) return;
    if (Date.now() > until) throw new Error("the queue does not hash the activity log");
    await sleep(50);
  }
}
