// Books in one batch what the follower has read (MKT-23): lines, escrow balances, the states that follow with their events and directory records,
// differences, and the place that was read to. A provider in FUNDING whose escrows are now funded becomes ACTIVE (AGT-34).
import { isFollowerLate } from "../chain/availability.ts";
import { recordFollowerCaughtUp } from "../chain/availability-store.ts";
import type { BlockAt } from "../chain/gateway.ts";
import { type Hash, hashDid } from "../chain/hashes.ts";
import type { Network } from "../chain/networks.ts";
import { recordReleaseTx } from "../chain/store.ts";
import { commitAll } from "../commit.ts";
import type { Deps } from "../context.ts";
import { BLOCK_CLOCK_SKEW_SECONDS } from "../core/limits.ts";
import { type ReadResults, readBatch, type Statement } from "../db/batch.ts";
import type { FollowerRow } from "../db/tables/chain.ts";
import type { RefundAddressRow, RefundRow } from "../db/tables/disputes.ts";
import type { EscrowRow, LedgerLine } from "../db/tables/money.ts";
import { applyGain, hasStateChanged } from "../escrow/changes.ts";
import { type Booked, createEmptyVault, type Difference, type Movement, toLedgerLines } from "../escrow/ledger.ts";
import { insertRefundAddresses } from "../escrow/refund-store.ts";
import { pickEditionContract } from "../escrow/states.ts";
import { moveBalances } from "../escrow/store.ts";
import { type Alert, raiseAlert } from "../journal/alerts.ts";
import { type ActsReading, followActs } from "./acts.ts";
import { recordEscrowTurns, TURNED_AT_ONCE } from "./escrow-turns.ts";
import { findEscrowsByHash, findNewestLines, insertLines } from "./lines-store.ts";
import { bindPayments, buildPaymentReads, type FoundPayments, findLostIntents, type PaymentAt } from "./payments.ts";
import { bookRefunds } from "./refunds.ts";
import { changeTurned, moveFollower, noteBlock, noteDifferences } from "./store.ts";
import { followWallets, type WalletSet } from "./wallets.ts";

type Reading = {
  readonly before: FollowerRow | null;
  readonly after: FollowerRow;
  readonly head: BlockAt;
  /** How far the network is read; null unless that is the head. */
  readonly level: Pick<FollowerRow, "headBlock" | "readThrough" | "readAt"> | null;
  readonly movements: readonly Movement[];
  readonly refunds: readonly RefundRow[];
  readonly refundAddresses: readonly RefundAddressRow[];
  readonly wallets: readonly WalletSet[];
  /** Wallet changes up to the last block that was read. They identify payments by a provider's own wallets (FAC-22). */
  readonly walletsSeen: readonly WalletSet[];
  readonly acts: ActsReading;
  /** The payments up to the last block that was read. */
  readonly payments: readonly PaymentAt[];
  readonly through: number;
  /** Two readings of the same blocks found different events. */
  readonly contradicted: boolean;
  /** The node dates its newest block later than the clock of any chain explains. */
  readonly future: boolean;
  /** The network has two nodes, and only one of them has reported the events. */
  readonly alone: boolean;
};

/**
 * Throws Conflict if another run has moved on, or if an escrow would get another state than was foreseen. Returns false if one batch cannot bind all
 * payments: it books no block, and the next step reads the same blocks. `known`: the stored rows, if the caller has read them.
 */
export async function bookReading(
  deps: Deps,
  network: Network,
  reading: Reading,
  known?: StoredFacts,
): Promise<boolean> {
  const { db } = deps;
  const { before, movements, payments } = reading;
  const stored = known ?? (await readBatch(db, buildBookReads(deps, network, movements, payments)));
  const found = { ...stored, own: addSeenOwnPayments(stored.own, payments, reading.walletsSeen) };
  const paid = bindPayments(deps, network, reading, found, await findReplacedPayments(deps, network, reading, found));
  const alerts = [
    ...(reading.contradicted ? [raiseAlert(db, toContradictionAlert(network))] : []),
    ...(reading.future ? [raiseAlert(db, toFutureBlockAlert(network))] : []),
    ...(reading.alone ? [raiseAlert(db, toAloneAlert(network))] : []),
  ];
  if (!paid.complete && before !== null) {
    const acts = await followActs(deps, network, { ...reading.acts, booked: before.bookedBlock });
    await commitAll(deps, [...moveFollower(db, before, before, paid.change), ...paid.statements, ...alerts, ...acts]);
    return false;
  }
  const booked = toBookedVaults(network, movements, found);
  const followed = await followWallets(deps, network, reading.wallets);
  const acts = await followActs(deps, network, reading.acts);
  const level = paid.complete ? reading.level : null;
  const after = { ...reading.after, ...level };
  const lined = booked.filter(({ lines }) => lines.length > 0);
  const vaults = [...lined.map(({ vault: { did, contract } }) => ({ did, contract })), ...followed.vaults];
  await commitAll(deps, [
    ...moveFollower(db, before, after, paid.change),
    ...(level && !isFollowerLate(level, Date.now()) ? [recordFollowerCaughtUp(db, network.network)] : []),
    ...(shouldNoteBlock(reading, after)
      ? noteBlock(db, { network: network.network, number: after.bookedBlock, hash: after.bookedHash, vaults })
      : []),
    ...(await recordBooked(deps, network, booked, found.escrows)),
    ...bookRefunds(db, network, reading.refunds),
    ...insertRefundAddresses(db, reading.refundAddresses),
    ...followed.statements,
    ...recordReleased(db, network, movements, found),
    ...paid.statements,
    ...alerts,
    ...acts,
  ]);
  return paid.complete;
}

const buildBookReads = (
  deps: Deps,
  network: Network,
  movements: readonly Movement[],
  payments: readonly PaymentAt[],
) => ({
  ...buildMovedVaultReads(deps, network, movements),
  ...buildPaymentReads(deps, network, payments),
});
type StoredFacts = ReadResults<ReturnType<typeof buildBookReads>>;

/** The stored rows of a reading without events, if no payment is bound or awaited. */
export const NOTHING_STORED: StoredFacts = {
  ...{ escrows: [], lines: [], named: [], ofTerms: [], used: [], lost: [], bound: [], waiting: [] },
  own: new Set(),
};

/** Without events one note in fifty blocks is enough: a reorg of such blocks removes no line, and the 200 notes reach further back. */
const QUIET_BLOCKS = 50;

function shouldNoteBlock(reading: Reading, { bookedBlock }: FollowerRow): boolean {
  const { before, movements, refunds, refundAddresses, walletsSeen, acts, payments } = reading;
  if (before === null) return true;
  const events = [movements, refunds, refundAddresses, walletsSeen, acts.events, payments].flat();
  if (events.length > 0) return before.bookedBlock !== bookedBlock;
  return Math.floor(before.bookedBlock / QUIET_BLOCKS) < Math.floor(bookedBlock / QUIET_BLOCKS);
}

/** Adds payments by wallets that a provider's own wallet named in the blocks of this reading, which the database does not have yet. */
const addSeenOwnPayments = (
  own: ReadonlySet<PaymentAt>,
  payments: readonly PaymentAt[],
  wallets: readonly WalletSet[],
): ReadonlySet<PaymentAt> =>
  new Set([
    ...own,
    ...payments.filter(({ providerDidHash, payer, minedAt }) =>
      wallets.some(
        (set) =>
          set.confirmedBy !== null &&
          set.operationalWallet === payer &&
          set.providerDidHash === providerDidHash &&
          set.minedAt < minedAt,
      ),
    ),
  ]);

/** Finds the intents whose lost payments can't be mined again, because another transaction has the nonce. Asks the chain only if there are any. */
async function findReplacedPayments(
  { chain }: Deps,
  network: Network,
  reading: Reading,
  found: FoundPayments,
): Promise<ReadonlySet<string>> {
  const lost = reading.level ? findLostIntents(network, reading, found) : [];
  if (lost.length === 0) return new Set();
  const read = await chain.readNonces(
    network.network,
    reading.head,
    lost.map(({ sentBy }) => sentBy ?? ""),
  );
  if (!read.ok) return new Set();
  return new Set(
    lost
      .filter(({ sentNonce }, n) => sentNonce !== null && (read.value[n] ?? 0) > sentNonce)
      .map(({ intentId }) => intentId),
  );
}

/** Records the transaction of a release from its event, because a crash may have lost it (MKT-29). */
function recordReleased(
  db: Deps["db"],
  { network }: Network,
  movements: readonly Movement[],
  { escrows }: Pick<FoundVaults, "escrows">,
): Statement[] {
  const released = movements.filter(({ kind }) => kind === "release");
  const dids = new Map(escrows.map(({ did }) => [hashDid(did), did]));
  return released.flatMap(({ providerDidHash, txHash }) => {
    const did = dids.get(providerDidHash);
    return did === undefined ? [] : [recordReleaseTx(db, network, did, txHash)];
  });
}

const buildMovedVaultReads = ({ db }: Deps, { network }: Network, movements: readonly Movement[]) => {
  const vaults = new Map(
    movements.map(
      ({ providerDidHash, contract }) => [toVaultKey(providerDidHash, contract), [providerDidHash, contract]] as const,
    ),
  );
  const named = [...vaults.values()].map(([hash, contract]) => [hash, contract] as const);
  return {
    escrows: findEscrowsByHash(db, network, [...new Set(named.map(([hash]) => hash))]),
    lines: findNewestLines(db, network, named),
  };
};
type FoundVaults = {
  readonly escrows: readonly EscrowRow[];
  readonly lines: readonly Parameters<typeof toLedgerLines>[0][];
};

const toVaultKey = (hash: Hash, contract: string): string => `${hash} ${contract}`;

/** Skips the vaults of providers that the service does not know. */
function toBookedVaults(
  { network }: Network,
  movements: readonly Movement[],
  { escrows, lines }: FoundVaults,
): Booked[] {
  const byVault = Map.groupBy(movements, ({ providerDidHash, contract }) => toVaultKey(providerDidHash, contract));
  const dids = new Map(escrows.map(({ did }) => [hashDid(did), did]));
  return [...byVault.values()].flatMap((own) => {
    const [first] = own;
    const did = first && dids.get(first.providerDidHash);
    if (!first || did === undefined) return [];
    const vault = { did, network, contract: first.contract };
    const known = lines.find((line) => line.did === did && line.contract === vault.contract);
    return [toLedgerLines(known ?? createEmptyVault(vault), own)];
  });
}

/** A vault's gain counts in each environment whose escrow is in the vault of that edition. */
export async function recordBooked(
  deps: Deps,
  network: Network,
  booked: readonly Booked[],
  escrows: readonly EscrowRow[],
): Promise<Statement[]> {
  const { db } = deps;
  const gains = booked.map(({ vault, lines }) => ({
    vault,
    amount: lines.reduce((sum, { kind, amount }) => sum + (kind === "settlement" ? 0 : amount), 0),
  }));
  const lines = booked.flatMap((one) => one.lines);
  const differences = booked.flatMap((one) => one.differences);
  return [
    ...insertLines(db, lines),
    ...recordDifferences(deps, differences),
    ...alertUnseenDeposits(deps, lines),
    ...(await recordGains(deps, network, gains, escrows)),
  ];
}

type VaultGain = { readonly vault: { readonly did: string; readonly contract: string }; readonly amount: number };

export async function recordGains(
  deps: Deps,
  network: Network,
  gains: readonly VaultGain[],
  escrows: readonly EscrowRow[],
): Promise<Statement[]> {
  const changes = gains
    .filter(({ amount }) => amount !== 0)
    .flatMap(({ vault, amount }) =>
      escrows
        .filter((row) => row.did === vault.did && pickEditionContract(row, network) === vault.contract)
        .map((row) => ({ before: row, after: applyGain(row, { amount, settled: false }), amount })),
    );
  const turned = changes.filter(hasStateChanged);
  const dids = [...new Set(turned.map(({ before }) => before.did))];
  const told = dids.slice(0, TURNED_AT_ONCE);
  return [
    ...moveBalances(deps.db, changes),
    ...(await recordEscrowTurns(
      deps,
      turned.filter(({ before }) => told.includes(before.did)),
    )),
    ...changeTurned(deps.db, network.network, { added: dids.slice(TURNED_AT_ONCE) }),
  ];
}

/** Notes each difference and raises an alert. Nothing repairs it. */
export const recordDifferences = ({ db }: Deps, differences: readonly Difference[]): Statement[] => [
  ...noteDifferences(
    db,
    differences.map((difference) => ({ ...difference, foundAt: Date.now() })),
  ),
  ...differences.map((difference) => raiseAlert(db, toDifferenceAlert(difference))),
];

/** Reports what vaults got without an event of the contract: by a plain transfer, or by an event that a node left out. One alert for each network. */
function alertUnseenDeposits({ db }: Deps, lines: readonly LedgerLine[]): Statement[] {
  const last = lines.findLast(({ kind, logIndex }) => kind === "deposit" && logIndex < 0);
  return last ? [raiseAlert(db, toUnseenDepositAlert(last))] : [];
}

const toAloneAlert = ({ network }: Network): Alert => ({
  kind: "network",
  subject: `second node of ${network}`,
  message:
    "One of the two nodes does not answer or lags: the contract's events are booked once two readings of the other node agree.",
});

const toContradictionAlert = ({ network }: Network): Alert => ({
  kind: "network",
  subject: `events of ${network}`,
  message:
    "Two readings of the same blocks found different events of the contract, or vaults that hold less than the events say: these blocks are not " +
    "booked until two readings agree.",
});

const toUnseenDepositAlert = ({ did, network, amount, blockNumber }: LedgerLine): Alert => ({
  kind: "reconciliation",
  subject: `deposits on ${network}`,
  message:
    `Up to block ${blockNumber} the vault of ${did} received ${amount} base units without an event of the contract, which are booked as a deposit: ` +
    "either a plain transfer, or a movement that the node omitted.",
});

const toFutureBlockAlert = ({ network }: Network): Alert => ({
  kind: "network",
  subject: `time of ${network}`,
  message: `The node dates its newest block more than ${BLOCK_CLOCK_SKEW_SECONDS} seconds in the future: the service counts its time only up to now.`,
});

const toDifferenceAlert = ({ did, network, held, expected }: Difference): Alert => ({
  kind: "reconciliation",
  subject: `${did} on ${network}`,
  message: `The vault held ${held} base units, but should have held ${expected} according to its ledger lines.`,
});
