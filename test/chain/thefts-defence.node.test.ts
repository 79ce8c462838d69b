// Tests what each holder can do alone against a thief (CHN-5 to CHN-7): the owner, the registrar, a provider, a payer, the fee's recipient, the
// guardian.
import { concat, type Hex, toHex } from "viem";
import { describe, expect, test } from "vitest";
import { DELAYS, ROLES } from "../../scripts/chain/roles.ts";
import { factsOf, OTHER_PROVIDER, PROVIDER, paymentOf, THRESHOLD, UNIT, useWorld, type World } from "./support.ts";
import { thiefOf } from "./thefts-plays.ts";
import {
  agendaOf,
  BYSTANDER,
  buy,
  cancel,
  execute,
  HALF,
  HOURS,
  inUnits,
  isDone,
  lossesOf,
  ownCall,
  PAYMENT,
  pass,
  renounce,
  roleCall,
  type Scene,
  STEPS,
  schedule,
  setScene,
  sumOf,
  THIEF,
} from "./thefts-scene.ts";

let scene: Scene;
let world: World;
let token: Hex;
useWorld(async (built) => {
  world = built;
  token = built.chain.token;
  scene = await setScene(built);
}, DELAYS);

describe("the owner, whose key a thief has too", () => {
  test.each([["owner"], ["owner", "guardian"]] as const)("renounces, and nothing is taken (%s %s)", async (...keys) => {
    const thief = thiefOf(scene, keys);
    await thief.strike();
    await pass(world, HOURS.payOut);
    await renounce(world, "owner", ROLES.OWNER.id);
    for (const _delay of ["first", "second", "third"]) {
      await pass(world, HOURS.owner);
      await thief.advance();
    }
    expect(await lossesOf(scene)).toEqual({ taken: 0, losses: {} });
    // The others still have their roles.
    for (const [person, name] of [["guardian", "pause"]] as const) {
      expect(await world.refusalOf(person, name, [])).toBeNull();
    }
    expect(await world.refusalOf("registrar", "setThreshold", [PROVIDER, token, HALF])).toBeNull();
  });

  test("cancels each call that the thief schedules", async () => {
    const thief = thiefOf(scene, ["owner", "guardian"]);
    await thief.strike();
    for (const _round of ["first", "second"]) {
      for (const call of thief.agenda.waiting()) expect(isDone(await cancel(world, "owner", call))).toBe(true);
      await pass(world, HOURS.owner);
      await thief.advance();
    }
    expect((await lossesOf(scene)).taken).toBe(0);
  });
});

describe("the honest registrar", () => {
  test("sends half of the base home before a stolen owner's grants are ready, even if the guardian's key is stolen too", async () => {
    const thief = thiefOf(scene, ["owner", "guardian"]);
    await thief.strike();
    await world.act("registrar", "setThreshold", [OTHER_PROVIDER, token, HALF]);
    await world.send(BYSTANDER, "releaseSurplus", [OTHER_PROVIDER, token]);
    await pass(world, HOURS.owner);
    await thief.advance();
    expect((await lossesOf(scene)).losses.otherVault).toBe(15);
    expect((await lossesOf(scene)).taken).toBe(20 + inUnits(HALF) + 0.01);
  });
});

describe("a provider", () => {
  test("loses nothing if it moves its wallet before a stolen registrar's call is ready, and gets its own escrow", async () => {
    const thief = thiefOf(scene, ["registrar", "guardian"]);
    await thief.strike();
    await world.send("wallet", "moveOperationalWallet", [PROVIDER, token, world.people.feeRecipient.address]);
    await pass(world, HOURS.admin);
    await thief.advance();
    expect((await lossesOf(scene)).taken).toBe(15);
    // The thief's lower threshold released the escrow to the provider itself.
    await world.send("wallet", "releaseSurplus", [PROVIDER, token]);
    expect(await world.balance(scene.places.recipient)).toBe(18n * UNIT);
  });
});

describe("a payer", () => {
  test("loses no payout with its key if it named another address for refunds", async () => {
    const agreed = paymentOf(world, { refundTo: world.people.feeRecipient.address });
    const facts = await factsOf(world, await world.send("consumer", "settle", [agreed]));
    const award = ownCall(world, "arbiter", "payOut", [facts, PAYMENT]);
    const turned = ownCall(world, "arbiter", "payOut", [{ ...facts, refundTo: world.people[THIEF].address }, PAYMENT]);
    await schedule(world, award);
    await schedule(world, turned);
    await pass(world, HOURS.payOut);
    expect([isDone(await execute(world, turned)), isDone(await execute(world, award))]).toEqual([false, true]);
    expect(await world.balance(agreed.refundTo)).toBe(PAYMENT);
  });

  test("loses nothing of an unlimited allowance to all the other keys", async () => {
    const thief = thiefOf(scene, ["owner", "admin", "registrar", "arbiter", "guardian", "wallet"]);
    await thief.strike();
    for (const hours of [...STEPS, HOURS.owner]) {
      await pass(world, hours);
      await thief.advance();
    }
    const { taken, losses } = await lossesOf(scene);
    expect(losses.payer).toBeUndefined();
    expect(taken).toBe(sumOf({ vault: 20, otherVault: 15, wallet: 19.99, fees: 0.01 }));
  });
});

describe("the fee's recipient", () => {
  test("loses fees that were swept, and later ones only until the admin names another recipient", async () => {
    await world.send(BYSTANDER, "sweepFees", [token]);
    expect(await world.balance(scene.places.recipient)).toBe(10_000n);
    await world.schedule("admin", "setFeeRecipient", [world.people[BYSTANDER].address]);
    await pass(world, HOURS.admin);
    await world.act("admin", "setFeeRecipient", [world.people[BYSTANDER].address]);
    await buy(world, "consumer", PAYMENT);
    await world.send(THIEF, "sweepFees", [token]);
    expect(await world.balance(scene.places.recipient)).toBe(10_000n);
  });
});

describe("the guardian", () => {
  test("cancels for less gas than a thief schedules, who can encode one call in many ways", async () => {
    const call = ownCall(world, "registrar", "setLowThreshold", [PROVIDER, token, THRESHOLD, 0n]);
    const variants = Array.from({ length: 20 }, (_, index) => ({
      ...call,
      data: concat([call.data, toHex(index, { size: 1 })]),
    }));
    let scheduled = 0n;
    let cancelled = 0n;
    for (const variant of variants) {
      const receipt = await schedule(world, variant);
      expect(isDone(receipt)).toBe(true);
      scheduled += receipt.gasUsed;
    }
    for (const variant of variants) {
      const receipt = await cancel(world, "guardian", variant);
      expect(isDone(receipt)).toBe(true);
      cancelled += receipt.gasUsed;
    }
    expect(cancelled).toBeLessThan(scheduled);
    await pass(world, HOURS.admin);
    for (const variant of variants) expect(isDone(await execute(world, variant))).toBe(false);
  });

  test("can see a waiting payout whose settlement does not exist yet", async () => {
    const { timestamp } = await world.client.getBlock();
    const settledAt = timestamp + 100_000n;
    const thief = world.people[THIEF].address;
    const agreed = paymentOf(world, { refundTo: thief });
    const key = await world.read<Hex>("keyOf", [agreed]);
    const facts = { key, providerDidHash: PROVIDER, token, gross: PAYMENT, refundTo: thief, settledAt, paidOut: 0n };
    const award = ownCall(world, "arbiter", "payOut", [facts, PAYMENT]);
    await schedule(world, award);
    await world.client.setNextBlockTimestamp({ timestamp: settledAt });
    expect(isDone(await world.send(THIEF, "settle", [agreed]))).toBe(true);
    expect(isDone(await execute(world, award))).toBe(true);
    // The thief gets its own payment to the same provider returned, and that provider loses the fee.
    expect(await lossesOf(scene)).toEqual({ taken: 0, losses: { wallet: -9.995, vault: 10, fees: -0.005 } });
  });

  test("has to watch calls for a distant day too, because one becomes executable again with the role of the key that scheduled it", async () => {
    const { timestamp } = await world.client.getBlock();
    const call = ownCall(world, "registrar", "setLowThreshold", [PROVIDER, token, THRESHOLD, 0n]);
    await schedule(world, call, timestamp + 300n * 86_400n);
    const role = [ROLES.REGISTRAR_DELAYED.id, world.people.registrar.address] as const;
    const agenda = agendaOf(world);
    await agenda.add(roleCall(world, "owner", "revokeRole", role));
    await pass(world, HOURS.owner);
    await agenda.advance();
    await pass(world, 288 * 24);
    await agenda.add(roleCall(world, "owner", "grantRole", [...role, DELAYS.wallet]));
    await pass(world, 6 * 24);
    expect(isDone(await execute(world, call))).toBe(false);
    await pass(world, 24);
    await agenda.advance();
    expect(isDone(await execute(world, call))).toBe(true);
  });
});
