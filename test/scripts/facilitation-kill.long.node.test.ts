// The Worker's runtime is killed (SIGKILL) during concurrent facilitations (FAC-11, FAC-13): while the node is asked, after its answer, inside the
// batch, and after the batch before the answer. After each restart the clients ask again, with the same proof or a fresh one, and may be killed
// again. Each payment is settled once, and each event is written once.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { settlementAbi } from "../../scripts/chain/abi.ts";
import { devAccounts } from "../../scripts/chain/anvil.ts";
import { createClient } from "../../scripts/chain/client.ts";
import { approve, mintTestUsdc, payIntent } from "../../scripts/chain/payments.ts";
import { type Agent, agentHeaders, boundHeaders, type Json, pickValue, send } from "../../scripts/client.ts";
import { fireCron } from "../../scripts/local-worker.ts";
import { sleep } from "../../scripts/processes.ts";
import { hashDid, hashIntent } from "../../src/chain/hashes.ts";
import { PROOF_WINDOW_SECONDS, SECOND_MS } from "../../src/core/limits.ts";
import type { RpcCall } from "./held-node.ts";
import { isWritten, type KillableWorker, seededNumbers, slowDown, startKillable } from "./killable-worker.ts";

/** The point that a facilitation had reached when its runtime died. */
const POINTS = ["asking the node", "answered by the node", "inside the batch", "after the batch"] as const;
type Point = (typeof POINTS)[number];
type Fate = Point | "before the node" | "answered";

/** Each kill waits, in turn, for one facilitation at each of these points at the same instant. */
const AIMS: readonly (readonly Point[])[] = [
  ["asking the node"],
  ["answered by the node", "inside the batch"],
  ["after the batch"],
  ["answered by the node"],
];
const PURCHASES = 500;
const KILLS = 40;
const EACH = Math.ceil(PURCHASES / KILLS);
/** Further kills, if a busy machine has missed a point. */
const MORE_KILLS = 12;
const MOST = PURCHASES + MORE_KILLS * EACH;
const AMOUNT = 10_000_000n;
/** Makes a batch take some hundredths of a second. */
const STEPS = 60_000;

const random = seededNumbers();

/** Two forms, and proofs of three kinds. Proofs that are bound to the provider are presented again unchanged. */
const WAYS = ["bound proof", "consumer", "provider", "payment, bound proof"] as const;
type Way = (typeof WAYS)[number];
type Proof = { readonly headers: Record<string, string>; readonly madeAt: number };
type Purchase = {
  readonly consumer: Agent;
  readonly intentId: string;
  readonly txHash: string;
  readonly way: Way;
  proof: Proof | null;
  answer: Json | null;
};

let worker: KillableWorker;
let provider: Agent;
let consumers: readonly Agent[];
const payer = devAccounts()[9];
if (!payer) throw new Error("anvil has no accounts");

beforeAll(async () => {
  worker = await startKillable();
  const { rpcUrl, token, contract } = worker.chain;
  await mintTestUsdc(rpcUrl, payer.privateKey, token, payer.address, AMOUNT * BigInt(MOST));
  await approve(rpcUrl, payer.privateKey, token, contract);
  provider = await worker.agent("PROVIDER");
  const market = {
    market: "GLOBAL-USDC",
    network: worker.chain.network,
    operational_wallet: devAccounts()[8]?.address,
  };
  await worker.manage(`/v1/agents/${provider.did}/scope/authorized_markets`, { markets: [market] }, 200);
  const first = await worker.agent("CONSUMER", { scope: SCOPE });
  const principal_id = principalOf(first);
  const delegate = await worker.agent("CONSUMER", { scope: SCOPE, principal_id, delegated_by: first.did });
  consumers = [first, delegate];
  using database = worker.database("d1", "transactions");
  slowDown(database, "insert on transactions", STEPS);
});
afterAll(() => worker.close());

const SCOPE = {
  authorized_actions: ["purchase"],
  capabilities: ["translation"],
  spending_limit: { amount: "1000000.00", currency: "USDC", window_days: 30 },
};

describe(`${PURCHASES} facilitations, while the runtime is killed ${KILLS} times`, () => {
  test("settle each payment once, and write each event once", async ({ annotate }) => {
    const landed: Record<Fate, number> = {
      "before the node": 0,
      "asking the node": 0,
      "answered by the node": 0,
      "inside the batch": 0,
      "after the batch": 0,
      answered: 0,
    };
    const purchases: Purchase[] = [];
    const missed = () => POINTS.filter((point) => landed[point] === 0);
    for (let kill = 0; kill < KILLS || (missed().length > 0 && kill < KILLS + MORE_KILLS); kill++) {
      const most = kill < KILLS ? PURCHASES : MOST;
      purchases.push(...(await buy(Math.min(EACH, most - purchases.length), purchases.length)));
      const fates = await killAmong(
        purchases.filter(({ answer }) => answer === null),
        kill < KILLS ? aimOf(kill) : missed().slice(0, 1),
      );
      for (const fate of fates) landed[fate] += 1;
      await worker.start();
    }
    await annotate(`${KILLS} kills met, by how far each facilitation under way had come: ${JSON.stringify(landed)}`);
    expect(missed()).toEqual([]);
    await Promise.all(purchases.filter(({ answer }) => answer === null).map(untilAnswered));
    expect(purchases.length).toBeGreaterThanOrEqual(PURCHASES);
    expectOnce(purchases);
    await expectSameAnswers(purchases);
    expectOnce(purchases);
    await expectVault(purchases.length);
  });
});

const aimOf = (kill: number): readonly Point[] => itemOf(AIMS, kill);

// ---- Purchases --------------------------------------------------------------------------------------------------------

/** Opens and pays intents. */
async function buy(count: number, before: number): Promise<Purchase[]> {
  const { rpcUrl, token, contract } = worker.chain;
  const bought: Purchase[] = [];
  for (let n = before; n < before + count; n++) {
    const consumer = itemOf(consumers, Math.floor(n / WAYS.length));
    const body = { consumer_did: consumer.did, provider_did: provider.did, amount: "10.00", currency: "USDC" };
    const sent = { method: "POST", path: "/v1/payment-intents", body };
    const open = async () => send(worker.baseUrl, sent, await agentHeaders(consumer, sent));
    let opened = await open();
    // Fires the cron, because the jobs have not read the chain for a while.
    while (opened.status === 503) {
      await fireCron(worker.baseUrl);
      opened = await open();
    }
    if (opened.status !== 201) throw new Error(`an intent was answered ${opened.status}: ${opened.text}`);
    const intentId = pickValue<string>(JSON.parse(opened.text), "intent_id");
    const txHash = await payIntent(rpcUrl, payer?.privateKey ?? "0x", {
      settlementContract: contract,
      token,
      amount: AMOUNT,
      providerDidHash: hashDid(provider.did),
      consumerDidHash: hashDid(consumer.did),
      intentHash: hashIntent(intentId),
    });
    bought.push({ consumer, intentId, txHash, way: itemOf(WAYS, n), proof: null, answer: null });
  }
  return bought;
}

const itemOf = <T>(items: readonly T[], n: number): T => {
  const item = items[n % items.length];
  if (item === undefined) throw new Error("nothing to choose from");
  return item;
};

type Answer = { readonly status: number; readonly body: Json };

/** Makes one call. Throws if the runtime dies before its answer. */
async function facilitate(purchase: Purchase): Promise<Answer> {
  const { consumer, intentId, txHash, way } = purchase;
  const { network } = worker.chain;
  const body =
    way === "payment, bound proof"
      ? { provider_did: provider.did, consumer_did: consumer.did, tx_hash: txHash, network }
      : { intent_id: intentId, payment_tx: txHash };
  const sent = { method: "POST", path: "/v1/facilitate", body };
  const reply = await send(worker.baseUrl, sent, await headersFor(purchase, sent));
  return { status: reply.status, body: JSON.parse(reply.text) as Json };
}

async function headersFor(purchase: Purchase, sent: { method: string; path: string; body: Json }) {
  const { consumer, way } = purchase;
  if (way === "consumer") return agentHeaders(consumer, sent);
  if (way === "provider") return agentHeaders(provider, sent);
  purchase.proof ??= { headers: await boundHeaders(consumer, provider), madeAt: Date.now() };
  return purchase.proof.headers;
}

/** Repeats the call if a busy machine could not ask the chain, and makes a new proof if the old one expired unused. Expects no other refusal. */
async function untilAnswered(purchase: Purchase): Promise<void> {
  for (;;) {
    const { status, body } = await facilitate(purchase);
    if (status === 200) {
      purchase.answer = body;
      return;
    }
    const late = purchase.proof !== null && Date.now() > purchase.proof.madeAt + PROOF_WINDOW_SECONDS * SECOND_MS;
    if (status === 401 && late) purchase.proof = null;
    else if (status !== 503) throw new Error(`a facilitation was answered ${status}: ${JSON.stringify(body)}`);
  }
}

// ---- The kill ---------------------------------------------------------------------------------------------------------

/** Starts all at once, and kills the runtime at the intended point, after some of them are done. Returns how far each had come. */
async function killAmong(purchases: readonly Purchase[], aim: readonly Point[]): Promise<Fate[]> {
  const node = new Map<string, Point>();
  const mark = (at: Point) => (calls: readonly RpcCall[]) => {
    for (const { params } of calls) if (typeof params[0] === "string") node.set(params[0], at);
  };
  // Long enough that some still ask when half of them are done.
  const within = aim.includes("asking the node") ? 1_500 : 60;
  const [asking, answered] = [mark("asking the node"), mark("answered by the node")];
  worker.node.gate({
    arrived: (calls) => {
      asking(calls);
      return sleep(random() * within);
    },
    passed: answered,
  });
  const refused: unknown[] = [];
  let [dead, under] = [false, purchases.length];
  const calls = purchases.map(async (purchase) => {
    try {
      await untilAnswered(purchase);
    } catch (thrown) {
      if (!dead) refused.push(thrown);
    } finally {
      under -= 1;
    }
  });
  const some = Math.floor(random() * (purchases.length / 2));
  while (purchases.filter(({ answer }) => answer !== null).length < some && under > 0) await sleep(1);
  let fates: Fate[] = [];
  for (;;) {
    await worker.freeze();
    fates = lookAt(purchases, node);
    if (aim.every((point) => fates.includes(point)) || under === 0) break;
    worker.thaw();
    await sleep(random() * 8);
  }
  dead = true;
  await worker.kill();
  await Promise.all(calls);
  worker.node.gate({});
  expect(refused).toEqual([]);
  return fates;
}

/** Finds how far each has come, in a frozen runtime. */
function lookAt(purchases: readonly Purchase[], node: ReadonlyMap<string, Point>): Fate[] {
  using database = worker.database("d1", "transactions", 0);
  const settled = new Set(rows(database, "select intent_id from transactions").map((row) => row["intent_id"]));
  const fates = purchases.map(({ intentId, txHash, answer }): Fate => {
    if (answer !== null) return "answered";
    return settled.has(intentId) ? "after the batch" : (node.get(txHash) ?? "before the node");
  });
  // The batch belongs to one of those that wait for the database; the batches of the others come after it.
  const waiting = fates.indexOf("answered by the node");
  return waiting >= 0 && isWritten(database) ? fates.with(waiting, "inside the batch") : fates;
}

// ---- The state at rest ------------------------------------------------------------------------------------------------

type Database = ReturnType<KillableWorker["database"]>;
const rows = (database: Database, text: string, ...values: string[]): Json[] =>
  database.prepare(text).all(...values) as Json[];

/** The principal of an agent that was just registered. */
function principalOf({ did }: Agent): string {
  using database = worker.database("d1", "agents");
  return String(rows(database, "select principal_id from agents where did = ?", did)[0]?.["principal_id"]);
}

/** Expects everything that a facilitation leaves, once for each payment. */
function expectOnce(purchases: readonly Purchase[]): void {
  using database = worker.database("d1", "transactions");
  const count = (text: string, ...values: string[]) => Number(rows(database, text, ...values)[0]?.["n"]);
  const total = purchases.length;
  for (const { intentId, txHash, answer } of purchases) {
    const [intent] = rows(database, "select status, transaction_id from payment_intents where intent_id = ?", intentId);
    const found = rows(database, "select transaction_id, tx_hash from transactions where intent_id = ?", intentId);
    const id = answer?.["transaction_id"];
    expect([intent, found]).toEqual([
      { status: "SETTLED", transaction_id: id },
      [{ transaction_id: id, tx_hash: txHash }],
    ]);
  }
  const events = rows(
    database,
    `select type, json_extract(object, '$.intent_id') as intent_id, count(*) as n from events
     where type in ('transaction.settled', 'task.opened', 'intent.paid') group by 1, 2`,
  );
  expect(events.filter(({ n }) => n !== 1)).toEqual([]);
  const written = (type: string) => events.filter((event) => event["type"] === type).length;
  const spending = consumers.map(({ did }) => did);
  expect({
    settled: written("transaction.settled"),
    opened: written("task.opened"),
    receipts: count("select count(*) n from receipts"),
    tasks: count("select count(*) n from tasks"),
    holds: count("select count(*) n from spend_holds"),
    reached: count(
      "select count(*) n from events where type = 'agent.escrow_state_changed' and agent_did = ?",
      provider.did,
    ),
    purses: spending.map((did) => rows(database, "select settled, open from spend_sums where did = ?", did)),
    spent: spending.map((did) => count("select count(*) n from spend_ledger where did = ?", did)),
  }).toEqual({
    settled: total,
    opened: total,
    receipts: total,
    tasks: total,
    holds: 0,
    reached: 1,
    // The delegator's window counts the spending of its delegate.
    purses: [total, ofDelegate(purchases)].map((n) => [{ settled: n * Number(AMOUNT), open: 0 }]),
    spent: [total, ofDelegate(purchases)],
  });
}

const ofDelegate = (purchases: readonly Purchase[]): number =>
  purchases.filter(({ consumer }) => consumer === consumers[1]).length;

/** Expects that a lost answer equals the later one, even under a fresh proof. */
async function expectSameAnswers(purchases: readonly Purchase[]): Promise<void> {
  for (const purchase of purchases) {
    const { status, body } = await facilitate({ ...purchase, proof: null });
    expect([status, body]).toEqual([200, purchase.answer]);
  }
}

/** Expects that the vault's balance that counts, its lines, and the contract's balance are equal. */
async function expectVault(settlements: number): Promise<void> {
  const { rpcUrl, contract, token } = worker.chain;
  await fireCron(worker.baseUrl);
  const args = [hashDid(provider.did), token] as const;
  const call = { address: contract, abi: settlementAbi, functionName: "escrowBalance", args } as const;
  const held = Number(await createClient(rpcUrl).readContract(call));
  const counted = () => {
    using database = worker.database("d1", "ledger_lines");
    const [lines] = rows(
      database,
      "select count(*) lines, sum(amount <> 0) n, sum(amount) held from ledger_lines where did = ?",
      provider.did,
    );
    const [parts] = rows(database, "select count(*) parts, sum(escrow) paid from transactions where escrow > 0");
    const [escrow] = rows(database, "select balance, state from escrows where did = ?", provider.did);
    return { ...parts, ...lines, ...escrow };
  };
  // Once the vault has reached its threshold, settlements add nothing to it, but each has its line.
  const parts = Number(counted().parts);
  const expected = { parts, lines: settlements, n: parts, paid: held, held, balance: held, state: "ACTIVE" };
  await expect.poll(counted, { timeout: 1_200_000 }).toEqual(expected);
}
