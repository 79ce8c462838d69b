// Writes the chain's answer about a provider's markets in one batch: markets, escrow, document, events and directory record (MKT-6, MKT-12).
import { toMarketView } from "../agents/read.ts";
import type { SplitOnChain, WalletChange } from "../chain/gateway.ts";
import { type Driven, recordSplit, type Split, toSplitKey } from "../chain/split.ts";
import { recheckOperation } from "../chain/store.ts";
import { commitAll } from "../commit.ts";
import type { Deps } from "../context.ts";
import { retryConflicts } from "../core/retry.ts";
import { isFinal, OTHER_ENVIRONMENT } from "../core/vocabulary.ts";
import { commit, type ReadResults, readBatch, type Statement } from "../db/batch.ts";
import type { MarketRow } from "../db/tables/agents.ts";
import type { EscrowRow } from "../db/tables/money.ts";
import { findNewestLine, toMovedStates } from "../escrow/store.ts";
import { parseCertificate } from "../identity/aid.ts";
import { findEscrows, findMarkets, findNewestVersion, findPublicAgent } from "../identity/store.ts";
import { raiseAlert } from "../journal/alerts.ts";
import { recordEvent } from "../journal/events.ts";
import { signMarketChange } from "./own.ts";
import { deriveEscrow, presentEdition, writeEscrow } from "./settle-escrow.ts";
import { findOwner, recordRegistration, refusePromoted, updateMarket } from "./store.ts";
import {
  applyAskedWallet,
  holdsOtherWallet,
  NO_CHANGE,
  OTHER_WALLET,
  pickAskedWallet,
  recordWalletNews,
  toPendingChange,
  type WalletFacts,
  wasNeverProviders,
} from "./wallets.ts";

export type Provisioning = Pick<MarketRow, "did" | "environment" | "network">;

/** The outcome; `split` is the requested state, `base` the threshold of an unrated provider. */
export type Provisioned = {
  readonly driven: Exclude<Driven, { state: "waiting" }>;
  readonly split: Split & { readonly wallet: string };
  readonly base: number;
};

/** The chain has decided nothing yet: the markets wait with a reason. An empty gas account raises an alert (MKT-7). */
export async function recordWaiting(
  { db }: Pick<Deps, "db">,
  job: Provisioning,
  split: Split,
  driven: Extract<Driven, { state: "waiting" }>,
): Promise<void> {
  const { network } = job;
  const { reason, txHash } = driven;
  await commit(db, [
    recordRegistration(db, job, { registrationTx: txHash, reason: reason === "mining" ? null : reason }),
    recordSplit(db, job, split, driven, Date.now()),
    ...(reason === "insufficient_gas" ? [raiseAlert(db, toProvisioningGasAlert(network))] : []),
  ]);
}

const toProvisioningGasAlert = (network: string) => ({
  kind: "low_gas" as const,
  subject: `registrar on ${network}`,
  message: "The registrar's account cannot pay for its transactions: markets wait in PROVISIONING.",
});

export const settleMarkets = (deps: Deps, job: Provisioning, result: Provisioned): Promise<MarketRow[]> =>
  retryConflicts(() => settleOnce(deps, job, result));

const buildSettleReads = ({ db, config }: Deps, { did, environment, network }: Provisioning) => ({
  found: findPublicAgent(db, did),
  newest: findNewestVersion(db, did),
  markets: findMarkets(db, did, environment),
  escrows: findEscrows(db, did, environment),
  otherMarkets: findMarkets(db, did, OTHER_ENVIRONMENT[environment]),
  otherEscrows: findEscrows(db, did, OTHER_ENVIRONMENT[environment]),
  newestLine: findNewestLine(db, { did, network, contract: presentEdition({ config }, network) }),
  account: findOwner(db, did),
});
type Facts = ReadResults<ReturnType<typeof buildSettleReads>>;
type MarketMove = { readonly before: MarketRow; readonly after: MarketRow };

async function settleOnce(deps: Deps, job: Provisioning, result: Provisioned): Promise<MarketRow[]> {
  const { db } = deps;
  const { environment, network, did } = job;
  const facts = await readBatch(db, buildSettleReads(deps, job));
  const { found, markets, otherMarkets } = facts;
  // Another wallet may have been requested meanwhile: this answer does not settle markets that wait for that one.
  const waiting = markets.filter((row) => row.network === network && pickAskedWallet(row) === result.split.wallet);
  if (!found) return markets;
  if (waiting.length === 0) {
    await recheckAnswer(deps, job, result, [...markets, ...otherMarkets]);
    return markets;
  }
  // A production market opened while a sandbox key's transaction waited: its wallet has to be written to the contract again (MKT-9).
  const overtaken =
    environment === "sandbox" &&
    result.driven.state === "done" &&
    holdsOtherWallet(waiting.map(applyAskedWallet), otherMarkets);
  const final = isFinal(found.agent.status);
  const waits =
    final || overtaken ? null : findWaitingChange(result, network, [...facts.escrows, ...facts.otherEscrows]);
  if (waits) return keepWaiting(deps, job, facts, { ...result, waits, waiting });
  const said = judgeAnswer(result, final, overtaken);
  const again = overtaken ? otherMarkets.filter((row) => row.network === network && row.status === "ACTIVE") : [];
  const now = deps.clock.now();
  const settling: Settling = { ...result, said, waiting, again };
  const moves = decideMarketMoves(facts, job, settling, now);
  await commitAll(deps, [
    ...(environment === found.agent.environment ? [] : [refusePromoted(db, found.agent)]),
    recordSplit(db, job, { ...result.split, wallet: pickHeldWallet(result) }, result.driven, Date.now()),
    ...("failed" in said && said.failed === "cancelled" ? [raiseAlert(db, toCancelledChangeAlert(job))] : []),
    ...(await recordSettled(deps, job, facts, { ...settling, moves }, now)),
    ...("failed" in said
      ? []
      : recordWalletNews(deps, job, toWalletFacts(facts), { ...said.onChain, wallet: said.onChain.operationalWallet })),
  ]);
  if (again.length > 0)
    await deps.env.CHAIN_QUEUE.send({ kind: "provision_market", did, environment: "production", network });
  return applyMoves(markets, moves);
}

/** The rows that the wallet notices compare: the contract has one wallet for both environments, and the job's environment comes first. */
const toWalletFacts = ({ account, markets, otherMarkets, escrows, otherEscrows }: Facts): WalletFacts => ({
  account,
  markets: [...markets, ...otherMarkets],
  escrows: [...escrows, ...otherEscrows],
});

/** The scheduled change, if the contract still has a wallet that was never the provider's (MKT-31). */
function findWaitingChange(
  { driven }: Provisioned,
  network: string,
  escrows: readonly EscrowRow[],
): WalletChange | null {
  if (driven.state !== "done") return null;
  const { operationalWallet, scheduled } = driven.onChain;
  return wasNeverProviders(operationalWallet, network, escrows) ? scheduled : null;
}

type WaitingResult = Provisioned & { readonly waits: WalletChange; readonly waiting: readonly MarketRow[] };

/** No buyer is sent to such a wallet: the markets wait for the wallet that they ask for, and the escrow keeps the provider's. */
async function keepWaiting(
  deps: Deps,
  job: Provisioning,
  facts: Facts,
  { driven: { txHash }, split, waits, waiting }: WaitingResult,
): Promise<MarketRow[]> {
  const { db } = deps;
  const { found, markets } = facts;
  const now = deps.clock.now();
  const standing = { ...toPendingChange(waits), operationalWallet: split.wallet, reason: OTHER_WALLET, updatedAt: now };
  const moves = waiting
    .map((before): MarketMove => {
      const registrationTx = txHash ?? before.registrationTx;
      return { before, after: { ...before, ...standing, status: "PROVISIONING", registrationTx } };
    })
    .filter(
      ({ before, after }) =>
        before.status !== after.status || before.reason !== after.reason || !isSameChange(before, after),
    );
  await commitAll(deps, [
    ...(found && job.environment !== found.agent.environment ? [refusePromoted(db, found.agent)] : []),
    recordSplit(db, job, split, { state: "waiting", reason: "mining", txHash }, Date.now()),
    ...moves.flatMap(({ before, after }) => updateMarket(db, before, after)),
    ...(await signMovedMarkets(deps, job, facts, { moves, escrow: null }, now)),
    ...recordWalletNews(deps, job, toWalletFacts(facts), { wallet: null, scheduled: waits }),
  ]);
  return applyMoves(markets, moves);
}

/** The wallet that the contract has: the requested one, unless that still waits for the delay. */
const pickHeldWallet = ({ driven, split }: Provisioned): string =>
  driven.state === "done" ? (driven.onChain.operationalWallet ?? split.wallet) : split.wallet;

const toCancelledChangeAlert = ({ did, network }: Provisioning) => ({
  kind: "operational_wallet" as const,
  subject: `${did} on ${network}`,
  message: "A scheduled change of the operational wallet was cancelled on-chain; the market keeps its wallet.",
});

/** No market waits for the wallet any more, but the contract may have it: unless the open markets have it too, it is checked again. */
async function recheckAnswer(
  { db }: Deps,
  { network, did }: Provisioning,
  result: Provisioned,
  rows: readonly MarketRow[],
): Promise<void> {
  const open = rows.filter((row) => row.network === network && row.status === "ACTIVE");
  const held = pickHeldWallet(result);
  if (result.driven.state === "done" && open.every((row) => row.operationalWallet === held)) return;
  await commit(db, [recheckOperation(db, toSplitKey(network, did), Date.now())]);
}

type ChainAnswer = { readonly failed: string } | { readonly onChain: SplitOnChain; readonly txHash: string | null };

function judgeAnswer({ driven }: Provisioned, final: boolean, overtaken: boolean): ChainAnswer {
  if (final) return { failed: "agent_status_not_mutable" };
  if (overtaken) return { failed: "environment_mismatch" };
  return driven.state === "failed" ? { failed: driven.reason } : { onChain: driven.onChain, txHash: driven.txHash };
}

type Settling = Pick<Provisioned, "split" | "base"> & {
  readonly said: ChainAnswer;
  readonly waiting: readonly MarketRow[];
  readonly again: readonly MarketRow[];
};

function decideMarketMoves(facts: Facts, job: Provisioning, settling: Settling, now: number): MarketMove[] {
  const { said, waiting, again } = settling;
  const known = facts.escrows.find((row) => row.network === job.network);
  return [
    ...waiting
      .map((row): MarketMove => ({ before: row, after: settleRow(row, said, known, now) }))
      .filter(({ before, after }) => before.status !== after.status || !isSameChange(before, after)),
    ...followSplit(facts, job, said, waiting, now),
    ...again.map((row): MarketMove => ({ before: row, after: { ...row, status: "PROVISIONING", updatedAt: now } })),
  ];
}

/** True if the row would stay as it is, because its change is still waiting. */
const isSameChange = (a: MarketRow, b: MarketRow): boolean =>
  a.operationalWallet === b.operationalWallet &&
  a.pendingWallet === b.pendingWallet &&
  a.pendingUntil === b.pendingUntil &&
  a.pendingNonce === b.pendingNonce;

const applyMoves = (rows: readonly MarketRow[], moves: readonly MarketMove[]): MarketRow[] =>
  rows.map((row) => moves.find(({ before }) => before === row)?.after ?? row);

async function recordSettled(
  deps: Deps,
  job: Provisioning,
  facts: Facts,
  { said, split, base, waiting, moves }: Settling & { readonly moves: readonly MarketMove[] },
  now: number,
): Promise<Statement[]> {
  const { db } = deps;
  const escrow =
    "failed" in said
      ? null
      : deriveEscrow(deps, job, facts, { ...said, wallet: said.onChain.operationalWallet ?? split.wallet, base }, now);
  const settled = moves.filter(({ before }) => waiting.includes(before));
  return [
    ...moves.flatMap(({ before, after }) => updateMarket(db, before, after)),
    ...(escrow ? writeEscrow(deps, job, facts, escrow, now) : []),
    ...(await signMovedMarkets(deps, job, facts, { moves, escrow }, now)),
    ...(escrow ? recordProvisionedEvents(deps, job, facts, settled, now) : []),
  ];
}

/** The contract has one split, so open markets of both environments follow it (MKT-9). */
const followSplit = (
  { markets, otherMarkets }: Facts,
  { network }: Provisioning,
  said: ChainAnswer,
  waiting: readonly MarketRow[],
  now: number,
): MarketMove[] => {
  const wallet = "failed" in said ? null : said.onChain.operationalWallet;
  if (wallet === null) return [];
  return [...markets, ...otherMarkets]
    .filter((row) => row.network === network && row.status === "ACTIVE" && !waiting.includes(row))
    .filter((row) => row.operationalWallet !== wallet)
    .map((row) => {
      const arrived = row.pendingWallet === wallet ? NO_CHANGE : {};
      return { before: row, after: { ...row, ...arrived, operationalWallet: wallet, updatedAt: now } };
    });
};

/** Makes a new document if the ACTIVE markets of the agent's own environment have changed. */
async function signMovedMarkets(
  deps: Deps,
  { environment, network }: Provisioning,
  facts: Facts,
  { moves, escrow }: { readonly moves: readonly MarketMove[]; readonly escrow: EscrowRow | null },
  now: number,
): Promise<Statement[]> {
  const { found, newest, markets, otherMarkets, escrows, otherEscrows } = facts;
  if (!found || isFinal(found.agent.status)) return [];
  const own = environment === found.agent.environment;
  const changed = moves.some(
    ({ before, after }) =>
      before.environment === found.agent.environment && (before.status === "ACTIVE" || after.status === "ACTIVE"),
  );
  if (!changed) return [];
  const after = applyMoves(own ? markets : otherMarkets, moves);
  const opened =
    own &&
    escrow &&
    !escrows.some((row) => row.network === network && row.vault === escrow.vault && row.state === escrow.state)
      ? [escrow]
      : [];
  const held = escrow ? [...escrows.filter((row) => row.network !== network), escrow] : escrows;
  const certificate = newest && parseCertificate(newest.content);
  const source = { ...found, certificate, markets: after, escrows: own ? held : otherEscrows };
  return signMarketChange(deps, source, now, toMovedStates(opened));
}

function recordProvisionedEvents(
  { db, config }: Deps,
  { did, environment }: Provisioning,
  { found }: Facts,
  settled: readonly MarketMove[],
  now: number,
): Statement[] {
  if (!found) return [];
  const owner = { platformId: found.agent.platformId, environment };
  return settled
    .filter(({ after }) => after.status === "ACTIVE")
    .map(({ after }) =>
      recordEvent(db, owner, now, { type: "market.provisioned", object: { did, ...toMarketView(config, after) } }),
    );
}

/** If a new wallet is refused, an open market continues with the wallet that the contract has (MKT-12). */
function settleRow(row: MarketRow, said: ChainAnswer, known: EscrowRow | undefined, now: number): MarketRow {
  if ("failed" in said) {
    const { failed: reason } = said;
    // A change back to the provider's wallet is scheduled again, so the market keeps waiting.
    if (reason === "cancelled" && row.reason === OTHER_WALLET) return { ...row, ...NO_CHANGE, updatedAt: now };
    const kept = row.escrowWallet !== null && reason !== "agent_status_not_mutable";
    if (!kept || !known) return { ...row, status: "FAILED", reason, updatedAt: now };
    const wallet = { ...NO_CHANGE, operationalWallet: known.operationalWallet };
    return { ...row, ...wallet, status: "ACTIVE", reason, updatedAt: now };
  }
  const { onChain, txHash } = said;
  const wallet = {
    operationalWallet: onChain.operationalWallet ?? row.operationalWallet,
    ...(onChain.scheduled ? toPendingChange(onChain.scheduled) : NO_CHANGE),
  };
  const registrationTx = txHash ?? row.registrationTx;
  const opened = { ...wallet, escrowWallet: onChain.vault, registrationTx };
  return { ...row, ...opened, status: "ACTIVE", reason: null, updatedAt: now };
}
