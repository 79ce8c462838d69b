// Store of when the first settlement that counts leaves a spending window, for the dry run (PAY-20).
import { sql } from "drizzle-orm";
import { DAY_MS } from "../core/limits.ts";
import { type Database, type Read, read } from "../db/batch.ts";
import { eachOf } from "../db/lists.ts";
import { matchesPurse } from "./spend-store.ts";

/** Finds the first settlement that counts in the window of the agent and of each of its delegators, by DID, for limits in one currency. */
export const findFirstSettlements = (
  db: Database,
  did: string,
  currency: string,
  now: number,
): Read<Record<string, number>> => {
  const purse = { did: sql`a.did`, environment: sql`a.environment`, currency: sql`${currency}` };
  const began = sql`${now} - ${DAY_MS} * json_extract(a.spending_limit, '$.window_days')`;
  const first = sql<
    number | null
  >`(select l.at from spend_ledger l where ${matchesPurse("l", purse)} and l.at > ${began} order by l.at limit 1)`;
  const spenders = sql`(select ${did} as did union all select value from ${eachOf(sql`(select delegators from agents where did = ${did})`)}) chain`;
  return read(
    db
      .select({ did: sql<string>`a.did`.as("did"), first: first.as("first") })
      .from(sql`${spenders} cross join agents a on a.did = chain.did
          and json_extract(a.spending_limit, '$.currency') = ${currency}`),
    (rows) => Object.fromEntries(rows.flatMap(({ did: of, first: at }) => (at === null ? [] : [[of, at]]))),
  );
};
