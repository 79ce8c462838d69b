// Store of a provider's markets. identity/store.ts reads all of them for the document.
import { and, asc, eq, inArray, lt, lte, or, sql } from "drizzle-orm";
import type { Due } from "../core/due.ts";
import type { Environment } from "../core/vocabulary.ts";
import { type Database, guard, mustChange, type Read, readAll, type Statement } from "../db/batch.ts";
import { isOneOf } from "../db/lists.ts";
import { type AgentRow, agentMarkets, type MarketRow } from "../db/tables/agents.ts";
import { selectAgentEnvironment } from "../identity/store.ts";
import { findAddressee, type NoticeAccount } from "../journal/notice-store.ts";
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
