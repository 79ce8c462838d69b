// Tests reading the contract's events range by range from a real node (CHN-24): every kind of event, ranges that the node limits, forks, and nodes
// that fail, lag or contradict themselves.
import { createServer } from "node:http";
import { encodeFunctionData } from "viem";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { settlementAbi } from "../../scripts/chain/abi.ts";
import { mineBlocks } from "../../scripts/chain/client.ts";
import { createChainGateway } from "../../src/chain/evm.ts";
import type { EventAt, EventsReading } from "../../src/chain/gateway.ts";
import type { Network } from "../../src/chain/networks.ts";
import {
  CONSUMER,
  factsOf,
  INTENT,
  must,
  PROVIDER,
  pay,
  paymentOf,
  type SpoilingNode,
  THRESHOLD,
  UNIT,
  useWorld,
  type World,
} from "./support.ts";

let world: World;
let begin: { number: number; hash: string };
const proxies: SpoilingNode[] = [];
useWorld((built) => {
  world = built;
});
beforeEach(async () => {
  begin = await headOf();
});
afterEach(() => {
  for (const proxy of proxies.splice(0)) proxy.close();
});

async function headOf(): Promise<{ number: number; hash: string }> {
  const { number, hash } = await world.client.getBlock();
  return { number: Number(number), hash };
}

type After = Parameters<ReturnType<typeof createChainGateway>["readEvents"]>[1];
const readWith = (change: Partial<Network> = {}, after: After = begin) =>
  createChainGateway([{ ...world.network, ...change }]).readEvents(world.network.network, after);
const read = async (after: After = begin): Promise<Extract<EventsReading, { state: "read" }>> => {
  const reading = must(await readWith({}, after));
  if (reading.state !== "read") throw new Error(reading.state);
  return reading;
};
const kindsOf = (events: readonly EventAt[]) => events.map(({ kind }) => kind);

type Call = { readonly id: number; readonly method: string; readonly params: readonly unknown[] };

/** Starts a node that changes its answers to one method and passes on all others. */
async function spoiledNode(
  method: string,
  spoil: (result: never, params: readonly unknown[], calls: readonly Call[]) => unknown,
): Promise<string> {
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += String(chunk);
    const calls: Call[] = JSON.parse(body);
    const headers = { "content-type": "application/json" };
    const answer = await fetch(world.anvil.rpcUrl, { method: "POST", body, headers });
    const replies = (await answer.json()) as { id: number; result?: unknown; error?: unknown }[];
    const changed = replies.map((reply) => {
      const call = calls.find(({ id }) => id === reply.id);
      if (call?.method !== method) return reply;
      const result = spoil(reply.result as never, call.params, calls);
      return result instanceof Error
        ? { ...reply, result: undefined, error: { code: -32005, message: result.message } }
        : { ...reply, result };
    });
    response.end(JSON.stringify(changed));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  proxies.push({ url: "", requests: [], close: () => server.close() });
  return `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`;
}

test("a reading has every vault movement, payment and setting, in the order of the chain", async () => {
  const { people, chain } = world;
  const paid = await world.send("consumer", "settle", [paymentOf(world)]);
  const settlement = await factsOf(world, paid);
  await world.send("consumer", "depositEscrow", [PROVIDER, chain.token, 20n * UNIT]);
  await world.act("arbiter", "setReserve", [PROVIDER, chain.token, UNIT]);
  await world.send("stranger", "releaseSurplus", [PROVIDER, chain.token]);
  await world.act("arbiter", "payOut", [settlement, 2n * UNIT]);
  await world.send("consumer", "refund", [{ ...settlement, paidOut: 2n * UNIT }, UNIT]);
  await world.act("registrar", "setThreshold", [PROVIDER, chain.token, 14n * UNIT]);
  await world.send("wallet", "moveOperationalWallet", [PROVIDER, chain.token, people.other.address]);
  await world.act("guardian", "pause", []);
  await world.act("admin", "unpause", []);
  const { head, end, events } = await read();
  expect(end).toEqual(head);
  const token = chain.token.toLowerCase();
  const ofVault = { providerDidHash: PROVIDER, token };
  const wallet = people.wallet.address.toLowerCase();
  const consumer = people.consumer.address.toLowerCase();
  const minus = (amount: bigint) => 20n * UNIT + 999_500n - amount;
  expect(events).toMatchObject([
    {
      ...{ kind: "settled", ...ofVault, consumerDidHash: CONSUMER, intentHash: INTENT, settlementKey: settlement.key },
      ...{ gross: 10n * UNIT, escrow: 999_500n, vaultBalance: 999_500n, operationalWallet: wallet, payer: consumer },
      ...{ txHash: paid.transactionHash, blockHash: paid.blockHash, blockNumber: Number(paid.blockNumber) },
    },
    { kind: "deposit", ...ofVault, amount: 20n * UNIT, vaultBalance: minus(0n) },
    { kind: "reserve", ...ofVault, reserve: UNIT },
    { kind: "release", ...ofVault, amount: minus(0n) - THRESHOLD - UNIT, vaultBalance: THRESHOLD + UNIT },
    { kind: "payout", ...ofVault, settlementKey: settlement.key, amount: 2n * UNIT, vaultBalance: 14n * UNIT },
    { kind: "refund", settlementKey: settlement.key, from: consumer, refundTo: consumer, token, amount: UNIT },
    { kind: "threshold", ...ofVault, threshold: 14n * UNIT },
    { kind: "wallet", ...ofVault, operationalWallet: people.other.address.toLowerCase() },
    { kind: "paused" },
    { kind: "unpaused" },
  ]);
  const { timestamp } = await world.client.getBlock({ blockNumber: paid.blockNumber });
  expect(events[0]?.minedAt).toBe(Number(timestamp) * 1_000);
});

test("an event's log index counts from the first log of its transaction, as in facilitation", async () => {
  const { transactionHash } = await pay(world, UNIT);
  const gateway = createChainGateway([world.network]);
  const settlement = must(await gateway.readSettlement(world.network.network, transactionHash));
  if (settlement.state !== "mined") throw new Error(settlement.state);
  const { events } = await read();
  expect(events.map(({ logIndex, txHash }) => [logIndex, txHash])).toEqual([
    [settlement.settlements[0]?.logIndex, transactionHash],
  ]);
  expect(settlement.settlements[0]?.logIndex).toBeGreaterThan(0);
});

test("a range has as many blocks as are requested, and the next one continues after it", async () => {
  for (const amount of [1n, 2n, 3n]) await pay(world, amount * UNIT);
  const first = await read({ ...begin, most: 2 });
  expect([first.end.number, first.head.number, first.events.length]).toEqual([begin.number + 2, begin.number + 3, 2]);
  const second = await read(first.end);
  expect(second.events).toMatchObject([{ gross: 3n * UNIT }]);
  expect(await read(second.end)).toMatchObject({ events: [], end: second.end });
});

test("the settled block is the last one that has the network's confirmations", async () => {
  for (const amount of [1n, 2n, 3n, 4n]) await pay(world, amount * UNIT);
  const hashAt = async (number: number) => (await world.client.getBlock({ blockNumber: BigInt(number) })).hash;
  for (const [required_confirmations, most, number] of [
    [1, 2_000, begin.number + 4],
    [3, 2_000, begin.number + 2],
    [3, 1, begin.number + 1],
    [4, 2_000, begin.number + 1],
    [5, 2_000, null],
    [100, 2_000, null],
  ] as const) {
    const reading = must(await readWith({ required_confirmations }, { ...begin, most }));
    if (reading.state !== "read") throw new Error(reading.state);
    const settled = reading.settled && [reading.settled.number, reading.settled.hash];
    expect(settled).toEqual(number === null ? null : [number, await hashAt(number)]);
  }
});

test("a range that the node refuses is halved until it answers, down to one block", async () => {
  for (const amount of [1n, 2n, 3n, 4n]) await pay(world, amount * UNIT);
  const asked: number[] = [];
  const url = await spoiledNode("eth_getLogs", (logs, [filter]) => {
    const { fromBlock, toBlock } = filter as { fromBlock: string; toBlock: string };
    const blocks = Number(toBlock) - Number(fromBlock) + 1;
    asked.push(blocks);
    return blocks > 1 ? new Error("query returned more than 10000 results") : logs;
  });
  const reading = must(await readWith({ rpc_url: url }));
  expect(reading).toMatchObject({ state: "read", end: { number: begin.number + 1 }, events: [{ gross: UNIT }] });
  // Each size that fails appears twice, because a failed request is tried once more.
  expect(asked).toEqual([4, 4, 2, 2, 1]);
});

describe("receipts with 6 MB of other contracts' logs, of which two fit into an answer", () => {
  /** `asked`: the number of receipts in each request. */
  async function largeNode() {
    const asked: number[] = [];
    const large = {
      address: `0x${"ab".repeat(20)}`,
      topics: [],
      data: `0x${"00".repeat(3_000_000)}`,
      logIndex: "0xfff",
    };
    const url = await spoiledNode("eth_getTransactionReceipt", (receipt, [hash], calls) => {
      const hashes = calls.filter(({ method }) => method === "eth_getTransactionReceipt").map(({ params: [of] }) => of);
      if (hashes[0] === hash) asked.push(hashes.length);
      const found = receipt as { logs: object[] };
      return { ...found, logs: [...found.logs, large] };
    });
    return { url, asked };
  }

  test("are read for fewer blocks at a time", async () => {
    for (const amount of [1n, 2n, 3n, 4n]) await pay(world, amount * UNIT);
    const { url, asked } = await largeNode();
    const reading = must(await readWith({ rpc_url: url }));
    expect(reading).toMatchObject({ state: "read", end: { number: begin.number + 2 } });
    expect(reading).toMatchObject({ events: [{ gross: UNIT }, { gross: 2n * UNIT }] });
    // A size that fails appears twice.
    expect(asked).toEqual([4, 4, 2]);
  });

  test("are requested in smaller parts if they are of one block", async () => {
    const { token, settlementContract: to } = world.chain;
    const request = (method: string, ...params: unknown[]) =>
      world.client.request({ method: method as never, params: params as never });
    await request("evm_setAutomine", false);
    for (const amount of [1n, 2n, 3n, 4n]) {
      const args = [token, amount * UNIT, PROVIDER, CONSUMER] as const;
      const data = encodeFunctionData({ abi: settlementAbi, functionName: "pay", args });
      await request("eth_sendTransaction", { from: world.people.consumer.address, to, data, gas: "0x7a120" });
    }
    await request("anvil_mine", "0x1");
    await request("evm_setAutomine", true);
    const { url, asked } = await largeNode();
    const reading = must(await readWith({ rpc_url: url }, { ...begin, most: 1 }));
    expect(reading).toMatchObject({ state: "read", end: { number: begin.number + 1 } });
    expect(reading).toMatchObject({ events: [1n, 2n, 3n, 4n].map((amount) => ({ gross: amount * UNIT })) });
    // The first request also asks for the senders.
    expect(asked).toEqual([4, 4, 4, 4, 2, 2]);
  });
});

test("a range of more than 200 transactions is halved", async () => {
  await pay(world, UNIT);
  await pay(world, UNIT);
  const asked: number[] = [];
  const url = await spoiledNode("eth_getLogs", (logs, [filter]) => {
    const { fromBlock, toBlock } = filter as { fromBlock: string; toBlock: string };
    asked.push(Number(toBlock) - Number(fromBlock) + 1);
    const [one] = logs as object[];
    const many = Array.from({ length: 199 }, (_, n) => ({
      ...one,
      transactionHash: `0x${String(n).padStart(64, "0")}`,
    }));
    return asked.length === 1 ? [...(logs as object[]), ...many] : logs;
  });
  const reading = must(await readWith({ rpc_url: url }));
  expect(reading).toMatchObject({ state: "read", end: { number: begin.number + 1 } });
  expect(asked).toEqual([2, 1]);
});

test("each reading says whether the contract is paused at the head", async () => {
  expect((await read()).paused).toBe(false);
  await world.act("guardian", "pause", []);
  expect((await read()).paused).toBe(true);
  expect(must(await readWith({ settlement_contract: world.chain.token }))).toMatchObject({ paused: null });
  await world.act("admin", "unpause", []);
  expect((await read()).paused).toBe(false);
});

describe("a chain that has changed since it was read", () => {
  test("is forked if the block after which it is read has another hash", async () => {
    const { hash } = await world.client.getBlock({ blockNumber: BigInt(begin.number - 1) });
    expect(must(await readWith({}, { number: begin.number, hash }))).toMatchObject({ state: "forked" });
  });

  test("is forked after a reorg", async () => {
    await pay(world, UNIT);
    const { end } = await read();
    await world.client.request({ method: "anvil_reorg" as never, params: [1, []] as never });
    await mineBlocks(world.anvil.rpcUrl, 1);
    expect(must(await readWith({}, end))).toMatchObject({ state: "forked" });
  });

  test("counts as lagging if it has become shorter", async () => {
    const ahead = { number: begin.number + 5, hash: begin.hash };
    expect(must(await readWith({}, ahead))).toMatchObject({ state: "behind", head: { number: begin.number } });
  });
});

describe("a node that contradicts itself or the network", () => {
  type Part = Record<string, unknown>;
  const HASH = `0x${"ab".repeat(32)}`;
  const each = (change: Part) => (logs: never) => (logs as Part[]).map((log) => ({ ...log, ...change }));
  const one = (change: Part) => (found: never) => ({ ...(found as Part), ...change });
  const LIES: readonly [what: string, method: string, spoil: (result: never) => unknown][] = [
    ["logs of another contract", "eth_getLogs", each({ address: `0x${"ab".repeat(20)}` })],
    ["logs of another block", "eth_getLogs", each({ blockHash: HASH })],
    ["logs of a block out of the range", "eth_getLogs", each({ blockNumber: "0x1" })],
    ["logs that a reorg removed", "eth_getLogs", each({ removed: true })],
    ["logs with other amounts than their receipts", "eth_getLogs", each({ data: `0x${"11".repeat(192)}` })],
    ["no list", "eth_getLogs", () => null],
    ["no receipt", "eth_getTransactionReceipt", () => null],
    ["receipts of another transaction", "eth_getTransactionReceipt", one({ transactionHash: HASH })],
    ["receipts of another block", "eth_getTransactionReceipt", one({ blockHash: HASH })],
    ["receipts of a reverted transaction", "eth_getTransactionReceipt", one({ status: "0x0" })],
    ["receipts without the logs", "eth_getTransactionReceipt", one({ logs: [] })],
    ["no blocks", "eth_getBlockByNumber", () => null],
    ["an older head", "eth_getBlockByNumber", one({ number: "0x1" })],
  ];

  test.each(LIES)("is not believed with %s, and the other node is read", async (_, method, spoil) => {
    const { transactionHash } = await pay(world, UNIT);
    const rpc_url = await spoiledNode(method, spoil);
    const alone = await readWith({ rpc_url });
    expect(alone.ok && alone.value.state === "read").toBe(false);
    const both = must(await readWith({ rpc_url, fallback_rpc_url: world.anvil.rpcUrl }));
    expect(both).toMatchObject({ state: "read", events: [{ kind: "settled", txHash: transactionHash }] });
  });

  test("is not believed if it is on another chain, and the other node is read", async () => {
    const rpc_url = await spoiledNode("eth_chainId", () => "0x1");
    expect(await readWith({ rpc_url })).toMatchObject({ ok: false, error: { reason: "wrong_chain" } });
    expect(await readWith({ rpc_url, fallback_rpc_url: world.anvil.rpcUrl })).toMatchObject({ ok: true });
  });
});

test("a log of another contract is no event, whatever it says", async () => {
  const elsewhere = { settlement_contract: world.chain.token };
  await pay(world, UNIT);
  const gateway = createChainGateway([{ ...world.network, ...elsewhere }]);
  expect(must(await gateway.readEvents(world.network.network, begin))).toMatchObject({ state: "read", events: [] });
});

test("payments through an earlier edition are read too", async () => {
  const { settlementContract, authority, token } = world.chain;
  const earlier_editions = [{ settlement_contract: settlementContract, authority }];
  await pay(world, UNIT);
  const reading = must(await readWith({ settlement_contract: token, earlier_editions }));
  if (reading.state !== "read") throw new Error(reading.state);
  expect(kindsOf(reading.events)).toEqual(["settled"]);
  expect(reading.events[0]?.contract).toBe(settlementContract.toLowerCase());
});

test("the node is asked for the time of a block if its logs do not state it", async () => {
  const { blockNumber } = await pay(world, UNIT);
  const { timestamp } = await world.client.getBlock({ blockNumber });
  const rpc_url = await spoiledNode("eth_getLogs", (logs) =>
    (logs as object[]).map((log) => ({ ...log, blockTimestamp: undefined })),
  );
  expect(must(await readWith({ rpc_url }))).toMatchObject({ events: [{ minedAt: Number(timestamp) * 1_000 }] });
});
