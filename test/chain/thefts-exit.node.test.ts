// Tests the exit from a stolen owner's key, which revokes the roles of the guardian and the registrar before its grants take effect (CHN-5, CHN-7).
// The honest registrar sends every escrow home, after the buyer of the open dispute was paid. This is in time if it begins at least its own delay
// before the owner's delay ends.
import { describe, expect, test } from "vitest";
import { DELAYS } from "../../scripts/chain/roles.ts";
import { OTHER_PROVIDER, PROVIDER, THRESHOLD, UNIT, useWorld } from "./support.ts";
import { thiefOf } from "./thefts-plays.ts";
import {
  agendaOf,
  BYSTANDER,
  cancel,
  HOURS,
  inUnits,
  isDone,
  lossesOf,
  ownCall,
  pass,
  type Scene,
  setScene,
} from "./thefts-scene.ts";

const HOUR = 3_600;
const DISPUTED = 2n * UNIT;
const ALL = { vault: 20, otherVault: 15, fees: 0.01 };
const HOME = { ...ALL, wallet: -18, otherWallet: -15, payer: -2 };
const LAST = HOURS.owner - HOURS.admin;

describe.each([
  { owner: DELAYS.owner, begin: 1, losses: HOME },
  { owner: DELAYS.owner, begin: LAST - 1, losses: HOME },
  // The buyer is paid a day before the rest would have gone home. The surplus may go at any time.
  { owner: DELAYS.owner, begin: LAST + 1, losses: { ...ALL, payer: -2, wallet: -3 } },
  { owner: DELAYS.wallet, begin: 1, losses: { ...ALL, payer: -2, wallet: -3 } },
])("with $owner seconds for the owner's calls, and an answer after $begin hours", ({ owner, begin, losses }) => {
  let scene: Scene;
  useWorld(
    async (world) => {
      scene = await setScene(world);
    },
    { ...DELAYS, owner },
  );

  test("the arbiter pays the buyer, and the registrar sends the escrows home if it is in time", async () => {
    const { world } = scene;
    const { token } = world.chain;
    const thief = thiefOf(scene, ["owner"]);
    await thief.strike();
    await pass(world, begin);
    const award = agendaOf(world);
    await award.add(ownCall(world, "arbiter", "payOut", [scene.bought.payer, DISPUTED]));
    const exit = agendaOf(world);
    for (const provider of [PROVIDER, OTHER_PROVIDER]) {
      await exit.add(ownCall(world, "registrar", "setLowThreshold", [provider, token, THRESHOLD, 0n]));
    }
    const release = async () => {
      for (const provider of [PROVIDER, OTHER_PROVIDER]) {
        await world.send(BYSTANDER, "releaseSurplus", [provider, token]);
      }
    };
    // The delays decide, to the second, whether the thief's revocations or the registrar's calls come first.
    const steps = [
      { at: owner / HOUR, act: thief.advance },
      {
        at: HOURS.payOut + begin,
        act: async () => {
          await award.advance();
          expect(award.waiting()).toEqual([]);
          await world.act("arbiter", "setReserve", [PROVIDER, token, 0n]);
        },
      },
      { at: HOURS.admin + begin, act: exit.advance },
    ].sort((one, other) => one.at - other.at);
    let now = begin;
    for (const { at, act } of steps) {
      await pass(world, at - now);
      now = at;
      await act();
      await release();
    }
    // The thief's grants may have been cancelled until here, so a patient thief waits for them once more.
    await pass(world, owner / HOUR);
    await thief.advance();
    expect((await lossesOf(scene)).losses).toEqual(losses);
  });

  test("the reserve for a dispute does not go home before the award is paid", async () => {
    const { world } = scene;
    const { token } = world.chain;
    const exit = agendaOf(world);
    await exit.add(ownCall(world, "registrar", "setLowThreshold", [PROVIDER, token, THRESHOLD, 0n]));
    await pass(world, HOURS.admin);
    await exit.advance();
    await world.send(BYSTANDER, "releaseSurplus", [PROVIDER, token]);
    expect(inUnits(await world.balance(scene.places.vault))).toBe(2);
    const award = ownCall(world, "arbiter", "payOut", [scene.bought.payer, DISPUTED]);
    const agenda = agendaOf(world);
    await agenda.add(award);
    await pass(world, HOURS.payOut);
    await agenda.advance();
    expect(await world.balance(scene.places.vault)).toBe(0n);
    expect(isDone(await cancel(world, "guardian", award))).toBe(false);
  });
});
