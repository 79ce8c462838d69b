// Contract section 5 (authorized_markets) and 6: what the service's own keys do on-chain, through the gateway, the sender and
// the signer, against a real node.
import { type Hex, parseTransaction, recoverTransactionAddress } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createChainGateway } from "../../src/chain/evm.ts";
import type { ChainGateway, RegistrationOutcome, Signer } from "../../src/chain/gateway.ts";
import { type ChainSender, createChainSender } from "../../src/chain/sender.ts";
import { addressOf, signCall } from "../../src/chain/sign.ts";
import {
  buildWorld,
  CONSUMER,
  keySigner,
  must,
  OTHER_PROVIDER,
  PROVIDER,
  proxyTo,
  REASON,
  senderFor,
  THRESHOLD,
  UNIT,
  type World,
} from "./support.ts";

const NETWORK = "base-sepolia";
let world: World;
let gateway: ChainGateway;
let sender: ChainSender;
let registrar: Signer;
let snapshot: Hex;

beforeAll(async () => {
  world = await buildWorld();
  gateway = createChainGateway([world.network]);
  sender = senderFor(world);
  registrar = keySigner(sender, world.people.registrar.privateKey);
});
afterAll(() => world?.stop());
beforeEach(async () => {
  snapshot = await world.client.snapshot();
});
afterEach(async () => {
  await world.client.setAutomine(true);
  await world.client.revert({ id: snapshot });
});

const registration = () => ({
  providerDidHash: OTHER_PROVIDER,
  operationalWallet: world.people.other.address,
  threshold: THRESHOLD,
});
// Submitted is not mined: what follows from a call is looked at once its block is there.
async function settled<T extends RegistrationOutcome>(outcome: T): Promise<T> {
  if (outcome.state !== "submitted") return outcome;
  expect(must(await sender.waitForReceipt(NETWORK, outcome.txHash, 5_000))).toEqual({ state: "included" });
  return outcome;
}
const register = async (change = {}, signer = registrar) =>
  settled(must(await gateway.registerProvider(NETWORK, { ...registration(), ...change }, signer)));
const provider = async (hash: string = OTHER_PROVIDER) => must(await gateway.readProvider(NETWORK, hash));

describe("registering a provider", () => {
  test("an unregistered provider already has a vault address, and no wallet", async () => {
    expect(await provider()).toEqual({
      registered: false,
      operationalWallet: null,
      threshold: 0n,
      vault: (await world.vault(OTHER_PROVIDER)).toLowerCase(),
      balance: 0n,
    });
  });

  test("registers once; the same again sends nothing", async () => {
    expect(await register()).toMatchObject({ state: "submitted", txHash: expect.stringMatching(/^0x[0-9a-f]{64}$/) });
    expect(await provider()).toMatchObject({
      registered: true,
      operationalWallet: world.people.other.address.toLowerCase(),
      threshold: THRESHOLD,
    });
    expect(await register()).toEqual({ state: "unchanged" });
    expect(await register({ operationalWallet: world.people.other.address.toLowerCase() })).toEqual({
      state: "unchanged",
    });
  });

  test("sets what differs from what is registered: the wallet, then the threshold", async () => {
    await register();
    const change = { operationalWallet: world.people.stranger.address, threshold: 1n };
    expect(await register(change)).toMatchObject({ state: "submitted" });
    expect(await provider()).toMatchObject({
      operationalWallet: change.operationalWallet.toLowerCase(),
      threshold: THRESHOLD,
    });
    expect(await register(change)).toMatchObject({ state: "submitted" });
    expect(await provider()).toMatchObject({ threshold: 1n });
    expect(await register(change)).toEqual({ state: "unchanged" });
  });

  test("sees what the vault holds", async () => {
    await world.send("consumer", "depositEscrow", [PROVIDER, world.chain.token, 4n * UNIT]);
    expect(await provider(PROVIDER)).toMatchObject({ registered: true, balance: 4n * UNIT });
  });

  test("the contract's refusal comes back by name, and nothing is sent", async () => {
    const { stranger } = world.people;
    const before = await world.client.getTransactionCount({ address: stranger.address });
    const outcome = await register({}, keySigner(sender, stranger.privateKey));
    expect(outcome).toEqual({ state: "refused", reason: "AccessControlUnauthorizedAccount" });
    expect(await register({ operationalWallet: world.chain.settlementContract })).toEqual({
      state: "refused",
      reason: "InvalidWallet",
    });
    expect(await register({ operationalWallet: "0x12" })).toEqual({ state: "refused", reason: "InvalidWallet" });
    expect(await world.client.getTransactionCount({ address: stranger.address })).toBe(before);
  });

  test("the threshold moves alone, and only for a registered provider", async () => {
    const set = async (hash: string, value: bigint) =>
      settled(must(await gateway.setThreshold(NETWORK, hash, value, registrar)));
    expect(await set(PROVIDER, 7n * UNIT)).toMatchObject({ state: "submitted" });
    expect(await provider(PROVIDER)).toMatchObject({ threshold: 7n * UNIT });
    expect(await set(PROVIDER, 7n * UNIT)).toEqual({ state: "unchanged" });
    expect(await set(OTHER_PROVIDER, 7n)).toEqual({ state: "refused", reason: "UnknownProvider" });
  });
});

describe("the arbiter's payout", () => {
  const payout = (amount: bigint) => ({ settlementId: 1n, amount, reasonHash: REASON });

  test("is paid by the arbiter's key alone, to the payer", async () => {
    await world.send("consumer", "pay", [world.chain.token, 10n * UNIT, PROVIDER, CONSUMER]);
    const before = await world.balance(world.people.consumer.address);
    const arbiter = keySigner(sender, world.people.arbiter.privateKey);
    expect(await settled(must(await gateway.payOut(NETWORK, payout(UNIT / 2n), registrar)))).toMatchObject({
      state: "refused",
    });
    expect(await settled(must(await gateway.payOut(NETWORK, payout(5n * UNIT), arbiter)))).toEqual({
      state: "refused",
      reason: "ExceedsVault",
    });
    expect(await settled(must(await gateway.payOut(NETWORK, payout(UNIT / 2n), arbiter)))).toMatchObject({
      state: "submitted",
    });
    expect(await world.balance(world.people.consumer.address)).toBe(before + UNIT / 2n);
  });
});

describe("signing", () => {
  const key = () => world.people.registrar.privateKey;
  const terms = {
    chainId: 84532,
    nonce: 3,
    gas: 100_000n,
    maxFeePerGas: 30n,
    maxPriorityFeePerGas: 2n,
    data: "0x8edb6743",
  };

  test("gives the transaction that was meant, by the key's address, under its own hash", async () => {
    const signed = await signCall({ privateKey: key(), to: world.chain.settlementContract, ...terms });
    expect(parseTransaction(signed.raw)).toMatchObject({
      type: "eip1559",
      to: world.chain.settlementContract.toLowerCase(),
      ...terms,
    });
    const signer = await recoverTransactionAddress({ serializedTransaction: signed.raw as `0x02${string}` });
    expect(signer).toBe(world.people.registrar.address);
    expect(addressOf(key())).toBe(world.people.registrar.address.toLowerCase());
    expect(addressOf(key())).toBe(privateKeyToAccount(key()).address.toLowerCase());
  });

  test("is the same for the same input", async () => {
    const sign = () => signCall({ privateKey: key(), to: world.chain.settlementContract, ...terms });
    expect(await sign()).toEqual(await sign());
  });
});

describe("sending", () => {
  // A mint: any call will do.
  const call = () => ({
    network: NETWORK,
    to: world.chain.token,
    data: `0x40c10f19${"0".repeat(24)}${world.people.other.address.slice(2)}${"1".padStart(64, "0")}`,
  });
  async function signed(
    change: { nonce?: number; maxFeePerGas?: bigint; maxPriorityFeePerGas?: bigint; privateKey?: Hex } = {},
  ) {
    const privateKey = change.privateKey ?? world.people.stranger.privateKey;
    const prepared = must(await sender.prepare(call(), world.people.stranger.address));
    if (prepared.state !== "ready") throw new Error(prepared.reason);
    const { state: _, ...terms } = prepared;
    return signCall({ to: call().to, data: call().data, ...terms, ...change, privateKey });
  }

  test("the preparation has the chain, the nonce with waiting transactions, gas above the need, and fees", async () => {
    await world.client.setAutomine(false);
    const nonce = must(await sender.pendingNonce(NETWORK, world.people.stranger.address));
    await sender.sendRaw(NETWORK, await signed());
    expect(must(await sender.pendingNonce(NETWORK, world.people.stranger.address))).toBe(nonce + 1);
    const prepared = must(await sender.prepare(call(), world.people.stranger.address));
    expect(prepared).toMatchObject({ state: "ready", chainId: 84532, nonce: nonce + 1 });
    const fees = must(await sender.suggestFees(NETWORK));
    const block = await world.client.getBlock();
    expect(fees.maxFeePerGas).toBe((block.baseFeePerGas ?? 0n) * 2n + fees.maxPriorityFeePerGas);
  });

  test("the same bytes again are submitted, mined or not, and have one effect", async () => {
    await world.client.setAutomine(false);
    const before = await world.balance(world.people.other.address);
    const bytes = await signed();
    for (let i = 0; i < 2; i++)
      expect(must(await sender.sendRaw(NETWORK, bytes))).toEqual({ state: "submitted", txHash: bytes.hash });
    await world.client.mine({ blocks: 1 });
    await settled({ state: "submitted", txHash: bytes.hash });
    expect(must(await sender.sendRaw(NETWORK, bytes))).toEqual({ state: "submitted", txHash: bytes.hash });
    await world.client.mine({ blocks: 1 });
    expect(await world.balance(world.people.other.address)).toBe(before + 1n);
  });

  test("a used nonce, a fee below the base fee and an empty account are refused by name", async () => {
    await settled(must(await sender.sendRaw(NETWORK, await signed())));
    expect(must(await sender.sendRaw(NETWORK, await signed({ nonce: 0 })))).toEqual({
      state: "refused",
      reason: "nonce_too_low",
    });
    const poor = await signed({ privateKey: REASON, nonce: 0 });
    expect(must(await sender.sendRaw(NETWORK, poor))).toEqual({ state: "refused", reason: "insufficient_funds" });
    const cheap = await signed({ maxFeePerGas: 1n, maxPriorityFeePerGas: 1n });
    expect(must(await sender.sendRaw(NETWORK, cheap))).toEqual({ state: "refused", reason: "underpriced" });
  });

  test("waiting ends with the block, or with the time", async () => {
    await world.client.setAutomine(false);
    const { raw, hash } = await signed();
    await sender.sendRaw(NETWORK, { raw, hash });
    expect(must(await sender.waitForReceipt(NETWORK, hash, 50))).toEqual({ state: "waiting" });
    const waiting = sender.waitForReceipt(NETWORK, hash, 5_000);
    await world.client.mine({ blocks: 1 });
    expect(must(await waiting)).toEqual({ state: "included" });
  });

  test("a node that is busy at the dry run is not the contract refusing", async () => {
    const busy = '"error":{"code":-32005,"message":"rate limited"},"x":"0x';
    const proxy = await proxyTo(world.anvil.rpcUrl, (body) => body.replace(/"result":"0x/, busy));
    const behind = createChainSender([{ ...world.network, rpc_url: proxy.url }]);
    const prepared = await behind.prepare(call(), world.people.stranger.address);
    proxy.close();
    expect(prepared).toMatchObject({ ok: false, error: { reason: "bad_answer" } });
  });

  test("a transaction that fails in its block is reverted", async () => {
    const receipt = await world.send("stranger", "pause", []);
    expect(must(await sender.waitForReceipt(NETWORK, receipt.transactionHash, 50))).toEqual({ state: "reverted" });
  });

  test("an unknown network is no exception", async () => {
    expect(await sender.pendingNonce("elsewhere", world.people.other.address)).toMatchObject({
      ok: false,
      error: { reason: "unknown_network" },
    });
  });
});
