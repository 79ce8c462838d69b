// Tests reserves, low thresholds and payouts as chain operations (CHN-23), without delays and with those of production: a call with a delay takes
// two transactions, a cancellation is noticed, and a call that the contract would refuse is not scheduled.
import { beforeEach, describe, expect, test } from "vitest";
import { DELAYS, NO_DELAYS } from "../../scripts/chain/roles.ts";
import type { ScheduledUntil } from "../../src/chain/delayed-calls.ts";
import { createChainGateway } from "../../src/chain/evm.ts";
import type { Signer } from "../../src/chain/gateway.ts";
import { driveAct, type SettlementFacts, type VaultAct } from "../../src/chain/vault-acts.ts";
import {
  factsOf,
  keySigner,
  PROVIDER,
  pay,
  senderFor,
  THRESHOLD,
  UNIT,
  useWorld,
  vaultBalance,
  type World,
} from "./support.ts";

const SOON_MS = 10_000;
let world: World;
let settlement: SettlementFacts;

const drive = (act: VaultAct, known: ScheduledUntil | null = null, signer = signerOf(act)) => {
  const tools = { chain: createChainGateway([world.network]), signer };
  return driveAct(tools, world.network, act, known, Date.now() + SOON_MS);
};
const signerOf = ({ kind }: VaultAct): Signer =>
  keySigner(senderFor(world), world.people[kind === "low_threshold" ? "registrar" : "arbiter"].privateKey);
const payout = (amount: bigint, change: Partial<SettlementFacts> = {}): VaultAct => ({
  kind: "payout",
  settlement: { ...settlement, ...change },
  amount,
});
/** Returns a signer that lets another run do the act just before it sends. */
function overtaken(act: VaultAct, known: ScheduledUntil | null = null): Signer {
  const signer = signerOf(act);
  let first = true;
  return {
    ...signer,
    submit: async (...call) => {
      if (first) expect(await drive(act, known)).toMatchObject({ state: "done" });
      first = false;
      return signer.submit(...call);
    },
  };
}
const reserve = (amount: bigint): VaultAct => ({ kind: "reserve", providerDidHash: PROVIDER, reserve: amount });
const low = (threshold: bigint): VaultAct => ({ kind: "low_threshold", providerDidHash: PROVIDER, threshold });

const settle = async () => {
  const facts = await factsOf(world, await pay(world, 10n * UNIT));
  settlement = { ...facts, settledAt: Number(facts.settledAt) };
};
const done = { state: "done", onChain: { scheduled: null } };
const failed = (reason: string) => ({ state: "failed", reason });

describe("without delays", () => {
  useWorld((built) => {
    world = built;
  }, NO_DELAYS);
  beforeEach(settle);

  test("a payout is paid once, even if it is requested again", async () => {
    expect(await drive(payout(400_000n))).toMatchObject(done);
    expect(await vaultBalance(world)).toBe(599_500n);
    expect(await drive(payout(400_000n))).toMatchObject({ ...done, txHash: null });
    expect(await vaultBalance(world)).toBe(599_500n);
    // A second award was decided on the same facts, which have changed.
    expect(await drive(payout(100_000n))).toMatchObject(failed("UnknownSettlement"));
    expect(await drive(payout(100_000n, { paidOut: 400_000n }))).toMatchObject(done);
    expect(await drive(payout(1n, { gross: 11n * UNIT }))).toMatchObject(failed("UnknownSettlement"));
  });

  test("a payout is done if another run paid it just before the call", async () => {
    const act = payout(400_000n);
    expect(await drive(act, null, overtaken(act))).toMatchObject({ ...done, txHash: null });
    expect(await vaultBalance(world)).toBe(599_500n);
  });

  test("a payout of more than the vault holds is refused by name", async () => {
    expect(await drive(payout(999_501n))).toMatchObject(failed("ExceedsVault"));
    expect(await drive(payout(10n * UNIT + 1n))).toMatchObject(failed("ExceedsGross"));
  });

  test("a reserve and a low threshold are set, and a reserve is set again", async () => {
    for (const amount of [5n, 7n, 0n]) {
      expect(await drive(reserve(amount))).toMatchObject(done);
      expect(await world.read("reserveOf", [PROVIDER, world.chain.token])).toBe(amount);
    }
    expect(await drive(low(0n))).toMatchObject(done);
    expect(await world.read("splitOf", [PROVIDER, world.chain.token])).toMatchObject([{}, 0n]);
    expect(await drive(low(1n))).toMatchObject(failed("InvalidThreshold"));
  });

  test("another key is refused by name, and another contract counts as no answer", async () => {
    const thief = keySigner(senderFor(world), world.people.stranger.privateKey);
    for (const act of [payout(1n), reserve(1n), low(0n)])
      expect(await drive(act, null, thief)).toMatchObject(failed("AccessManagerUnauthorizedCall"));
    const tools = { chain: createChainGateway([world.network]), signer: thief };
    const nowhere = { ...world.network, settlement_contract: world.people.other.address };
    const asked = await driveAct(tools, nowhere, reserve(1n), null, Date.now() + SOON_MS);
    expect(asked).toMatchObject({ state: "waiting", reason: "chain_unavailable" });
  });
});

describe("with the delays of production", () => {
  useWorld((built) => {
    world = built;
  }, DELAYS);
  beforeEach(settle);
  const pass = async (seconds: number) => {
    await world.client.increaseTime({ seconds });
    await world.client.mine({ blocks: 1 });
  };
  const scheduledOf = async (act: VaultAct): Promise<ScheduledUntil> => {
    const driven = await drive(act);
    if (driven.state !== "done" || !driven.onChain.scheduled)
      throw new Error(`not scheduled: ${JSON.stringify(driven)}`);
    expect(driven.txHash).not.toBeNull();
    return driven.onChain.scheduled;
  };

  test.each<[string, () => VaultAct, number]>([
    ["a payout", () => payout(400_000n), DELAYS.payOut],
    ["a low threshold", () => low(0n), DELAYS.wallet],
  ])("%s is scheduled, waits, and is executed", async (_, act, delay) => {
    const until = await scheduledOf(act());
    const { timestamp } = await world.client.getBlock();
    expect(until).toEqual({ effectiveAt: (Number(timestamp) + delay) * 1_000, nonce: 1 });
    // A repeated request does not schedule it again.
    expect(await drive(act(), until)).toMatchObject({ state: "done", onChain: { scheduled: until }, txHash: null });
    await pass(delay);
    expect(await drive(act(), until)).toMatchObject({ ...done, txHash: expect.stringMatching(/^0x/) });
    expect(await drive(act(), until)).toMatchObject({ ...done, txHash: null });
  });

  test("a reserve does not wait", async () => {
    expect(await drive(reserve(5n))).toMatchObject(done);
  });

  test("a payout is done once if another run schedules and executes it just before the call", async () => {
    const act = payout(400_000n);
    const driven = await drive(act, null, overtaken(act));
    const { timestamp } = await world.client.getBlock();
    const until = { effectiveAt: (Number(timestamp) + DELAYS.payOut) * 1_000, nonce: 1 };
    expect(driven).toMatchObject({ state: "done", onChain: { scheduled: until }, txHash: null });
    await pass(DELAYS.payOut);
    expect(await drive(act, until, overtaken(act, until))).toMatchObject({ ...done, txHash: null });
    expect(await vaultBalance(world)).toBe(599_500n);
  });

  test("a cancellation by the guardian is noticed, and the call is not scheduled again", async () => {
    const act = payout(400_000n);
    const until = await scheduledOf(act);
    const { settledAt, ...facts } = settlement;
    await world.cancel("guardian", "arbiter", "payOut", [{ ...facts, settledAt: BigInt(settledAt) }, 400_000n]);
    expect(await drive(act, until)).toMatchObject(failed("cancelled"));
    // After a new decision it is scheduled again.
    expect(await scheduledOf(act)).toMatchObject({ nonce: 2 });
  });

  test("a call that was not executed within a week is scheduled again", async () => {
    const act = low(0n);
    const until = await scheduledOf(act);
    await pass(DELAYS.wallet + 7 * 86_400);
    const again = await drive(act, until);
    expect(again).toMatchObject({ state: "done", onChain: { scheduled: { nonce: 2 } } });
  });

  test("a call that the contract would refuse is not scheduled", async () => {
    expect(await drive(payout(999_501n))).toMatchObject({ ...failed("ExceedsVault"), txHash: null });
    expect(await drive(low(THRESHOLD + 1n))).toMatchObject({ ...failed("InvalidThreshold"), txHash: null });
  });
});
