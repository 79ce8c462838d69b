// Any one or two answers of a node altered, left out, doubled or late, with one node and with two (CHN-24, CHN-30, FAC-18, FAC-20): what counts is
// never more than what the chain holds once it was read, no payment is refused for good, and a lie that had an effect is told. The network
// `lab-lied` belongs to this file alone.
import fc from "fast-check";
import { afterAll, beforeAll, expect, it } from "vitest";
import { asProvider } from "../facilitation/support.ts";
import { deposit, rows } from "../promotion/support.ts";
import { honestNode, networksWith, payOnChain, spoil } from "../support/chain.ts";
import { forgedLog, forgedReceipt } from "../support/forged.ts";
import { labOf } from "../support/lab.ts";
import { scaled } from "../support/scale.ts";
import type { Spoil } from "../support/spoiling-node.ts";
import { type Agent, createWorld, expectStatus, type Json, type World } from "../support/world.ts";
import { bookedOf, escrowOf, followOnce, heldBy } from "./support.ts";

const LAB = "lab-lied";
const UNIT = 1_000_000;
const { lab, mine } = labOf(LAB);

let alone: World;
let backed: World;
let parties: Readonly<Record<"alone" | "backed", { provider: Agent; consumer: Agent }>>;
beforeAll(async () => {
  const networks = (more: Json) =>
    JSON.stringify(
      (JSON.parse(networksWith(LAB)) as Json[]).map((one) => (one.network === LAB ? { ...one, ...more } : one)),
    );
  alone = await createWorld({ NETWORKS: networks({}) });
  backed = await createWorld({ NETWORKS: networks({ fallback_rpc_url: honestNode(LAB) }) });
  const pair = async (world: World) => ({
    consumer: await world.consumer(),
    provider: await world.provider({}, "GLOBAL-USDC", LAB),
  });
  parties = { alone: await pair(alone), backed: await pair(backed) };
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
const MORE = ["balance more", "balance less", "other hash", "refused", "lost"] as const;
type Lie = (typeof LIES)[number] | (typeof MORE)[number];

/** How the node answers instead, for so many of the next questions. */
async function spoilOf(lie: Lie, tx: string, times: number): Promise<Spoil> {
  const answer = (method: string, result: unknown, first?: unknown): Spoil => ({
    ...{ method, times, how: "answer", result },
    ...(first !== undefined && { first }),
  });
  const receipt = await lab(RECEIPT, tx);
  const claimed = { gross: 50 * UNIT, escrow: 5 * UNIT, held: 5 * UNIT };
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
  }
}

// ---- A purchase among them -----------------------------------------------------------------------------------------------

type Play = {
  readonly nodes: "alone" | "backed";
  readonly lies: readonly (readonly [lie: Lie, times: number])[];
  /** When the node lies: at the facilitation, while its blocks are read, or at both. */
  readonly when: "facilitating" | "reading" | "both";
  readonly readFirst: boolean;
};
const lie = fc.tuple(fc.constantFrom<Lie>(...LIES, ...MORE), fc.constantFrom(1, 2, 3, 99));
const play: fc.Arbitrary<Play> = fc.record({
  nodes: fc.constantFrom("alone", "backed"),
  lies: fc.uniqueArray(lie, { minLength: 1, maxLength: 2, selector: ([one]) => one }),
  when: fc.constantFrom("facilitating", "reading", "both"),
  readFirst: fc.boolean(),
});

/** No more counts than the vault holds, and every line is of something that is so. */
async function expectCovered(did: string, where: string): Promise<void> {
  const escrow = await escrowOf(did);
  const held = await heldBy(did, LAB);
  expect([where, escrow.balance <= held]).toEqual([where, true]);
}

async function run({ nodes, lies, when, readFirst }: Play): Promise<void> {
  const world = nodes === "alone" ? alone : backed;
  const { provider, consumer } = parties[nodes];
  await mine(3);
  for (let n = 0; n < 3; n++) await followOnce(world, LAB);
  await rows("delete from alerts");
  const before = await escrowOf(provider.did);
  const heldBefore = await heldBy(provider.did, LAB);
  await deposit(provider.did, 1_000, LAB);
  const intent = await world.intent(consumer, provider, "10.00", { network: LAB });
  const tx = await payOnChain(consumer.did, provider.did, 10 * UNIT, { intentId: intent.intent_id, network: LAB });
  await mine(3);
  const begin = async () => spoil(LAB, ...(await Promise.all(lies.map(([one, times]) => spoilOf(one, tx, times)))));

  const purchase = { provider, consumer, intent, tx };
  const read = async () => {
    if (when !== "facilitating") await begin();
    for (let n = 0; n < 2; n++) await followOnce(world, LAB);
    await spoil(LAB);
  };
  if (readFirst) await read();
  if (when !== "reading") await begin();
  const first = await asProvider(world, purchase);
  await spoil(LAB);
  await expectCovered(provider.did, "facilitated");
  if (!readFirst) await read();

  // Two minutes of the truth.
  for (let n = 0; n < 3; n++) {
    await mine(1);
    await followOnce(world, LAB);
  }
  const held = await heldBy(provider.did, LAB);
  await expectCovered(provider.did, "read");
  const settled = expectStatus(await asProvider(world, purchase), 200);
  for (let n = 0; n < 2; n++) {
    await mine(3);
    await followOnce(world, LAB);
  }
  // It counts once, whatever was told, and the first answer stands where it was one.
  const [row] = await rows(
    "select * from transactions where transaction_id = ? and reversed_at is null",
    settled.transaction_id,
  );
  expect(row).toMatchObject({ gross: 10 * UNIT, uncounted: 0 });
  const escrow = await escrowOf(provider.did);
  expect(escrow.balance - before.balance).toBe(held - heldBefore);
  expect((await bookedOf(provider.did)).at(-1)?.[2]).toBe(held);
  // What was recorded by a lie is told.
  if (first.status === 200 && first.body.transaction_id !== settled.transaction_id)
    expect(await rows("select 1 from alerts where kind = 'settlement_reversed'")).toHaveLength(1);
}

it("one or two lies at a time credit nothing without money and refuse nothing for good", async () => {
  await fc.assert(fc.asyncProperty(play, run), { seed: 20_270_301, numRuns: scaled(2_000), endOnFailure: true });
});
