// Gets a key's transactions into blocks (CHN-16 to CHN-18). A transaction is stored until it is final, and sent again with the same bytes until the
// chain's count passes its nonce. A transaction that waits too long is replaced at a higher fee. If the node refuses the bytes for good, their
// nonce is filled, so that later transactions are not blocked.
import type { ChainCall, ChainResult, Precedence, Submission, WaitingReason, Withdrawal } from "../chain/gateway.ts";
import { toUnavailable } from "../chain/rpc.ts";
import { type Account, type ChainSender, computeReplacementFees, type Fees } from "../chain/sender.ts";
import { signCall } from "../chain/sign.ts";
import { MINUTE_MS, SECOND_MS } from "../core/limits.ts";
import { COUNT_DISTANCE_MAX, type SentRow, type SentTransactions } from "./sent-transactions.ts";

/** The key, the node, and the transactions that the key has sent there. Only one call works on it at a time. */
export type SigningDesk = {
  readonly sender: ChainSender;
  readonly privateKey: string;
  readonly address: string;
  readonly sent: SentTransactions;
  readonly pause: (ms: number) => Promise<unknown>;
};

type Obstacle = "insufficient_gas" | "fee_above_bound" | "node_silent" | null;

export type SignerStanding = {
  readonly address: string;
  readonly balance: bigint;
  readonly waiting: number;
  readonly oldestSentAt: number | null;
  readonly reason: Obstacle;
};

const SEND_AGAIN_MS = 10 * SECOND_MS;
const REPLACE_AFTER_MS = MINUTE_MS;
const FINAL_AFTER_MS = 15 * MINUTE_MS;
const TRANSFER_GAS = 21_000n;
/** How many nonces are tried while another user of the key takes them first. */
const NONCE_ATTEMPTS = 5;
/** The other user's transaction may still wait for its block, so each further attempt waits longer. */
const NONCE_PAUSE_MS = 50;

export async function submitTransaction(
  desk: SigningDesk,
  key: string,
  call: ChainCall,
  place: Precedence,
): Promise<ChainResult<Submission>> {
  for (let attempt = 1; ; attempt++) {
    const outcome = await submitOnce(desk, key, call, place);
    if (outcome !== "nonce_taken") return outcome;
    if (attempt === NONCE_ATTEMPTS) return toWaiting("node_refused");
    await desk.pause(attempt * NONCE_PAUSE_MS);
  }
}

async function submitOnce(
  desk: SigningDesk,
  key: string,
  call: ChainCall,
  place: Precedence,
): Promise<ChainResult<Submission> | "nonce_taken"> {
  const { sender, address, sent } = desk;
  const prepared = await sender.prepare(call, address);
  if (!prepared.ok) return prepared;
  const { account, dryRun } = prepared.value;
  const known = sent.waitingFor(key);
  if (!recordCount(desk, account)) return toBadCount(desk);
  const obstacle = await resendWaiting(desk, account);
  const waiting = sent.waitingFor(key);
  const [first] = waiting;
  if (first && place === "behind") return toSubmitted(first.hash);
  const same = waiting.find((row) => isSameCall(row.call, call));
  if (same) {
    for (const row of waiting) if (row !== same) await replaceByEmpty(desk, account, row);
    return toSubmitted(same.hash);
  }
  // The caller planned before this transaction was mined, so it has to plan again.
  const mined = known.find((row) => sent.isMined(row));
  if (mined) return toMined(mined.hash);
  if (obstacle === "node_silent") return toUnavailable(sender.network.network, "timeout");
  if (obstacle !== null) return toWaiting(obstacle);
  if (dryRun.state === "refused") {
    const refused = toRefusal(dryRun.reason);
    if (refused.ok && refused.value.state === "refused")
      for (const row of waiting) await replaceByEmpty(desk, account, row);
    return refused;
  }
  if (first) return replaceFirst(desk, account, waiting, { call, gas: dryRun.gas });
  return sendNew(desk, account, { key, call, gas: dryRun.gas });
}

async function sendNew(
  desk: SigningDesk,
  { fees, mined, balance }: Account,
  { key, call, gas }: Pick<SentRow, "key" | "call" | "gas">,
): Promise<ChainResult<Submission> | "nonce_taken"> {
  const { sender, sent } = desk;
  if (fees === null) return toWaiting("fee_above_bound");
  if (balance < gas * fees.maxFeePerGas) return toWaiting("insufficient_gas");
  const row = await signRow(desk, { nonce: sent.freeNonce(mined), key, call, gas, fees, firstSentAt: Date.now() });
  // Stored before it is sent, so that it is known even when the answer is lost.
  sent.put(row);
  const taken = await sender.send(row);
  if (!taken.ok) return taken;
  if (taken.value.state === "taken") return toSubmitted(row.hash);
  sent.drop(row.nonce);
  switch (taken.value.reason) {
    case "nonce_too_low":
    case "underpriced":
      return "nonce_taken";
    case "insufficient_funds":
      return toWaiting("insufficient_gas");
    case "refused":
      return toWaiting("node_refused");
  }
}

type Sent = ChainResult<Exclude<Submission, { state: "refused" }>>;
const toSubmitted = (txHash: string): Sent => ({ ok: true, value: { state: "submitted", txHash } });
const toMined = (txHash: string): Sent => ({ ok: true, value: { state: "mined", txHash } });
const toWaiting = (reason: WaitingReason): Sent => ({ ok: true, value: { state: "waiting", reason } });
const toRefusal = (reason: string): ChainResult<Submission> =>
  reason === "insufficient_funds" ? toWaiting("insufficient_gas") : { ok: true, value: { state: "refused", reason } };

/** Returns false for a count that is not believed; nothing may follow from such an answer. */
function recordCount({ sent }: SigningDesk, { mined }: Account): boolean {
  const now = Date.now();
  const isBelieved = sent.isBelievable(mined, now);
  if (isBelieved) sent.noteMined(mined, now);
  return isBelieved;
}
const toBadCount = ({ sender }: SigningDesk) => toUnavailable(sender.network.network, "bad_answer");

const isSameCall = (a: ChainCall, b: ChainCall): boolean => a.to === b.to && a.data === b.data;

/** Sends the call under the nonce of the first waiting transaction. A reorg may have left others, which must not be mined after it. */
async function replaceFirst(
  desk: SigningDesk,
  account: Account,
  [first, ...others]: readonly SentRow[],
  next: Pick<SentRow, "call" | "gas">,
): Promise<Sent> {
  if (!first) throw new Error("unreachable: nothing waits");
  if (account.fees === null) return toWaiting("fee_above_bound");
  const displaced = await replaceTransaction(desk, first, account.fees, next);
  for (const row of others) await replaceByEmpty(desk, account, row);
  return displaced;
}

const toEmptyTransfer = ({ sender, address }: SigningDesk): Pick<SentRow, "call" | "gas"> => ({
  call: { network: sender.network.network, to: address, data: "0x" },
  gas: TRANSFER_GAS,
});

async function replaceByEmpty(desk: SigningDesk, account: Account, row: SentRow): Promise<Sent> {
  const transfer = toEmptyTransfer(desk);
  return isSameCall(row.call, transfer.call) ? toSubmitted(row.hash) : replaceFirst(desk, account, [row], transfer);
}

/** Replaces the transactions that wait under this key by empty transfers, because no call is wanted any longer. */
export async function withdrawTransactions(desk: SigningDesk, key: string): Promise<ChainResult<Withdrawal>> {
  const { sender, address, sent } = desk;
  const known = sent.waitingFor(key);
  if (known.length === 0) return { ok: true, value: { state: "clear" } };
  const account = await sender.account(address);
  if (!account.ok) return account;
  if (!recordCount(desk, account.value)) return toBadCount(desk);
  // The caller read the contract before this was mined.
  const mined = known.find((row) => sent.isMined(row));
  if (mined) return toMined(mined.hash);
  let last: Sent | null = null;
  for (const row of sent.waitingFor(key)) last = await replaceByEmpty(desk, account.value, row);
  return last ?? { ok: true, value: { state: "clear" } };
}

export async function tendTransactions(desk: SigningDesk): Promise<ChainResult<SignerStanding>> {
  const { sender, address, sent } = desk;
  const account = await sender.account(address);
  if (!account.ok) return account;
  if (!recordCount(desk, account.value)) return toBadCount(desk);
  sent.forget(Date.now() - FINAL_AFTER_MS);
  const reason = await resendWaiting(desk, account.value);
  const waiting = sent.waiting();
  const oldestSentAt = waiting.length === 0 ? null : Math.min(...waiting.map(({ firstSentAt }) => firstSentAt));
  const { balance } = account.value;
  return { ok: true, value: { address, balance, waiting: waiting.length, oldestSentAt, reason } };
}

/** Sends waiting transactions again, in the order of their nonces. Stops at the first that cannot be sent, because later ones wait for it. */
async function resendWaiting(desk: SigningDesk, account: Account): Promise<Obstacle> {
  let next = account.mined;
  for (const row of desk.sent.waiting()) {
    if (row.nonce - next > COUNT_DISTANCE_MAX) {
      // Its nonce came from a count that was far too high, or from a chain that was reset. Its operation plans the call again.
      desk.sent.drop(row.nonce);
      continue;
    }
    for (; next < row.nonce; next++) {
      const obstacle = await fillNonce(desk, account, next);
      if (obstacle !== null) return obstacle;
    }
    next = row.nonce + 1;
    const obstacle = await resendOrReplace(desk, account, row);
    if (obstacle !== null) return obstacle;
  }
  return null;
}

async function resendOrReplace(desk: SigningDesk, account: Account, row: SentRow): Promise<Obstacle> {
  const { sender, sent } = desk;
  const now = Date.now();
  if (now < row.lastSentAt + SEND_AGAIN_MS) return null;
  const late = row.nonce === account.mined && now > row.firstSentAt + REPLACE_AFTER_MS;
  if (late && account.fees) return toObstacle(await replaceTransaction(desk, row, account.fees, row));
  const taken = await sender.send(row);
  // Each further transaction would wait as long for the node.
  if (!taken.ok) return "node_silent";
  if (taken.value.state === "taken") {
    sent.put({ ...row, lastSentAt: now });
    return null;
  }
  switch (taken.value.reason) {
    case "nonce_too_low":
      sent.put({ ...row, minedAt: now });
      return null;
    case "insufficient_funds":
      return "insufficient_gas";
    case "underpriced":
      return account.fees ? toObstacle(await replaceTransaction(desk, row, account.fees, row)) : "fee_above_bound";
    case "refused":
      return dropRefused(desk, account, row);
  }
}

const toObstacle = (sent: Sent): Obstacle =>
  sent.ok && sent.value.state === "waiting" && sent.value.reason !== "node_refused" ? sent.value.reason : null;

async function replaceTransaction(
  desk: SigningDesk,
  row: SentRow,
  present: Fees,
  next: Pick<SentRow, "call" | "gas">,
): Promise<Sent> {
  const { sender, sent } = desk;
  const fees = computeReplacementFees(row.fees, present, sender.network);
  if (fees === null) {
    // The bound forbids a higher fee, so the old transaction keeps waiting and is sent once more.
    const again = await sender.send(row);
    if (again.ok && again.value.state === "taken") sent.put({ ...row, lastSentAt: Date.now() });
    return toWaiting("fee_above_bound");
  }
  const { call, gas } = next;
  const replacement = await signRow(desk, { ...row, call, gas, fees });
  const taken = await sender.send(replacement);
  if (!taken.ok || taken.value.state === "taken") {
    sent.put(replacement);
    return toSubmitted(replacement.hash);
  }
  switch (taken.value.reason) {
    case "underpriced":
      // The node knows a transaction with a higher fee. The bound ends this recursion.
      return replaceTransaction(desk, { ...row, fees }, present, next);
    case "nonce_too_low":
      sent.put({ ...row, minedAt: Date.now() });
      return toMined(row.hash);
    case "insufficient_funds":
      return toWaiting("insufficient_gas");
    case "refused":
      return toWaiting("node_refused");
  }
}

/** The node will never take these bytes. An empty transfer fills the nonce if later transactions wait; otherwise the next call uses it. */
async function dropRefused(desk: SigningDesk, account: Account, row: SentRow): Promise<Obstacle> {
  desk.sent.drop(row.nonce);
  const isLast = desk.sent.waiting().every(({ nonce }) => nonce < row.nonce);
  return isLast ? null : fillNonce(desk, account, row.nonce);
}

async function fillNonce(desk: SigningDesk, { fees }: Account, nonce: number): Promise<Obstacle> {
  if (fees === null) return "fee_above_bound";
  const { sender, sent } = desk;
  const firstSentAt = Date.now();
  const row = await signRow(desk, { nonce, key: `fill:${nonce}`, ...toEmptyTransfer(desk), fees, firstSentAt });
  sent.put(row);
  const taken = await sender.send(row);
  if (!taken.ok) return "node_silent";
  if (taken.value.state === "refused") sent.drop(nonce);
  return null;
}

type ToSign = Pick<SentRow, "nonce" | "key" | "call" | "gas" | "fees" | "firstSentAt">;

async function signRow(
  { sender, privateKey, sent }: SigningDesk,
  { nonce, key, call, gas, fees, firstSentAt }: ToSign,
): Promise<SentRow> {
  const { to, data } = call;
  const { chain_id: chainId } = sender.network;
  const { raw, hash } = await signCall({ privateKey, chainId, nonce, to, data, gas, ...fees });
  const now = Date.now();
  sent.noteSigned(hash, now);
  return { nonce, key, call, gas, fees, raw, hash, firstSentAt, lastSentAt: now, minedAt: null };
}
