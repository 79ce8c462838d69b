// Reads the events of the contract and its authority, range by range (CHN-24, CHN-33). A node is believed only if its answers agree: a range begins
// after the block that was read last, every log is in the receipt of its transaction, and every block of the range has one hash.
import { encodeFunctionData } from "viem/utils";
import * as z from "zod";
import { hashText } from "../protocol/keccak.ts";
import { settlementAbi } from "./abi.ts";
import { listAuthorities } from "./acts.ts";
import { digestEvents } from "./digests.ts";
import { decodeEvents, listEditionContracts, logSchema, quantity, type Receipt, receiptSchema } from "./events.ts";
import type { BlockRef, ChainResult, ContractEvent, EventAt, EventsAfter, EventsReading } from "./gateway.ts";
import type { Network } from "./networks.ts";
import { type Rpc, type RpcCall, toUnavailable } from "./rpc.ts";
import { encodeTransactionCall, recoverSender } from "./sent-by.ts";

/** The most blocks of one request. */
export const RANGE_MAX = 2_000;
/** The most receipts or blocks of one request; fewer after an answer that was too large or too slow. */
const CALLS_PER_REQUEST = 50;
/** The most transactions of one reading. Fewer blocks are read if they have more. */
const TRANSACTIONS_MAX = 200;

export const blockSchema = z.object({ number: quantity, hash: z.string(), timestamp: quantity });
const rangeLogSchema = logSchema.extend({
  blockNumber: quantity,
  blockHash: z.string(),
  transactionHash: z.string(),
  removed: z.boolean().optional(),
});
type RangeLog = z.infer<typeof rangeLogSchema>;

/** Reads the events after a block. If the first node fails or contradicts itself, the other node is read instead. */
export async function readEvents(rpc: Rpc, network: Network, after: EventsAfter): Promise<ChainResult<EventsReading>> {
  const first = await readEventsFrom(rpc, network, after);
  const { rpc_url, fallback_rpc_url } = network;
  if (fallback_rpc_url === undefined) return first;
  if (first.ok && first.value.state === "read")
    return {
      ok: true,
      value: await compareWithSecond(rpc, { ...network, rpc_url: fallback_rpc_url }, after, first.value),
    };
  // A fork that one node reports takes nothing back (CHN-30), so the answer of the other node alone counts.
  if (first.ok && first.value.state === "forked")
    return readEventsFrom(rpc, { ...network, rpc_url: fallback_rpc_url }, after);
  const second = await readEventsFrom(rpc, { ...network, rpc_url: fallback_rpc_url, fallback_rpc_url: rpc_url }, after);
  return second.ok ? second : first;
}

type Read = Extract<EventsReading, { state: "read" }>;

/** Adds to the reading whether the second node has the same events up to `settled`. */
async function compareWithSecond(rpc: Rpc, second: Network, after: EventsAfter, read: Read): Promise<Read> {
  const { settled } = read;
  if (settled === null) return read;
  const { number, hash } = after;
  const again = await readEventsFrom(rpc, second, { number, hash, most: settled.number - number });
  if (!again.ok || again.value.state === "behind") return read;
  const { value } = again;
  if (value.state === "read" && value.end.number < settled.number) return read;
  const isSame =
    value.state === "read" &&
    digestEvents(value.events, value.end.hash) === digestEvents(filterEventsUpTo(read.events, settled), settled.hash);
  return { ...read, second: isSame ? "same" : "other" };
}

export const filterEventsUpTo = (events: readonly EventAt[], { number }: Pick<BlockRef, "number">): EventAt[] =>
  events.filter(({ blockNumber }) => blockNumber <= number);

async function readEventsFrom(rpc: Rpc, network: Network, after: EventsAfter): Promise<ChainResult<EventsReading>> {
  const seenCalls = after.seen === undefined ? [] : [buildBlockCall(after.seen)];
  const ends = await ask(rpc, network, [
    ...[buildBlockCall("latest"), buildBlockCall(after.number), encodePausedCall(network)],
    ...seenCalls,
  ]);
  if (!ends.ok) return ends;
  const [newest, before, flag, seen] = ends.value;
  const [latest, last] = [newest, before].map((result) => blockSchema.nullable().safeParse(result));
  const paused = decodeFlag(flag);
  const seenBlock = blockSchema.safeParse(seen);
  const seenHash = seenBlock.success ? toBlockRef(seenBlock.data).hash : null;
  const nothing = { seenHash, second: null, paused } as const;
  if (!latest?.success || latest.data === null || !last?.success) return toUnavailable(network.network, "bad_answer");
  const head = toBlockRef(latest.data);
  if (head.number < after.number) return { ok: true, value: { state: "behind", head } };
  if (last.data === null) return toUnavailable(network.network, "bad_answer");
  const from = toBlockRef(last.data);
  if (after.hash !== null && from.hash !== after.hash) return { ok: true, value: { state: "forked", head } };
  if (head.number === after.number) {
    return { ok: true, value: { state: "read", from, head, end: head, settled: null, events: [], ...nothing } };
  }
  const to = Math.min(head.number, after.number + (after.most ?? RANGE_MAX));
  const range = await readRange(rpc, network, after.number + 1, to);
  if (!range.ok) return range;
  const { end, logs } = range.value;
  if (end.number === head.number && end.hash !== head.hash) return toUnavailable(network.network, "bad_answer");
  const settled = await readSettled(rpc, network, { after: after.number, end, head });
  if (!settled.ok) return settled;
  const isOneBlock = end.number === after.number + 1;
  const events = await readTransactions(rpc, network, logs, isOneBlock ? "in_parts" : "whole");
  if (events === "too_much")
    return readEventsFrom(rpc, network, { ...after, most: Math.floor((end.number - after.number) / 2) });
  if (!events.ok) return events;
  const read = { state: "read", from, head, end, settled: settled.value, events: events.value, ...nothing } as const;
  return { ok: true, value: read };
}

/** Reads the contract's state at the head, which is right even after a reorg and if no event was ever read. */
const encodePausedCall = ({ settlement_contract: to }: Network): RpcCall => ({
  method: "eth_call",
  params: [{ to, data: encodeFunctionData({ abi: settlementAbi, functionName: "paused" }) }, "latest"],
  optional: true,
});

function decodeFlag(result: unknown): boolean | null {
  const word = flagSchema.safeParse(result);
  return word.success ? BigInt(word.data) === 1n : null;
}
const flagSchema = z.string().regex(/^0x0{63}[01]$/);

async function readSettled(
  rpc: Rpc,
  network: Network,
  { after, end, head }: { readonly after: number; readonly end: BlockRef; readonly head: BlockRef },
): Promise<ChainResult<BlockRef | null>> {
  const number = Math.min(end.number, head.number - network.required_confirmations + 1);
  if (number <= after) return { ok: true, value: null };
  if (number === end.number) return { ok: true, value: end };
  const answer = await ask(rpc, network, [buildBlockCall(number)]);
  if (!answer.ok) return answer;
  const block = blockSchema.safeParse(answer.value[0]);
  return block.success && Number(block.data.number) === number
    ? { ok: true, value: toBlockRef(block.data) }
    : toUnavailable(network.network, "bad_answer");
}

// ---- Ranges --------------------------------------------------------------------------------------------------------------

type Range = { readonly end: BlockRef; readonly logs: readonly RangeLog[] };

/** If a node refuses so many blocks or logs, or they have too many transactions, reads the first half instead, down to one block. */
async function readRange(rpc: Rpc, network: Network, from: number, to: number): Promise<ChainResult<Range>> {
  const address = [...listEditionContracts(network), ...listAuthorities(network)];
  const filter = { address, fromBlock: toQuantity(from), toBlock: toQuantity(to) };
  const answer = await ask(rpc, network, [{ method: "eth_getLogs", params: [filter] }, buildBlockCall(to)]);
  if (!answer.ok) {
    if (to === from || answer.error.reason === "unreachable") return answer;
    return readRange(rpc, network, from, Math.floor((from + to) / 2));
  }
  const [found, block] = answer.value;
  if (to > from && isTooMuch(found)) return readRange(rpc, network, from, Math.floor((from + to) / 2));
  const [logs, end] = [z.array(rangeLogSchema).safeParse(found), blockSchema.safeParse(block)];
  if (!logs.success || !end.success || Number(end.data.number) !== to)
    return toUnavailable(network.network, "bad_answer");
  const hashes = new Map([[to, end.data.hash.toLowerCase()]]);
  const agrees = logs.data.every((log) => {
    const [number, hash] = [Number(log.blockNumber), log.blockHash.toLowerCase()];
    if ((hashes.get(number) ?? hash) !== hash || log.removed) return false;
    hashes.set(number, hash);
    return number >= from && number <= to && address.includes(log.address.toLowerCase());
  });
  return agrees
    ? { ok: true, value: { end: toBlockRef(end.data), logs: logs.data } }
    : toUnavailable(network.network, "bad_answer");
}

const isTooMuch = (logs: unknown): boolean =>
  Array.isArray(logs) && new Set(logs.map((log) => log?.transactionHash)).size > TRANSACTIONS_MAX;

/** The part of a receipt that is kept. Logs of other contracts are dropped, because anyone can make them as large as a block allows. */
type KeptReceipt = Pick<EventAt, "blockNumber" | "blockHash"> & { readonly own: readonly ContractEvent[] };
type Fault = "bad_answer" | "contradiction";

/** Returns the events in the order of the chain. `too_much`: one request did not bring so many receipts; with `in_parts` it brings fewer. */
async function readTransactions(
  rpc: Rpc,
  network: Network,
  logs: readonly RangeLog[],
  how: "whole" | "in_parts",
): Promise<ChainResult<EventAt[]> | "too_much"> {
  const byHash = Map.groupBy(logs, (log) => log.transactionHash.toLowerCase());
  const paying = [...byHash]
    .filter(([, own]) => own.some(({ topics: [topic] }) => topic === SETTLED))
    .map(([hash]) => hash);
  const told = new Map<string, KeptReceipt | Fault>();
  const sent = new Map<string, unknown>();
  const receiptOf = (hash: string) => ({
    call: encodeReceiptCall(hash),
    take: (result: unknown) => told.set(hash, parseReceipt(result, network, hash, byHash.get(hash) ?? [])),
  });
  const senderOf = (hash: string) => ({
    call: encodeTransactionCall(hash),
    take: (result: unknown) => sent.set(hash, result),
  });
  const asked = [...[...byHash.keys()].map(receiptOf), ...paying.map(senderOf)];
  const taken = await askInParts(rpc, network, asked, how);
  if (!taken.ok) return how === "whole" && taken.error.reason !== "unreachable" ? "too_much" : taken;
  const times = await readTimes(rpc, network, logs);
  if (!times.ok) return times;
  const events: EventAt[] = [];
  for (const [txHash, receipt] of told) {
    if (typeof receipt === "string") return toUnavailable(network.network, receipt);
    const minedAt = times.value.get(receipt.blockHash);
    if (minedAt === undefined) return toUnavailable(network.network, "bad_answer");
    const { own, ...block } = receipt;
    const sentBy = await recoverSender(txHash, sent.get(txHash));
    events.push(...own.map((event) => ({ ...event, ...block, txHash, minedAt, ...(sentBy && { sentBy }) })));
  }
  const order = new Map([...byHash].map(([hash, [first]]) => [hash, Number(first?.logIndex)]));
  const byPlace = (one: EventAt, other: EventAt) =>
    one.blockNumber - other.blockNumber ||
    (order.get(one.txHash) ?? 0) - (order.get(other.txHash) ?? 0) ||
    one.logIndex - other.logIndex;
  return { ok: true, value: events.sort(byPlace) };
}

function parseReceipt(result: unknown, network: Network, hash: string, logs: readonly RangeLog[]): KeptReceipt | Fault {
  const receipt = receiptSchema.safeParse(result);
  if (!receipt.success) return "bad_answer";
  const { blockNumber, blockHash } = receipt.data;
  if (!hasAllLogs(receipt.data, hash, logs)) {
    const isMoved = logs.some((log) => log.blockHash.toLowerCase() !== blockHash.toLowerCase());
    return isMoved ? "bad_answer" : "contradiction";
  }
  return {
    blockNumber: Number(blockNumber),
    blockHash: blockHash.toLowerCase(),
    own: decodeEvents(receipt.data.logs, network),
  };
}

const SETTLED = hashText("Settled(bytes32,bytes32,bytes32,address,address,uint256,uint256,uint256,uint256)");
const encodeReceiptCall = (hash: string): RpcCall => ({ method: "eth_getTransactionReceipt", params: [hash] });

/** True if the receipt is of this transaction and has each of the logs, in the same block. */
function hasAllLogs(receipt: Receipt, hash: string, logs: readonly RangeLog[]): boolean {
  return (
    receipt.transactionHash.toLowerCase() === hash &&
    Number(receipt.status) === 1 &&
    logs.every(
      (log) =>
        log.blockHash.toLowerCase() === receipt.blockHash.toLowerCase() &&
        receipt.logs.some(
          (one) =>
            Number(one.logIndex) === Number(log.logIndex) &&
            one.data === log.data &&
            one.topics.join() === log.topics.join(),
        ),
    )
  );
}

/** Reads the instants of the logs' blocks, in epoch milliseconds by block hash. The node is asked only about blocks whose logs do not state it. */
async function readTimes(
  rpc: Rpc,
  network: Network,
  logs: readonly RangeLog[],
): Promise<ChainResult<Map<string, number>>> {
  const times = new Map<string, number>();
  for (const { blockHash, blockTimestamp } of logs)
    if (blockTimestamp) times.set(blockHash.toLowerCase(), Number(blockTimestamp) * 1_000);
  const unsaid = [...new Set(logs.map(({ blockHash }) => blockHash.toLowerCase()))].filter((hash) => !times.has(hash));
  const blocks = await askForResults(
    rpc,
    network,
    unsaid.map((hash) => ({ method: "eth_getBlockByHash", params: [hash, false] })),
  );
  if (!blocks.ok) return blocks;
  for (const result of blocks.value) {
    const block = blockSchema.safeParse(result);
    if (!block.success) return toUnavailable(network.network, "bad_answer");
    times.set(block.data.hash.toLowerCase(), Number(block.data.timestamp) * 1_000);
  }
  return { ok: true, value: times };
}

/** Reads the hashes of blocks. A node that lacks one of the blocks is not believed. */
export async function readBlocks(
  rpc: Rpc,
  network: Network,
  numbers: readonly number[],
): Promise<ChainResult<string[]>> {
  const answer = await askForResults(rpc, network, numbers.map(buildBlockCall));
  if (!answer.ok) return answer;
  const hashes: string[] = [];
  for (const [at, result] of answer.value.entries()) {
    const block = blockSchema.safeParse(result);
    if (!block.success || Number(block.data.number) !== numbers[at])
      return toUnavailable(network.network, "bad_answer");
    hashes.push(toBlockRef(block.data).hash);
  }
  return { ok: true, value: hashes };
}

// ---- Requests ------------------------------------------------------------------------------------------------------------

async function ask(rpc: Rpc, network: Network, calls: readonly RpcCall[]): Promise<ChainResult<unknown[]>> {
  const answer = await rpc(network, "read", calls);
  if (!answer.ok) return answer;
  return { ok: true, value: answer.value.map((reply) => (reply.ok ? reply.result : null)) };
}

type Asked = { readonly call: RpcCall; readonly take: (result: unknown) => unknown };

/** Asks in parts and keeps only what `take` takes of each answer, to save memory. */
async function askInParts(
  rpc: Rpc,
  network: Network,
  asked: readonly Asked[],
  how: "whole" | "in_parts" = "whole",
): Promise<ChainResult<null>> {
  let most = CALLS_PER_REQUEST;
  for (let at = 0; at < asked.length; ) {
    const part = asked.slice(at, at + most);
    const answer = await ask(
      rpc,
      network,
      part.map(({ call }) => call),
    );
    if (answer.ok) {
      for (const [n, { take }] of part.entries()) take(answer.value[n]);
      at += part.length;
    } else if (how === "whole" || part.length === 1 || answer.error.reason === "unreachable") return answer;
    else most = Math.ceil(part.length / 2);
  }
  return { ok: true, value: null };
}

async function askForResults(rpc: Rpc, network: Network, calls: readonly RpcCall[]): Promise<ChainResult<unknown[]>> {
  const results: unknown[] = [];
  const asked = calls.map((call) => ({ call, take: (result: unknown) => results.push(result) }));
  const taken = await askInParts(rpc, network, asked);
  return taken.ok ? { ok: true, value: results } : taken;
}

export const toQuantity = (number: number): string => `0x${number.toString(16)}`;

export const buildBlockCall = (at: number | "latest"): RpcCall => ({
  method: "eth_getBlockByNumber",
  params: [at === "latest" ? at : toQuantity(at), false],
});

export const toBlockRef = ({ number, hash, timestamp }: z.infer<typeof blockSchema>): BlockRef => ({
  number: Number(number),
  hash: hash.toLowerCase(),
  time: Number(timestamp) * 1_000,
});
