// SQL expressions for the list of an agent's wallets (FAC-22).
import { type SQL, sql } from "drizzle-orm";
import { WALLETS_KEPT } from "../core/limits.ts";
import { eachOf } from "../db/lists.ts";
import { agents, type WalletSince } from "../db/tables/agents.ts";

/** `all`: the agent's list, followed by the new wallets (lower case). `isAny`: whether any wallet is new. */
export function addWallets(wallets: readonly WalletSince[]): { readonly all: SQL; readonly isAny: SQL } {
  const first = new Map(wallets.toReversed());
  const added = [...first].toReversed();
  const isNew = sql`not exists (select 1 from ${eachOf(agents.wallets)} k where k.value ->> 0 = n.value ->> 0)`;
  return {
    all: sql`(select json_group_array(json(value)) from (
      select value from ${eachOf(agents.wallets)} where key >= json_array_length(${agents.wallets}) - ${WALLETS_KEPT}
      union all select value from ${eachOf(added)} n where ${isNew}))`,
    isAny: sql`exists (select 1 from ${eachOf(added)} n where ${isNew})`,
  };
}
