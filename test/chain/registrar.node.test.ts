// Tests the registrar's operations through gateway, sender and signer on a real node (CHN-14, CHN-17): the split of a provider, bounded fees, and a
// node's answers to sent transactions.
import { encodeFunctionData, type Hex, parseTransaction, recoverTransactionAddress } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { settlementAbi } from "../../scripts/chain/abi.ts";
import { createChainGateway } from "../../src/chain/evm.ts";
import type { ChainGateway, Signer, Submission } from "../../src/chain/gateway.ts";
import { hashDid } from "../../src/chain/hashes.ts";
import { type ChainSender, computeFees, computeReplacementFees, createChainSender } from "../../src/chain/sender.ts";
import { deriveAddress, signCall } from "../../src/chain/sign.ts";
import { type Driven, driveSplit } from "../../src/chain/split.ts";
import {
  buildWorld,
  keySigner,
  must,
  networkOf,
  PROVIDER,
  proxyTo,
  REASON,
  restore,
  senderFor,
  THRESHOLD,
  UNIT,
  type World,
} from "./support.ts";

const NETWORK = "base-sepolia";
/** A provider that is not registered yet. */
const DID = "did:aeap:44444444-4444-4444-8444-444444444444";
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
  await restore(world, snapshot);
});

const wallet = () => world.people.other.address.toLowerCase();
type Change = { wallet?: string | null; threshold?: number };
const drive = (change: Change = {}, signer = registrar, waitMs = 60_000): Promise<Driven> => {
  const split = { wallet: wallet(), threshold: Number(THRESHOLD), ...change };
  return driveSplit({ chain: gateway, signer }, NETWORK, DID, split, Date.now() + waitMs);
};
const provider = async (hash: string = hashDid(DID)) => must(await gateway.readProvider(NETWORK, hash));

/** Records the calls that a signer is given. */
function counted(signer: Signer): Signer & { calls: string[] } {
  const calls: string[] = [];
  return {
    ...signer,
    calls,
    submit: (key, call, place, until) => {
      calls.push(key);
      return signer.submit(key, call, place, until);
    },
  };
}

describe("a provider's split", () => {
  test("has a vault address but no wallet before the provider is registered", async () => {
    expect(await provider()).toEqual({
      registered: false,
      operationalWallet: null,
      threshold: 0n,
      vault: (await world.vault(hashDid(DID))).toLowerCase(),
      balance: 0n,
    });
  });

  test("is set by one registration, and a repeated request sends nothing", async () => {
    const signer = counted(registrar);
    const first = await drive({}, signer);
    expect(first).toMatchObject({ state: "done", txHash: expect.stringMatching(/^0x[0-9a-f]{64}$/) });
    expect(await provider()).toMatchObject({ registered: true, operationalWallet: wallet(), threshold: THRESHOLD });
    expect(await drive({}, signer)).toMatchObject({ state: "done", txHash: null });
    expect(signer.calls).toEqual([`provider_split:${DID}`]);
  });

  test("changes what differs: first the wallet, then the threshold", async () => {
    await drive();
    const signer = counted(registrar);
    const change = { wallet: world.people.stranger.address.toLowerCase(), threshold: 8_000_000 };
    expect(await drive(change, signer)).toMatchObject({ state: "done" });
    expect(await provider()).toMatchObject({ operationalWallet: change.wallet, threshold: 8n * UNIT });
    expect(signer.calls).toHaveLength(2);
  });

  test("keeps the wallet if none is given, and registers no provider without one", async () => {
    expect(await drive({ wallet: null })).toEqual({ state: "failed", reason: "UnknownProvider", txHash: null });
    await drive();
    expect(await drive({ wallet: null, threshold: 9_000_000 })).toMatchObject({ state: "done" });
    expect(await provider()).toMatchObject({ operationalWallet: wallet(), threshold: 9n * UNIT });
  });

  test("includes the balance of the vault", async () => {
    await world.send("consumer", "depositEscrow", [PROVIDER, world.chain.token, 4n * UNIT]);
    expect(await provider(PROVIDER)).toMatchObject({ registered: true, balance: 4n * UNIT });
  });

  test("fails with the name of the contract's refusal, and nothing is sent", async () => {
    const { stranger } = world.people;
    const before = await world.client.getTransactionCount({ address: stranger.address });
    const failed = (reason: string) => ({ state: "failed", reason, txHash: null });
    expect(await drive({}, keySigner(sender, stranger.privateKey))).toEqual(failed("AccessManagerUnauthorizedCall"));
    expect(await drive({ threshold: 1 })).toEqual(failed("InvalidThreshold"));
    expect(await drive({ wallet: world.chain.settlementContract })).toEqual(failed("InvalidWallet"));
    expect(await drive({ wallet: "0x12" })).toEqual(failed("InvalidWallet"));
    expect(await world.client.getTransactionCount({ address: stranger.address })).toBe(before);
  });

  test("is planned again after each refusal that shows a stale node", async () => {
    let left = 2;
    const refused: Submission = { state: "refused", reason: "ProviderExists" };
    const signer: Signer = {
      ...registrar,
      submit: async (...call) => (left-- > 0 ? { ok: true, value: refused } : registrar.submit(...call)),
    };
    expect(await drive({}, signer)).toMatchObject({ state: "done", onChain: { operationalWallet: wallet() } });
  });

  test("waits with its transaction for a block, and continues from the contract's state", async () => {
    await world.client.setAutomine(false);
    const waiting = await drive({}, registrar, 0);
    expect(waiting).toMatchObject({ state: "waiting", reason: "mining", txHash: expect.stringMatching(/^0x/) });
    await world.client.mine({ blocks: 1 });
    expect(await drive()).toMatchObject({ state: "done", txHash: null });
  });

  test("follows the contract's state, not a receipt that says reverted", async () => {
    await drive();
    const change = { threshold: 9_000_000 };
    // Another call came first, so this one reverts, and the contract has the wanted split.
    const reverted = await world.send("stranger", "pause", []);
    const signer: Signer = {
      ...registrar,
      submit: async (key, call, place, until) => {
        must(await registrar.submit(key, call, place, until));
        return { ok: true, value: { state: "submitted", txHash: reverted.transactionHash } };
      },
    };
    expect(await drive(change, signer)).toMatchObject({ state: "done" });
    const lying: Signer = {
      ...registrar,
      submit: async () => ({ ok: true, value: { state: "submitted", txHash: reverted.transactionHash } }),
    };
    expect(await drive({ threshold: 10_000_000 }, lying)).toMatchObject({ state: "failed", reason: "reverted" });
  });

  test("waits after a few rounds if a node never shows what its receipts say", async () => {
    const mined = await world.act("registrar", "setThreshold", [PROVIDER, world.chain.token, THRESHOLD]);
    const signer = counted({
      ...registrar,
      submit: async () => ({ ok: true, value: { state: "submitted", txHash: mined.transactionHash } }),
    });
    expect(await drive({}, signer)).toMatchObject({ state: "waiting", reason: "mining" });
    expect(signer.calls.length).toBeLessThan(10);
  });

  test.each<[Submission, string]>([
    [{ state: "waiting", reason: "insufficient_gas" }, "insufficient_gas"],
    [{ state: "waiting", reason: "fee_above_bound" }, "fee_above_bound"],
    [{ state: "waiting", reason: "node_refused" }, "node_refused"],
  ])("waits with a signer that answers %j", async (value, reason) => {
    const signer: Signer = { ...registrar, submit: async () => ({ ok: true, value }) };
    expect(await drive({}, signer)).toEqual({ state: "waiting", reason, txHash: null });
  });
});

describe("fees", () => {
  const bounds = { max_fee_gwei: 100, max_tip_gwei: 5 };
  const gwei = (count: number) => BigInt(Math.round(count * 1e9));

  test("leave room for the base fee to double", () => {
    const fees = computeFees(gwei(10), gwei(2), bounds);
    expect(fees).toEqual({ maxFeePerGas: gwei(22), maxPriorityFeePerGas: gwei(2) });
  });

  test("are bounded in the tip that the node suggests, and in total", () => {
    expect(computeFees(gwei(10), gwei(900), bounds)).toEqual({ maxFeePerGas: gwei(25), maxPriorityFeePerGas: gwei(5) });
    expect(computeFees(gwei(80), gwei(2), bounds)?.maxFeePerGas).toBe(gwei(100));
    expect(computeFees(gwei(10), gwei(900), { max_fee_gwei: 20, max_tip_gwei: 50 })).toBeNull();
  });

  test("are null if the base fee alone is above the bound", () => {
    expect(computeFees(gwei(101), 0n, bounds)).toBeNull();
  });

  test("are an eighth higher for a replacement, or those of a new transaction, within the bound", () => {
    const waiting = { maxFeePerGas: gwei(8), maxPriorityFeePerGas: gwei(1) };
    const low = computeReplacementFees(waiting, { maxFeePerGas: gwei(2), maxPriorityFeePerGas: gwei(1) }, bounds);
    expect(low).toEqual({ maxFeePerGas: gwei(9) + 1n, maxPriorityFeePerGas: gwei(1.125) + 1n });
    const high = { maxFeePerGas: gwei(60), maxPriorityFeePerGas: gwei(3) };
    expect(computeReplacementFees(waiting, high, bounds)).toEqual(high);
    expect(computeReplacementFees({ ...waiting, maxFeePerGas: gwei(95) }, high, bounds)).toBeNull();
  });

  test("are those that the node suggests, within the network's bounds", async () => {
    const account = async (bounded: ChainSender) => must(await bounded.account(world.people.stranger.address));
    const block = await world.client.getBlock();
    const { fees } = await account(sender);
    expect(fees?.maxFeePerGas).toBe((block.baseFeePerGas ?? 0n) * 2n + (fees?.maxPriorityFeePerGas ?? 0n));
    const poor = createChainSender(networkOf({ ...world.network, max_tip_gwei: 0.000_000_001 }));
    expect((await account(poor)).fees?.maxPriorityFeePerGas).toBe(1n);
    const none = createChainSender(networkOf({ ...world.network, max_fee_gwei: 0.000_000_001 }));
    expect((await account(none)).fees).toBeNull();
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

  test("yields the given transaction, signed by the key's address", async () => {
    const signed = await signCall({ privateKey: key(), to: world.chain.settlementContract, ...terms });
    expect(parseTransaction(signed.raw)).toMatchObject({
      type: "eip1559",
      to: world.chain.settlementContract.toLowerCase(),
      ...terms,
    });
    const signer = await recoverTransactionAddress({ serializedTransaction: signed.raw as `0x02${string}` });
    expect(signer).toBe(world.people.registrar.address);
    expect(deriveAddress(key())).toBe(world.people.registrar.address.toLowerCase());
    expect(deriveAddress(key())).toBe(privateKeyToAccount(key()).address.toLowerCase());
  });

  test("yields the same bytes for the same input", async () => {
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
    const { account, dryRun } = must(await sender.prepare(call(), world.people.stranger.address));
    if (dryRun.state !== "ready" || account.fees === null) throw new Error("not ready");
    const terms = { chainId: 84532, nonce: account.mined, gas: dryRun.gas, ...account.fees };
    return signCall({ to: call().to, data: call().data, ...terms, ...change, privateKey });
  }
  const taken = { state: "taken" };
  const included = async (hash: string) =>
    expect(must(await gateway.waitForReceipt(NETWORK, hash, 60_000))).toEqual({ state: "included" });

  test("the dry run adds gas to the estimate, and the account counts only mined transactions", async () => {
    await world.client.setAutomine(false);
    const before = must(await sender.account(world.people.stranger.address));
    await sender.send(await signed());
    const { account, dryRun } = must(await sender.prepare(call(), world.people.stranger.address));
    expect(account.mined).toBe(before.mined);
    const need = await world.client.estimateGas({
      blockTag: "latest",
      account: world.people.stranger.address,
      to: world.chain.token,
      data: call().data as Hex,
    });
    expect(dryRun).toEqual({ state: "ready", gas: (need * 6n) / 5n });
  });

  test("repeated bytes are taken, mined or not, and have one effect", async () => {
    await world.client.setAutomine(false);
    const before = await world.balance(world.people.other.address);
    const bytes = await signed();
    for (let i = 0; i < 2; i++) expect(must(await sender.send(bytes))).toEqual(taken);
    await world.client.mine({ blocks: 1 });
    await included(bytes.hash);
    expect(must(await sender.send(bytes))).toEqual(taken);
    await world.client.mine({ blocks: 1 });
    expect(await world.balance(world.people.other.address)).toBe(before + 1n);
  });

  test("a used nonce, a fee below the base fee and an empty account are refused by name", async () => {
    const first = await signed();
    expect(must(await sender.send(first))).toEqual(taken);
    await included(first.hash);
    const refused = (reason: string) => ({ state: "refused", reason });
    const other = await signed({ nonce: 0, maxFeePerGas: 10n ** 10n });
    expect(must(await sender.send(other))).toEqual(refused("nonce_too_low"));
    const poor = await signed({ privateKey: REASON, nonce: 0 });
    expect(must(await sender.send(poor))).toEqual(refused("insufficient_funds"));
    const cheap = await signed({ maxFeePerGas: 1n, maxPriorityFeePerGas: 1n });
    expect(must(await sender.send(cheap))).toEqual(refused("underpriced"));
  });

  test("waiting ends with the block, or when the time is over", async () => {
    await world.client.setAutomine(false);
    const { raw, hash } = await signed();
    await sender.send({ raw, hash });
    expect(must(await gateway.waitForReceipt(NETWORK, hash, 0))).toEqual({ state: "waiting" });
    const waiting = gateway.waitForReceipt(NETWORK, hash, 60_000);
    await world.client.mine({ blocks: 1 });
    expect(must(await waiting)).toEqual({ state: "included" });
  });

  test("an error of a busy node at the dry run is not a refusal of the contract", async () => {
    const busy = '"error":{"code":-32005,"message":"rate limited"},"x":"0x';
    const proxy = await proxyTo(world.anvil.rpcUrl, (body) => body.replace(/"result":"0x/, busy));
    const behind = createChainSender({ ...world.network, rpc_url: proxy.url });
    const prepared = await behind.prepare(call(), world.people.stranger.address);
    proxy.close();
    expect(prepared).toMatchObject({ ok: false, error: { reason: "bad_answer" } });
  });

  test("a transaction that fails in its block is reported as reverted", async () => {
    const receipt = await world.send("stranger", "pause", []);
    expect(must(await gateway.waitForReceipt(NETWORK, receipt.transactionHash, 0))).toEqual({ state: "reverted" });
  });

  test("a refused dry run has the name of the contract's error", async () => {
    const data = encodeFunctionData({ abi: settlementAbi, functionName: "unpause" });
    const asked = { network: NETWORK, to: world.chain.settlementContract, data };
    const { dryRun } = must(await sender.prepare(asked, world.people.stranger.address));
    expect(dryRun).toEqual({ state: "refused", reason: "NotAuthority" });
  });
});
