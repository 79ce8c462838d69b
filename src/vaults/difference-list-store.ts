// Lists vaults that held less than their lines say, newest first. The follower writes these differences.
import { and, desc, eq, getTableColumns, sql } from "drizzle-orm";
import type { AskedRows } from "../core/page.ts";
import { type Database, type Read, readAll } from "../db/batch.ts";
import { type LedgerDifference, ledgerDifferences } from "../db/tables/chain.ts";
import { alerts } from "../db/tables/journal.ts";

/** `alertId`: the open alert about the vault. */
export type ListedDifference = LedgerDifference & { readonly alertId: string | null };

/** The place of a difference among those of its instant: the columns of its key, none of which contains a space. */
export const toDifferencePlace = ({ network, did, contract, held, expected }: LedgerDifference): string =>
  [network, did, contract, held, expected].join(" ");

export const listDifferences = (
  db: Database,
  filter: { readonly network: string | undefined; readonly did: string | undefined },
  { limit, after }: AskedRows,
): Read<ListedDifference[]> => {
  const { foundAt, network, did, contract, held, expected } = ledgerDifferences;
  const [afterNetwork = "", afterDid = "", afterContract = "", afterHeld = "", afterExpected = ""] =
    after?.id.split(" ") ?? [];
  return readAll(
    db
      .select({ ...getTableColumns(ledgerDifferences), alertId: alerts.alertId })
      .from(ledgerDifferences)
      .leftJoin(
        alerts,
        and(
          eq(alerts.kind, "reconciliation"),
          eq(alerts.subject, sql`${did} || ' on ' || ${network}`),
          // Literal text, so that SQLite uses the partial index.
          sql`acknowledged_at is null`,
        ),
      )
      .where(
        and(
          // The sign keeps SQLite from using the index of the key, which has another order.
          filter.network === undefined ? undefined : sql`+${network} = ${filter.network}`,
          filter.did === undefined ? undefined : eq(did, filter.did),
          after === null
            ? undefined
            : sql`(${foundAt}, ${network}, ${did}, ${contract}, ${held}, ${expected}) <
              (${after.at}, ${afterNetwork}, ${afterDid}, ${afterContract}, ${Number(afterHeld)}, ${Number(afterExpected)})`,
        ),
      )
      // A filter by provider leaves `did` out, because its index does not have the column between the others.
      .orderBy(
        ...[foundAt, network, ...(filter.did === undefined ? [did] : []), contract, held, expected].map((one) =>
          desc(one),
        ),
      )
      .limit(limit + 1),
  );
};
