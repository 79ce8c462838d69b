// One or two answers of a node are altered, left out, doubled or late, with one node and with two (CHN-24, CHN-30, FAC-18, FAC-20). No more than the
// chain holds ever counts, no payment is refused for good, and a lie with an effect is reported within two minutes. A forged receipt with a forged
// balance, below `ask_twice_from`, counts until the next reading. Only this file uses the network `lab-lied`.
import fc from "fast-check";
import { afterAll, beforeAll, expect, it } from "vitest";
import { asProvider } from "../facilitation/support.ts";
import { deposit, rows } from "../promotion/support.ts";
import { chainOf, honestNode, networksWith, payOnChain, spoil } from "../support/chain.ts";
import { forgedLog, forgedReceipt } from "../support/forged.ts";
import { labOf } from "../support/lab.ts";
import { scaled } from "../support/scale.ts";
import type { Spoil } from "../support/spoiling-node.ts";
import { type Agent, createWorld, expectStatus, type Json, type World } from "../support/world.ts";
import { bookedOf, escrowOf, followOnce, heldBy } from "./support.ts";

const LAB = "lab-lied";
const UNIT = 1_000_000;
const { lab, mine } = labOf(LAB);

/** The liar is the only node, the first of two, or the second. */
const NODES = ["alone", "first", "second"] as const;
type Nodes = (typeof NODES)[number];
type Parties = { readonly world: World; readonly provider: Agent; readonly consumer: Agent };

const parties: Partial<Record<Nodes, Parties>> = {};
beforeAll(async () => {
  const networks = (more: Json) =>
    JSON.stringify(
      (JSON.parse(networksWith(LAB)) as Json[]).map((one) => (one.network === LAB ? { ...one, ...more } : one)),
    );
  const [liar, honest] = [chainOf(LAB).rpc_url, honestNode(LAB)];
  const configured: Record<Nodes, Json> = {
    alone: {},
    first: { fallback_rpc_url: honest },
    second: { rpc_url: honest, fallback_rpc_url: liar },
  };
  for (const nodes of NODES) {
    const world = await createWorld({ NETWORKS: networks(configured[nodes]) });
    const [consumer, provider] = [await world.consumer(), await world.provider({}, "GLOBAL-USDC", LAB)];
    parties[nodes] = { world, consumer, provider };
  }
});
afterAll(() => spoil(LAB));

// ---- Lies ----------------------------------------------------------------------------------------------------------------

const RECEIPT = "eth_getTransactionReceipt";
const LIES = [
  "gross",
  "no receipt",
  "reverted",
  "no logs",
  "doubled logs",
  "forged logs",
  "head ahead",
  "head behind",
] as const;
const MORE = ["balance more", "balance less", "other hash", "refused", "lost", "head lost", "balance lost"] as const;
type Lie = (typeof LIES)[number] | (typeof MORE)[number];

/** How the node answers the next `times` questions instead. `gross`: the amount that a forged payment claims. */
async function spoilOf(lie: Lie, tx: string, times: number, gross: number): Promise<Spoil> {
  const answer = (method: string, result: unknown, first?: unknown): Spoil => ({
    ...{ method, times, how: "answer", result },
    ...(first !== undefined && { first }),
  });
  const receipt = await lab(RECEIPT, tx);
  const claimed = { gross, escrow: 5 * UNIT, held: 5 * UNIT };
  const head = Number(await lab("eth_blockNumber"));
  const hex = (number: number) => `0x${number.toString(16)}`;
  const word = (units: number) => `0x${units.toString(16).padStart(64, "0")}`;
  const logs = async (): Promise<Json[]> =>
    (await lab("eth_getLogs", { address: receipt.to, fromBlock: receipt.blockNumber, toBlock: "latest" })) as never;
  switch (lie) {
    case "gross":
      return answer(RECEIPT, forgedReceipt(receipt, claimed), tx);
    case "no receipt":
      return answer(RECEIPT, null, tx);
    case "reverted":
      return answer(RECEIPT, { ...receipt, status: "0x0", logs: [] }, tx);
    case "no logs":
      return answer("eth_getLogs", []);
    case "doubled logs":
      return answer(
        "eth_getLogs",
        (await logs()).flatMap((log) => [log, log]),
      );
    case "forged logs":
      return answer(
        "eth_getLogs",
        (await logs()).map((log) => forgedLog(log, claimed)),
      );
    case "head ahead":
      return answer("eth_blockNumber", hex(head + 50));
    case "head behind":
      return answer("eth_blockNumber", hex(head - 2));
    case "balance more":
      return answer("eth_call", word(50 * UNIT));
    case "balance less":
      return answer("eth_call", word(1));
    case "other hash":
      return answer("eth_getBlockByNumber", {
        ...(await lab("eth_getBlockByNumber", hex(head), false)),
        hash: word(186),
      });
    case "refused":
      return { method: "eth_getLogs", times, how: "refuse", message: "too many" };
    case "lost":
      return { method: RECEIPT, first: tx, times, how: "lose" };
    case "head lost":
      return { method: "eth_blockNumber", times, how: "lose_answer" };
    case "balance lost":
      return { method: "eth_call", times, how: "lose" };
  }
}

// ---- Effects of the lies -------------------------------------------------------------------------------------------------

/**
 * Answers, records and bookings that differ from the chain, and the alerts that report them. By lie:
 * - `gross`, `reverted`: a settlement that does not exist (`recorded`), or a refusal of one that does (`refused`);
 * - `no logs`, `forged logs`, `gross` with them, `balance more`: lines of movements that never were, or were different (`booked`);
 * - `balance less`: a part of an escrow that does not count yet (`uncovered`).
 * The others have no effect. After `no receipt`, `refused`, a head that is too low and lost answers the caller comes again. `doubled logs` are read
 * once, by their receipt, and earlier logs are left out. `head ahead` takes a true payment before it is deep, which only a reorg can undo. `other
 * hash` is not believed where all blocks differ; where only some do, blocks are undone and read again (`booked`).
 */
const TOLD = {
  recorded: ["settlement_reversed"],
  uncovered: ["reconciliation"],
  // The parties hear of a wrong refusal by `intent.paid`, as soon as the follower reads the payment. If a node hides the payment, the operator gets
  // the alert about money in the vault without an event.
  refused: ["network", "intent.paid", "reconciliation"],
  booked: ["network", "chain_reorganised", "reconciliation"],
} as const;
type Effect = keyof typeof TOLD;
/** A minute has one run of the follower. */
const MINUTES = 2;

/** The minutes of a play in which each effect was first there, and first reported. */
class Watch {
  minute = 0;
  /** The last minute in which the node lied. */
  lied = 0;
  readonly #effects = new Map<Effect, number>();
  readonly #told = new Map<string, number>();

  found(effect: Effect): void {
    if (!this.#effects.has(effect)) this.#effects.set(effect, this.minute);
  }
  has = (effect: Effect): boolean => this.#effects.has(effect);
  told(what: string): void {
    if (!this.#told.has(what)) this.#told.set(what, this.minute);
  }
  /** The effects that were not reported within two minutes of them and of the truth. */
  silent(): Effect[] {
    const told = (what: string) => this.#told.get(what) ?? Number.POSITIVE_INFINITY;
    return [...this.#effects].flatMap(([effect, at]) =>
      Math.min(...TOLD[effect].map(told)) > Math.max(at, this.lied) + MINUTES ? [effect] : [],
    );
  }
}

// ---- A purchase among them -----------------------------------------------------------------------------------------------

type Play = {
  readonly nodes: Nodes;
  readonly lies: readonly (readonly [lie: Lie, times: number])[];
  /** When the node lies: at the facilitation, while its blocks are read, or at both. */
  readonly when: "facilitating" | "reading" | "both";
  readonly readFirst: boolean;
  /** The payment is for less than its intent, and a forged one claims all of it. */
  readonly isLess: boolean;
};
const lie = fc.tuple(fc.constantFrom<Lie>(...LIES, ...MORE), fc.constantFrom(1, 2, 3, 99));
const play: fc.Arbitrary<Play> = fc.record({
  nodes: fc.constantFrom(...NODES),
  lies: fc.uniqueArray(lie, { minLength: 1, maxLength: 2, selector: ([one]) => one }),
  when: fc.constantFrom("facilitating", "reading", "both"),
  readFirst: fc.boolean(),
  isLess: fc.boolean(),
});

/** Expects that the balance does not exceed what the vault holds. */
async function expectCovered(did: string, where: string): Promise<void> {
  const escrow = await escrowOf(did);
  const held = await heldBy(did, LAB);
  expect([where, escrow.balance <= held]).toEqual([where, true]);
}

const FINAL = ["settlement_verification_failed", "amount_mismatch", "intent_expired"];
const DEPOSITED = 1_000;

async function run({ nodes, lies, when, readFirst, isLess }: Play): Promise<void> {
  const { world, provider, consumer } = parties[nodes] as Parties;
  const { did } = provider;
  await mine(3);
  for (let n = 0; n < 3; n++) await followOnce(world, LAB);
  await rows("delete from alerts");
  const before = await escrowOf(did);
  const [heldBefore, from] = [await heldBy(did, LAB), Number(await lab("eth_blockNumber"))];
  await deposit(did, DEPOSITED, LAB);
  const intent = await world.intent(consumer, provider, "10.00", { network: LAB });
  const really = isLess ? 70_000 : 10 * UNIT;
  const tx = await payOnChain(consumer.did, did, really, { intentId: intent.intent_id, network: LAB });
  await mine(3);
  const held = await heldBy(did, LAB);
  const escrowed = held - heldBefore - DEPOSITED;

  const watch = new Watch();
  /** Looks for effects, and for reports of them. */
  const look = async (): Promise<void> => {
    const lines = await rows("select * from ledger_lines where did = ? and block_number > ?", did, from);
    const isSo = ({ kind, amount, log_index, tx_hash, held: after }: Json): boolean =>
      kind === "deposit"
        ? log_index >= 0 && amount === DEPOSITED && after === heldBefore + DEPOSITED
        : kind === "settlement" && tx_hash === tx && amount === escrowed && after === held;
    if (!lines.every(isSo)) watch.found("booked");
    const recorded = await rows("select gross, uncounted from transactions where tx_hash = ?", tx);
    if (recorded.some(({ gross }) => gross !== really)) watch.found("recorded");
    if (recorded.some(({ gross, uncounted }) => gross === really && uncounted > 0)) watch.found("uncovered");
    for (const { kind } of await rows("select kind from alerts")) watch.told(kind);
    const paid = "select 1 from events where type = 'intent.paid' and object ->> 'intent_id' = ?";
    if ((await rows(paid, intent.intent_id)).length > 0) watch.told("intent.paid");
  };
  const minute = async (): Promise<void> => {
    watch.minute += 1;
    await followOnce(world, LAB);
    await look();
  };
  const begin = async () => {
    const forged = isLess ? 10 * UNIT : 50 * UNIT;
    await spoil(LAB, ...(await Promise.all(lies.map(([one, times]) => spoilOf(one, tx, times, forged)))));
  };
  const end = async () => {
    await spoil(LAB);
    watch.lied = watch.minute;
  };

  const purchase = { provider, consumer, intent, tx };
  const read = async () => {
    if (when !== "facilitating") await begin();
    for (let n = 0; n < 2; n++) await minute();
    await end();
  };
  if (readFirst) await read();
  if (when !== "reading") await begin();
  const first = await asProvider(world, purchase);
  if (!isLess && FINAL.includes(first.body.code)) watch.found("refused");
  await end();
  await look();
  const told = new Set(when === "reading" ? [] : lies.map(([one]) => one));
  if (!(isLess && told.has("gross") && told.has("balance more"))) await expectCovered(did, "facilitated");
  if (!readFirst) await read();

  // Two minutes of the truth.
  for (let n = 0; n < 3; n++) {
    await mine(1);
    await minute();
  }
  await expectCovered(did, "read");
  const last = await asProvider(world, purchase);
  for (let n = 0; n < 2; n++) {
    await mine(3);
    await minute();
  }
  // The payment counts once, whatever the lies, and a first answer that accepted it stands.
  const standing = await rows("select * from transactions where tx_hash = ? and reversed_at is null", tx);
  if (isLess) expect([last.status, last.body.code, standing]).toEqual([409, "amount_mismatch", []]);
  else {
    expectStatus(last, 200);
    expect(standing).toMatchObject([{ transaction_id: last.body.transaction_id, gross: really, uncounted: 0 }]);
  }
  const escrow = await escrowOf(did);
  // A settlement that a node has left out twice is a deposit, with an alert, until it is facilitated.
  const settled = DEPOSITED + escrowed;
  expect([isLess ? DEPOSITED : settled, ...(watch.has("booked") ? [settled] : [])]).toContain(
    escrow.balance - before.balance,
  );
  expect((await bookedOf(did)).at(-1)?.[2]).toBe(held);
  expect(watch.silent()).toEqual([]);
}

/** Run before the random cases: lies that last for two readings, and a forged payment that binds an intent. */
const FIRST: [Play][] = [
  ...([[["balance more", 99]], [["balance less", 99]], [["no logs", 99]]] as const).map((lies): [Play] => [
    { nodes: "alone", lies, when: "both", readFirst: false, isLess: false },
  ]),
  ...NODES.map((nodes): [Play] => [
    {
      nodes,
      lies: [
        ["gross", 2],
        ["forged logs", 1],
      ],
      when: "reading",
      readFirst: true,
      isLess: true,
    },
  ]),
];

it("credits nothing without money, refuses nothing for good, and reports within two minutes, whichever one or two lies a node tells", async () => {
  const property = fc.asyncProperty(play, run);
  await fc.assert(property, { seed: 20_270_301, numRuns: scaled(2_000), endOnFailure: true, examples: FIRST });
});
