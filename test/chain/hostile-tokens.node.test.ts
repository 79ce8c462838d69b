// Tests tokens that refuse (CHN-1, CHN-4, CHN-7): a blacklist or a pause stops only the accounts that it concerns, and nothing is half done.
import { encodeFunctionData, type Hex, toHex } from "viem";
import { describe, expect, test } from "vitest";
import { authorityAbi, settlementAbi } from "../../scripts/chain/abi.ts";
import { awaitReceipt } from "../../scripts/chain/client.ts";
import { signPayment } from "../../scripts/chain/payments.ts";
import {
  CONSUMER,
  type Facts,
  factsOf,
  OTHER_PROVIDER,
  type Person,
  PROVIDER,
  paymentOf,
  REASON,
  THRESHOLD,
  UNIT,
  useWorld,
  type World,
} from "./support.ts";
import { createTestContract, testContracts } from "./test-contracts.ts";

describe("a token with a blacklist and a pause, behind a proxy", () => {
  const { abi } = testContracts.UsdcLike;
  let world: World;
  let token: Hex;
  let facts: Facts;
  useWorld(async (built) => {
    world = built;
    const implementation = await createTestContract(world, "UsdcLike", []);
    token = await createTestContract(world, "UsdcProxy", [implementation, world.people.admin.address]);
    const { consumer, wallet } = world.people;
    await world.act("admin", "listToken", [token, THRESHOLD]);
    await world.act("registrar", "registerProvider", [PROVIDER, token, wallet.address, THRESHOLD]);
    await world.sendTo("other", token, abi, "mint", [consumer.address, 1_000n * UNIT]);
    await world.sendTo("consumer", token, abi, "approve", [world.chain.settlementContract, 1_000n * UNIT]);
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

  test("stops only the sweep if it blacklists the fee's recipient", async () => {
    await blacklist(world.people.feeRecipient.address);
    expect((await payAgain()).status).toBe("success");
    await unchanged(() => world.send("stranger", "sweepFees", [token]));
    await world.act("admin", "setFeeRecipient", [world.people.other.address]);
    expect((await world.send("stranger", "sweepFees", [token])).status).toBe("success");
  });

  test("keeps the surplus in the vault if it blacklists the wallet, until the provider has another one", async () => {
    const { wallet, other } = world.people;
    const vault = await world.vault(PROVIDER);
    await world.sendTo("other", token, abi, "mint", [vault, THRESHOLD]);
    await blacklist(wallet.address);
    await unchanged(() => world.send("stranger", "releaseSurplus", [PROVIDER, token]));
    // No token moves, so the token cannot refuse this.
    expect((await world.send("wallet", "moveOperationalWallet", [PROVIDER, token, other.address])).status).toBe(
      "success",
    );
    expect((await world.send("stranger", "releaseSurplus", [PROVIDER, token])).status).toBe("success");
    expect(await balance(other.address)).toBe(999_500n);
    const again = await settle({ operationalWallet: other.address, intentHash: REASON });
    expect(again.status).toBe("success");
  });

  test("stops the deposits of a provider whose vault it blacklists, and no other provider's payments", async () => {
    const { other } = world.people;
    await world.act("registrar", "registerProvider", [OTHER_PROVIDER, token, other.address, THRESHOLD]);
    await blacklist(await world.vault(PROVIDER));
    await unchanged(() => world.send("consumer", "depositEscrow", [PROVIDER, token, 1n]));
    await unchanged(() => world.send("consumer", "pay", [token, UNIT, PROVIDER, CONSUMER]));
    expect((await world.send("consumer", "pay", [token, UNIT, OTHER_PROVIDER, CONSUMER])).status).toBe("success");
    expect((await world.send("consumer", "refund", [facts, 1n])).status).toBe("success");
    // A full vault takes no escrow, so the payment succeeds.
    await world.act("registrar", "setLowThreshold", [PROVIDER, token, THRESHOLD, 999_500n]);
    expect((await payAgain()).status).toBe("success");
  });

  test("stops the payments and refunds of a payer that it blacklists", async () => {
    await blacklist(world.people.consumer.address);
    await unchanged(payAgain);
    await unchanged(() => world.send("consumer", "refund", [facts, 1n]));
    expect((await world.act("arbiter", "payOut", [facts, 1n])).status).toBe("success");
  });

  test("delays an award while it blacklists the address for refunds", async () => {
    await blacklist(facts.refundTo);
    await unchanged(() => world.act("arbiter", "payOut", [facts, 1n]));
    await unchanged(() => world.send("consumer", "refund", [facts, 1n]));
    expect((await payAgain()).status).toBe("success");
    await blacklist(facts.refundTo, false);
    expect((await world.act("arbiter", "payOut", [facts, 1n])).status).toBe("success");
  });

  test("no longer stops an award once the holder or the arbiter names another address for refunds", async () => {
    const { other, arbiter, stranger } = world.people;
    const named = (refundTo: Hex) => [facts, refundTo];
    await blacklist(facts.refundTo);
    // A blacklisted holder can move no tokens, but it can name another address.
    expect((await world.send("stranger", "moveRefundTo", named(other.address))).status).toBe("success");
    expect((await world.act("arbiter", "payOut", [{ ...facts, refundTo: other.address }, 3n])).status).toBe("success");
    await blacklist(other.address);
    const again = { ...facts, refundTo: other.address, paidOut: 3n };
    expect((await world.act("arbiter", "setRefundTo", [again, arbiter.address])).status).toBe("success");
    const last = { ...again, refundTo: arbiter.address };
    expect((await world.act("arbiter", "payOut", [last, 4n])).status).toBe("success");
    expect((await world.send("consumer", "refund", [{ ...last, paidOut: 7n }, 5n])).status).toBe("success");
    expect([await balance(other.address), await balance(arbiter.address)]).toEqual([3n, 9n]);
    expect(await balance(stranger.address)).toBe(0n);
  });

  test("does not let the arbiter name another address while it accepts the present one, or moves nothing at all", async () => {
    const { other } = world.people;
    const refusal = (refundTo: Hex) => world.refusalOf("arbiter", "setRefundTo", [facts, refundTo]);
    expect(await refusal(other.address)).toBe("RefundToAccepted");
    await blacklist(other.address);
    await blacklist(facts.refundTo);
    expect(await refusal(other.address)).not.toBeNull();
    await blacklist(other.address, false);
    expect(await refusal(other.address)).toBeNull();
    await world.sendTo("other", token, abi, "setPaused", [true]);
    expect(await refusal(other.address)).not.toBeNull();
  });

  test("accepts the address for refunds whatever gas the arbiter sends", async () => {
    const { authority, settlementContract } = world.chain;
    const data = encodeFunctionData({
      abi: settlementAbi,
      functionName: "setRefundTo",
      args: [facts, world.people.other.address],
    });
    const call = encodeFunctionData({
      abi: authorityAbi,
      functionName: "execute",
      args: [settlementContract, data],
    });
    const key = facts.key;
    const before = await world.read("commitmentOf", [key]);
    for (let gas = 60_000; gas < 200_000; gas += 1_000) {
      const params = [{ from: world.people.arbiter.address, to: authority, data: call, gas: toHex(gas) }];
      await awaitReceipt(world.client, await world.client.transport.request({ method: "eth_sendTransaction", params }));
    }
    expect(await world.read("commitmentOf", [key])).toBe(before);
    expect(await world.refusalOf("arbiter", "setRefundTo", [facts, world.people.other.address])).toBe(
      "RefundToAccepted",
    );
  });

  test("stops a payment as a whole if it blacklists the provider's wallet or vault", async () => {
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

  test("stops everything while it is paused, and nothing is lost", async () => {
    await world.sendTo("other", token, abi, "setPaused", [true]);
    await unchanged(payAgain);
    await unchanged(() => world.act("arbiter", "payOut", [facts, 1n]));
    await unchanged(() => world.send("stranger", "sweepFees", [token]));
    await world.sendTo("other", token, abi, "setPaused", [false]);
    expect((await world.act("arbiter", "payOut", [facts, 1n])).status).toBe("success");
  });
});

describe.each(["SwallowingToken", "TakingToken"] as const)("%s, which does not move the full amount", (name) => {
  const { abi } = testContracts.UsdcLike;
  let world: World;
  let token: Hex;
  useWorld(async (built) => {
    world = built;
    token = await createTestContract(world, name, []);
    const { consumer, wallet } = world.people;
    await world.act("admin", "listToken", [token, THRESHOLD]);
    await world.act("registrar", "registerProvider", [PROVIDER, token, wallet.address, THRESHOLD]);
    await world.sendTo("other", token, abi, "mint", [consumer.address, 1_000n * UNIT]);
    await world.sendTo("consumer", token, abi, "approve", [world.chain.settlementContract, 1_000n * UNIT]);
    // These stand for the fees of earlier payments.
    await world.sendTo("other", token, abi, "mint", [world.chain.settlementContract, 1_000n * UNIT]);
  });

  test("settles nothing by an authorization", async () => {
    const { settlementContract } = world.chain;
    const { privateKey } = world.people.consumer;
    const signed = await signPayment(84_532, privateKey, settlementContract, paymentOf(world, { token }));
    const { payment, from, validAfter, validBefore, salt, signature } = signed;
    const args = [payment, from, validAfter, validBefore, salt, signature];
    expect(await world.refusal("stranger", "settleWithAuthorization", args)).toBe("AmountNotReceived");
  });

  test("settles from an allowance only if the full amount arrives", async () => {
    const expected = name === "TakingToken" ? "AmountNotReceived" : null;
    expect(await world.refusal("consumer", "settle", [paymentOf(world, { token })])).toBe(expected);
    expect(await world.refusal("consumer", "pay", [token, UNIT, PROVIDER, CONSUMER])).toBe(expected);
  });
});
