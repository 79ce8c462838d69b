// Tests the gateway on a real node (CHN-9 to CHN-12): unknown, waiting, reverted, foreign and doubled transactions, and failing nodes.
import { type Abi, concat, encodeFunctionData, type Hex, numberToHex, size } from "viem";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { authorityAbi, settlementAbi } from "../../scripts/chain/abi.ts";
import { awaitReceipt, mineBlocks } from "../../scripts/chain/client.ts";
import { deployContracts } from "../../scripts/chain/deploy.ts";
import { signPayment } from "../../scripts/chain/payments.ts";
import { addressesOf } from "../../scripts/ephemeral.ts";
import { createChainGateway } from "../../src/chain/evm.ts";
import type { ChainResult, SettlementReading } from "../../src/chain/gateway.ts";
import type { Network } from "../../src/chain/networks.ts";
import { createRpc, type Rpc } from "../../src/chain/rpc.ts";
import {
  buildWorld,
  CONSUMER,
  INTENT,
  must,
  PROVIDER,
  proxyTo,
  restore,
  type SpoilingNode,
  startSilentNode,
  THRESHOLD,
  UNIT,
  type World,
} from "./support.ts";

let world: World;
let token: Hex;
let snapshot: Hex;
const proxies: SpoilingNode[] = [];

beforeAll(async () => {
  world = await buildWorld();
  token = world.chain.token;
});
afterAll(() => world?.stop());
beforeEach(async () => {
  snapshot = await world.client.snapshot();
});
afterEach(async () => {
  await restore(world, snapshot);
  for (const proxy of proxies.splice(0)) proxy.close();
});

const gatewayWith = (change: Partial<Network> = {}, rpc = createRpc()) =>
  createChainGateway([{ ...world.network, ...change }], rpc);
const read = async (txHash: string, change: Partial<Network> = {}) =>
  must(await gatewayWith(change).readSettlement(world.network.network, txHash));
const payIntent = () => world.send("consumer", "payIntent", [token, 10n * UNIT, PROVIDER, CONSUMER, INTENT]);

// Sends a transaction and does not wait for it. The caller decides how the chain mines.
function sendUnmined(amount: bigint): Promise<Hex> {
  const args = [token, amount, PROVIDER, CONSUMER] as const;
  const data = encodeFunctionData({ abi: settlementAbi, functionName: "pay", args });
  const transaction = { from: world.people.consumer.address, to: world.chain.settlementContract, data, gas: "0x7a120" };
  return world.client.transport.request({ method: "eth_sendTransaction", params: [transaction] });
}

describe("reading a settlement", () => {
  test("a mined settlement has every number of its events", async () => {
    const receipt = await payIntent();
    const block = await world.client.getBlock({ blockHash: receipt.blockHash });
    expect(await read(receipt.transactionHash)).toEqual({
      state: "mined",
      confirmations: 1,
      blockNumber: Number(receipt.blockNumber),
      blockHash: receipt.blockHash,
      minedAt: Number(block.timestamp) * 1_000,
      held: null,
      settlements: [
        {
          kind: "settled",
          logIndex: 3,
          contract: world.chain.settlementContract.toLowerCase(),
          settlementKey: expect.stringMatching(/^0x[0-9a-f]{64}$/),
          refundTo: world.people.consumer.address.toLowerCase(),
          providerDidHash: PROVIDER,
          consumerDidHash: CONSUMER,
          intentHash: INTENT,
          token: token.toLowerCase(),
          payer: world.people.consumer.address.toLowerCase(),
          operationalWallet: world.people.wallet.address.toLowerCase(),
          gross: 10n * UNIT,
          fee: 5_000n,
          escrow: 999_500n,
          operational: 8_995_500n,
          vaultBalance: 999_500n,
        },
      ],
    });
  });

  test("a payment without an intent has intentHash null", async () => {
    const { transactionHash } = await world.send("consumer", "pay", [token, UNIT, PROVIDER, CONSUMER]);
    expect(await read(transactionHash)).toMatchObject({ settlements: [{ intentHash: null, gross: UNIT }] });
  });

  test("a hash is accepted without 0x and in any case", async () => {
    const { transactionHash } = await payIntent();
    for (const text of [transactionHash.slice(2), transactionHash.toUpperCase().replace("0X", "0x")]) {
      expect(await read(text)).toMatchObject({ state: "mined" });
    }
  });

  test.each(["", "0x", "nonsense", `0x${"g".repeat(64)}`, `0x${"a".repeat(63)}`, INTENT])(
    "%s is unknown",
    async (text) => {
      expect(await read(text)).toEqual({ state: "unknown" });
    },
  );

  test("a transaction of another network is unknown", async () => {
    const other = await buildWorld(8453);
    try {
      const { transactionHash } = await other.send("consumer", "pay", [other.chain.token, UNIT, PROVIDER, CONSUMER]);
      const gateway = createChainGateway([world.network, other.network]);
      expect(must(await gateway.readSettlement("base-sepolia", transactionHash))).toEqual({ state: "unknown" });
      expect(must(await gateway.readSettlement("base", transactionHash))).toMatchObject({ state: "mined" });
    } finally {
      await other.stop();
    }
  });

  test("a transaction is pending in the pool and until it has the required confirmations, of which its own block is the first", async () => {
    await world.client.setAutomine(false);
    const hash = await sendUnmined(UNIT);
    const required = { required_confirmations: 3 };
    expect(await read(hash, required)).toEqual({ state: "pending", confirmations: 0 });
    await mineBlocks(world.anvil.rpcUrl, 1);
    expect(await read(hash, required)).toEqual({ state: "pending", confirmations: 1 });
    await mineBlocks(world.anvil.rpcUrl, 1);
    expect(await read(hash, required)).toEqual({ state: "pending", confirmations: 2 });
    await mineBlocks(world.anvil.rpcUrl, 1);
    expect(await read(hash, required)).toMatchObject({ state: "mined", confirmations: 3 });
  });

  test("a reverted payment is reported as reverted once that is final", async () => {
    const hash = await sendUnmined(5_000n * UNIT);
    await awaitReceipt(world.client, hash);
    expect(await read(hash, { required_confirmations: 2 })).toEqual({ state: "pending", confirmations: 1 });
    expect(await read(hash)).toEqual({ state: "reverted" });
  });

  test("a transaction is unknown again after a reorg", async () => {
    const before = await world.client.snapshot();
    const { transactionHash } = await payIntent();
    await world.client.revert({ id: before });
    expect(await read(transactionHash)).toEqual({ state: "unknown" });
  });

  test("a transaction that settles nothing is mined without a settlement", async () => {
    const { transactionHash } = await world.mint(world.people.other.address, 1n);
    expect(await read(transactionHash)).toMatchObject({ state: "mined", settlements: [] });
  });

  test("an equal event of another contract is no settlement", async () => {
    const foreign = await foreignContract();
    const { transactionHash } = await world.sendTo("consumer", foreign, settlementAbi, "pay", [
      token,
      UNIT,
      PROVIDER,
      CONSUMER,
    ]);
    expect(await read(transactionHash)).toMatchObject({ state: "mined", settlements: [] });
    expect(await read(transactionHash, { settlement_contract: foreign })).toMatchObject({
      settlements: [{ gross: UNIT }],
    });
  });

  test("two settlements in one transaction are both read, in order, and a foreign one between them is not", async () => {
    const foreign = await foreignContract();
    const calls = [
      await authorized(world.chain.settlementContract, 3n * UNIT),
      await authorized(foreign, 5n * UNIT),
      await authorized(world.chain.settlementContract, 4n * UNIT),
    ];
    const reading = await read(await inOneTransaction(calls));
    expect(reading).toMatchObject({
      state: "mined",
      settlements: [{ gross: 3n * UNIT }, { gross: 4n * UNIT }],
    });
    expect(reading.state === "mined" && reading.settlements.length).toBe(2);
  });
});

describe("asking nodes", () => {
  test("reading a settlement takes one request of two calls once the node is trusted", async () => {
    const { transactionHash } = await payIntent();
    const proxy = await startProxy();
    const gateway = gatewayWith({ rpc_url: proxy.url });
    must(await gateway.readSettlement("base-sepolia", transactionHash));
    must(await gateway.readSettlement("base-sepolia", transactionHash));
    expect(proxy.requests).toEqual([
      ["eth_getTransactionReceipt", "eth_blockNumber", "eth_chainId"],
      ["eth_getTransactionReceipt", "eth_blockNumber"],
    ]);
  });

  test("the block is read if a node's logs have no time", async () => {
    const receipt = await payIntent();
    const proxy = await startProxy((body) => body.replaceAll("blockTimestamp", "somethingElse"));
    const reading = await read(receipt.transactionHash, { rpc_url: proxy.url });
    const block = await world.client.getBlock({ blockHash: receipt.blockHash });
    expect(reading).toMatchObject({ state: "mined", minedAt: Number(block.timestamp) * 1_000 });
    expect(proxy.requests.at(-1)).toEqual(["eth_getBlockByHash"]);
  });

  test("a batch may be answered in any order", async () => {
    const { transactionHash } = await payIntent();
    const proxy = await startProxy((body) => JSON.stringify(JSON.parse(body).reverse()));
    expect(await read(transactionHash, { rpc_url: proxy.url })).toMatchObject({ state: "mined" });
  });

  test("the fallback node is used if the first node fails", async () => {
    const { transactionHash } = await payIntent();
    const broken = await startProxy(() => "<html>");
    const reading = await read(transactionHash, { rpc_url: broken.url, fallback_rpc_url: world.anvil.rpcUrl });
    expect(reading).toMatchObject({ state: "mined" });
    expect(broken.requests.length).toBe(1);
  });

  test("without a fallback the same node is tried once more", async () => {
    const { transactionHash } = await payIntent();
    let calls = 0;
    const flaky = await startProxy((body) => (calls++ === 0 ? "{}" : body));
    expect(await read(transactionHash, { rpc_url: flaky.url })).toMatchObject({ state: "mined" });
    expect(flaky.requests.length).toBe(2);
  });

  const failure = async (change: Partial<Network>, rpc?: Rpc): Promise<ChainResult<SettlementReading>> =>
    gatewayWith(change, rpc).readSettlement("base-sepolia", INTENT);
  const unavailable = (reason: string) => ({
    ok: false,
    error: { kind: "chain_unavailable", network: "base-sepolia", reason },
  });

  test("a dead node is unreachable, and the error does not contain its address", async () => {
    const result = await failure({ rpc_url: "http://127.0.0.1:9/v2/secret-key" });
    expect(result).toEqual(unavailable("unreachable"));
    expect(JSON.stringify(result)).not.toMatch(/secret|127\.0\.0\.1|http/);
  });

  test("a silent node times out twice, after four seconds each", async () => {
    const { url, limit, limits } = await startSilentNode(world.anvil.rpcUrl);
    expect(await failure({ rpc_url: url }, createRpc(fetch, limit))).toEqual(unavailable("timeout"));
    expect(limits).toEqual([4_000, 4_000]);
  });

  test.each([
    ["no JSON", () => "<html>"],
    ["no batch", () => '{"jsonrpc":"2.0","id":null,"error":{"code":-32005,"message":"slow down"}}'],
    ["a missing item", () => "[]"],
    ["more than 16 MiB", (body: string) => body + " ".repeat(16 * 1_024 * 1_024)],
    [
      "an item's error",
      (body: string) => body.replace(/"result":"0x/, '"error":{"code":-32005,"message":"slow"},"x":"0x'),
    ],
    ["an absurd receipt", (body: string) => body.replace('"result":null', '"result":{"status":1}')],
  ])("a node that answers with %s gives a bad answer", async (_, change) => {
    const proxy = await startProxy(change);
    expect(await failure({ rpc_url: proxy.url })).toEqual(unavailable("bad_answer"));
  });

  test("a node of another chain is not believed", async () => {
    expect(await failure({ chain_id: 8453 })).toEqual(unavailable("wrong_chain"));
  });

  test("a network that is not configured is an error, not an exception", async () => {
    const result = await gatewayWith().readSettlement("elsewhere", INTENT);
    expect(result).toMatchObject({ ok: false, error: { reason: "unknown_network", network: "elsewhere" } });
  });

  test("a missing contract is a bad answer, not a provider", async () => {
    const gateway = gatewayWith({ settlement_contract: world.people.other.address });
    expect(await gateway.readProvider("base-sepolia", PROVIDER)).toEqual(unavailable("bad_answer"));
  });
});

// Deploys an equal contract: same events, same token, same provider.
async function foreignContract(): Promise<Hex> {
  const { other, wallet, feeRecipient } = world.people;
  const { settlementContract, authority } = await deployContracts(world.anvil.rpcUrl, {
    deployerKey: other.privateKey,
    keys: addressesOf(world.people),
    feeRecipient: feeRecipient.address,
  });
  expect(settlementContract).not.toBe(world.chain.settlementContract);
  const args = [PROVIDER, token, wallet.address, THRESHOLD] as const;
  const register = encodeFunctionData({ abi: settlementAbi, functionName: "registerProvider", args });
  await world.sendTo("registrar", authority, authorityAbi as Abi, "execute", [settlementContract, register]);
  const approval = encodeFunctionData({
    abi: [{ type: "function", name: "approve", inputs: [{ type: "address" }, { type: "uint256" }], outputs: [] }],
    args: [settlementContract, 1_000n * UNIT],
  });
  const transaction = { from: world.people.consumer.address, to: token, data: approval };
  const hash: Hex = await world.client.transport.request({ method: "eth_sendTransaction", params: [transaction] });
  await awaitReceipt(world.client, hash);
  return settlementContract;
}

async function authorized(settlementContract: Hex, amount: bigint): Promise<{ to: Hex; data: Hex }> {
  const { consumer, wallet } = world.people;
  const payment = {
    token,
    amount,
    providerDidHash: PROVIDER,
    consumerDidHash: CONSUMER,
    intentHash: INTENT,
    operationalWallet: wallet.address,
    maxFeeBps: 5,
    deadline: 10_000_000_000n,
    refundTo: consumer.address,
  };
  const p = await signPayment(world.anvil.chainId, consumer.privateKey, settlementContract, payment);
  const data = encodeFunctionData({
    abi: settlementAbi,
    functionName: "settleWithAuthorization",
    args: [p.payment, p.from, p.validAfter, p.validBefore, p.salt, p.signature],
  });
  return { to: settlementContract, data };
}

// Creates a contract whose constructor makes the calls: PUSH2 size, PUSH2 offset, PUSH1 0, CODECOPY, then CALL and POP for each.
async function inOneTransaction(calls: readonly { to: Hex; data: Hex }[]): Promise<Hex> {
  const STEP = 44;
  let offset = calls.length * STEP + 1;
  const steps: Hex[] = [];
  for (const { to, data } of calls) {
    const length = numberToHex(size(data), { size: 2 });
    const copy: Hex[] = ["0x61", length, "0x61", numberToHex(offset, { size: 2 }), "0x6000", "0x39"];
    const invoke: Hex[] = ["0x6000", "0x6000", "0x61", length, "0x6000", "0x6000", "0x73", to, "0x5a", "0xf1", "0x50"];
    const step = concat([...copy, ...invoke]);
    expect(size(step)).toBe(STEP);
    steps.push(step);
    offset += size(data);
  }
  const code = concat([...steps, "0x00", ...calls.map(({ data }) => data)]);
  const transaction = { from: world.people.stranger.address, data: code, gas: "0x1e8480" };
  const hash: Hex = await world.client.transport.request({ method: "eth_sendTransaction", params: [transaction] });
  await awaitReceipt(world.client, hash);
  return hash;
}

async function startProxy(change?: (body: string) => string | Promise<string>): Promise<SpoilingNode> {
  const proxy = await proxyTo(world.anvil.rpcUrl, change);
  proxies.push(proxy);
  return proxy;
}
