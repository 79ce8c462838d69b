// Store of the intents and tasks that an agent has open at an instant, on either side (AGT-34, AGT-35).
import { type SQL, sql } from "drizzle-orm";
import type { Environment } from "../core/vocabulary.ts";
import { SIDE_COLUMNS } from "../db/account-ranges.ts";
import { type Database, type Read, read } from "../db/batch.ts";
import { countOpenIntents, hasOpenIntent, type OpenAt } from "../intents/list-store.ts";
import { selectRulingNow } from "./clock-store.ts";

type Party = { readonly did: string; readonly environment: Environment };

/** Counts each up to `most`. */
export const findOpen = (db: Database, of: Party, at: OpenAt, most: number): Read<{ intents: number; tasks: number }> =>
  read(
    db
      .select({
        intents: countOpenIntents(of, at, most).as("intents"),
        tasks: countOpenTasks(of, at, most).as("tasks"),
      })
      .from(sql`(select 1)`),
    ([row]) => row ?? { intents: 0, tasks: 0 },
  );

/** A condition: the agent has no open intent and no open task. */
export const hasNothingOpen = (of: Party, at: OpenAt): SQL =>
  sql`not ${hasOpenIntent(of, at)} and ${countOpenTasks(of, at, 1)} = 0`;

const countOpenTasks = ({ did, environment }: Party, { now, real = now }: OpenAt, most: number): SQL<number> => {
  const open = (
    side: SQL,
    from: number,
  ) => sql`select 1 from tasks where ${side} = ${did} and environment = ${environment}
      and answer is null and confirm_by > ${from} and status = 'open'`;
  const each = [
    open(SIDE_COLUMNS.consumer, now),
    sql`${open(SIDE_COLUMNS.provider, real)} and confirm_by > ${selectRulingNow({ own: now, real })}`,
  ];
  return sql<number>`(select count(*) from (${sql.join(each, sql` union all `)} limit ${most}))`;
};
