// The Worker's runtime is killed (SIGKILL) at each step of a refund (DSP-12, DSP-15): of an award that the vault pays, at once or in two parts, and
// of a refund that a provider concedes and pays itself. After a restart the minute's jobs complete it: the consumer gets it once, the books agree
// with the chain, and each event is written once.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createClient } from "../../scripts/chain/client.ts";
import type { Agent, Json } from "../../scripts/client.ts";
import { fireCron } from "../../scripts/local-worker.ts";
import { sleep } from "../../scripts/processes.ts";
import { hashDid } from "../../src/chain/hashes.ts";
import {
  award,
  calledBy,
  concede,
  deposit,
  disputed,
  endOf,
  giveBack,
  heldBy,
  minute,
  onChain,
  type Purchase,
  recorded,
  rows,
  toArbiter,
} from "./disputed-purchases.ts";
import type { RpcCall } from "./held-node.ts";
import { isWritten, type KillableWorker, seededNumbers, slowDown, startKillable } from "./killable-worker.ts";

const ENDS_WITHIN_MS = 1_200_000;
/** The time that the queues take for the work that a trigger has found. */
const WORKED_MS = 3_000;
/** The time after which the jobs run again: a network that did not answer in time rests for a while. */
const RESTED_MS = 10_000;
/** A signer resends a transaction that has waited for this time. */
const SEND_AGAIN_MS = 10_000;
/** No batch takes as long as this, except the one that books a refund, which is slowed down to some tenths of a second. */
const NO_BATCH_MS = 100;
const STEPS = 2_000_000;
const RANDOM_KILLS = 12;
/** Longer than the payout of an award takes. */
const WITHIN_MS = 2_000;

/** Base units: 4 of 100 are disputed, and the rest covers the bounty of 1. The vault holds a tenth of 99.95. */
const [DISPUTED, BOUNTY, AWARD] = [4_000_000, 1_000_000, 5_000_000];
/** Base units: 20 of 100 are disputed, which with the bounty is 21, more than the vault holds before a deposit. */
const [FIRST, SECOND, DEPOSIT] = [9_995_000, 11_005_000, 20_000_000];

let worker: KillableWorker;
let consumer: Agent;
/** The settled purchases, each with its state after the settlement. */
const settled: { readonly one: Purchase; readonly end: Json }[] = [];

beforeAll(async () => {
  worker = await startKillable();
  consumer = await worker.agent("CONSUMER");
  using database = worker.database("d1", "refunds");
  slowDown(database, "insert on refunds", STEPS);
});
afterAll(() => worker.close());

// ---- The points at which the runtime dies -----------------------------------------------------------------------------

/** Starts to look for the point at once, and resolves once the runtime is frozen there. */
type Freeze = (one: Purchase) => Promise<void>;
type Meets = (calls: readonly RpcCall[], one: Purchase) => boolean | Promise<boolean>;

/** `arrived`: the request never leaves for the node. `answered`: its answer never comes back. */
const atRequest =
  (at: "arrived" | "answered", isMet: Meets): Freeze =>
  (one) => {
    const met = Promise.withResolvers<void>();
    const hold = async (calls: readonly RpcCall[]) => {
      if (!(await isMet(calls, one))) return;
      await worker.freeze();
      met.resolve();
      await new Promise<never>(() => undefined);
    };
    worker.node.gate({ [at]: hold });
    return met.promise;
  };

const behindCommit =
  (isThere: (found: Json) => boolean): Freeze =>
  async (one) => {
    while (!isThere(recorded(worker, one))) await sleep(1);
    await worker.freeze();
  };

/** Freezes in the batch that books a refund, because no other batch lasts until a second look. */
const inSlowBatch: Freeze = async () => {
  using database = worker.database("d1", "refunds", 0);
  for (let seen = 0; ; ) {
    await worker.freeze();
    seen = isWritten(database) ? seen + 1 : 0;
    if (seen === 2) return;
    worker.thaw();
    await sleep(seen === 1 ? NO_BATCH_MS : NO_BATCH_MS / 5);
  }
};

/** Matches contract calls in one request about the purchase: about its settlement, or about its provider's vault. */
const about =
  (method: string, ...names: readonly string[]) =>
  (calls: readonly RpcCall[], { key, provider }: Purchase): boolean =>
    names.every((name) =>
      calls.some((call) => {
        const called = call.method === method ? calledBy(call) : null;
        const of = called?.args[0];
        const mine = of === key || of === hashDid(provider.did) || (of as { key?: unknown } | undefined)?.key === key;
        return called?.name === name && mine;
      }),
    );

const vaultRead = about("eth_call", "splitOf", "reserveOf", "escrowBalance");
const paid: Meets = async (calls, one) =>
  about("eth_call", "commitmentOf")(calls, one) && (await onChain(worker, one)).paid.length === 1;
const noReserve: Meets = (calls, one) =>
  about("eth_estimateGas", "setReserve")(calls, one) && calls.some((call) => calledBy(call)?.args[2] === 0n);
const refundRead: Meets = async (calls, one) =>
  calls.some(({ method }) => method === "eth_getLogs") && (await onChain(worker, one)).received > 0;

/** Kills the runtime once it is frozen, and returns the state of the refund at that point. */
async function kill(one: Purchase, freeze: Freeze, act: () => Promise<unknown>): Promise<Json> {
  const failed = Promise.withResolvers<never>();
  const frozen = freeze(one);
  let isOver = false;
  const acting = act().catch((thrown) => {
    if (!isOver) failed.reject(thrown);
  });
  const jobs = setInterval(() => void minute(worker).catch(() => undefined), RESTED_MS);
  await Promise.race([frozen, failed.promise]).finally(() => clearInterval(jobs));
  isOver = true;
  const left = { ...recorded(worker, one), ...(await onChain(worker, one)) };
  await worker.kill();
  await acting;
  worker.node.gate({});
  return left;
}

// ---- An award ---------------------------------------------------------------------------------------------------------

type Killed = {
  readonly when: string;
  readonly freeze: Freeze;
  readonly left: Json;
  readonly before?: () => Promise<unknown>;
  /** Called once it runs again. */
  readonly after?: () => unknown;
};

const OWED = { status: "resolved", refund_status: "owed", paid_out: 0, owed: DISPUTED, disputed: 0, payout: "waiting" };
const UNPAID = { ...OWED, paid: [], waiting: [], received: 0 };
const partOf = (amount: number) => ({ wanted: JSON.stringify({ before: "0", amount: String(amount) }) });
const NO_PART = { wanted: "{}" };

const KILLS: readonly Killed[] = [
  {
    when: "after the commit of the award",
    freeze: behindCommit(({ refund_status: status }) => status === "owed"),
    left: { ...UNPAID, ...NO_PART },
  },
  {
    when: "before the part is stored",
    freeze: atRequest("answered", vaultRead),
    left: { ...UNPAID, ...NO_PART },
  },
  {
    when: "after the part is stored, before anything is sent",
    freeze: atRequest("arrived", about("eth_estimateGas", "payOut")),
    left: { ...UNPAID, ...partOf(AWARD) },
  },
  {
    when: "with a transaction that the signer has stored and the node does not have",
    freeze: atRequest("arrived", about("eth_sendRawTransaction", "payOut")),
    left: { ...UNPAID, ...partOf(AWARD) },
    after: () => sleep(SEND_AGAIN_MS),
  },
  {
    when: "after the sending, before it is recorded, and mined",
    before: () => createClient(worker.chain.rpcUrl).setAutomine(false),
    freeze: atRequest("answered", about("eth_sendRawTransaction", "payOut")),
    left: { ...UNPAID, ...partOf(AWARD), waiting: [AWARD] },
    after: mineOnceAsked,
  },
  {
    when: "after the mined payout, before it is recorded",
    freeze: atRequest("answered", paid),
    left: { ...UNPAID, ...partOf(AWARD), paid: [AWARD], received: AWARD },
  },
  {
    when: "after the record, before the reserve is released",
    freeze: atRequest("arrived", noReserve),
    left: {
      ...{ status: "resolved", refund_status: "paid", paid_out: AWARD, owed: 0, disputed: 0, payout: "done" },
      ...{ paid: [AWARD], waiting: [], received: AWARD, reserve: DISPUTED },
    },
  },
];

/** Mines pending transactions as soon as the Worker asks for one. */
function mineOnceAsked(): void {
  const client = createClient(worker.chain.rpcUrl);
  const arrived = async (calls: readonly RpcCall[]) => {
    if (!calls.some(({ method }) => method === "eth_getTransactionReceipt")) return;
    await client.mine({ blocks: 1 });
    await client.setAutomine(true);
  };
  worker.node.gate({ arrived });
}

describe("an award, when the runtime is killed", () => {
  for (const { when, freeze, left, before, after } of KILLS)
    test(`${when}, is paid once`, async () => {
      const one = await disputed(worker, consumer, "4.00");
      await toArbiter(worker, one);
      await before?.();
      expect(await kill(one, freeze, () => award(worker, one))).toMatchObject(left);
      await worker.start();
      await after?.();
      await expectPaid(one, [AWARD], ["dispute.updated paid 5.00"]);
    });
});

describe("an award, when the runtime is killed at a random instant", () => {
  const random = seededNumbers();
  for (const at of Array.from({ length: RANDOM_KILLS }, () => Math.floor(random() * WITHIN_MS)))
    test(`${at} ms after its start, is paid once`, async () => {
      const one = await disputed(worker, consumer, "4.00");
      await toArbiter(worker, one);
      const freeze: Freeze = async () => {
        await sleep(at);
        await worker.freeze();
      };
      await kill(one, freeze, () => award(worker, one));
      await worker.start();
      if (recorded(worker, one).status !== "resolved") await award(worker, one);
      await expectPaid(one, [AWARD], ["dispute.updated paid 5.00"]);
    });
});

describe("an award that is more than the vault holds, when the runtime is killed", () => {
  const told = ["dispute.updated owed 9.995", "dispute.updated paid 21.00"];

  test("between the first part and the second, after a deposit, is paid once", async () => {
    const one = await disputed(worker, consumer, "20.00");
    await toArbiter(worker, one);
    await award(worker, one);
    const first = { ...OWED, paid_out: FIRST, owed: SECOND - BOUNTY, ...NO_PART };
    await expect.poll(() => recorded(worker, one), { timeout: ENDS_WITHIN_MS }).toMatchObject(first);
    const deposited: Meets = async (calls) => vaultRead(calls, one) && (await heldBy(worker, one.provider)) === DEPOSIT;
    const left = await kill(one, atRequest("answered", deposited), async () => {
      await deposit(worker, one, BigInt(DEPOSIT));
      await minute(worker);
    });
    expect(left).toMatchObject({ ...first, paid: [FIRST], waiting: [], received: FIRST });
    await worker.start();
    await expectPaid(one, [FIRST, SECOND], told, DEPOSIT);
  });

  test("before the first part is recorded, with a deposit meanwhile, is paid once", async () => {
    const one = await disputed(worker, consumer, "20.00");
    await toArbiter(worker, one);
    const left = await kill(one, atRequest("answered", paid), () => award(worker, one));
    const owed = { ...UNPAID, owed: FIRST + SECOND - BOUNTY, ...partOf(FIRST) };
    expect(left).toMatchObject({ ...owed, paid: [FIRST], received: FIRST });
    await deposit(worker, one, BigInt(DEPOSIT));
    await worker.start();
    await expectPaid(one, [FIRST, SECOND], told, DEPOSIT);
  });
});

// ---- A concession -----------------------------------------------------------------------------------------------------

describe("a provider's own refund, when the runtime is killed", () => {
  const unbooked = { refunds: 0, refund: "waiting", refund_status: "owed", received: DISPUTED };
  const booked = { ...unbooked, refunds: 1, refund: "done" };
  const kills: readonly Killed[] = [
    { when: "once it is read", freeze: atRequest("answered", refundRead), left: unbooked },
    { when: "in the batch that books it", freeze: inSlowBatch, left: unbooked },
    {
      when: "once it is booked, before its dispute has it",
      freeze: behindCommit(({ refunds }) => refunds === 1),
      left: booked,
    },
  ];
  for (const { when, freeze, left } of kills)
    test(`${when}, is booked once`, async () => {
      const one = await disputed(worker, consumer, "4.00");
      await concede(worker, one);
      const act = async () => {
        await giveBack(worker, one, BigInt(DISPUTED));
        await fireCron(worker.baseUrl);
      };
      expect(await kill(one, freeze, act)).toMatchObject(left);
      await worker.start();
      await expectEnd(one, {
        ...{ ...AT_REST, refund: "done", refunds: 1, paid_out: 0, paid: [], received: DISPUTED, payouts: [] },
        ...{ held: one.held, sum: one.held, told: [FILED, RESOLVED, "dispute.updated paid 0.00"] },
      });
    });
});

// ---- The state at rest ------------------------------------------------------------------------------------------------

const [FILED, MOVED, RESOLVED] = ["dispute.filed none 0.00", "dispute.updated none 0.00", "dispute.resolved owed 0.00"];
const AT_REST = {
  ...{ status: "resolved", refund_status: "paid", owed: 0, disputed: 0, waiting: [], reserve: 0 },
  ...{ twice: [], alerts: [] },
};

async function expectPaid(one: Purchase, parts: number[], told: string[], deposited = 0): Promise<void> {
  const sum = parts.reduce((total, part) => total + part, 0);
  const held = one.held + deposited - sum;
  await expectEnd(one, {
    ...{ ...AT_REST, payout: "done", refunds: 0, paid_out: sum, paid: parts, received: sum, payouts: parts },
    ...{ held, sum: held, told: [FILED, MOVED, MOVED, RESOLVED, ...told] },
  });
}

async function expectEnd(one: Purchase, end: Json): Promise<void> {
  let askedAt = 0;
  const look = async () => {
    if (Date.now() > askedAt + WORKED_MS) {
      await minute(worker);
      askedAt = Date.now();
    }
    return endOf(worker, one);
  };
  await expect.poll(look, { timeout: ENDS_WITHIN_MS, interval: 400 }).toEqual(end);
  worker.node.gate({});
  settled.push({ one, end });
}

test("nothing is paid again when the contract is checked again", async () => {
  const done = "status = 'done' and kind in ('payout', 'reserve')";
  rows(worker, `update chain_operations set next_check_at = ?, checks = 0 where ${done}`, Date.now());
  const unseen = async () => {
    await fireCron(worker.baseUrl);
    return rows(worker, `select kind, subject from chain_operations where ${done} and checks = 0`);
  };
  await expect.poll(unseen, { timeout: ENDS_WITHIN_MS, interval: WORKED_MS }).toEqual([]);
  for (const { one, end } of settled) expect(await endOf(worker, one)).toEqual(end);
});
