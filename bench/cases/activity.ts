// Hashes the activity log before a case that would otherwise hash the entries of the cases before it.
import { manage, must } from "../play.ts";
import type { Stage } from "../stage.ts";

/** Repeats, because one read hashes only a part of the log. */
export async function hashLog(stage: Stage): Promise<void> {
  do await must(stage, manage(stage, "GET", "/v1/platform/activity/verify"), 200);
  while ((await countUnhashed(stage)) > 0);
}

export const countUnhashed = async ({ sql, platform }: Stage): Promise<number> => {
  const [rows = []] = await sql([
    {
      sql: `select (select max(seq) from activity_entries where platform_id = ?1)
        - (select seq from activity_chains where platform_id = ?1) as unhashed`,
      params: [platform.platformId],
    },
  ]);
  return Number(rows[0]?.["unhashed"]);
};
