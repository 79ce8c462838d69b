// Sends a vault's surplus to the provider's wallet, and everything once the provider leaves (MKT-29, MKT-30). The request is a stored operation,
// which this drives: first the contract's threshold, then the release. A job resumes it after a crash between any two steps, and repeating a step
// changes nothing.
import { hashDid } from "../chain/hashes.ts";
import { type Network, requireNetwork, selectEdition } from "../chain/networks.ts";
import {
  type ChainTools,
  type DriveResult,
  type OwnProgress,
  postponeOperation,
  recordDriven,
  recordRecheck,
  toSeenSchedule,
} from "../chain/operations.ts";
import { changeOperation, findOperation, type OperationKey, requestAgain, requestOperation } from "../chain/store.ts";
import { computeSurplus, driveRelease, LOW_THRESHOLD, readVault } from "../chain/surplus.ts";
import { driveAct, toActPurpose, type VaultAct } from "../chain/vault-acts.ts";
import { commitAll } from "../commit.ts";
import type { Deps } from "../context.ts";
import { DAY_MS, MINUTE_MS } from "../core/limits.ts";
import { leaveConflicts } from "../core/retry.ts";
import { commit, type ReadResults, readBatch, type Statement } from "../db/batch.ts";
import type { OperationRow } from "../db/tables/chain.ts";
import type { EscrowRow } from "../db/tables/money.ts";
import { writeThreshold } from "../escrow/follow-threshold.ts";
import { pickEditionContract } from "../escrow/states.ts";
import { dropThreshold, setChainThreshold } from "../escrow/store.ts";
import { pickVaultThreshold } from "../escrow/threshold.ts";
import { recordEscrowTurns } from "../follower/escrow-turns.ts";
import { findEscrowsOfProviders } from "../follower/store.ts";
import type { EachJob } from "../jobs/job.ts";
import { tendOperations } from "../jobs/tend.ts";
import { type Alert, raiseAlert } from "../journal/alerts.ts";
import { createSigner } from "../objects/signers.ts";
import { findUnsoldVaults, findVaultNeeds, guardLeaving, type VaultKey } from "./store.ts";

export const releaseKey = ({ network, did }: VaultKey): OperationKey => ({ network, kind: "release", subject: did });

export const buildExitReads = ({ db, clock }: Deps, vault: VaultKey) => ({
  operation: findOperation(db, releaseKey(vault)),
  escrows: findEscrowsOfProviders(db, vault.network, [vault.did]),
  standing: findVaultNeeds(db, vault, clock.now()),
});
export type ExitFacts = ReadResults<ReturnType<typeof buildExitReads>>;

/** The provider no longer sells there, nothing is open, and every dispute window has closed. */
export const isLeaving = ({ standing }: Pick<ExitFacts, "standing">, now: number): boolean =>
  !standing.sells && !standing.open && standing.closesAt <= now;

/** The network with the edition that the escrow's vault belongs to; null if that edition is no longer configured. */
export const pickEscrowEdition = (deps: Deps, escrow: EscrowRow): Network | null => {
  const network = requireNetwork(deps.config.networks, escrow.network);
  return selectEdition(network, pickEditionContract(escrow, network));
};

/** Returns false if the chain has not answered in time, or if something was requested or has moved meanwhile: a later run continues. */
export const driveVault = (deps: Deps, vault: VaultKey, until: number): Promise<boolean> =>
  leaveConflicts(() => driveStored(deps, vault, until));

async function driveStored(deps: Deps, vault: VaultKey, until: number): Promise<boolean> {
  const { db, clock } = deps;
  const facts = await readBatch(db, buildExitReads(deps, vault));
  const { operation, standing } = facts;
  const [escrow] = facts.escrows;
  const on = escrow && pickEscrowEdition(deps, escrow);
  if (!escrow || !on) return true;
  if (isLeaving(facts, clock.now())) return driveLeaving(deps, facts, { escrow, on, until });
  if (!operation || operation.nextCheckAt === null) return true;
  if (operation.status === "done") return watchRelease(deps, operation);
  if (isReleaseRequested(operation)) return driveSurplus(deps, facts, operation, { escrow, on, until });
  if (standing.sells) return withdrawLeaving(deps, operation, { escrow, on, until });
  await commit(db, postponeOperation(db, operation, computeNextLook(facts, clock.now()), Date.now()));
  return true;
}

type ExitPlace = { readonly escrow: EscrowRow; readonly on: Network; readonly until: number };

const isReleaseRequested = ({ wanted }: OperationRow): boolean => wanted["asked"] === "yes";

/** Once the last window has closed, but in ten minutes at the earliest and a day at the latest. */
const computeNextLook = ({ standing }: ExitFacts, now: number): number =>
  Date.now() + Math.min(Math.max(standing.closesAt - now, 10 * MINUTE_MS), DAY_MS);

const createChainTools = ({ chain, env }: Deps, { network }: Network): ChainTools => ({
  chain,
  signer: createSigner(env, "registrar", network),
});

// ---- A provider that sells -------------------------------------------------------------------------------------------------

/** Releases the surplus. The contract gets the exact threshold first, so that the release takes only what is above it. */
async function driveSurplus(deps: Deps, facts: ExitFacts, operation: OperationRow, at: ExitPlace): Promise<boolean> {
  const { escrow, on, until } = at;
  const present = requireNetwork(deps.config.networks, escrow.network);
  // A provider that opens its market again gets its threshold back with the contract's answer.
  if (escrow.baseThreshold === 0) return false;
  const own = on.settlement_contract === present.settlement_contract;
  if (own && pickVaultThreshold(escrow) !== escrow.chainThreshold && !(await writeThreshold(deps, escrow, until)))
    return false;
  const least = own ? BigInt(pickVaultThreshold(escrow)) : 0n;
  const driven = await driveRelease(createChainTools(deps, on), on, escrow.did, least, until);
  // The contract has less than the row says, for example after a provider came back while its low threshold was on its way.
  if (driven.state === "failed" && driven.reason === LOW_THRESHOLD) {
    await writeThreshold(deps, escrow, until);
    return false;
  }
  const more = facts.standing.sells ? null : computeNextLook(facts, deps.clock.now());
  return recordRelease(deps, operation, driven, { more });
}

/** Withdraws a low threshold that is on its way, because the provider sells again, and stores the contract's threshold as it is. */
async function withdrawLeaving(
  deps: Deps,
  operation: OperationRow,
  { escrow, on, until }: ExitPlace,
): Promise<boolean> {
  const { db } = deps;
  const { signer } = createChainTools(deps, on);
  const left = await signer.withdraw(toActPurpose(on, toLowThresholdAct(escrow)), until);
  const read = left.ok && left.value.state === "clear" ? await readVault(on, escrow.did) : null;
  if (!read?.ok) return false;
  const threshold = Number(read.value.threshold);
  await commit(db, [
    ...changeOperation(
      db,
      operation,
      { wanted: {}, status: "done", reason: null, nextCheckAt: null, checks: 0 },
      Date.now(),
    ),
    ...(escrow.chainThreshold === threshold ? [] : [setChainThreshold(db, escrow, threshold)]),
  ]);
  return true;
}

// ---- A provider that leaves ------------------------------------------------------------------------------------------------

async function driveLeaving(deps: Deps, facts: ExitFacts, at: ExitPlace): Promise<boolean> {
  const { db } = deps;
  const { escrow, on, until } = at;
  const operation = await beginLeaving(deps, facts);
  if (operation.nextCheckAt === null && operation.status !== "waiting") return true;
  if (operation.status === "done") return watchLeftVault(deps, operation, at);
  const tools = createChainTools(deps, on);
  const low = await driveAct(tools, on, toLowThresholdAct(escrow), toSeenSchedule(operation), until);
  if (low.state !== "done") return recordRelease(deps, operation, low, {});
  const { scheduled } = low.onChain;
  const lowered = scheduled === null && escrow.chainThreshold !== 0 ? [setChainThreshold(db, escrow, 0)] : [];
  // The chain took its time: a provider that has opened a market meanwhile keeps its vault.
  if (!isLeaving(await readBatch(db, buildExitReads(deps, escrow)), deps.clock.now())) return false;
  const driven = await driveRelease(tools, on, escrow.did, 0n, until);
  return recordRelease(deps, operation, driven, { statements: lowered, scheduled });
}

/** Removes the vault's threshold and stores the operation, from which a job resumes after a crash. */
async function beginLeaving(deps: Deps, { operation, escrows }: ExitFacts): Promise<OperationRow> {
  const { db, clock } = deps;
  const [first] = escrows;
  if (!first) throw new Error("unreachable: a vault has an escrow");
  const held = escrows.filter(({ baseThreshold }) => baseThreshold > 0);
  if (operation && held.length === 0) return operation;
  const key = releaseKey(first);
  const turned = held.map((before) => ({
    before,
    after: { ...before, baseThreshold: 0, threshold: 0, otherThreshold: 0, state: toStateAfterLeaving(before) },
  }));
  await commitAll(deps, [
    guardLeaving(db, first, clock.now()),
    ...held.flatMap((row) => dropThreshold(db, row)),
    ...(operation ? requestAgain(db, operation, {}, Date.now()) : [requestOperation(db, key, {}, Date.now())]),
    ...(await recordEscrowTurns(
      deps,
      turned.filter(({ before, after }) => before.state !== after.state),
    )),
  ]);
  const { operation: begun } = await readBatch(db, { operation: findOperation(db, key) });
  if (!begun) throw new Error("unreachable: it was just written");
  return begun;
}

const toStateAfterLeaving = ({ state }: EscrowRow): EscrowRow["state"] => (state === "CONSTRAINED" ? state : "FUNDING");

const toLowThresholdAct = ({ did }: EscrowRow): VaultAct => ({
  kind: "low_threshold",
  providerDidHash: hashDid(did),
  threshold: 0n,
});

// ---- Its progress ----------------------------------------------------------------------------------------------------------

type ReleaseStep = Pick<OwnProgress, "scheduled"> & {
  readonly statements?: readonly Statement[];
  /** When to continue, if a step that is done leaves more to do. */
  readonly more?: number | null;
};

async function recordRelease(
  deps: Deps,
  operation: OperationRow,
  driven: DriveResult<unknown>,
  { statements = [], more = null, scheduled = null }: ReleaseStep,
): Promise<boolean> {
  const { db } = deps;
  const { state } = driven;
  const own: OwnProgress = {
    wanted: state === "waiting" && isReleaseRequested(operation) ? { asked: "yes" } : {},
    scheduled,
    ...(state === "done" && more !== null && { status: "waiting", nextCheckAt: more }),
    // A cancellation on-chain is final.
    ...(state === "failed" && driven.reason === "cancelled" && { nextCheckAt: null }),
  };
  await commitAll(deps, [
    ...recordDriven(db, operation, driven, own, Date.now()),
    ...statements,
    ...(state === "failed" ? [raiseAlert(db, toReleaseRefusedAlert(operation, driven.reason))] : []),
    ...(state === "waiting" && driven.reason === "insufficient_gas"
      ? [raiseAlert(db, toReleaseGasAlert(operation))]
      : []),
  ]);
  return state !== "waiting";
}

/** Checks a release by its transaction, because what came to the vault since is no part of it. */
async function watchRelease(deps: Deps, operation: OperationRow): Promise<boolean> {
  const { db, chain } = deps;
  const { network, txHash } = operation;
  const seen = txHash === null ? null : await chain.waitForReceipt(network, txHash, 0);
  if (seen && !seen.ok) return false;
  if (seen?.ok && seen.value.state === "waiting") {
    await commit(db, [
      ...requestAgain(db, operation, { asked: "yes" }, Date.now()),
      raiseAlert(db, toReleaseUndoneAlert(operation)),
    ]);
    return true;
  }
  await commit(db, [recordRecheck(db, operation, Date.now())]);
  return true;
}

/** Checks a vault that was left by its balance, whatever became of a transaction. */
async function watchLeftVault(deps: Deps, operation: OperationRow, { escrow, on }: ExitPlace): Promise<boolean> {
  const { db } = deps;
  const read = await readVault(on, escrow.did);
  if (!read.ok) return false;
  const stays = read.value.threshold === 0n && computeSurplus(read.value, 0n) === 0n;
  const now = Date.now();
  await commit(db, stays ? [recordRecheck(db, operation, now)] : requestAgain(db, operation, {}, now));
  return true;
}

const describeVault = ({ subject, network }: OperationRow): string => `${subject} on ${network}`;
const toReleaseRefusedAlert = (operation: OperationRow, reason: string): Alert => ({
  kind: "escrow_release",
  subject: describeVault(operation),
  message: `The vault's release to the provider's wallet was refused: ${reason}.`,
});
const toReleaseUndoneAlert = (operation: OperationRow): Alert => ({
  kind: "chain_reorganised",
  subject: describeVault(operation),
  message: "A reorg undid the release of the vault; it is being repeated.",
});
const toReleaseGasAlert = ({ network }: OperationRow): Alert => ({
  kind: "low_gas",
  subject: `registrar on ${network}`,
  message: "The registrar's account cannot pay for its transactions: releases of escrow wait.",
});

// ---- Jobs ------------------------------------------------------------------------------------------------------------------

const queueRelease = ({ env }: Deps, network: string, did: string) =>
  env.CHAIN_QUEUE.send({ kind: "release_escrow", did, network });

/** Drives releases that wait, and those that have to be checked again. */
export const releaseEscrows = tendOperations("release_escrows", "release", queueRelease);

const ESCROWS_IN_SLICE = 40;
/** The golden section of 2^32: successive minutes begin far from each other, and soon reach every part. */
const WALK_STRIDE = 2_654_435_769;

/**
 * Finds providers that have left. Nothing is written when the last market goes, so this walks the escrows: forty a minute from a changing place, and
 * the first forty, so that the walk goes on after the last escrow.
 */
export const findLeaving: EachJob = {
  kind: "each",
  name: "find_leaving",
  find: async ({ db }, after) => {
    if (after !== null) return [];
    const start = ((Math.floor(Date.now() / MINUTE_MS) * WALK_STRIDE) % 2 ** 32).toString(16).padStart(8, "0");
    const { ahead, first } = await readBatch(db, {
      ahead: findUnsoldVaults(db, `did:aeap:${start}`, ESCROWS_IN_SLICE),
      first: findUnsoldVaults(db, "", ESCROWS_IN_SLICE),
    });
    const now = Date.now();
    return [...new Set([...ahead, ...first].map(({ id }) => id))].map((id) => ({ at: now, id }));
  },
  record: async (deps, id) => {
    const [did = "", network = ""] = id.split(" ");
    await queueRelease(deps, network, did);
    return true;
  },
};
