// Acts of keys that were not requested (CHN-33): each raises one alert at the head, with what cancels it, and calls are listed while they wait. Only
// this file and scheduled-acts.test.ts use the network `lab-keys`, whose roles have the delays of production; it books with three confirmations.
import { describe, expect, it } from "vitest";
import { DELAYS } from "../../scripts/chain/roles.ts";
import { hashDid } from "../../src/chain/hashes.ts";
import type { ChainMessage } from "../../src/context.ts";
import { SCHEDULED_SHOWN_MAX } from "../../src/core/limits.ts";
import { followThreshold, followThresholds } from "../../src/escrow/follow-threshold.ts";
import { later, market, openMarkets } from "../markets/support.ts";
import { rows } from "../promotion/support.ts";
import { account, send } from "../support/chain.ts";
import { REGISTRAR } from "../support/lab.ts";
import { expectStatus, type Json, type World } from "../support/world.ts";
import * as acts from "./key-acts.ts";
import { escrowOf, moveWallet } from "./support.ts";

const { ADMIN, ARBITER, CALLS, GUARDIAN, LAB, OWNER, THIEF, UNKNOWN, WALLET } = acts;
const { booked, followed, provider, scheduled, told, useKeys } = acts;
const { atOnce, authority, contract, execute, idOf, isWaiting, lab, managers, mine, own, pass, schedule, token } = acts;

type Hex = `0x${string}`;
const WEEK = 7 * 86_400;

let world: World;
useKeys((opened) => {
  world = opened;
});

describe("a call that a stolen key schedules", () => {
  it.each(CALLS)(
    "raises one alert at the head, is listed, and ends with the calldata that the alert gives: %s",
    async (_, by, call, delay, effect, guardians) => {
      const [target, data] = call();
      const tx = await schedule(by, target, data);
      await Promise.all([followed(), followed()]);
      await followed();
      const { blockNumber } = await lab("eth_getTransactionReceipt", tx);
      const { timestamp } = await lab("eth_getBlockByNumber", blockNumber, false);
      const at = Number(timestamp);
      const iso = (seconds: number) => new Date(seconds * 1_000).toISOString();
      const id = idOf(by, target, data);
      const [alert, ...others] = await told();
      expect(others).toEqual([]);
      expect(alert).toMatchObject({ subject: `operation ${id} on ${LAB}`, seen: 1 });
      expect(alert.message).toMatch(effect);
      expect(alert.message).toContain(`from ${iso(at + delay)} to ${iso(at + delay + WEEK)}`);
      const list = await scheduled();
      expect(list).toEqual({
        count: 1,
        calls: [
          {
            ...{ operation_id: id, authority: authority(), caller: by.toLowerCase(), target, data, asked_for: false },
            effect: expect.stringMatching(effect),
            ...{ tx_hash: tx, scheduled_at: iso(at), executable_from: iso(at + delay) },
            executable_until: iso(at + delay + WEEK),
            guardian_cancels: guardians,
            cancellation: { to: authority(), data: expect.stringMatching(/^0x/) },
          },
        ],
      });
      const { cancellation } = list.calls[0];
      expect(alert.message).toContain(cancellation.data);
      await send(LAB, GUARDIAN, cancellation.to, cancellation.data);
      expect(await isWaiting(id)).toBe(!guardians);
      if (!guardians) await send(LAB, by, cancellation.to, cancellation.data);
      expect(await isWaiting(id)).toBe(false);
      // It raises no further alert, and is listed until its end is booked.
      await booked();
      await booked();
      expect((await told()).map(({ seen }) => seen)).toEqual([1]);
      expect(await scheduled()).toEqual({ count: 0, calls: [] });
    },
  );

  it("names a provider that the service knows by its DID", async () => {
    const { did } = await provider();
    await followed();
    expect(await told()).toEqual([]);
    const data = own("setOperationalWallet", [hashDid(did), token(), WALLET, THIEF]);
    await schedule(REGISTRAR, contract(), data);
    await followed();
    expect((await told())[0].message).toContain(`the income of ${did} in`);
    expect((await scheduled()).calls[0].effect).toContain(`the income of ${did} in`);
    await send(LAB, GUARDIAN, authority(), managers("cancel", [REGISTRAR, contract(), data]));
    await booked();
  });

  it("raises another alert with its effect when it is executed", async () => {
    const data = own("setFeeBps", [7n]);
    await schedule(ADMIN, contract(), data);
    await pass(DELAYS.admin + 60);
    await followed();
    expect(await told()).toHaveLength(1);
    await execute(ADMIN, contract(), data);
    await followed();
    expect((await told())[1].message).toContain("the fee is now 7 hundredths of a percent");
    await booked();
    expect([(await told()).length, await scheduled()]).toEqual([2, { count: 0, calls: [] }]);
  });

  it("raises an alert that says where its data is if it is too long to be shown", async () => {
    const data = `${own("setFeeBps", [9n])}${"00".repeat(4_096)}` as Hex;
    const tx = await send(LAB, ADMIN, authority(), managers("schedule", [contract(), data, 0]), "0x1c9c380");
    await followed();
    const [alert] = await told();
    expect(alert.message).toContain("It sets the fee to 9 hundredths of a percent.");
    expect(alert.message).toContain(`with the data in the event of ${tx}`);
    const [call] = (await scheduled()).calls;
    expect(call).toMatchObject({ data: null, effect: null, cancellation: null, guardian_cancels: null });
    await send(LAB, GUARDIAN, authority(), managers("cancel", [ADMIN, contract(), data]), "0x1c9c380");
    await booked();
    expect(await scheduled()).toEqual({ count: 0, calls: [] });
  });

  it("is no longer listed after a reorg removes it, and raises another alert in another transaction", async () => {
    const data = own("setFeeBps", [11n]);
    await schedule(ADMIN, contract(), data);
    await followed();
    expect([(await told()).length, (await scheduled()).count]).toEqual([1, 1]);
    await lab("anvil_rollback", 1);
    await mine(2);
    await followed();
    expect((await scheduled()).count).toBe(0);
    await schedule(ADMIN, contract(), own("setFeeBps", [12n]));
    await booked();
    expect([(await told()).length, (await scheduled()).count]).toEqual([2, 1]);
    await send(LAB, GUARDIAN, authority(), managers("cancel", [ADMIN, contract(), own("setFeeBps", [12n])]));
    await booked();
  });

  it("is listed again after a reorg removes its booked end, and is no longer listed after a reorg removes the call", async () => {
    const data = own("setFeeBps", [14n]);
    await schedule(ADMIN, contract(), data);
    await booked();
    await send(LAB, GUARDIAN, authority(), managers("cancel", [ADMIN, contract(), data]));
    await booked();
    expect((await scheduled()).count).toBe(0);
    // The newest blocks are the end and three empty ones; before them are the call and three others.
    await lab("anvil_rollback", 4);
    await mine(6);
    await followed();
    await followed();
    expect([(await scheduled()).count, await isWaiting(idOf(ADMIN, contract(), data))]).toEqual([1, true]);
    await lab("anvil_rollback", 10);
    await mine(12);
    await followed();
    await followed();
    expect([(await scheduled()).count, await isWaiting(idOf(ADMIN, contract(), data))]).toEqual([0, false]);
  });
});

describe("an act that a stolen key does without a delay", () => {
  it("raises one alert at the head: a registration, a threshold and a reserve", async () => {
    await atOnce(REGISTRAR, own("registerProvider", [UNKNOWN, token(), THIEF, 15_000_000n]));
    await atOnce(REGISTRAR, own("setThreshold", [UNKNOWN, token(), 7_500_000n]));
    await atOnce(ARBITER, own("setReserve", [UNKNOWN, token(), 0n]));
    await followed();
    await booked();
    await booked();
    const alerts = await told();
    expect(alerts.map(({ seen }) => seen)).toEqual([1, 1, 1]);
    const place = ({ message }: Json) =>
      ["was registered", "the threshold", "the reserve"].findIndex((one) => message.includes(one));
    expect(alerts.toSorted((one, other) => place(one) - place(other)).map(({ message }) => message)).toEqual([
      expect.stringMatching(
        new RegExp(`the provider ${UNKNOWN} was registered in 0x\\w{40}, with the wallet ${THIEF}`),
      ),
      expect.stringContaining(`the threshold of the provider ${UNKNOWN} is now 7.50 USDC`),
      expect.stringContaining(`the reserve of the provider ${UNKNOWN} is now 0.00 USDC`),
    ]);
    expect(await rows("select * from key_acts where network = ? and operation_id is null", LAB)).toEqual([]);
  });

  it("raises an alert for the guardian: a pause, and the cancellation of a call that the service has scheduled", async () => {
    await atOnce(GUARDIAN, own("pause"));
    await followed();
    expect((await told())[0].message).toContain("payments and deposits are stopped");
    const data = own("unpause");
    await schedule(ADMIN, contract(), data);
    await pass(DELAYS.admin + 60);
    await execute(ADMIN, contract(), data);
    await booked();
    await rows("delete from alerts");

    const { did } = await provider();
    const entry = market({ market: "GLOBAL-USDC", network: LAB, operational_wallet: account(7) });
    expectStatus(await openMarkets(world, did, [entry]), 200);
    await followed();
    expect(await told()).toEqual([]);
    const [call] = (await scheduled()).calls;
    expect(call).toMatchObject({
      asked_for: true,
      caller: REGISTRAR.toLowerCase(),
      effect: expect.stringContaining("income"),
    });
    await send(LAB, GUARDIAN, call.cancellation.to, call.cancellation.data);
    await followed();
    await booked();
    await booked();
    const [alert, ...others] = await told();
    expect([alert.seen, others]).toEqual([1, []]);
    expect(alert.message).toMatch(/has cancelled the call of 0x\w{40}, which sends the income of/);
  });

  it("raises an alert for a wallet that a role without a delay sets", async () => {
    const { did } = await provider();
    const grant = managers("grantRole", [3n, THIEF, 0]);
    await schedule(OWNER, authority(), grant);
    await pass(DELAYS.owner + 60);
    await execute(OWNER, authority(), grant);
    await booked();
    await rows("delete from alerts");
    await lab("anvil_impersonateAccount", THIEF);
    await atOnce(THIEF, own("setOperationalWallet", [hashDid(did), token(), WALLET, THIEF]));
    await followed();
    expect((await told()).map(({ message }) => message)).toEqual([
      expect.stringContaining(`the income of ${did} in ${token().toLowerCase()} now goes to ${THIEF}`),
    ]);
  });

  it("raises no alert for a provider's own change of its wallet", async () => {
    const { did } = await provider();
    await moveWallet(did, WALLET, account(7), LAB);
    await booked();
    expect(await told()).toEqual([]);
  });

  it("raises an alert although the same reading has a transaction of the service", async () => {
    const { did } = await provider();
    await atOnce(ARBITER, own("setReserve", [hashDid(did), token(), 1_000_000n]));
    await followed();
    expect((await told()).map(({ message }) => message)).toEqual([
      expect.stringContaining(`the reserve of ${did} is now 1.00 USDC`),
    ]);
  });
});

describe("a threshold that the service did not set", () => {
  const onChain = async (did: string): Promise<number> => {
    const read = await world.deps.chain.readProvider(LAB, hashDid(did));
    return read.ok ? Number(read.value.threshold) : -1;
  };

  it.each([7_500_000, 14_900_000])(
    "raises an alert, and the job that follows thresholds sets it back: %i base units",
    async (threshold) => {
      const { did } = await provider();
      await atOnce(REGISTRAR, own("setThreshold", [hashDid(did), token(), BigInt(threshold)]));
      await followed();
      expect((await told())[0].message).toContain("The service sets it back");
      const sent: ChainMessage[] = [];
      const CHAIN_QUEUE = { send: async (message: ChainMessage) => void sent.push(message) } as never;
      await world.run(followThresholds, { ...world.deps, env: { ...world.deps.env, CHAIN_QUEUE } });
      const key = { did, environment: "sandbox" as const, network: LAB };
      expect(sent).toContainEqual({ kind: "follow_threshold", ...key });
      expect(await followThreshold(world.deps, key, later())).toBe(true);
      expect([await onChain(did), (await escrowOf(did)).chain_threshold]).toEqual([15_000_000, 15_000_000]);
      // Reading the same act again does not undo this.
      await booked();
      expect([(await escrowOf(did)).chain_threshold, (await told()).length]).toEqual([15_000_000, 1]);
    },
  );
});

describe("the list of waiting calls", () => {
  it("is bounded, shows unrequested calls first, and counts all calls that can still be executed", async () => {
    const now = Date.now();
    const values = Array.from({ length: SCHEDULED_SHOWN_MAX + 5 }, (_, n) => {
      const [readyAt, asked] = [now + n, n < 10 ? 1 : 0];
      return `('${LAB}', '0x${n}', 0, 1, ${now}, '${THIEF}', '0x${n}', 1, '${THIEF}', '${WALLET}', '0x00000000', ${readyAt}, ${asked})`;
    });
    const columns =
      "network, tx_hash, log_index, block_number, mined_at, authority, operation_id, nonce, caller, target, data, ready_at, asked";
    await rows(`insert into key_acts (${columns}) values ${values.join(", ")}`);
    await rows("update key_acts set ready_at = ? where tx_hash = '0x12'", now - (WEEK + 60) * 1_000);
    await rows("update key_acts set ended_block = 1 where tx_hash = '0x13'");
    const { count, calls } = await scheduled();
    expect([count, calls.length]).toEqual([SCHEDULED_SHOWN_MAX + 3, SCHEDULED_SHOWN_MAX]);
    const asked = calls.map((call: Json) => call.asked_for);
    expect(asked).toEqual([...Array(43).fill(false), ...Array(7).fill(true)]);
    expect(calls.slice(0, 2).map((call: Json) => call.operation_id)).toEqual(["0x10", "0x11"]);
    await rows("delete from key_acts where block_number = 1");
  });
});
