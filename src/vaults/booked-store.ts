// Store of the blocks up to which a provider's vaults are booked.
import { and, eq } from "drizzle-orm";
import type { Environment } from "../core/vocabulary.ts";
import { type Database, type Read, read } from "../db/batch.ts";
import { followers } from "../db/tables/chain.ts";
import { escrows } from "../db/tables/money.ts";

/** The last booked block of each network on which the provider has an escrow, by the network's name. */
export const findBookedBlocks = (
  db: Database,
  did: string,
  environment: Environment,
): Read<ReadonlyMap<string, number>> =>
  read(
    db
      .select({ network: followers.network, block: followers.bookedBlock })
      .from(escrows)
      .innerJoin(followers, eq(followers.network, escrows.network))
      .where(and(eq(escrows.did, did), eq(escrows.environment, environment))),
    (rows) => new Map(rows.map(({ network, block }) => [network, block])),
  );
