// The last numbers of the activity log and of the directory's feeds, which a batch notes before it adds many rows (EVT-11). A statement that reads
// the table that it writes buffers its rows and reads each again; with the note it reads one row instead.
import { type SQL, sql } from "drizzle-orm";
import type { Environment } from "../core/vocabulary.ts";
import type { Database, Statement } from "../db/batch.ts";
import { lastNumbers } from "../db/tables/journal.ts";
import { selectLastEntry } from "./activity-store.ts";
import { selectLastChangeInstant, selectLastChangeNumber } from "./directory-store.ts";

const NAME = "noted";

/** Notes the last numbers. The next statement in the batch that adds an entry of the platform, or a change, must be the one that uses them. */
export const recordLastNumbers = (
  db: Database,
  platformId: string,
  environments: ReadonlySet<Environment>,
): Statement =>
  db
    .insert(lastNumbers)
    .values({
      name: NAME,
      activity: selectLastEntry(platformId),
      sandbox: environments.has("sandbox") ? selectLastChangeNumber("sandbox") : 0,
      production: environments.has("production") ? selectLastChangeNumber("production") : 0,
      sandboxAt: environments.has("sandbox") ? selectLastChangeInstant("sandbox") : 0,
      productionAt: environments.has("production") ? selectLastChangeInstant("production") : 0,
    })
    .onConflictDoUpdate({
      target: lastNumbers.name,
      set: {
        activity: sql`excluded.activity`,
        sandbox: sql`excluded.sandbox`,
        production: sql`excluded.production`,
        sandboxAt: sql`excluded.sandbox_at`,
        productionAt: sql`excluded.production_at`,
      },
    });

/** A noted last number, as an expression. */
export type LastNumber = SQL;

const selectNotedNumber = (
  column: "activity" | "sandbox" | "production" | "sandbox_at" | "production_at",
): LastNumber => sql`(select ${sql.raw(column)} from last_numbers where name = ${NAME})`;

export const LAST_NUMBERS = {
  activity: selectNotedNumber("activity"),
  directory: {
    sandbox: { seq: selectNotedNumber("sandbox"), at: selectNotedNumber("sandbox_at") },
    production: { seq: selectNotedNumber("production"), at: selectNotedNumber("production_at") },
  },
} as const;
