// A vault's surplus, and all of it of a provider that leaves, goes to the provider's wallet (MKT-29, MKT-30). The wish is a stored operation;
// this drives it: the contract's threshold first, then the release. A crash between any two steps is taken up again by a job, and doing it
// twice changes nothing.
import { didHash } from "../chain/hashes.ts";
import { type Network, networkNamed, onEdition } from "../chain/networks.ts";
import { type ChainTools, type DrivenTo, firstCheck, nextCheck } from "../chain/operations.ts";
import {
  checkAt,
  findOperation,
  findUnchecked,
  noteCheck,
  type OperationKey,
  putOperation,
  wantAgain,
  whileOperation,
} from "../chain/store.ts";
import { driveRelease, LOW_THRESHOLD, readVault, surplusOf } from "../chain/surplus.ts";
import { driveAct, purposeOf, type VaultAct } from "../chain/vault-acts.ts";
import { commitAll } from "../commit.ts";
import type { Deps } from "../context.ts";
import { FIRST } from "../core/due.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from "../core/limits.ts";
import { Conflict } from "../core/retry.ts";
import { commit, type ReadResults, readBatch, type Statement } from "../db/batch.ts";
import type { OperationRow } from "../db/tables/chain.ts";
import type { EscrowRow } from "../db/tables/money.ts";
import { writeThreshold } from "../escrow/follow-threshold.ts";
import { editionOf } from "../escrow/states.ts";
import { dropThreshold, setChainThreshold } from "../escrow/store.ts";
import { vaultThreshold } from "../escrow/threshold.ts";
import { findEscrowsOfAll } from "../follower/store.ts";
import { turnedStatements } from "../follower/turn.ts";
import type { EachJob } from "../jobs/job.ts";
import { type Alert, raiseAlert } from "../journal/alerts.ts";
import { signerOn } from "../objects/signers.ts";
import { findStanding, findUnsold, type VaultKey, whileLeaving } from "./exit-store.ts";

export const releaseKey = ({ network, did }: VaultKey): OperationKey => ({ network, kind: "release", subject: did });

export const exitReads = ({ db, clock }: Deps, vault: VaultKey) => ({
  operation: findOperation(db, releaseKey(vault)),
  escrows: findEscrowsOfAll(db, vault.network, [vault.did]),
  standing: findStanding(db, vault, clock.now()),
});
export type ExitFacts = ReadResults<ReturnType<typeof exitReads>>;

/** It sells nothing there any more, nothing is open, and every dispute window has closed. */
export const leaves = ({ standing }: Pick<ExitFacts, "standing">, now: number): boolean =>
  !standing.sells && !standing.open && standing.closesAt <= now;

/** The network with the edition whose vault an escrow is; null: that is not configured any more. */
export const editionAt = (deps: Deps, escrow: EscrowRow): Network | null => {
  const network = networkNamed(deps.config.networks, escrow.network);
  return onEdition(network, editionOf(escrow, network));
};

/** False where the chain has not answered in time: a later run continues. */
export async function driveVault(deps: Deps, vault: VaultKey, until: number): Promise<boolean> {
  try {
    return await drive(deps, vault, until);
  } catch (thrown) {
    // Something was asked for, or has moved, meanwhile: the operation is still due.
    if (thrown instanceof Conflict) return false;
    throw thrown;
  }
}

async function drive(deps: Deps, vault: VaultKey, until: number): Promise<boolean> {
  const { db, clock } = deps;
  const facts = await readBatch(db, exitReads(deps, vault));
  const { operation, standing } = facts;
  const [escrow] = facts.escrows;
  const on = escrow && editionAt(deps, escrow);
  if (!escrow || !on) return true;
  if (leaves(facts, clock.now())) return leave(deps, facts, { escrow, on, until });
  if (!operation || operation.nextCheckAt === null) return true;
  if (operation.status === "done") return watch(deps, operation);
  if (isAsked(operation)) return release(deps, facts, operation, { escrow, on, until });
  if (standing.sells) return stay(deps, operation, { escrow, on, until });
  await commit(db, [whileOperation(db, operation), checkAt(db, operation, laterAt(facts, clock.now()), Date.now())]);
  return true;
}

type At = { readonly escrow: EscrowRow; readonly on: Network; readonly until: number };

const isAsked = ({ wanted }: OperationRow): boolean => wanted["asked"] === "yes";

/** Once the last window has closed, and at least once a day. */
const laterAt = ({ standing }: ExitFacts, now: number): number =>
  Date.now() + Math.min(Math.max(standing.closesAt - now, 10 * MINUTE_MS), DAY_MS);

const toolsOn = ({ chain, env }: Deps, { network }: Network): ChainTools => ({
  chain,
  signer: signerOn(env, "registrar", network),
});

// ---- A provider that sells -------------------------------------------------------------------------------------------------

/** What stands above the threshold. The contract gets that to the last base unit first, so that no more goes out. */
async function release(deps: Deps, facts: ExitFacts, operation: OperationRow, at: At): Promise<boolean> {
  const { escrow, on, until } = at;
  const present = networkNamed(deps.config.networks, escrow.network);
  // One that opens its market again has its threshold back with the contract's answer.
  if (escrow.baseThreshold === 0) return false;
  const own = on.settlement_contract === present.settlement_contract;
  if (own && vaultThreshold(escrow) !== escrow.chainThreshold && !(await writeThreshold(deps, escrow, until)))
    return false;
  const least = own ? BigInt(vaultThreshold(escrow)) : 0n;
  const driven = await driveRelease(toolsOn(deps, on), on, escrow.did, least, until);
  // The row says more than the contract has, as of a provider that came back while its low threshold was on its way.
  if (driven.state === "failed" && driven.reason === LOW_THRESHOLD) {
    await writeThreshold(deps, escrow, until);
    return false;
  }
  const more = facts.standing.sells ? null : laterAt(facts, deps.clock.now());
  return note(deps, operation, driven, { statements: [], more, scheduled: null });
}

/** It sells again: what was on its way is taken back, and the contract's threshold is stored as it is. */
async function stay(deps: Deps, operation: OperationRow, { escrow, on, until }: At): Promise<boolean> {
  const { db } = deps;
  const { signer } = toolsOn(deps, on);
  const left = await signer.withdraw(purposeOf(on, lowThreshold(escrow)), until);
  const read = left.ok && left.value.state === "clear" ? await readVault(on, escrow.did) : null;
  if (!read?.ok) return false;
  const threshold = Number(read.value.threshold);
  await commit(db, [
    whileOperation(db, operation),
    putOperation(
      db,
      operation,
      { wanted: {}, status: "done", reason: null, txHash: null, nextCheckAt: null },
      Date.now(),
    ),
    ...(escrow.chainThreshold === threshold ? [] : [setChainThreshold(db, escrow, threshold)]),
  ]);
  return true;
}

// ---- A provider that leaves ------------------------------------------------------------------------------------------------

async function leave(deps: Deps, facts: ExitFacts, at: At): Promise<boolean> {
  const { db } = deps;
  const { escrow, on, until } = at;
  const operation = await begin(deps, facts);
  if (operation.nextCheckAt === null && operation.status !== "waiting") return true;
  if (operation.status === "done") return watchLeft(deps, operation, at);
  const tools = toolsOn(deps, on);
  const low = await driveAct(tools, on, lowThreshold(escrow), knownOf(operation), until);
  if (low.state !== "done") return note(deps, operation, low, { statements: [], more: null, scheduled: null });
  const { scheduled } = low.onChain;
  const lowered = scheduled === null && escrow.chainThreshold !== 0 ? [setChainThreshold(db, escrow, 0)] : [];
  // The chain took its time: one that has opened a market meanwhile keeps its vault.
  if (!leaves(await readBatch(db, exitReads(deps, escrow)), deps.clock.now())) return false;
  const driven = await driveRelease(tools, on, escrow.did, 0n, until);
  const more = scheduled === null ? null : Math.max(scheduled.effectiveAt + SECOND_MS, Date.now() + MINUTE_MS);
  return note(deps, operation, driven, { statements: lowered, more, scheduled });
}

/** From here the vault has no threshold; the operation is what a crash leaves. */
async function begin(deps: Deps, { operation, escrows }: ExitFacts): Promise<OperationRow> {
  const { db, clock } = deps;
  const [first] = escrows;
  if (!first) throw new Error("unreachable: a vault has an escrow");
  const held = escrows.filter(({ baseThreshold }) => baseThreshold > 0);
  if (operation && held.length === 0) return operation;
  const key = releaseKey(first);
  const turned = held.map((before) => ({
    before,
    after: { ...before, baseThreshold: 0, threshold: 0, otherThreshold: 0, state: leftState(before) },
  }));
  await commitAll(deps, [
    ...(operation ? [whileOperation(db, operation)] : []),
    whileLeaving(db, first, clock.now()),
    ...held.flatMap((row) => dropThreshold(db, row)),
    wantAgain(db, key, {}, Date.now()),
    ...(await turnedStatements(
      deps,
      turned.filter(({ before, after }) => before.state !== after.state),
    )),
  ]);
  const { operation: begun } = await readBatch(db, { operation: findOperation(db, key) });
  if (!begun) throw new Error("unreachable: it was just written");
  return begun;
}

const leftState = ({ state }: EscrowRow): EscrowRow["state"] => (state === "CONSTRAINED" ? state : "FUNDING");

const lowThreshold = ({ did }: EscrowRow): VaultAct => ({
  kind: "low_threshold",
  providerDidHash: didHash(did),
  threshold: 0n,
});

/** The schedule of the low threshold that was seen. */
function knownOf({ wanted }: OperationRow) {
  const { effective_at: effectiveAt, nonce } = wanted;
  return effectiveAt && nonce ? { effectiveAt: Number(effectiveAt), nonce: Number(nonce) } : null;
}

// ---- Its progress ----------------------------------------------------------------------------------------------------------

type Noted = {
  readonly statements: readonly Statement[];
  /** When there is more to do after a step that is done. */
  readonly more: number | null;
  readonly scheduled: ReturnType<typeof knownOf>;
};

async function note(
  deps: Deps,
  operation: OperationRow,
  driven: DrivenTo<unknown>,
  { statements, more, scheduled }: Noted,
): Promise<boolean> {
  const { db } = deps;
  const now = Date.now();
  const { state, txHash } = driven;
  const status = state === "done" && more !== null ? "waiting" : state;
  const reason = driven.state === "done" ? (scheduled ? "scheduled" : null) : driven.reason;
  const known = driven.state === "done" ? scheduled : knownOf(operation);
  const asked = driven.state === "waiting" && isAsked(operation) ? { asked: "yes" } : {};
  const wanted = { ...asked, ...(known && { effective_at: String(known.effectiveAt), nonce: String(known.nonce) }) };
  const dueAt = nextAt(driven, more, now);
  await commitAll(deps, [
    whileOperation(db, operation),
    putOperation(db, operation, { wanted, status, reason, txHash, nextCheckAt: dueAt }, now),
    checkAt(db, operation, dueAt, now),
    ...statements,
    ...(driven.state === "failed" ? [raiseAlert(db, refused(operation, driven.reason))] : []),
    ...(driven.state === "waiting" && driven.reason === "insufficient_gas" ? [raiseAlert(db, lowGas(operation))] : []),
  ]);
  return driven.state !== "waiting";
}

/** What was cancelled on-chain is given up; another refusal may end, as that of a wallet which the token refuses. */
function nextAt(driven: DrivenTo<unknown>, more: number | null, now: number): number | null {
  if (driven.state === "failed") return driven.reason === "cancelled" ? null : now + HOUR_MS;
  return driven.state === "done" && more !== null ? more : firstCheck(now);
}

/** A release is seen again by its transaction: what came to the vault since is no part of it. */
async function watch(deps: Deps, operation: OperationRow): Promise<boolean> {
  const { db, chain } = deps;
  const { network, txHash } = operation;
  const seen = txHash === null ? null : await chain.waitForReceipt(network, txHash, 0);
  if (seen && !seen.ok) return false;
  if (seen?.ok && seen.value.state === "waiting") {
    await commit(db, [
      whileOperation(db, operation),
      wantAgain(db, operation, { asked: "yes" }, Date.now()),
      raiseAlert(db, undone(operation)),
    ]);
    return true;
  }
  return checked(deps, operation);
}

/** A vault that was left holds nothing, whatever came of a transaction. */
async function watchLeft(deps: Deps, operation: OperationRow, { escrow, on }: At): Promise<boolean> {
  const { db } = deps;
  const read = await readVault(on, escrow.did);
  if (!read.ok) return false;
  if (read.value.threshold === 0n && surplusOf(read.value, 0n) === 0n) return checked(deps, operation);
  await commit(db, [whileOperation(db, operation), wantAgain(db, operation, {}, Date.now())]);
  return true;
}

async function checked({ db }: Deps, operation: OperationRow): Promise<boolean> {
  const checks = operation.checks + 1;
  await commit(db, [noteCheck(db, operation, checks, nextCheck(checks, Date.now()))]);
  return true;
}

const vaultOf = ({ subject, network }: OperationRow): string => `${subject} on ${network}`;
const refused = (operation: OperationRow, reason: string): Alert => ({
  kind: "escrow_release",
  subject: vaultOf(operation),
  message: `The vault's release to the provider's wallet was refused: ${reason}.`,
});
const undone = (operation: OperationRow): Alert => ({
  kind: "chain_reorganised",
  subject: vaultOf(operation),
  message: "A reorganisation undid the release of the vault; it is being repeated.",
});
const lowGas = ({ network }: OperationRow): Alert => ({
  kind: "low_gas",
  subject: `registrar on ${network}`,
  message: "The registrar's account cannot pay for its transactions: releases of escrow wait.",
});

// ---- Jobs ------------------------------------------------------------------------------------------------------------------

const handOn: EachJob["record"] = async ({ env }, id) => {
  const [did = "", network = ""] = id.split(" ");
  await env.CHAIN_QUEUE.send({ kind: "release_escrow", did, network });
  return true;
};

/** Releases that wait, or are looked at again. */
export const releaseEscrows: EachJob = {
  kind: "each",
  name: "release_escrows",
  find: async ({ db }, after, limit) => {
    const { due } = await readBatch(db, { due: findUnchecked(db, "release", Date.now(), after ?? FIRST, limit) });
    return due;
  },
  record: (deps, id) => handOn(deps, id.split(" ").reverse().join(" ")),
};

/** Escrows of one walk. */
const WALKED = 40;
/** The golden section of 2^32: the walks of successive minutes begin far from each other, and reach every part soon. */
const STRIDE = 2_654_435_769;

/**
 * Providers that have left: nothing is written when the last market goes, so they are walked by, forty escrows a minute from another place
 * each time, and from the first one after the last.
 */
export const findLeaving: EachJob = {
  kind: "each",
  name: "find_leaving",
  find: async ({ db }, after) => {
    if (after !== null) return [];
    const start = ((Math.floor(Date.now() / MINUTE_MS) * STRIDE) % 2 ** 32).toString(16).padStart(8, "0");
    const { ahead, first } = await readBatch(db, {
      ahead: findUnsold(db, `did:aeap:${start}`, WALKED),
      first: findUnsold(db, "", WALKED),
    });
    const now = Date.now();
    return [...new Set([...ahead, ...first].map(({ id }) => id))].map((id) => ({ at: now, id }));
  },
  record: handOn,
};
