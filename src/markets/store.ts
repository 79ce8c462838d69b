// Store of markets, of the registrations that sandboxes make on mainnets (MKT-25), and of the contract's editions (MKT-22). identity/store.ts reads
// all markets of a provider for its document.
import { and, asc, eq, inArray, lt, lte, or, type SQL, sql } from "drizzle-orm";
import type { Due } from "../core/clock.ts";
import { DAY_MS } from "../core/limits.ts";
import type { Environment } from "../core/vocabulary.ts";
import {
  type Condition,
  type Database,
  guard,
  mustChange,
  type Read,
  readAll,
  readOne,
  type Statement,
} from "../db/batch.ts";
import { eachOf, isOneOf } from "../db/lists.ts";
import type { Tenant } from "../db/statement.ts";
import { type AgentRow, agentMarkets, type MainnetTrials, type MarketRow, mainnetTrials } from "../db/tables/agents.ts";
import { type EditionRow, registeredEditions } from "../db/tables/chain.ts";
import { selectAgentEnvironment } from "../identity/store.ts";
import { beginWalks } from "../jobs/walk-store.ts";
import { findAddressee, type NoticeAccount } from "../journal/alert-store.ts";
import { EVERYWHERE, formatMarketCode, REGIONS } from "./jurisdictions.ts";
import { OTHER_WALLET } from "./wallets.ts";

type MarketKey = Pick<MarketRow, "did" | "environment" | "market" | "network">;
const isMarket = ({ did, environment, market, network }: MarketKey) =>
  and(
    eq(agentMarkets.did, did),
    eq(agentMarkets.environment, environment),
    eq(agentMarkets.market, market),
    eq(agentMarkets.network, network),
  );

export const findOwner = (db: Database, did: string): Read<NoticeAccount | null> =>
  findAddressee(db, sql<string>`(select platform_id from agents where did = ${did})`);

export const listMarketRows = (
  db: Database,
  did: string,
  environment: Environment,
  page: { limit: number; after: readonly [market: string, network: string] },
): Read<MarketRow[]> =>
  readAll(
    db
      .select()
      .from(agentMarkets)
      .where(
        and(
          eq(agentMarkets.did, did),
          eq(agentMarkets.environment, environment),
          sql`(${agentMarkets.market}, ${agentMarkets.network}) > (${page.after[0]}, ${page.after[1]})`,
        ),
      )
      .orderBy(asc(agentMarkets.market), asc(agentMarkets.network))
      .limit(page.limit + 1),
  );

export type Offer = { market: string; network: string; operationalWallet: string };

/** The provider's ACTIVE markets that may cover the consumer (MKT-3). */
export const findOffers = (
  db: Database,
  providerDid: string,
  consumerDid: string,
  currencies: readonly string[],
): Read<Offer[]> => {
  const wide = [...Object.keys(REGIONS), EVERYWHERE];
  const codes = currencies.flatMap((currency) => wide.map((jurisdiction) => formatMarketCode(jurisdiction, currency)));
  const country = sql`(select p.country from agents b join principals p on p.principal_id = b.principal_id where b.did = ${consumerDid})`;
  return readAll(
    db
      .select({
        market: agentMarkets.market,
        network: agentMarkets.network,
        operationalWallet: agentMarkets.operationalWallet,
      })
      .from(agentMarkets)
      .where(
        and(
          eq(agentMarkets.did, providerDid),
          eq(agentMarkets.environment, selectAgentEnvironment(providerDid)),
          or(
            inArray(agentMarkets.market, codes),
            ...currencies.map((currency) => eq(agentMarkets.market, sql`${country} || ${`-${currency}`}`)),
          ),
          eq(agentMarkets.status, "ACTIVE"),
        ),
      ),
  );
};

/** Markets that have waited since before the instant, oldest first. */
export const findStalledMarkets = (db: Database, before: number, after: Due, limit: number): Read<Due[]> => {
  const id = sql<string>`did || ' ' || environment || ' ' || network`;
  return readAll(
    db
      .select({ at: agentMarkets.updatedAt, id: id.as("id") })
      .from(agentMarkets)
      .where(
        and(
          // Literal text, so that SQLite uses the partial index.
          sql`status = 'PROVISIONING'`,
          lt(agentMarkets.updatedAt, before),
          sql`(${agentMarkets.updatedAt}, ${id}) > (${after.at}, ${after.id})`,
        ),
      )
      .orderBy(asc(agentMarkets.updatedAt), asc(id))
      .limit(limit),
  );
};

/** Open markets whose change of wallet is due, longest waiting first (MKT-21). Real time, like the chain's. */
export const findDueChanges = (db: Database, now: number, after: Due, limit: number): Read<Due[]> => {
  const { did, environment, market, network, pendingUntil } = agentMarkets;
  const [afterDid = "", afterEnvironment = "", afterNetwork = "", afterMarket = ""] = after.id.split(" ");
  const id = sql<string>`${did} || ' ' || ${environment} || ' ' || ${network} || ' ' || ${market}`;
  return readAll(
    db
      .select({ at: sql<number>`${pendingUntil}`.as("at"), id: id.as("id") })
      .from(agentMarkets)
      .where(
        and(
          // Literal text, so that SQLite uses the partial index.
          sql`pending_until is not null`,
          lte(pendingUntil, now),
          sql`(${pendingUntil}, ${did}, ${environment}, ${market}, ${network}) >
            (${after.at}, ${afterDid}, ${afterEnvironment}, ${afterMarket}, ${afterNetwork})`,
        ),
      )
      .orderBy(asc(pendingUntil), asc(did), asc(environment), asc(market), asc(network))
      .limit(limit),
  );
};

/** Refused if another call has inserted the market meanwhile. `sole` is decided inside the batch: of two concurrent inserts, neither is sole. */
export const insertMarket = (db: Database, row: MarketRow): Statement[] => {
  const others = sql`did = ${row.did} and environment = ${row.environment}`;
  return [
    db.update(agentMarkets).set({ sole: false }).where(sql`${others} and sole`),
    db.insert(agentMarkets).values({ ...row, sole: sql`not exists (select 1 from agent_markets where ${others})` }),
  ];
};

/** Writes only if the row is as it was read: meanwhile another wallet may have been requested, or the market removed. */
export const updateMarket = (db: Database, before: MarketRow, after: MarketRow): Statement[] =>
  mustChange(
    db,
    db
      .update(agentMarkets)
      // Another market may have been opened since the read.
      .set({ ...after, sole: sql`sole` })
      .where(
        and(
          isMarket(before),
          eq(agentMarkets.status, before.status),
          eq(agentMarkets.operationalWallet, before.operationalWallet),
          sql`${agentMarkets.pendingWallet} is ${before.pendingWallet}`,
        ),
      ),
  );

/** Records the transaction for which the waiting markets of a network wait, if there is one, and the reason. */
export const recordRegistration = (
  db: Database,
  { did, environment, network }: Omit<MarketKey, "market">,
  { registrationTx, reason }: Pick<MarketRow, "registrationTx" | "reason">,
): Statement =>
  db
    .update(agentMarkets)
    .set({
      ...(registrationTx !== null && { registrationTx }),
      reason: sql`case when ${agentMarkets.reason} = ${OTHER_WALLET} then ${agentMarkets.reason} else ${reason} end`,
    })
    .where(
      and(
        eq(agentMarkets.did, did),
        eq(agentMarkets.environment, environment),
        eq(agentMarkets.network, network),
        eq(agentMarkets.status, "PROVISIONING"),
      ),
    );

/** Refused if the status has changed meanwhile: removing a market whose transaction waits takes further steps. */
export const deleteMarket = (db: Database, row: MarketRow): Statement[] =>
  mustChange(db, db.delete(agentMarkets).where(and(isMarket(row), eq(agentMarkets.status, row.status))));

/** Deletes all markets of an agent in an environment that it leaves. */
export const dropMarkets = (db: Database, { did, environment }: Pick<MarketRow, "did" | "environment">): Statement =>
  db.delete(agentMarkets).where(and(eq(agentMarkets.did, did), eq(agentMarkets.environment, environment)));

/** Deletes the sandbox markets of agents that have left the sandbox. */
export const dropSandboxMarkets = (db: Database, dids: readonly string[]): Statement =>
  db.delete(agentMarkets).where(and(isOneOf(agentMarkets.did, dids), eq(agentMarkets.environment, "sandbox")));

/** Refuses once the agent has been promoted: in its new environment, its document has to state its markets. */
export const refusePromoted = (db: Database, { did, environment }: Pick<AgentRow, "did" | "environment">): Statement =>
  guard(db, sql`${selectAgentEnvironment(did)} = ${environment}`);

// ---- Registrations on mainnets with sandbox keys ---------------------------------------------------------------------------

export const findTrials = (db: Database, { platformId }: Pick<Tenant, "platformId">): Read<MainnetTrials | null> =>
  readOne(db.select().from(mainnetTrials).where(eq(mainnetTrials.platformId, platformId)));

/** Refused if another call of the account has counted meanwhile. */
export const putTrials = (db: Database, before: MainnetTrials | null, after: MainnetTrials): Statement[] =>
  before === null
    ? [db.insert(mainnetTrials).values(after)]
    : mustChange(
        db,
        db
          .update(mainnetTrials)
          .set(after)
          .where(and(eq(mainnetTrials.platformId, before.platformId), eq(mainnetTrials.total, before.total))),
      );

/** The key of the row that counts all accounts together that are not accredited. */
const TOGETHER = { platformId: "" } as const;
export const findTogether = (db: Database): Read<MainnetTrials | null> => findTrials(db, TOGETHER);

const countInLastDay = (now: number): SQL =>
  sql`(select count(*) from ${eachOf(mainnetTrials.asks)} where value > ${now - DAY_MS})`;

type Further = { readonly further: number; readonly now: number };

/** Adds to the row in SQL, so that calls of several accounts do not conflict. Refused if the sum would exceed `most` in 24 hours. */
export function countTogether(db: Database, { further, now }: Further, most: number): Statement[] {
  const added = Array.from({ length: further }, () => now);
  const asks = sql`(select json_group_array(value) from (
    select value from ${eachOf(mainnetTrials.asks)} where value > ${now - DAY_MS} union all select value from ${eachOf(added)}))`;
  return mustChange(
    db,
    db
      .insert(mainnetTrials)
      .values({ ...TOGETHER, asks: added, total: further })
      .onConflictDoUpdate({
        target: mainnetTrials.platformId,
        set: { asks, total: sql`${mainnetTrials.total} + ${further}` },
        setWhere: sql`${countInLastDay(now)} + ${further} <= ${most}`,
      }),
  );
}

/** After `countTogether` in the same batch: true if this call made the count reach `from`. */
export const hasJustReached = (from: number, { further, now }: Further): Condition =>
  sql`exists (select 1 from ${mainnetTrials} where platform_id = ${TOGETHER.platformId}
    and ${countInLastDay(now)} between ${from} and ${from + further - 1})`;

// ---- Editions of the contract ----------------------------------------------------------------------------------------------

/** Finds the present edition of each network. A walk moves each provider that is still in another one. */
export const findEditions = (db: Database): Read<EditionRow[]> => readAll(db.select().from(registeredEditions));

/**
 * Plans a move for each escrow of a network that is in another edition's vault while its provider sells there. It scans all escrows, so it runs
 * only when an edition is new.
 */
export function planMoves(db: Database, { network, contract, plannedAt, plans }: EditionRow): Statement[] {
  const known = { contract, plannedAt, plans };
  return [
    beginWalks(db, "edition_move", {
      subject: sql`e.network || ' ' || e.did || ' ' || e.environment`,
      from: sql`escrows e where e.network = ${network} and e.contract not in ('', ${contract})
        and exists (select 1 from agent_markets m join agents a on a.did = m.did and a.status not in ('REVOKED', 'TERMINATED')
          where m.did = e.did and m.environment = e.environment and m.network = e.network
            and m.status in ('ACTIVE', 'PROVISIONING'))`,
      startedAt: plannedAt,
      payload: null,
    }).onConflictDoNothing(),
    db
      .insert(registeredEditions)
      .values({ network, ...known })
      .onConflictDoUpdate({ target: registeredEditions.network, set: known }),
  ];
}
