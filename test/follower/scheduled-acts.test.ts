// Calls that wait (CHN-33): far ones, calls that are scheduled again, and calls that the configuration expects. On `lab-keys`, as acts.test.ts.
import { describe, expect, it } from "vitest";
import { DELAYS } from "../../scripts/chain/roles.ts";
import type { NetworkInput } from "../../src/chain/networks.ts";
import { rows } from "../promotion/support.ts";
import { networksWith, send, spoil } from "../support/chain.ts";
import { REGISTRAR } from "../support/lab.ts";
import { withVars } from "../support/variants.ts";
import type { Json, World } from "../support/world.ts";
import * as acts from "./key-acts.ts";
import { follow } from "./support.ts";

const {
  ADMIN,
  GUARDIAN,
  LAB,
  UNKNOWN,
  authority,
  contract,
  execute,
  idOf,
  lab,
  managers,
  mine,
  own,
  pass,
  schedule,
  token,
} = acts;
const { booked, followed, scheduled, told } = acts;

let world: World;
acts.useKeys((opened) => {
  world = opened;
});

/** This world with a configuration that expects these calls. */
function expecting(...ids: string[]): World {
  const networks = (JSON.parse(networksWith(LAB)) as NetworkInput[]).map((each) =>
    each.network === LAB ? { ...each, expected_operations: ids } : each,
  );
  return withVars(world, { NETWORKS: JSON.stringify(networks) });
}

describe("a waiting call", () => {
  it.each([
    ["in the year 3000", 32_503_680_000],
    ["in the year 10000", 253_402_300_800],
    ["at the end of all dates", 8_640_000_000_000],
    ["after the end of all dates", 2 ** 48 - 1],
  ])("raises an alert like any other if it waits until an instant %s", async (_, when) => {
    const far = own("setLowThreshold", [UNKNOWN, token(), 15_000_000n, BigInt(when)]);
    const near = own("setLowThreshold", [UNKNOWN, token(), 15_000_000n, BigInt(when) + 2n]);
    await send(LAB, REGISTRAR, authority(), managers("schedule", [contract(), far, when]));
    await schedule(REGISTRAR, contract(), near);
    await followed();
    const ids = [far, near].map((data) => idOf(REGISTRAR, contract(), data));
    expect((await told()).map(({ subject }) => subject).sort()).toEqual(
      ids.map((id) => `operation ${id} on ${LAB}`).sort(),
    );
    expect((await scheduled()).calls.map((call: Json) => call.operation_id).sort()).toEqual(ids.toSorted());
    for (const data of [far, near])
      await send(LAB, GUARDIAN, authority(), managers("cancel", [REGISTRAR, contract(), data]));
    await booked();
  });

  it("raises another alert if it is scheduled again after its cancellation, while its first alert is open", async () => {
    const data = own("setFeeBps", [15n]);
    const id = idOf(ADMIN, contract(), data);
    for (let n = 0; n < 2; n++) {
      await schedule(ADMIN, contract(), data);
      await followed();
      await send(LAB, GUARDIAN, authority(), managers("cancel", [ADMIN, contract(), data]));
      await booked();
    }
    expect((await told()).map(({ subject, seen }) => [subject, seen])).toEqual([
      [`operation ${id} on ${LAB}`, 1],
      [`operation ${id}:2 on ${LAB}`, 1],
    ]);
  });

  it("stays listed if a node dates a block far ahead", async () => {
    const data = own("setFeeBps", [16n]);
    await schedule(ADMIN, contract(), data);
    await booked();
    const head = await lab("eth_getBlockByNumber", "latest", false);
    const result = { ...head, timestamp: `0x${(Number(head.timestamp) + 30 * 86_400).toString(16)}` };
    await spoil(
      LAB,
      { method: "eth_getBlockByNumber", first: "latest", times: 1, how: "answer", result },
      { method: "eth_getBlockByNumber", first: head.number, times: 2, how: "answer", result },
    );
    await followed();
    await spoil(LAB);
    await booked();
    expect((await scheduled()).count).toBe(1);
    await send(LAB, GUARDIAN, authority(), managers("cancel", [ADMIN, contract(), data]));
    await booked();
  });
});

describe("an act that is expected, or older than the follower", () => {
  it("raises no alert if it is a call that the configuration expects, or the one act that this call does", async () => {
    const data = own("setFeeBps", [13n]);
    const by = expecting(idOf(ADMIN, contract(), data));
    await schedule(ADMIN, contract(), data);
    await follow(by, LAB);
    expect([await told(), (await scheduled(by)).calls[0].asked_for]).toEqual([[], true]);
    await pass(DELAYS.admin + 60);
    await execute(ADMIN, contract(), data);
    await mine(3);
    await follow(by, LAB);
    expect([await told(), await scheduled(by)]).toEqual([[], { count: 0, calls: [] }]);
  });

  it("raises an alert if an expected call is scheduled a second time, unless that is expected too", async () => {
    const data = own("setFeeBps", [18n]);
    const id = idOf(ADMIN, contract(), data);
    await schedule(ADMIN, contract(), data);
    await follow(expecting(id, `${id}:3`), LAB);
    const again = async () => {
      await send(LAB, GUARDIAN, authority(), managers("cancel", [ADMIN, contract(), data]));
      await rows("delete from alerts");
      await schedule(ADMIN, contract(), data);
      await mine(3);
      await follow(expecting(id, `${id}:3`), LAB);
      return (await told()).map(({ subject }) => subject);
    };
    expect(await told()).toEqual([]);
    expect(await again()).toContain(`operation ${id}:2 on ${LAB}`);
    expect(await again()).not.toContain(`operation ${id}:3 on ${LAB}`);
    await send(LAB, GUARDIAN, authority(), managers("cancel", [ADMIN, contract(), data]));
    await booked();
  });

  it("raises no alert if it is older than the follower", async () => {
    const data = own("setFeeBps", [17n]);
    await schedule(ADMIN, contract(), data);
    await rows("delete from followers where network = ?", LAB);
    await followed();
    await booked();
    expect([await told(), (await scheduled()).count]).toEqual([[], 0]);
    await send(LAB, GUARDIAN, authority(), managers("cancel", [ADMIN, contract(), data]));
    await booked();
    expect(await told()).toEqual([]);
  });
});
