// Builds the world of the chain tests: an anvil of its own, the contracts, a registered provider, a consumer with money, and short ways to call as
// a role and to read a refusal.
import { createServer, type IncomingMessage } from "node:http";
import { type Abi, BaseError, ContractFunctionRevertedError, encodeFunctionData, type Hex, parseEventLogs } from "viem";
import { afterAll, afterEach, beforeAll, beforeEach } from "vitest";
import { authorityAbi, settlementAbi } from "../../scripts/chain/abi.ts";
import { type Anvil, type AnvilAccount, startAnvil } from "../../scripts/chain/anvil.ts";
import { awaitReceipt, createClient } from "../../scripts/chain/client.ts";
import { artifacts, type Deployment, deployContracts } from "../../scripts/chain/deploy.ts";
import type { FullPayment } from "../../scripts/chain/payments.ts";
import { type Delays, NO_DELAYS } from "../../scripts/chain/roles.ts";
import { addressesOf } from "../../scripts/ephemeral.ts";
import type { ChainResult, Signer, Submission } from "../../src/chain/gateway.ts";
import { hashDid, hashIntent } from "../../src/chain/hashes.ts";
import { type Network, type NetworkInput, parseNetworks, requireNetwork } from "../../src/chain/networks.ts";
import { type ChainSender, createChainSender } from "../../src/chain/sender.ts";
import { deriveAddress, signCall } from "../../src/chain/sign.ts";
import { isWhole, runs } from "../support/scale.ts";

export const PROVIDER = hashDid("did:aeap:11111111-1111-4111-8111-111111111111");
export const OTHER_PROVIDER = hashDid("did:aeap:33333333-3333-4333-8333-333333333333");
export const CONSUMER = hashDid("did:aeap:22222222-2222-4222-8222-222222222222");
/** Names no payer, like every hash below that stands for an intent. */
export const INTENT = hashIntent("pin_01JD8Z5T7Q0000000000000003");
export const ZERO_HASH: Hex = `0x${"0".repeat(64)}`;
export const ZERO_ADDRESS: Hex = `0x${"0".repeat(40)}`;
export const REASON = hashIntent("dsp_01JD8Z5T7Q0000000000000000");
export const UNIT = 1_000_000n;
export const THRESHOLD = 15n * UNIT;

export const PEOPLE = [
  "admin",
  "registrar",
  "arbiter",
  "feeRecipient",
  "consumer",
  "wallet",
  "stranger",
  "other",
  "guardian",
  "owner",
] as const;
export type Person = (typeof PEOPLE)[number];

// The functions of the authority with the errors of the contract, which pass through it.
export const REFUSALS = [...authorityAbi, ...settlementAbi.filter(({ type }) => type === "error")] as Abi;

// Enough for every call here. A fixed limit saves a dry run, and lets a refused call be mined as reverted.
const GAS = 3_000_000n;

export type World = {
  anvil: Anvil;
  chain: Deployment;
  people: Record<Person, AnvilAccount>;
  network: Network;
  client: ReturnType<typeof createClient>;
  /** Sends a call of a role through the authority and waits for its block; the receipt says whether it was refused. */
  act: (person: Person, functionName: string, args: readonly unknown[]) => Promise<Receipt>;
  /** Returns the name of the error with which a call of a role is refused, or null if it would pass. */
  refusalOf: (person: Person, functionName: string, args: readonly unknown[]) => Promise<string | null>;
  /** Schedules a call of a role with a delay; it may be executed by `act` once the delay is over. */
  schedule: (person: Person, functionName: string, args: readonly unknown[]) => Promise<Receipt>;
  /** Cancels a call that another person scheduled. */
  cancel: (person: Person, whose: Person, functionName: string, args: readonly unknown[]) => Promise<Receipt>;
  /** Sends a call of the settlement contract and waits for its block; the receipt says whether it was refused. */
  send: (person: Person, functionName: string, args: readonly unknown[]) => Promise<Receipt>;
  sendTo: (person: Person, to: Hex, abi: Abi, functionName: string, args: readonly unknown[]) => Promise<Receipt>;
  /** Returns the name of the error with which a call is refused, or null if it would pass. */
  refusal: (person: Person, functionName: string, args: readonly unknown[]) => Promise<string | null>;
  refusalAt: (
    person: Person,
    to: Hex,
    abi: Abi,
    functionName: string,
    args: readonly unknown[],
  ) => Promise<string | null>;
  read: <T>(functionName: string, args?: readonly unknown[]) => Promise<T>;
  balance: (address: Hex) => Promise<bigint>;
  mint: (address: Hex, amount: bigint) => Promise<Receipt>;
  vault: (providerDidHash: Hex) => Promise<Hex>;
  stop: () => Promise<void>;
};

type Receipt = Awaited<ReturnType<ReturnType<typeof createClient>["getTransactionReceipt"]>>;

/** Each example takes many calls of a chain, so a run that is not whole plays few. */
export const chainRuns = (whole: number, few: number) => ({ ...runs(whole), ...(isWhole() ? {} : { numRuns: few }) });

/** Builds a fresh chain with contracts. PROVIDER is registered at THRESHOLD, and the consumer has 1,000 units and an allowance. */
export async function buildWorld(chainId = 84532, delays: Delays = NO_DELAYS): Promise<World> {
  const anvil = await startAnvil({ chainId, port: 0 });
  const people = nameAccounts(anvil.accounts);
  const chain = await deployContracts(anvil.rpcUrl, {
    deployerKey: people.admin.privateKey,
    keys: addressesOf(people),
    feeRecipient: people.feeRecipient.address,
    delays,
  });
  const client = createClient(anvil.rpcUrl);
  const settlement = { address: chain.settlementContract, abi: settlementAbi as Abi };
  const token = { address: chain.token, abi: artifacts.TestUSDC.abi };
  const manager = { address: chain.authority, abi: authorityAbi as Abi };
  const dataOf = (functionName: string, args: readonly unknown[]): Hex =>
    encodeFunctionData({ abi: settlement.abi, functionName, args });

  async function sendTo(person: Person, to: Hex, abi: Abi, functionName: string, args: readonly unknown[]) {
    const data = encodeFunctionData({ abi, functionName, args });
    return sendData(person, to, data);
  }
  async function sendData(person: Person, to: Hex, data: Hex): Promise<Receipt> {
    const hash: Hex = await client.transport.request({
      method: "eth_sendTransaction",
      params: [{ from: people[person].address, to, data, gas: `0x${GAS.toString(16)}` }],
    });
    return awaitReceipt(client, hash, 60_000);
  }
  const refusalAt: World["refusalAt"] = async (person, address, abi, functionName, args) => {
    try {
      await client.simulateContract({ address, abi, functionName, args, account: people[person].address });
      return null;
    } catch (error) {
      return errorName(error);
    }
  };
  const world: World = {
    anvil,
    chain,
    people,
    client,
    network: networkFor(chainId, anvil.rpcUrl, chain),
    sendTo,
    act: (person, functionName, args) =>
      sendTo(person, manager.address, manager.abi, "execute", [settlement.address, dataOf(functionName, args)]),
    refusalOf: (person, functionName, args) =>
      refusalAt(person, manager.address, REFUSALS, "execute", [settlement.address, dataOf(functionName, args)]),
    schedule: (person, functionName, args) =>
      sendTo(person, manager.address, manager.abi, "schedule", [settlement.address, dataOf(functionName, args), 0]),
    cancel: (person, whose, functionName, args) => {
      const scheduled = [people[whose].address, settlement.address, dataOf(functionName, args)];
      return sendTo(person, manager.address, manager.abi, "cancel", scheduled);
    },
    send: (person, functionName, args) => sendTo(person, settlement.address, settlement.abi, functionName, args),
    refusalAt,
    refusal: (person, functionName, args) => refusalAt(person, settlement.address, settlement.abi, functionName, args),
    read: async <T>(functionName: string, args: readonly unknown[] = []) =>
      (await client.readContract({ ...settlement, functionName, args })) as T,
    balance: async (address) =>
      (await client.readContract({ ...token, functionName: "balanceOf", args: [address] })) as bigint,
    mint: (address, amount) => sendTo("other", token.address, token.abi, "mint", [address, amount]),
    vault: async (providerDidHash) =>
      (await client.readContract({ ...settlement, functionName: "vaultOf", args: [providerDidHash] })) as Hex,
    stop: anvil.stop,
  };
  await world.act("registrar", "registerProvider", [PROVIDER, chain.token, people.wallet.address, THRESHOLD]);
  await world.mint(people.consumer.address, 1_000n * UNIT);
  await sendTo("consumer", token.address, token.abi, "approve", [chain.settlementContract, 2n ** 256n - 1n]);
  return world;
}

/** Builds a world for the tests of a file and passes it to `prepare`. Each test's effects on the chain are reverted after it. */
export function useWorld(prepare: (world: World) => unknown, delays: Delays = NO_DELAYS): void {
  let world: World | undefined;
  let snapshot: Hex | undefined;
  beforeAll(async () => {
    world = await buildWorld(undefined, delays);
    await prepare(world);
  });
  afterAll(() => world?.stop());
  beforeEach(async () => {
    snapshot = await world?.client.snapshot();
  });
  afterEach(() => snapshot && world?.client.revert({ id: snapshot }));
}

/** Reverts to the snapshot, and lets each transaction be mined at once again. Empties the pool, whose transactions would be mined later. */
export async function restore({ client }: World, snapshot: Hex): Promise<void> {
  await client.transport.request({ method: "anvil_dropAllTransactions", params: [] });
  await client.setAutomine(true);
  await client.revert({ id: snapshot });
}

function networkFor(chainId: number, rpcUrl: string, chain: Deployment): Network {
  return networkOf({
    network: chainId === 8453 ? "base" : "base-sepolia",
    chain_id: chainId,
    kind: chainId === 8453 ? "mainnet" : "testnet",
    rpc_url: rpcUrl,
    settlement_contract: chain.settlementContract,
    authority: chain.authority,
    token: chain.token,
    currency: "USDC",
    decimals: 6,
    required_confirmations: 1,
  });
}

/** The consumer pays the provider without an intent. */
export const pay = (world: World, amount: bigint, provider: Hex = PROVIDER): Promise<Receipt> =>
  world.send("consumer", "pay", [world.chain.token, amount, provider, CONSUMER]);

/** Returns a payment of 10 units to the provider, with all the terms that a payer can fix. */
export const paymentOf = (world: World, change: Partial<FullPayment> = {}): FullPayment => ({
  token: world.chain.token,
  amount: 10n * UNIT,
  providerDidHash: PROVIDER,
  consumerDidHash: CONSUMER,
  intentHash: INTENT,
  operationalWallet: world.people.wallet.address,
  maxFeeBps: 5,
  deadline: 10_000_000_000n,
  refundTo: world.people.consumer.address,
  ...change,
});

export type Facts = {
  key: Hex;
  providerDidHash: Hex;
  token: Hex;
  gross: bigint;
  refundTo: Hex;
  settledAt: bigint;
  paidOut: bigint;
};
/** Returns the facts of a settlement, from its events alone. */
export async function factsOf(world: World, receipt: Receipt): Promise<Facts> {
  const [settled, recorded] = eventsOf(receipt);
  if (settled?.eventName !== "Settled" || recorded?.eventName !== "SettlementRecorded") throw new Error("not settled");
  const { timestamp: settledAt } = await world.client.getBlock({ blockNumber: receipt.blockNumber });
  const { providerDidHash, token, gross } = settled.args;
  const { key, refundTo } = recorded.args;
  return { key, providerDidHash, token, gross, refundTo, settledAt, paidOut: 0n };
}

export const eventsOf = (receipt: Receipt) => parseEventLogs({ abi: settlementAbi, logs: receipt.logs });

export const vaultBalance = async (world: World, provider: Hex = PROVIDER): Promise<bigint> =>
  world.balance(await world.vault(provider));

/** A network as the service reads it from its configuration. */
export const networkOf = (input: NetworkInput): Network =>
  requireNetwork(parseNetworks(JSON.stringify([input])), input.network);

/** Signs and sends with a key, with the node's nonce. This is enough for a test in which nothing else uses the key. */
export function keySigner(sender: ChainSender, privateKey: Hex): Signer {
  const submission = (value: Submission): ChainResult<Submission> => ({ ok: true, value });
  return {
    address: async () => ({ ok: true, value: deriveAddress(privateKey) }),
    submit: async (_key, call) => {
      const prepared = await sender.prepare(call, deriveAddress(privateKey));
      if (!prepared.ok) return prepared;
      const { account, dryRun } = prepared.value;
      if (dryRun.state === "refused") return submission(dryRun);
      if (account.fees === null) return submission({ state: "waiting", reason: "fee_above_bound" });
      const { chain_id: chainId } = sender.network;
      const terms = { chainId, nonce: account.mined, gas: dryRun.gas, ...account.fees };
      const signed = await signCall({ privateKey, ...terms, to: call.to, data: call.data });
      const sent = await sender.send(signed);
      if (!sent.ok) return sent;
      return submission(
        sent.value.state === "taken"
          ? { state: "submitted", txHash: signed.hash }
          : { state: "waiting", reason: "node_refused" },
      );
    },
    // This signer keeps nothing that could wait.
    withdraw: async () => ({ ok: true, value: { state: "clear" } }),
  };
}

export const senderFor = (world: World): ChainSender => createChainSender(world.network);

/** Returns the value of a result, and throws if there is none. */
export function must<T>(result: ChainResult<T>): T {
  if (!result.ok) throw new Error(`chain unavailable: ${result.error.reason}`);
  return result.value;
}

export function errorName(error: unknown): string {
  const { data, signature } = revertIn(error);
  return data?.errorName ?? signature ?? "reverted";
}

/** Returns the contract's refusal in viem's error, and rethrows any other error. */
export function revertIn(error: unknown): ContractFunctionRevertedError {
  const reverted = error instanceof BaseError ? error.walk((e) => e instanceof ContractFunctionRevertedError) : null;
  if (reverted instanceof ContractFunctionRevertedError) return reverted;
  throw error;
}

function nameAccounts(accounts: readonly AnvilAccount[]): Record<Person, AnvilAccount> {
  const named = PEOPLE.map((person, index) => {
    const account = accounts[index];
    if (account === undefined) throw new Error("anvil has too few accounts");
    return [person, account];
  });
  return Object.fromEntries(named);
}

export type SpoilingNode = { url: string; requests: string[][]; close: () => void };

/** Starts a proxy of a node, which records the requests and may change the answers. */
export async function proxyTo(
  rpcUrl: string,
  change: (body: string) => string | Promise<string> = (body) => body,
): Promise<SpoilingNode> {
  const requests: string[][] = [];
  const server = createServer(async (request, response) => {
    const body = await textOf(request);
    const calls: { method: string }[] = JSON.parse(body);
    requests.push(calls.map(({ method }) => method));
    const answer = await fetch(rpcUrl, { method: "POST", body, headers: { "content-type": "application/json" } });
    response.end(await change(await answer.text()));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return { url: `http://127.0.0.1:${port}`, requests, close: () => server.close() };
}

/**
 * Starts a node that never answers, with a time limit that ends once a request has arrived. `limits`: the limits that were set, in milliseconds.
 */
export async function startSilentNode(rpcUrl: string) {
  const controller = new AbortController();
  const limits: number[] = [];
  const limit = (ms: number): AbortSignal => {
    limits.push(ms);
    return controller.signal;
  };
  const proxy = await proxyTo(rpcUrl, () => {
    controller.abort(new DOMException("The time is over.", "TimeoutError"));
    return new Promise<string>(() => undefined);
  });
  return { ...proxy, limits, limit };
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = "";
  for await (const chunk of request) text += String(chunk);
  return text;
}
