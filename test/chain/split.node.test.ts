// Tests the split as a property (CHN-1): for any amount up to 2^53-1, any fee, threshold and vault balance, and every way to pay, the parts follow
// the rule and no base unit is lost or created.
import fc from "fast-check";
import type { Hex } from "viem";
import { afterAll, beforeAll, expect, test } from "vitest";
import { signPayment } from "../../scripts/chain/payments.ts";
import { buildWorld, CONSUMER, chainRuns, INTENT, PROVIDER, paymentOf, UNIT, type World } from "./support.ts";

let world: World;
let token: Hex;
let vault: Hex;
let drained: Hex;

beforeAll(async () => {
  world = await buildWorld();
  token = world.chain.token;
  vault = await world.vault(PROVIDER);
  drained = await world.client.snapshot();
});
afterAll(() => world?.stop());

const MAX = BigInt(Number.MAX_SAFE_INTEGER);
// Spread over the orders of magnitude: uniform numbers below 2^53 would hardly ever be small.
const upTo = (min: bigint) =>
  fc.oneof(
    fc.bigInt(min, 30n),
    fc.bigInt(min, 30_000n),
    fc.bigInt(min, 100n * UNIT),
    fc.bigInt(min, MAX),
    fc.constant(MAX),
  );
const scenario = fc.record({
  gross: upTo(1n),
  feeBps: fc.oneof(fc.constant(5n), fc.bigInt(0n, 50n)),
  threshold: upTo(0n),
  // Often near the threshold, where escrow is capped.
  held: fc.oneof(upTo(0n), fc.constant("just below" as const), fc.constant("exactly" as const)),
  way: fc.constantFrom("pay", "payIntent", "settle", "settleWithAuthorization"),
});

test("gross is fee plus escrow plus operational, escrow fills the vault up to the threshold and not over it, and nothing is lost or created", async () => {
  await fc.assert(
    fc.asyncProperty(scenario, async ({ gross, feeBps, threshold, held, way }) => {
      await world.client.revert({ id: drained });
      drained = await world.client.snapshot();
      const { wallet, consumer } = world.people;
      const below = threshold > 3n ? threshold - 3n : 0n;
      const balance = held === "exactly" ? threshold : held === "just below" ? below : held;
      await world.act("admin", "setFeeBps", [feeBps]);
      await setThreshold(threshold);
      if (balance > 0n) await world.mint(vault, balance);
      await world.mint(consumer.address, gross);

      const fee = (gross * feeBps) / 10_000n;
      const missing = threshold > balance ? threshold - balance : 0n;
      const tenth = (gross - fee) / 10n;
      const escrow = tenth < missing ? tenth : missing;
      const operational = gross - fee - escrow;
      expect(await world.read("quote", [token, gross, PROVIDER])).toEqual([fee, escrow, operational]);

      const places = [world.chain.settlementContract, vault, wallet.address, consumer.address];
      const balances = () => Promise.all(places.map(world.balance));
      const before = await balances();
      expect((await payBy(way, gross)).status).toBe("success");
      const after = await balances();
      const moved = after.map((amount, index) => amount - (before[index] ?? 0n));
      expect(moved).toEqual([fee, escrow, operational, -gross]);
      expect(moved.reduce((sum, amount) => sum + amount, 0n)).toBe(0n);
    }),
    chainRuns(3_000, 40),
  );
});

test("consecutive payments fill the vault exactly to its threshold, and it stays there", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.bigInt(1n, 3n * UNIT),
      fc.array(fc.bigInt(1n, 4n * UNIT), { minLength: 1, maxLength: 12 }),
      async (threshold, payments) => {
        await world.client.revert({ id: drained });
        drained = await world.client.snapshot();
        await setThreshold(threshold);
        let expected = 0n;
        for (const gross of payments) {
          await payBy("pay", gross);
          const tenth = (gross - (gross * 5n) / 10_000n) / 10n;
          expected = expected + tenth > threshold ? threshold : expected + tenth;
          expect(await world.balance(vault)).toBe(expected);
        }
      },
    ),
    chainRuns(300, 5),
  );
});

/** Sets any threshold, by a change of the token's base, which bounds it. */
async function setThreshold(threshold: bigint): Promise<void> {
  const [, present] = await world.read<[Hex, bigint]>("splitOf", [PROVIDER, token]);
  if (threshold < present)
    return void (await world.act("registrar", "setLowThreshold", [PROVIDER, token, present, threshold]));
  await world.act("admin", "listToken", [token, threshold === 0n ? 1n : threshold]);
  await world.act("registrar", "setThreshold", [PROVIDER, token, threshold]);
}

async function payBy(way: string, amount: bigint) {
  if (way === "pay") return world.send("consumer", "pay", [token, amount, PROVIDER, CONSUMER]);
  if (way === "payIntent") return world.send("consumer", "payIntent", [token, amount, PROVIDER, CONSUMER, INTENT]);
  const payment = paymentOf(world, { amount, maxFeeBps: 50 });
  if (way === "settle") return world.send("consumer", "settle", [payment]);
  const { chainId } = world.anvil;
  const p = await signPayment(chainId, world.people.consumer.privateKey, world.chain.settlementContract, payment);
  const args = [p.payment, p.from, p.validAfter, p.validBefore, p.salt, p.signature];
  return world.send("stranger", "settleWithAuthorization", args);
}
