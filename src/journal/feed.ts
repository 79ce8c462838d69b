// Specification 2.10: the directory's change feed. `seq` is drawn inside the batch: D1 runs one batch at a time, so its order is
// the order of commits.
import { sql } from "drizzle-orm";
import type { Environment } from "../core/vocabulary.ts";
import type { Database, Statement } from "../db/batch.ts";
import { directoryChanges } from "../db/tables/journal.ts";
import { inParts } from "./parts.ts";

export type ChangeType = "registered" | "updated" | "status_changed" | "revoked";

export const recordDirectoryChange = (
  db: Database,
  environment: Environment,
  did: string,
  changeType: ChangeType,
  now: number,
): Statement =>
  db.insert(directoryChanges).values({
    environment,
    seq: sql`(select coalesce(max(seq), 0) + 1 from directory_changes where environment = ${environment})`,
    did,
    changeType,
    occurredAt: now,
  });

/** One record of each, in one order, as `recordDirectoryChange`. */
export const recordDirectoryChanges = (
  db: Database,
  changeType: ChangeType,
  now: number,
  each: readonly { environment: Environment; did: string }[],
): Statement[] =>
  inParts(each.map(({ environment, did }) => [environment, did])).map((part) =>
    db.insert(directoryChanges).select(
      sql`select value ->> 0, row_number() over (partition by value ->> 0 order by key)
          + (select coalesce(max(d.seq), 0) from directory_changes d where d.environment = value ->> 0),
          value ->> 1, ${changeType}, ${now} from json_each(${part})`,
    ),
  );
