// Tokens that refuse or call back (CHN-1, CHN-4, CHN-7): a blacklist and a pause stop whom they name and nobody else, nothing is half done, and
// a call back in the middle of a transfer gets nowhere.
import { type Abi, encodeFunctionData, type Hex } from "viem";
import { describe, expect, test } from "vitest";
import { settlementAbi } from "../../src/chain/contracts/abi.ts";
import {
  CONSUMER,
  type Facts,
  factsOf,
  INTENT,
  type Person,
  PROVIDER,
  paymentOf,
  THRESHOLD,
  UNIT,
  useWorld,
  type World,
} from "./support.ts";
import { createTestContract, testContracts } from "./test-contracts.ts";

const LIMITLESS = 2n ** 256n - 1n;
const abiOf = (name: "UsdcLike" | "ReentrantToken"): Abi => testContracts[name].abi;

/** The token is listed and the provider registered in it; the consumer has 1,000 units of it and an allowance. */
async function listed(world: World, token: Hex, abi: Abi): Promise<void> {
  const { consumer, wallet } = world.people;
  await world.act("admin", "listToken", [token, THRESHOLD]);
  await world.act("registrar", "registerProvider", [PROVIDER, token, wallet.address, THRESHOLD]);
  await world.sendTo("other", token, abi, "mint", [consumer.address, 1_000n * UNIT]);
  await world.sendTo("consumer", token, abi, "approve", [world.chain.settlementContract, LIMITLESS]);
}

describe("a token with a blacklist and a pause, behind a proxy", () => {
  const abi = abiOf("UsdcLike");
  let world: World;
  let token: Hex;
  let facts: Facts;
  useWorld(async (built) => {
    world = built;
    const implementation = await createTestContract(world, "UsdcLike", []);
    token = await createTestContract(world, "UsdcProxy", [implementation, world.people.admin.address]);
    await listed(world, token, abi);
    facts = await factsOf(world, await settle({ refundTo: world.people.stranger.address }));
  });
  const settle = (change = {}) => world.send("consumer", "settle", [paymentOf(world, { token, ...change })]);
  const payAgain = () => settle({ amount: 11n * UNIT });
  const balance = async (address: Hex): Promise<bigint> =>
    (await world.client.readContract({ address: token, abi, functionName: "balanceOf", args: [address] })) as bigint;
  const blacklist = (address: Hex, to = true) => world.sendTo("other", token, abi, "setBlacklisted", [address, to]);
  const standing = async () =>
    Promise.all([
      ...["consumer", "wallet", "stranger", "feeRecipient"].map((name) =>
        balance(world.people[name as Person].address),
      ),
      balance(await world.vault(PROVIDER)),
      balance(world.chain.settlementContract),
    ]);
  const unchanged = async (act: () => Promise<{ status: string }>): Promise<void> => {
    const before = await standing();
    expect((await act()).status).toBe("reverted");
    expect(await standing()).toEqual(before);
  };

  test("that lists the fee's recipient stops nobody but the sweep", async () => {
    await blacklist(world.people.feeRecipient.address);
    expect((await payAgain()).status).toBe("success");
    await unchanged(() => world.send("stranger", "sweepFees", [token]));
    await world.act("admin", "setFeeRecipient", [world.people.other.address]);
    expect((await world.send("stranger", "sweepFees", [token])).status).toBe("success");
  });

  test("that lists where refunds go keeps the award for later", async () => {
    await blacklist(facts.refundTo);
    await unchanged(() => world.act("arbiter", "payOut", [facts, 1n]));
    await unchanged(() => world.send("consumer", "refund", [facts, 1n]));
    expect((await payAgain()).status).toBe("success");
    await blacklist(facts.refundTo, false);
    expect((await world.act("arbiter", "payOut", [facts, 1n])).status).toBe("success");
  });

  test("that lists a provider's wallet or vault stops what would go there, whole", async () => {
    const [wallet, vault] = [world.people.wallet.address, await world.vault(PROVIDER)];
    await blacklist(wallet);
    await unchanged(payAgain);
    await blacklist(wallet, false);
    await blacklist(vault);
    await unchanged(payAgain);
    await unchanged(() => world.act("arbiter", "payOut", [facts, 1n]));
    await blacklist(vault, false);
    expect((await payAgain()).status).toBe("success");
  });

  test("that is paused stops all of it, and nothing is lost", async () => {
    await world.sendTo("other", token, abi, "setPaused", [true]);
    await unchanged(payAgain);
    await unchanged(() => world.act("arbiter", "payOut", [facts, 1n]));
    await unchanged(() => world.send("stranger", "sweepFees", [token]));
    await world.sendTo("other", token, abi, "setPaused", [false]);
    expect((await world.act("arbiter", "payOut", [facts, 1n])).status).toBe("success");
  });
});

describe("a token that calls back", () => {
  const abi = abiOf("ReentrantToken");
  let world: World;
  let token: Hex;
  useWorld(async (built) => {
    world = built;
    token = await createTestContract(world, "ReentrantToken", []);
    await listed(world, token, abi);
    // The token itself has money and, by calling itself back, an allowance: nothing but the guard stops its calls.
    await world.sendTo("other", token, abi, "mint", [token, 1_000n * UNIT]);
    const approve = encodeFunctionData({
      abi,
      functionName: "approve",
      args: [world.chain.settlementContract, LIMITLESS],
    });
    await world.sendTo("other", token, abi, "callBack", [token, approve]);
    await world.sendTo("consumer", token, abi, "transfer", [world.people.other.address, 1n]);
    expect(await world.client.readContract({ address: token, abi, functionName: "succeeded" })).toBe(true);
  });

  const CALLS: Readonly<Record<string, () => readonly unknown[]>> = {
    pay: () => [token, UNIT, PROVIDER, CONSUMER],
    payIntent: () => [token, UNIT, PROVIDER, CONSUMER, INTENT],
    settle: () => [paymentOf(world, { token })],
    settleWithAuthorization: () => [paymentOf(world, { token }), token, 0n, LIMITLESS, INTENT, "0x"],
    depositEscrow: () => [PROVIDER, token, UNIT],
    releaseSurplus: () => [PROVIDER, token],
    sweepFees: () => [token],
  };

  test.each(Object.entries(CALLS))("in the middle of a payment does not get into %s", async (name, args) => {
    await world.sendTo("other", token, abi, "mint", [await world.vault(PROVIDER), 50n * UNIT]);
    const data = encodeFunctionData({ abi: settlementAbi as Abi, functionName: name, args: args() });
    await world.sendTo("other", token, abi, "callBack", [world.chain.settlementContract, data]);
    const receipt = await world.send("consumer", "payIntent", [token, 10n * UNIT, PROVIDER, CONSUMER, INTENT]);
    expect(receipt.status).toBe("success");
    expect(await world.client.readContract({ address: token, abi, functionName: "succeeded" })).toBe(false);
    const held = async (address: Hex) =>
      world.client.readContract({ address: token, abi, functionName: "balanceOf", args: [address] });
    expect(await held(world.chain.settlementContract)).toBe(5_000n);
    expect(await held(world.people.wallet.address)).toBe(10n * UNIT - 5_000n);
    expect(await held(await world.vault(PROVIDER))).toBe(50n * UNIT);
  });
});
