// A stolen admin's key takes the guardian's role and the registrar's away before its grants can no longer be cancelled (CHN-5, CHN-7). The honest
// registrar's answer is to send every escrow home: in time only where the admin waits longer than the registrar.
import { describe, expect, test } from "vitest";
import { DELAYS } from "../../scripts/chain/roles.ts";
import { OTHER_PROVIDER, PROVIDER, THRESHOLD, useWorld } from "./support.ts";
import { defenceOf, thiefOf } from "./thefts-plays.ts";
import { agendaOf, BYSTANDER, lossesOf, ownCall, pass, type Scene, setScene } from "./thefts-scene.ts";

const HOUR = 3_600;
const LATE = 1;

describe.each([
  { admin: DELAYS.admin, taken: 35.01, losses: { vault: 20, otherVault: 15, fees: 0.01 } },
  // The other vault's content went to its provider's wallet, which is not among the places that may lose.
  { admin: DELAYS.wallet + 24 * HOUR, taken: 0.01, losses: { vault: 20, otherVault: 15, fees: 0.01, wallet: -20 } },
])("with $admin seconds for the admin's calls", ({ admin, taken, losses }) => {
  let scene: Scene;
  useWorld(
    async (world) => {
      scene = await setScene(world);
    },
    { ...DELAYS, admin },
  );

  test("the registrar sends the escrows home an hour after the theft", async () => {
    const { world } = scene;
    const { token } = world.chain;
    const thief = thiefOf(scene, ["admin"]);
    await thief.strike();
    const defence = defenceOf(scene, ["admin"], thief);
    await defence.answer();
    await pass(world, LATE);
    const exit = agendaOf(world);
    for (const provider of [PROVIDER, OTHER_PROVIDER]) {
      await exit.add(ownCall(world, "registrar", "setLowThreshold", [provider, token, THRESHOLD, 0n]));
    }
    // To the second: first the thief's revocations, or first the registrar's calls, as the delays say.
    const steps = [
      { at: admin / HOUR, act: thief.advance },
      { at: DELAYS.wallet / HOUR + LATE, act: exit.advance },
    ].sort((one, other) => one.at - other.at);
    let now = LATE;
    for (const { at, act } of steps) {
      await pass(world, at - now);
      now = at;
      await act();
      for (const provider of [PROVIDER, OTHER_PROVIDER]) {
        await world.act("arbiter", "setReserve", [provider, token, 0n]);
        await world.send(BYSTANDER, "releaseSurplus", [provider, token]);
      }
    }
    await pass(world, admin / HOUR);
    await thief.advance();
    expect(await lossesOf(scene)).toEqual({ taken, losses });
  });
});
