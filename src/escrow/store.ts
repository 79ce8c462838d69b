// Store of escrows: the last known state of each provider's vault (MKT-15).
import { and, asc, eq, type SQL, sql } from "drizzle-orm";
import { type Hash, shortenHash } from "../chain/hashes.ts";
import type { Due } from "../core/clock.ts";
import { OTHER_ENVIRONMENT } from "../core/vocabulary.ts";
import { type Database, guard, mustChange, type Read, readAll, readOne, type Statement } from "../db/batch.ts";
import { eachOf, isOneOf } from "../db/lists.ts";
import { agents } from "../db/tables/agents.ts";
import { type EscrowRow, escrows, type LedgerLine, ledgerLines } from "../db/tables/money.ts";
import type { Claim, Gain } from "./changes.ts";
import { FORMER_WALLETS_KEPT_MS } from "./former-wallets.ts";
import { BASE_HUNDREDTHS, CONSTRAINING_HUNDREDTHS, toEscrowStates } from "./states.ts";

type EscrowKey = Pick<EscrowRow, "did" | "environment" | "network">;
const isEscrow = ({ did, environment, network }: EscrowKey) =>
  and(eq(escrows.did, did), eq(escrows.environment, environment), eq(escrows.network, network));

type Vault = Pick<EscrowKey, "did" | "network">;
const isOnVault = ({ did, network }: Vault) => and(eq(escrows.did, did), eq(escrows.network, network));

/** Escrows whose threshold the contract has yet to follow (MKT-20, `doesContractLag`). Literal text, so that SQLite uses the partial index. */
const CONTRACT_LAGS = sql`abs(max(threshold, other_threshold) - chain_threshold) * 20 - base_threshold >= 0 and base_threshold > 0`;

/** The contract lags since now, unless it lagged before. By the database's clock, because a moved test clock does not move the chain. */
const LAGS_SINCE: SQL<number> = sql`case when ${CONTRACT_LAGS} then behind_since else cast(unixepoch('subsec') * 1000 as integer) end`;

/** Writes the threshold to the rows of both environments, and the state that follows. Aborts the batch if either was written meanwhile. */
export const moveThreshold = (db: Database, before: EscrowRow, after: EscrowRow): Statement[] => [
  ...mustChange(
    db,
    db
      .update(escrows)
      .set({ threshold: after.threshold, state: after.state, behindSince: LAGS_SINCE })
      .where(
        and(
          isEscrow(before),
          eq(escrows.threshold, before.threshold),
          eq(escrows.state, before.state),
          // The balance may have changed since the state was judged, as long as it still gives the same state.
          isForeseenState(after.state, { threshold: sql`${after.threshold}` }),
        ),
      ),
  ),
  db
    .update(escrows)
    .set({ otherThreshold: after.threshold, behindSince: LAGS_SINCE })
    .where(isEscrow({ ...before, environment: OTHER_ENVIRONMENT[before.environment] })),
];

/** Relative, so that records in any order come to the same balance (MKT-19). Aborts the batch if the state would not be the foreseen one. */
export const moveBalance = (
  db: Database,
  before: EscrowRow,
  after: EscrowRow,
  { amount, settled, windowClosesAt = 0, atMost }: Gain,
): Statement[] =>
  mustChange(
    db,
    db
      .update(escrows)
      .set({
        balance: sql`${escrows.balance} + ${amount}`,
        ...(settled && { contributed: sql`${escrows.contributed} + ${amount}` }),
        ...(windowClosesAt > 0 && { windowsCloseAt: sql`max(${escrows.windowsCloseAt}, ${windowClosesAt})` }),
        ...(after.state !== before.state && { state: after.state }),
      })
      .where(
        and(
          isEscrow(before),
          eq(escrows.contract, before.contract),
          eq(escrows.state, before.state),
          eq(escrows.threshold, before.threshold),
          isForeseenState(after.state, { balance: sql`${escrows.balance} + ${amount}` }),
          atMost === undefined ? undefined : sql`${escrows.balance} + ${amount} <= ${atMost}`,
        ),
      ),
  );

/** Moves many balances in one statement, because one block can move any number of vaults. */
export const moveBalances = (
  db: Database,
  moves: readonly { readonly before: EscrowRow; readonly after: EscrowRow; readonly amount: number }[],
): Statement[] => {
  const [first, ...others] = moves;
  if (!first) return [];
  // D1 counts each element of a JSON list as a row read.
  if (others.length === 0) return moveBalance(db, first.before, first.after, { amount: first.amount, settled: false });
  const values = moves.map(({ before: { did, environment, network, contract, state, threshold }, after, amount }) => [
    ...[did, environment, network, contract, state, threshold, amount, after.state],
  ]);
  const balance = sql`${escrows.balance} + (k.value ->> 6)`;
  return mustChange(
    db,
    db
      .update(escrows)
      .set({ balance, state: sql`k.value ->> 7` })
      .from(sql`${eachOf(values)} k`)
      .where(
        sql`${escrows.did} = k.value ->> 0 and ${escrows.environment} = k.value ->> 1 and ${escrows.network} = k.value ->> 2
          and ${escrows.contract} = k.value ->> 3 and ${escrows.state} = k.value ->> 4 and ${escrows.threshold} = k.value ->> 5
          and ${isForeseenState(sql`k.value ->> 7`, { balance })}`,
      ),
    moves.length,
  );
};

/** Relative like `moveBalance`, because disputes of one vault are filed and ended concurrently. */
export const moveClaim = (db: Database, before: EscrowRow, after: EscrowRow, claim: Claim): Statement[] =>
  mustChange(
    db,
    db
      .update(escrows)
      .set({
        disputed: sql`${escrows.disputed} + ${claim.disputed}`,
        owed: sql`${escrows.owed} + ${claim.owed}`,
        ...(after.state !== before.state && { state: after.state }),
      })
      .where(
        and(
          isEscrow(before),
          eq(escrows.state, before.state),
          isForeseenState(after.state, { disputed: sql`${escrows.disputed} + ${claim.disputed}` }),
        ),
      ),
  );

type StateColumns = { readonly balance?: SQL; readonly base?: SQL; readonly threshold?: SQL; readonly disputed?: SQL };

/** Whether the row gets the foreseen state, by the rule of `computeEscrowState`. */
const isForeseenState = (state: EscrowRow["state"] | SQL, after: StateColumns): SQL => {
  const { balance = escrows.balance, threshold = escrows.threshold, disputed = escrows.disputed } = after;
  const constraining = sql`${after.base ?? escrows.baseThreshold} * ${CONSTRAINING_HUNDREDTHS} / ${BASE_HUNDREDTHS}`;
  return sql`case when ${disputed} >= ${constraining} and ${disputed} > max(0, ${balance}) then 'CONSTRAINED'
    when ${threshold} > 0 and ${balance} >= ${threshold} then 'ACTIVE' else 'FUNDING' end = ${state}`;
};

export const guardEscrowStates = (db: Database, judged: readonly EscrowRow[]): Statement[] =>
  judged.map((row) =>
    guard(db, sql`exists (select 1 from escrows where ${and(isEscrow(row), eq(escrows.state, row.state))})`),
  );

/** Deletes the sandbox escrows of vaults that production goes on using. */
export const dropSandboxEscrows = (db: Database, dids: readonly string[]): Statement[] => [
  db
    .delete(escrows)
    .where(
      and(
        isOneOf(escrows.did, dids),
        eq(escrows.environment, "sandbox"),
        sql`exists (select 1 from escrows o where o.did = ${escrows.did} and o.environment = 'production' and o.network = ${escrows.network})`,
      ),
    ),
];

/** Adds the present wallet to the former ones if it is replaced. By the database's clock, because a moved test clock does not date blocks. */
const appendFormerWallet = (wallet: string): SQL<string> => {
  const now = sql`cast(unixepoch('subsec') * 1000 as integer)`;
  return sql`case when ${escrows.operationalWallet} = ${wallet} then ${escrows.formerWallets} else
    (select json_group_array(json(value)) from (
      select value from ${eachOf(escrows.formerWallets)} where value ->> 'until' > ${now} - ${FORMER_WALLETS_KEPT_MS}
      union all select json_object('wallet', ${escrows.operationalWallet}, 'until', ${now}))) end`;
};

/** Moves an escrow to the vault of another edition. Aborts the batch if the escrow has changed meanwhile. */
export const moveVault = (db: Database, before: EscrowRow, after: EscrowRow): Statement[] =>
  mustChange(
    db,
    db
      .update(escrows)
      .set({ ...after, formerWallets: appendFormerWallet(after.operationalWallet) })
      .where(
        and(
          isEscrow(before),
          eq(escrows.vault, before.vault),
          eq(escrows.balance, before.balance),
          eq(escrows.disputed, before.disputed),
          eq(escrows.owed, before.owed),
        ),
      ),
  );

export const dropThreshold = (db: Database, before: EscrowRow): Statement[] =>
  mustChange(
    db,
    db
      .update(escrows)
      .set({
        baseThreshold: 0,
        threshold: 0,
        otherThreshold: 0,
        state: before.state === "CONSTRAINED" ? "CONSTRAINED" : "FUNDING",
      })
      .where(and(isEscrow(before), eq(escrows.state, before.state))),
  );

/** Restores the threshold of a provider that had left and sells again. Aborts the batch if the state would be another one. */
export const restoreThreshold = (db: Database, before: EscrowRow, after: EscrowRow): Statement[] =>
  mustChange(
    db,
    db
      .update(escrows)
      .set({ baseThreshold: after.baseThreshold, threshold: after.threshold, state: after.state })
      .where(
        and(
          isEscrow(before),
          eq(escrows.state, before.state),
          eq(escrows.baseThreshold, 0),
          isForeseenState(after.state, { base: sql`${after.baseThreshold}`, threshold: sql`${after.threshold}` }),
        ),
      ),
  );

/** On conflict, update only the wallet and the contract's threshold: settlements and ratings move the other columns. */
export const putEscrow = (db: Database, row: typeof escrows.$inferInsert): Statement =>
  db
    .insert(escrows)
    .values(row)
    .onConflictDoUpdate({
      target: [escrows.did, escrows.environment, escrows.network],
      set: {
        contract: row.contract ?? "",
        operationalWallet: row.operationalWallet,
        formerWallets: appendFormerWallet(row.operationalWallet),
        chainThreshold: row.chainThreshold,
        behindSince: LAGS_SINCE,
      },
    });

const LINKED_THRESHOLD = {
  otherThreshold: sql`coalesce((select o.threshold from escrows o where o.did = ${escrows.did}
    and o.network = ${escrows.network} and o.environment <> ${escrows.environment}), 0)`,
  behindSince: LAGS_SINCE,
};

/** Writes each environment's threshold to the other one's escrow, after one of them was opened. */
export const linkThresholds = (db: Database, { did, network }: Vault): Statement =>
  db.update(escrows).set(LINKED_THRESHOLD).where(isOnVault({ did, network }));

/** Does this on all networks of agents, after an escrow was deleted. */
export const linkThresholdsOfAgents = (db: Database, dids: readonly string[]): Statement =>
  db.update(escrows).set(LINKED_THRESHOLD).where(isOneOf(escrows.did, dids));

/** The longest lag first. */
export const findLaggingEscrows = (db: Database, after: Due, limit: number): Read<Due[]> => {
  const { did, environment, network, behindSince } = escrows;
  const [afterDid = "", afterEnvironment = "", afterNetwork = ""] = after.id.split(" ");
  return readAll(
    db
      .select({ at: behindSince, id: sql<string>`${did} || ' ' || ${environment} || ' ' || ${network}`.as("id") })
      .from(escrows)
      .where(
        and(
          CONTRACT_LAGS,
          sql`(${behindSince}, ${did}, ${environment}, ${network}) > (${after.at}, ${afterDid}, ${afterEnvironment}, ${afterNetwork})`,
        ),
      )
      .orderBy(asc(behindSince), asc(did), asc(environment), asc(network))
      .limit(limit),
  );
};

export const findEscrow = (db: Database, key: EscrowKey): Read<EscrowRow[]> =>
  readAll(db.select().from(escrows).where(isEscrow(key)));

export const findEscrowsOfVault = (db: Database, vault: Vault): Read<EscrowRow[]> =>
  readAll(db.select().from(escrows).where(isOnVault(vault)));

/** The contract has one threshold for a vault, whichever environments use it. */
export const setChainThreshold = (db: Database, vault: Vault, chainThreshold: number): Statement =>
  db.update(escrows).set({ chainThreshold, behindSince: LAGS_SINCE }).where(isOnVault(vault));

/** A threshold in base units that the contract got by a call that the service did not send. `present`: in the present edition. */
export type UnrequestedThreshold = {
  readonly network: string;
  readonly providerDidHash: Hash;
  readonly threshold: number;
  readonly contract: string;
  readonly present: boolean;
};

/** Makes the job that follows thresholds write the wanted one back. A threshold that is too near for the job counts as unknown (0). */
export const noteUnrequestedThreshold = (
  db: Database,
  unrequested: UnrequestedThreshold,
  condition: SQL,
): Statement => {
  const { network, providerDidHash, threshold, contract, present } = unrequested;
  const wanted = sql`max(threshold, other_threshold)`;
  const isFar = sql`abs(${wanted} - ${threshold}) * 20 >= base_threshold`;
  const of = sql`(select a.did from agents a where a.did_hash <> '' and a.did_hash = ${shortenHash(providerDidHash)})`;
  const edition = sql`contract in (${contract}, ${present ? "" : contract})`;
  return db
    .update(escrows)
    .set({ chainThreshold: sql`case when ${isFar} then ${threshold} else 0 end`, behindSince: LAGS_SINCE })
    .where(
      sql`did in ${of} and ${escrows.network} = ${network} and ${edition} and ${wanted} <> ${threshold} and ${condition}`,
    );
};

export type MovedStates = { readonly escrowStates?: SQL };

/** For the batch that opens or moves escrows of the agent's environment. Relative, because batches for other networks do not know of it. */
export const toMovedStates = (moved: Parameters<typeof toEscrowStates>[0]): MovedStates =>
  moved.length === 0
    ? {}
    : { escrowStates: sql`json_patch(${agents.escrowStates}, ${JSON.stringify(toEscrowStates(moved))})` };

/** The production escrows with funds of an account's agents (ACC-27). Literal text, so that SQLite uses the partial index. */
const holdsFunds = (platformId: string | SQL<string>) =>
  and(eq(escrows.platformId, platformId), sql`environment = 'production' and balance > 0`);

/** Aborts the batch if production escrows of the account hold funds. */
export const guardEmptyEscrows = (db: Database, platformId: string): Statement =>
  guard(db, sql`not exists (select 1 from escrows where ${holdsFunds(platformId)})`);

// ---- The ledger ------------------------------------------------------------------------------------------------------------

type LedgerOf = Pick<LedgerLine, "did" | "network" | "contract">;

/** The newest line of a vault that these expressions name. Literal text, so that SQLite uses the partial index. */
export const isNewestLine = (did: SQL, network: string, contract: SQL): SQL =>
  sql`${ledgerLines.did} = ${did} and ${ledgerLines.network} = ${network} and ${ledgerLines.contract} = ${contract} and reversed = 0
    and ${ledgerLines.number} = (select max(m.number) from ledger_lines m where m.did = ${did} and m.network = ${network}
      and m.contract = ${contract} and m.reversed = 0) and ${ledgerLines.number} > 0`;

export const findNewestLine = (db: Database, { did, network, contract }: LedgerOf): Read<LedgerLine | null> =>
  readOne(
    db
      .select()
      .from(ledgerLines)
      .where(isNewestLine(sql`${did}`, network, sql`${contract}`)),
  );

export const guardNewestLine = (
  db: Database,
  { did, network, contract }: LedgerOf,
  newest: Pick<LedgerLine, "number"> | null,
): Statement =>
  guard(
    db,
    sql`max(0, coalesce((select max(m.number) from ledger_lines m where m.did = ${did} and m.network = ${network}
      and m.contract = ${contract} and m.reversed = 0), 0)) = ${newest?.number ?? 0}`,
  );
