// Store of wallets that providers named on-chain (FAC-17). Also finds payments by a provider's own wallets, which settle no intent (FAC-22).
import { and, eq, sql } from "drizzle-orm";
import { type Hash, hashDid, shortenHash } from "../chain/hashes.ts";
import { WALLETS_KEPT } from "../core/limits.ts";
import { type Database, type Read, read, type Statement } from "../db/batch.ts";
import { eachOf, selectFields } from "../db/lists.ts";
import { agents } from "../db/tables/agents.ts";
import { type NamedWallet, namedWallets } from "../db/tables/money.ts";

export const nameWallets = (db: Database, wallets: readonly NamedWallet[]): Statement[] => {
  const named = wallets.map(({ did, network, wallet, since }) => [did, network, wallet, since]);
  const rows = sql`select ${selectFields(4)} from ${eachOf(named)} where true`;
  return wallets.length === 0 ? [] : [db.insert(namedWallets).select(rows).onConflictDoNothing()];
};

export const findIsWalletNamed = (db: Database, { did, network, wallet }: Omit<NamedWallet, "since">): Read<boolean> =>
  read(
    db
      .select({ wallet: namedWallets.wallet })
      .from(namedWallets)
      .where(and(eq(namedWallets.did, did), eq(namedWallets.network, network), eq(namedWallets.wallet, wallet))),
    (rows) => rows.length > 0,
  );

type PaidBy = { readonly providerDidHash: Hash; readonly payer: string; readonly minedAt: number };

export const findOwnPayments = <P extends PaidBy>(
  db: Database,
  network: string,
  payments: readonly P[],
): Read<ReadonlySet<P>> => {
  const wanted = payments.map(({ providerDidHash, payer, minedAt }) => [shortenHash(providerDidHash), payer, minedAt]);
  const own = sql`select 1 from ${eachOf(agents.wallets)} w where w.value ->> 0 = k.value ->> 1 and w.value ->> 1 < k.value ->> 2`;
  // The agent's row has all of its wallets unless it is full.
  const named = sql`json_array_length(${agents.wallets}) >= ${WALLETS_KEPT} and exists (select 1 from named_wallets n
    where n.did = ${agents.did} and n.network = ${network} and n.wallet = k.value ->> 1 and n.since < k.value ->> 2)`;
  return read(
    db
      .select({ at: sql<number>`k.key`.as("at"), did: agents.did })
      .from(sql`${eachOf(wanted)} k`)
      .crossJoin(agents)
      // Literal text, so that SQLite uses the partial index.
      .where(sql`did_hash <> '' and ${agents.didHash} = k.value ->> 0 and (exists (${own}) or ${named})`),
    (rows) =>
      new Set(
        rows.flatMap(({ at, did }) => {
          const payment = payments[at];
          return payment && hashDid(did) === payment.providerDidHash ? [payment] : [];
        }),
      ),
  );
};
