// Tests the theft of every key, alone and with each other key, with the delays of production (CHN-5 to CHN-7): what the thief takes without a
// reaction, what it takes if the holders of all other keys react, and that docs/contracts.md states the same losses.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Hex } from "viem";
import { describe, expect, test } from "vitest";
import { DELAYS, ROLES } from "../../scripts/chain/roles.ts";
import { isWhole } from "../support/scale.ts";
import { paymentOf, useWorld } from "./support.ts";
import { defenceOf, lostRoles, thiefOf } from "./thefts-plays.ts";
import {
  BYSTANDER,
  buy,
  cancel,
  HOLDER,
  HOURS,
  KEYS,
  type Key,
  lossesOf,
  managerView,
  PAYMENT,
  pass,
  type Scene,
  STEPS,
  setScene,
  sumOf,
} from "./thefts-scene.ts";
import { hoursToCancel, THEFTS, type Theft } from "./thefts-table.ts";

let scene: Scene;
useWorld(async (world) => {
  scene = await setScene(world);
}, DELAYS);

const keysOf = (name: string): Key[] => KEYS.filter((key) => name.split(" + ").includes(key));
/** The expected losses, all of which the thief has. */
const told = (losses: Theft["atOnce"]) => ({ taken: sumOf(losses), losses });

test("every key and every pair is in the table", () => {
  const pairs = KEYS.flatMap((one, index) => KEYS.slice(index + 1).map((other) => `${one} + ${other}`));
  expect(Object.keys(THEFTS)).toEqual([...KEYS, ...pairs]);
});

/** All thefts in a whole run; otherwise each key alone, and a few pairs. */
const PLAYED = Object.entries(THEFTS).filter(([name]) => {
  const [one, other] = keysOf(name).map((key) => KEYS.indexOf(key));
  return isWhole() || one === undefined || other === undefined || (one % 2 === 0 && other === one + 1);
});

describe.each(PLAYED)("after a theft of %s", (name, expected) => {
  const keys = keysOf(name);

  test("the thief takes what the table says if no holder reacts", async () => {
    const thief = thiefOf(scene, keys);
    await thief.strike();
    expect(await lossesOf(scene)).toEqual(told(expected.atOnce));
    const ends = [expected.day, expected.twoDays, expected.week];
    for (const [at, hours] of STEPS.entries()) {
      await pass(scene.world, hours);
      await thief.advance();
      expect(await lossesOf(scene)).toEqual(told(ends[at] ?? {}));
    }
    // Later, the thief can take nothing more of what was paid before.
    await pass(scene.world, HOURS.owner);
    await thief.advance();
    expect(await lossesOf(scene)).toEqual(told(expected.week));
    expect(await takenOfLaterPayment(thief)).toBe(expected.later);
  });

  test("the thief takes what the table says if all other holders react", async () => {
    const thief = thiefOf(scene, keys);
    await thief.strike();
    const defence = defenceOf(scene, keys, thief);
    await defence.answer();
    for (const hours of STEPS) {
      await pass(scene.world, hours);
      await thief.advance();
      await defence.advance();
    }
    expect(await lossesOf(scene)).toEqual(told(expected.defended));
    await pass(scene.world, HOURS.owner);
    await thief.advance();
    await defence.advance();
    expect(await lossesOf(scene)).toEqual(told(expected.defendedLong));
    // The stolen keys have lost their roles and the spare key has them all. A stolen guardian's key cannot stop this.
    if (!keys.includes("owner")) {
      for (const { key, id } of lostRoles(keys)) expect(await holdersOf(id, key)).toEqual([false, true]);
    }
  });

  test("a payer who fixes wallet and fee pays the provider or nothing", async () => {
    const { world } = scene;
    const thief = thiefOf(scene, keys);
    await thief.strike();
    for (const hours of STEPS) {
      await pass(world, hours);
      await thief.advance();
    }
    const taken = keys.some((key) => key === "owner" || key === "registrar" || key === "wallet");
    const isFeeHigher = keys.includes("admin") || keys.includes("owner");
    const refusal = await world.refusal(BYSTANDER, "settle", [paymentOf(world)]);
    expect(refusal).toBe(isFeeHigher ? "FeeTooHigh" : taken ? "WalletDiffers" : null);
  });
});

const CANCELLED = PLAYED.flatMap(([name, expected]) => {
  const hours = hoursToCancel(name, expected);
  return hours === null ? [] : [[name, hours, expected.atOnce] as const];
});
test.each(CANCELLED)("theft of %s: a guardian who cancels before hour %i is in time", async (name, hours, atOnce) => {
  const thief = thiefOf(scene, keysOf(name));
  await thief.strike();
  await pass(scene.world, hours - 1);
  for (const call of thief.agenda.waiting()) await cancel(scene.world, "guardian", call);
  await pass(scene.world, 1);
  await thief.advance();
  expect(await lossesOf(scene)).toEqual(told(atOnce));
});

async function takenOfLaterPayment(thief: ReturnType<typeof thiefOf>): Promise<number> {
  const before = (await lossesOf(scene)).taken;
  await buy(scene.world, BYSTANDER, PAYMENT);
  await thief.advance();
  return Math.round(((await lossesOf(scene)).taken - before) * 1e6) / 1e6;
}

const holdersOf = async (role: bigint, key: Key): Promise<boolean[]> => {
  const { people } = scene.world;
  const isMember = async (account: Hex) =>
    (await managerView<[boolean, number]>(scene.world, "hasRole", [role, account]))[0];
  return [await isMember(people[HOLDER[key]].address), await isMember(people[BYSTANDER].address)];
};

const page = readFileSync(join(import.meta.dirname, "../../docs/contracts.md"), "utf8");

test("docs/contracts.md states the same losses", () => {
  const rows = page.matchAll(/^\| ([a-z]+(?: \+ [a-z]+)?) \|((?: -?[\d,]*(?:\.\d+)? \|){8})/gm);
  const toldOnPage = [...rows].map(([, name = "", cells = ""]) => [
    name,
    cells
      .split("|")
      .slice(0, -1)
      .map((cell) => (cell.trim() === "-" ? null : Number(cell.replaceAll(",", "")))),
  ]);
  const measured = Object.entries(THEFTS).map(([name, theft]) => {
    const { atOnce, day, twoDays, week, defended, defendedLong, later } = theft;
    const alone = [atOnce, day, twoDays, week].map(sumOf);
    return [name, [...alone, hoursToCancel(name, theft), sumOf(defended), sumOf(defendedLong), later]];
  });
  expect(toldOnPage).toEqual(measured);
});

test("docs/contracts.md states the numbers of the roles and their delays", async () => {
  for (const [name, { id }] of Object.entries(ROLES)) expect(page).toMatch(new RegExp(`\\b${id} ${name}[,.]`));
  const seconds = (delay: number) => delay.toLocaleString("en-US");
  expect(page).toContain(
    `Delays: ${seconds(DELAYS.owner)} for role 7, ${seconds(DELAYS.admin)} for 1 and 3, ${seconds(DELAYS.payOut)} for 5, 0 for the others.`,
  );
  expect(DELAYS.wallet).toBe(DELAYS.admin);
  expect(page).toContain("expires 7 days after that one");
  expect(await managerView(scene.world, "expiration", [])).toBe(7 * 24 * 3_600);
});
