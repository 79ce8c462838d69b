// Tests a second listed token, of 18 decimals (CHN-3 to CHN-7): a provider of the first token is registered in it, is paid in both ways, pays an
// award and a refund, and leaves with an empty vault. The first token is not affected.
import type { Hex } from "viem";
import { expect, test } from "vitest";
import { signPayment } from "../../scripts/chain/payments.ts";
import {
  type Facts,
  factsOf,
  PROVIDER,
  pay,
  paymentOf,
  REASON,
  UNIT,
  useWorld,
  vaultBalance,
  type World,
} from "./support.ts";
import { createTestContract, testContracts } from "./test-contracts.ts";

const WHOLE = 10n ** 18n;
const BASE = 15n * WHOLE;
const { abi } = testContracts.LongToken;

let world: World;
let token: Hex;
useWorld(async (built) => {
  world = built;
  const { consumer, wallet } = world.people;
  token = await createTestContract(world, "LongToken", []);
  await world.act("admin", "listToken", [token, BASE]);
  await world.act("registrar", "registerProvider", [PROVIDER, token, wallet.address, BASE]);
  await world.sendTo("other", token, abi, "mint", [consumer.address, 1_000n * WHOLE]);
  await world.sendTo("consumer", token, abi, "approve", [world.chain.settlementContract, 1_000n * WHOLE]);
  await pay(world, 10n * UNIT);
});

const balance = async (address: Hex): Promise<bigint> =>
  (await world.client.readContract({ address: token, abi, functionName: "balanceOf", args: [address] })) as bigint;
const held = () => world.read<bigint>("escrowBalance", [PROVIDER, token]);
const isDone = ({ status }: { status: string }): boolean => status === "success";

test("a second token works from the payment to the empty vault, and leaves the first one alone", async () => {
  const { consumer, wallet, stranger } = world.people;
  const first = await vaultBalance(world);
  const payment = paymentOf(world, { token, amount: 100n * WHOLE, refundTo: stranger.address });
  const facts = await factsOf(world, await world.send("consumer", "settle", [payment]));
  const [fee, escrow] = [(5n * WHOLE) / 100n, (9_995n * WHOLE) / 1_000n];
  expect([await balance(wallet.address), await held()]).toEqual([100n * WHOLE - fee - escrow, escrow]);
  const again = paymentOf(world, { token, amount: 100n * WHOLE, intentHash: REASON });
  const signed = await signPayment(84_532, consumer.privateKey, world.chain.settlementContract, again);
  const { from, validAfter, validBefore, salt, signature } = signed;
  const submitted = [again, from, validAfter, validBefore, salt, signature];
  expect(isDone(await world.send("other", "settleWithAuthorization", submitted))).toBe(true);
  expect(await held()).toBe(BASE);

  expect(isDone(await world.act("arbiter", "setReserve", [PROVIDER, token, 4n * WHOLE]))).toBe(true);
  expect(isDone(await world.act("arbiter", "payOut", [facts, 4n * WHOLE]))).toBe(true);
  const paid: Facts = { ...facts, paidOut: 4n * WHOLE };
  await world.sendTo("wallet", token, abi, "approve", [world.chain.settlementContract, 3n * WHOLE]);
  expect(isDone(await world.send("wallet", "refund", [paid, 3n * WHOLE]))).toBe(true);
  expect(await balance(stranger.address)).toBe(7n * WHOLE);

  await world.act("arbiter", "setReserve", [PROVIDER, token, 0n]);
  await world.act("registrar", "setLowThreshold", [PROVIDER, token, BASE, 0n]);
  expect(isDone(await world.send("other", "releaseSurplus", [PROVIDER, token]))).toBe(true);
  expect([await held(), await vaultBalance(world)]).toEqual([0n, first]);
  expect(isDone(await world.send("other", "sweepFees", [token]))).toBe(true);
  expect(await balance(world.people.feeRecipient.address)).toBe(2n * fee);
});
