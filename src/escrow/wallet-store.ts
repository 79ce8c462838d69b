// Store of whose wallets paid: what any wallet of a provider pays settles no intent (FAC-22). Present, scheduled and former wallets count, on every
// network and in both environments.
import { type SQL, sql } from "drizzle-orm";
import { didHash, type Hash, shortHash } from "../chain/hashes.ts";
import { type Database, type Read, read } from "../db/batch.ts";
import { agents } from "../db/tables/agents.ts";

type PaidBy = { readonly providerDidHash: Hash; readonly payer: string };

/** Those of the payments whose payer is a wallet of the provider that is paid. */
export const findOwnPayments = <P extends PaidBy>(db: Database, payments: readonly P[]): Read<ReadonlySet<P>> => {
  const wanted = JSON.stringify(payments.map(({ providerDidHash, payer }) => [shortHash(providerDidHash), payer]));
  const payer = sql`k.value ->> 1`;
  const escrow = sql`select 1 from escrows e where e.did = ${agents.did}
    and (lower(e.operational_wallet) = ${payer} or instr(lower(e.former_wallets), ${payer}) > 0)`;
  const market = sql`select 1 from agent_markets m where m.did = ${agents.did}
    and (lower(m.operational_wallet) = ${payer} or lower(m.pending_wallet) = ${payer})`;
  return read(
    db
      .select({ at: sql<number>`k.key`.as("at"), did: agents.did })
      .from(sql`json_each(${wanted}) k`)
      .crossJoin(agents)
      // Literal text, so that SQLite uses the partial index.
      .where(sql`did_hash <> '' and ${agents.didHash} = k.value ->> 0 and (exists (${escrow}) or exists (${market}))`),
    (rows) =>
      new Set(
        rows.flatMap(({ at, did }) => {
          const payment = payments[at];
          return payment && didHash(did) === payment.providerDidHash ? [payment] : [];
        }),
      ),
  );
};

/** All wallets of a provider, in lower case. */
export const findWalletsOf = (db: Database, did: string | SQL<string>): Read<ReadonlySet<string>> =>
  read(
    db.select({ wallet: sql<string>`w.wallet`.as("wallet") }).from(
      sql`(select lower(operational_wallet) as wallet from escrows where did = ${did}
        union all select lower(f.value ->> 'wallet') from escrows e cross join json_each(e.former_wallets) f where e.did = ${did}
        union all select lower(operational_wallet) from agent_markets where did = ${did}
        union all select lower(pending_wallet) from agent_markets where did = ${did} and pending_wallet is not null) w`,
    ),
    (rows: { wallet: string }[]) => new Set(rows.map(({ wallet }) => wallet)),
  );
