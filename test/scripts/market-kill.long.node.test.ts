// The Worker's runtime is killed (SIGKILL) at each step of opening a market and of changing its wallet and threshold (MKT-8, CHN-14, CHN-16). After a
// restart the client's repeated call, or the minute's job, completes it. The contract has the wallet and the threshold, and was called once for each;
// the registrar's nonces have no gap.
import { type Hex, parseEventLogs, parseTransaction } from "viem";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { devAccounts } from "../../scripts/chain/anvil.ts";
import { createClient } from "../../scripts/chain/client.ts";
import { artifacts } from "../../scripts/chain/deploy.ts";
import { approve, mintTestUsdc, payIntent } from "../../scripts/chain/payments.ts";
import { type Agent, agentHeaders, type Json, pickValue, send } from "../../scripts/client.ts";
import { roleAccounts } from "../../scripts/ephemeral.ts";
import { fireCron } from "../../scripts/local-worker.ts";
import { sleep } from "../../scripts/processes.ts";
import { hashDid, hashIntent } from "../../src/chain/hashes.ts";
import type { Gates, RpcCall } from "./held-node.ts";
import { type KillableWorker, slowDown, startKillable } from "./killable-worker.ts";

const ENDS_WITHIN_MS = 1_200_000;
/** Makes the batch that opens a market take some tenths of a second. */
const STEPS = 200_000;
const TWO_MINUTES_MS = 120_000;
const BASE = 15_000_000;

const wallets = devAccounts().map(({ address }) => address);
const [payer, FIRST, SECOND] = [devAccounts()[9], wallets[8] ?? "0x", wallets[7] ?? "0x"];
if (!payer) throw new Error("anvil has no accounts");
const registrar = roleAccounts().registrar.address;

/** The state of a Worker's request when the runtime dies: it has not left for the node, its answer has not come back, or it has. */
type Step = { readonly method: string; readonly at: keyof Gates; readonly behind?: string };
type How = "the client's repeated call" | "the minute's job";
type Killed = readonly [when: string, step: Step, how: How];

let worker: KillableWorker;
/** The calls that the registrar has sent, by their nonces. */
const sent = new Map<number, Set<string>>();

beforeAll(async () => {
  worker = await startKillable();
  using database = worker.database("d1", "agent_markets");
  slowDown(database, "update of status on agent_markets when new.status = 'ACTIVE'", STEPS);
});
afterAll(() => worker.close());

describe("a market, when the runtime is killed while it is opened", () => {
  const behind = "eth_getTransactionReceipt";
  const steps: readonly Killed[] = [
    ["before the send", { method: "eth_sendRawTransaction", at: "arrived" }, "the minute's job"],
    [
      "after the send, before that is noted",
      { method: "eth_sendRawTransaction", at: "answered" },
      "the client's repeated call",
    ],
    ["after the receipt, before the row", { method: "eth_call", at: "passed", behind }, "the minute's job"],
    ["before anything is kept", { method: "eth_estimateGas", at: "arrived" }, "the minute's job"],
    ["before the receipt", { method: "eth_getTransactionReceipt", at: "answered" }, "the client's repeated call"],
    [
      "after the receipt, before the contract is read again",
      { method: "eth_call", at: "arrived", behind },
      "the client's repeated call",
    ],
  ];
  for (const [when, step, how] of steps)
    test(`${when}, is opened by ${how}, and registered once`, async () => {
      const { did } = await worker.agent("PROVIDER");
      await killAt(step, () => open(did, FIRST));
      expect(marketOf(did)).toMatchObject({ status: "PROVISIONING" });
      await worker.start();
      await bringBack(did, FIRST, how);
      await expectSplit(did, { wallet: FIRST, threshold: BASE });
      expect(await eventsOf(did)).toEqual({ ProviderRegistered: 1 });
      expect(opened(did)).toBe(1);
      await expectNonces();
    });
});

describe("a wallet and a threshold, when the runtime is killed between the two", () => {
  // A job that an earlier test has started would set the threshold itself.
  beforeAll(async () => {
    await worker.kill();
    await worker.start();
  });
  const behind = "eth_getTransactionReceipt";
  const steps: readonly Killed[] = [
    ["after the wallet's receipt", { method: "eth_estimateGas", at: "arrived", behind }, "the client's repeated call"],
    [
      "after the threshold is sent",
      { method: "eth_sendRawTransaction", at: "answered", behind },
      "the client's repeated call",
    ],
  ];
  // The job of this case would set the threshold of a later case.
  const last: Killed = [
    "before the threshold is sent",
    { method: "eth_sendRawTransaction", at: "arrived", behind },
    "the minute's job",
  ];
  for (const [when, step, how] of [...steps, last])
    test(`${when}, are each set once by ${how}`, async () => {
      const provider = await worker.agent("PROVIDER");
      const { did } = provider;
      await open(did, FIRST);
      const wanted = await rate(provider);
      await killAt(step, () => open(did, SECOND));
      // The contract has only the wallet yet.
      if (step.at === "arrived") await expectSplit(did, { wallet: SECOND, threshold: BASE });
      expect(marketOf(did)).toMatchObject({ status: "PROVISIONING" });
      await worker.start();
      await bringBack(did, SECOND, how);
      await expectSplit(did, { wallet: SECOND, threshold: wanted });
      expect(await eventsOf(did)).toEqual({ ProviderRegistered: 1, OperationalWalletSet: 1, ThresholdSet: 1 });
      expect(opened(did)).toBe(2);
      await expectNonces();
    });

  test("the next market is opened at once, under the next nonce", async () => {
    const before = await minedBy();
    const { did } = await worker.agent("PROVIDER");
    watch({});
    expect(await open(did, FIRST)).toMatchObject({ status: "ACTIVE" });
    expect(await minedBy()).toBe(before + 1);
    await expectNonces();
  });
});

// ---- The platform -----------------------------------------------------------------------------------------------------

const MARKET = "GLOBAL-USDC";

async function open(did: string, operational_wallet: string): Promise<Json> {
  const markets = [{ market: MARKET, network: worker.chain.network, operational_wallet }];
  return pickValue(await worker.manage(`/v1/agents/${did}/scope/authorized_markets`, { markets }, 200), "markets.0");
}

/** Makes a purchase that its consumer confirms, which changes the provider's rating and so the threshold, which the contract does not have yet. */
async function rate(provider: Agent): Promise<number> {
  const { rpcUrl, token, contract } = worker.chain;
  const consumer = await worker.agent("CONSUMER");
  const as = async (path: string, body: Json, status: number) => {
    const call = { method: "POST", path, body };
    const reply = await send(worker.baseUrl, call, await agentHeaders(consumer, call));
    if (reply.status !== status) throw new Error(`${path} answered ${reply.status}: ${reply.text}`);
    return JSON.parse(reply.text) as Json;
  };
  const order = { consumer_did: consumer.did, provider_did: provider.did, amount: "10.00", currency: "USDC" };
  const intentId = pickValue<string>(await as("/v1/payment-intents", order, 201), "intent_id");
  const key = payer?.privateKey ?? "0x";
  const amount = 10_000_000n;
  await mintTestUsdc(rpcUrl, key, token, payer?.address ?? "0x", amount);
  await approve(rpcUrl, key, token, contract, amount);
  const hash = await payIntent(rpcUrl, key, {
    settlementContract: contract,
    token,
    amount,
    providerDidHash: hashDid(provider.did),
    consumerDidHash: hashDid(consumer.did),
    intentHash: hashIntent(intentId),
  });
  const settled = await as("/v1/facilitate", { intent_id: intentId, payment_tx: hash }, 200);
  await as(`/v1/tasks/${pickValue<string>(settled, "task_id")}/confirm`, { outcome: "confirmed" }, 200);
  const [escrow] = rows("escrows", "select threshold, chain_threshold from escrows where did = ?", provider.did);
  expect(escrow).toMatchObject({ chain_threshold: BASE });
  const wanted = Number(escrow?.["threshold"]);
  expect(wanted).toBeLessThan(BASE);
  return wanted;
}

// ---- The kill ---------------------------------------------------------------------------------------------------------

/** Records every transaction that is sent, and then calls `gates`. */
function watch({ arrived, ...gates }: Gates): void {
  worker.node.gate({
    ...gates,
    arrived: (calls) => {
      for (const { method, params } of calls) if (method === "eth_sendRawTransaction") note(params[0] as Hex);
      return arrived?.(calls);
    },
  });
}

function note(raw: Hex): void {
  const { nonce = 0, data = "0x" } = parseTransaction(raw);
  sent.set(nonce, (sent.get(nonce) ?? new Set()).add(data));
}

const has = (calls: readonly RpcCall[], wanted: string): boolean => calls.some(({ method }) => method === wanted);

/** Kills the runtime when a request is at the step. A request that has not left for the node by then never does. */
async function killAt({ method, at, behind }: Step, act: () => Promise<unknown>): Promise<void> {
  const met = Promise.withResolvers<void>();
  let waiting = behind === undefined;
  const onGate = (calls: readonly RpcCall[]) => {
    if (!waiting || !has(calls, method)) return;
    waiting = false;
    // Freezes the runtime before it can go on.
    void worker.freeze().then(met.resolve);
    return at === "passed" ? undefined : new Promise<never>(() => undefined);
  };
  const onPassed = (calls: readonly RpcCall[]) => {
    if (at === "passed") onGate(calls);
    if (behind !== undefined && has(calls, behind)) waiting = true;
  };
  watch({ ...(at !== "passed" && { [at]: onGate }), passed: onPassed });
  const acting = act().catch(() => undefined);
  await met.promise;
  await worker.kill();
  await acting;
  watch({});
}

async function bringBack(did: string, wallet: string, how: How): Promise<void> {
  if (how === "the client's repeated call") await open(did, wallet);
  const until = Date.now() + ENDS_WITHIN_MS;
  while (marketOf(did)?.["status"] !== "ACTIVE") {
    if (Date.now() > until) throw new Error(`the market stays ${JSON.stringify(marketOf(did))}`);
    letWait(did);
    await fireCron(worker.baseUrl);
    await sleep(1_000);
  }
}

/** Makes the market wait for more than a minute, so that the job continues it. */
function letWait(did: string): void {
  using database = worker.database("d1", "agent_markets");
  database
    .prepare("update agent_markets set updated_at = updated_at - ? where did = ? and status = 'PROVISIONING'")
    .run(TWO_MINUTES_MS, did);
}

// ---- The state at rest ------------------------------------------------------------------------------------------------

function rows(table: string, text: string, ...values: string[]): Json[] {
  using database = worker.database("d1", table);
  return database.prepare(text).all(...values) as Json[];
}

const marketOf = (did: string): Json | undefined =>
  rows("agent_markets", "select * from agent_markets where did = ?", did)[0];

/** The number of events that reported the market as open. */
const opened = (did: string): number =>
  rows("events", "select 1 from events where agent_did = ? and type = 'market.provisioned'", did).length;

const contractAbi = artifacts.SettlementContract.abi;
type Wanted = { readonly wallet: string; readonly threshold: number };

async function expectSplit(did: string, { wallet, threshold }: Wanted): Promise<void> {
  const { rpcUrl, contract, token } = worker.chain;
  const read = (functionName: string, args: readonly unknown[]) =>
    createClient(rpcUrl).readContract({ address: contract, abi: contractAbi, functionName, args });
  expect(await read("splitOf", [hashDid(did), token])).toEqual([wallet, BigInt(threshold)]);
  const market = marketOf(did);
  if (market?.["status"] !== "ACTIVE") return;
  const vault = String(await read("vaultOf", [hashDid(did)])).toLowerCase();
  expect(market).toMatchObject({ operational_wallet: wallet.toLowerCase(), escrow_wallet: vault, reason: null });
  const [escrow] = rows("escrows", "select threshold, chain_threshold from escrows where did = ?", did);
  expect(escrow).toEqual({ threshold, chain_threshold: threshold });
}

/** The number of calls for each, by the contract's events. */
async function eventsOf(did: string): Promise<Record<string, number>> {
  const { rpcUrl, contract: address } = worker.chain;
  const logs = await createClient(rpcUrl).getLogs({ address, fromBlock: 0n });
  const names = ["ProviderRegistered", "OperationalWalletSet", "ThresholdSet"];
  const counted: Record<string, number> = {};
  for (const { eventName, args } of parseEventLogs({ abi: contractAbi, logs }) as unknown as {
    eventName: string;
    args: Json;
  }[])
    if (names.includes(eventName) && args["providerDidHash"] === hashDid(did))
      counted[eventName] = (counted[eventName] ?? 0) + 1;
  return counted;
}

const minedBy = (): Promise<number> => createClient(worker.chain.rpcUrl).getTransactionCount({ address: registrar });

/** Expects that each nonce was sent for one call and is in a block: none waits, and none is skipped. */
async function expectNonces(): Promise<void> {
  const nonces = [...sent.keys()].toSorted((a, b) => a - b);
  expect(nonces).toEqual(Array.from({ length: await minedBy() }, (_, nonce) => nonce));
  expect([...sent].filter(([, calls]) => calls.size > 1)).toEqual([]);
}
