// Gets a key's transactions into blocks (CHN-16 to CHN-18). A transaction is stored until it is final, and sent again with the same bytes until the
// chain's count passes its nonce. A transaction that waits too long is replaced at a higher fee. If the node refuses the bytes for good, their
// nonce is filled, so that later transactions are not blocked.
import { type Fees, replacementFees } from "../chain/fees.ts";
import type { ChainCall, ChainResult, Place, Submission, WaitingReason, Withdrawal } from "../chain/gateway.ts";
import { unavailable } from "../chain/rpc.ts";
import type { Account, ChainSender } from "../chain/sender.ts";
import { signCall } from "../chain/sign.ts";
import { MINUTE_MS, SECOND_MS } from "../core/limits.ts";
import { FAR, type SentRow, type SentTransactions } from "./sent-transactions.ts";

/** The key, the node, and the transactions that the key has sent there. Only one call works on it at a time. */
export type Desk = {
  readonly sender: ChainSender;
  readonly privateKey: string;
  readonly address: string;
  readonly sent: SentTransactions;
  readonly pause: (ms: number) => Promise<unknown>;
};

/** Why waiting transactions cannot be sent; null if they are sent. */
type Obstacle = "insufficient_gas" | "fee_above_bound" | "node_silent" | null;

export type SignerStanding = {
  readonly address: string;
  readonly balance: bigint;
  readonly waiting: number;
  /** When the oldest waiting transaction was first sent, in epoch milliseconds; null if none waits. */
  readonly oldestSentAt: number | null;
  readonly reason: Obstacle;
};

const SEND_AGAIN_MS = 10 * SECOND_MS;
const REPLACE_AFTER_MS = MINUTE_MS;
/** A block that is older than this counts as final. */
const FINAL_AFTER_MS = 15 * MINUTE_MS;
const TRANSFER_GAS = 21_000n;
/** How many nonces are tried while another user of the key takes them first. */
const NONCE_ATTEMPTS = 5;
/** The other user's transaction may still wait for its block, so each further attempt waits longer. */
const NONCE_PAUSE_MS = 50;

export async function submitTransaction(
  desk: Desk,
  key: string,
  call: ChainCall,
  place: Place,
): Promise<ChainResult<Submission>> {
  for (let attempt = 1; ; attempt++) {
    const outcome = await submitOnce(desk, key, call, place);
    if (outcome !== "nonce_taken") return outcome;
    if (attempt === NONCE_ATTEMPTS) return waitingFor("node_refused");
    await desk.pause(attempt * NONCE_PAUSE_MS);
  }
}

async function submitOnce(
  desk: Desk,
  key: string,
  call: ChainCall,
  place: Place,
): Promise<ChainResult<Submission> | "nonce_taken"> {
  const { sender, address, sent } = desk;
  const prepared = await sender.prepare(call, address);
  if (!prepared.ok) return prepared;
  const { account, dryRun } = prepared.value;
  const known = sent.waitingFor(key);
  if (!noteCount(desk, account)) return badCount(desk);
  const obstacle = await tendWaiting(desk, account);
  const waiting = sent.waitingFor(key);
  const [first] = waiting;
  if (first && place === "behind") return submitted(first.hash);
  const same = waiting.find((row) => isSameCall(row.call, call));
  if (same) {
    for (const row of waiting) if (row !== same) await empty(desk, account, row);
    return submitted(same.hash);
  }
  // The caller planned before this transaction was mined, so it has to plan again.
  const mined = known.find((row) => sent.isMined(row));
  if (mined) return minedAs(mined.hash);
  if (obstacle === "node_silent") return unavailable(sender.network.network, "timeout");
  if (obstacle !== null) return waitingFor(obstacle);
  if (dryRun.state === "refused") {
    const refused = refusal(dryRun.reason);
    if (refused.ok && refused.value.state === "refused") for (const row of waiting) await empty(desk, account, row);
    return refused;
  }
  if (first) return displace(desk, account, waiting, { call, gas: dryRun.gas });
  return sendNew(desk, account, { key, call, gas: dryRun.gas });
}

async function sendNew(
  desk: Desk,
  { fees, mined, balance }: Account,
  { key, call, gas }: Pick<SentRow, "key" | "call" | "gas">,
): Promise<ChainResult<Submission> | "nonce_taken"> {
  const { sender, sent } = desk;
  if (fees === null) return waitingFor("fee_above_bound");
  if (balance < gas * fees.maxFeePerGas) return waitingFor("insufficient_gas");
  const row = await signed(desk, { nonce: sent.freeNonce(mined), key, call, gas, fees, firstSentAt: Date.now() });
  // Stored before it is sent, so that it is known even when the answer is lost.
  sent.put(row);
  const taken = await sender.send(row);
  if (!taken.ok) return taken;
  if (taken.value.state === "taken") return submitted(row.hash);
  sent.drop(row.nonce);
  switch (taken.value.reason) {
    case "nonce_too_low":
    case "underpriced":
      return "nonce_taken";
    case "insufficient_funds":
      return waitingFor("insufficient_gas");
    case "refused":
      return waitingFor("node_refused");
  }
}

type Sent = ChainResult<Exclude<Submission, { state: "refused" }>>;
const submitted = (txHash: string): Sent => ({ ok: true, value: { state: "submitted", txHash } });
const minedAs = (txHash: string): Sent => ({ ok: true, value: { state: "mined", txHash } });
const waitingFor = (reason: WaitingReason): Sent => ({ ok: true, value: { state: "waiting", reason } });
const refusal = (reason: string): ChainResult<Submission> =>
  reason === "insufficient_funds" ? waitingFor("insufficient_gas") : { ok: true, value: { state: "refused", reason } };

/** Returns false for a count that is not believed; nothing may follow from such an answer. */
function noteCount({ sent }: Desk, { mined }: Account): boolean {
  const now = Date.now();
  const isBelieved = sent.isBelievable(mined, now);
  if (isBelieved) sent.noteMined(mined, now);
  return isBelieved;
}
const badCount = ({ sender }: Desk) => unavailable(sender.network.network, "bad_answer");

const isSameCall = (a: ChainCall, b: ChainCall): boolean => a.to === b.to && a.data === b.data;

/** Sends the call under the nonce of the first waiting transaction. A reorg may have left others, which must not be mined after it. */
async function displace(
  desk: Desk,
  account: Account,
  [first, ...others]: readonly SentRow[],
  next: Pick<SentRow, "call" | "gas">,
): Promise<Sent> {
  if (!first) throw new Error("unreachable: nothing waits");
  if (account.fees === null) return waitingFor("fee_above_bound");
  const displaced = await replace(desk, first, account.fees, next);
  for (const row of others) await empty(desk, account, row);
  return displaced;
}

/** A transfer of zero to the key's own address. */
const emptyTransfer = ({ sender, address }: Desk): Pick<SentRow, "call" | "gas"> => ({
  call: { network: sender.network.network, to: address, data: "0x" },
  gas: TRANSFER_GAS,
});

async function empty(desk: Desk, account: Account, row: SentRow): Promise<Sent> {
  const transfer = emptyTransfer(desk);
  return isSameCall(row.call, transfer.call) ? submitted(row.hash) : displace(desk, account, [row], transfer);
}

/** Replaces the transactions that wait under this key by empty transfers, because no call is wanted any longer. */
export async function withdrawTransactions(desk: Desk, key: string): Promise<ChainResult<Withdrawal>> {
  const { sender, address, sent } = desk;
  const known = sent.waitingFor(key);
  if (known.length === 0) return { ok: true, value: { state: "clear" } };
  const account = await sender.account(address);
  if (!account.ok) return account;
  if (!noteCount(desk, account.value)) return badCount(desk);
  // The caller read the contract before this was mined.
  const mined = known.find((row) => sent.isMined(row));
  if (mined) return minedAs(mined.hash);
  let last: Sent | null = null;
  for (const row of sent.waitingFor(key)) last = await empty(desk, account.value, row);
  return last ?? { ok: true, value: { state: "clear" } };
}

export async function tendTransactions(desk: Desk): Promise<ChainResult<SignerStanding>> {
  const { sender, address, sent } = desk;
  const account = await sender.account(address);
  if (!account.ok) return account;
  if (!noteCount(desk, account.value)) return badCount(desk);
  sent.forget(Date.now() - FINAL_AFTER_MS);
  const reason = await tendWaiting(desk, account.value);
  const waiting = sent.waiting();
  const oldestSentAt = waiting.length === 0 ? null : Math.min(...waiting.map(({ firstSentAt }) => firstSentAt));
  const { balance } = account.value;
  return { ok: true, value: { address, balance, waiting: waiting.length, oldestSentAt, reason } };
}

/** Sends waiting transactions again, in the order of their nonces. Stops at the first that cannot be sent, because later ones wait for it. */
async function tendWaiting(desk: Desk, account: Account): Promise<Obstacle> {
  let next = account.mined;
  for (const row of desk.sent.waiting()) {
    if (row.nonce - next > FAR) {
      // Its nonce came from a count that was far too high, or from a chain that was reset. Its operation plans the call again.
      desk.sent.drop(row.nonce);
      continue;
    }
    for (; next < row.nonce; next++) {
      const obstacle = await fill(desk, account, next);
      if (obstacle !== null) return obstacle;
    }
    next = row.nonce + 1;
    const obstacle = await tendOne(desk, account, row);
    if (obstacle !== null) return obstacle;
  }
  return null;
}

async function tendOne(desk: Desk, account: Account, row: SentRow): Promise<Obstacle> {
  const { sender, sent } = desk;
  const now = Date.now();
  if (now < row.lastSentAt + SEND_AGAIN_MS) return null;
  const late = row.nonce === account.mined && now > row.firstSentAt + REPLACE_AFTER_MS;
  if (late && account.fees) return obstacleIn(await replace(desk, row, account.fees, row));
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
      return account.fees ? obstacleIn(await replace(desk, row, account.fees, row)) : "fee_above_bound";
    case "refused":
      return giveUp(desk, account, row);
  }
}

const obstacleIn = (sent: Sent): Obstacle =>
  sent.ok && sent.value.state === "waiting" && sent.value.reason !== "node_refused" ? sent.value.reason : null;

async function replace(desk: Desk, row: SentRow, present: Fees, next: Pick<SentRow, "call" | "gas">): Promise<Sent> {
  const { sender, sent } = desk;
  const fees = replacementFees(row.fees, present, sender.network);
  if (fees === null) {
    // The bound forbids a higher fee, so the old transaction keeps waiting and is sent once more.
    const again = await sender.send(row);
    if (again.ok && again.value.state === "taken") sent.put({ ...row, lastSentAt: Date.now() });
    return waitingFor("fee_above_bound");
  }
  const { call, gas } = next;
  const replacement = await signed(desk, { ...row, call, gas, fees });
  const taken = await sender.send(replacement);
  if (!taken.ok || taken.value.state === "taken") {
    sent.put(replacement);
    return submitted(replacement.hash);
  }
  switch (taken.value.reason) {
    case "underpriced":
      // The node knows a transaction with a higher fee. The bound ends this recursion.
      return replace(desk, { ...row, fees }, present, next);
    case "nonce_too_low":
      sent.put({ ...row, minedAt: Date.now() });
      return minedAs(row.hash);
    case "insufficient_funds":
      return waitingFor("insufficient_gas");
    case "refused":
      return waitingFor("node_refused");
  }
}

/** The node will never take these bytes. An empty transfer fills the nonce if later transactions wait; otherwise the next call uses it. */
async function giveUp(desk: Desk, account: Account, row: SentRow): Promise<Obstacle> {
  desk.sent.drop(row.nonce);
  const isLast = desk.sent.waiting().every(({ nonce }) => nonce < row.nonce);
  return isLast ? null : fill(desk, account, row.nonce);
}

/** Sends an empty transfer, so that transactions after an unused nonce can be mined. */
async function fill(desk: Desk, { fees }: Account, nonce: number): Promise<Obstacle> {
  if (fees === null) return "fee_above_bound";
  const { sender, sent } = desk;
  const firstSentAt = Date.now();
  const row = await signed(desk, { nonce, key: `fill:${nonce}`, ...emptyTransfer(desk), fees, firstSentAt });
  sent.put(row);
  const taken = await sender.send(row);
  if (!taken.ok) return "node_silent";
  if (taken.value.state === "refused") sent.drop(nonce);
  return null;
}

type ToSign = Pick<SentRow, "nonce" | "key" | "call" | "gas" | "fees" | "firstSentAt">;

async function signed(
  { sender, privateKey, sent }: Desk,
  { nonce, key, call, gas, fees, firstSentAt }: ToSign,
): Promise<SentRow> {
  const { to, data } = call;
  const { chain_id: chainId } = sender.network;
  const { raw, hash } = await signCall({ privateKey, chainId, nonce, to, data, gas, ...fees });
  const now = Date.now();
  sent.noteSigned(hash, now);
  return { nonce, key, call, gas, fees, raw, hash, firstSentAt, lastSentAt: now, minedAt: null };
}
