// The Worker's runtime is killed (SIGKILL) after the commit of a sandbox's new offset, and while due rows are recorded (ACC-28). After a restart the
// minute's sweep records the rest, each row and each event once.
import type { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { devAccounts } from "../../scripts/chain/anvil.ts";
import { approve, mintTestUsdc, payIntent } from "../../scripts/chain/payments.ts";
import { type Agent, agentHeaders, type Json, pickValue, send } from "../../scripts/client.ts";
import { fireCron } from "../../scripts/local-worker.ts";
import { sleep } from "../../scripts/processes.ts";
import { hashDid, hashIntent } from "../../src/chain/hashes.ts";
import { type KillableWorker, slowDown, startKillable } from "./killable-worker.ts";

const DONE_WITHIN_MS = 1_200_000;
const SWEEP_MS = 20_000;
const FOUR_DAYS_S = 4 * 24 * 3_600;
const AMOUNT = 10_000_000n;
/** The number of tasks, and of intents, for each kill. */
const DUE = 40;
/** Makes the batch of each task and each intent take some hundredths of a second. */
const STEPS = 60_000;

/** The numbers of recorded rows when the runtime died. */
type Recorded = { readonly moved: number; readonly tasks: number; readonly intents: number };
const KILLS: readonly (readonly [when: string, reached: (recorded: Recorded) => boolean])[] = [
  ["after the commit of the offset", () => true],
  ["among the tasks", ({ tasks }) => tasks >= DUE / 4],
  ["among the intents", ({ intents }) => intents >= DUE / 4],
];

let worker: KillableWorker;
let provider: Agent;
let consumer: Agent;
const payer = devAccounts()[9];
if (!payer) throw new Error("anvil has no accounts");

beforeAll(async () => {
  worker = await startKillable();
  const { rpcUrl, token, contract, network } = worker.chain;
  await mintTestUsdc(rpcUrl, payer.privateKey, token, payer.address, AMOUNT * BigInt(KILLS.length));
  await approve(rpcUrl, payer.privateKey, token, contract);
  [provider, consumer] = [await worker.agent("PROVIDER"), await worker.agent("CONSUMER")];
  const market = { market: "GLOBAL-USDC", network, operational_wallet: devAccounts()[8]?.address };
  await worker.manage(`/v1/agents/${provider.did}/scope/authorized_markets`, { markets: [market] }, 200);
  using database = worker.database("d1", "events");
  slowDown(database, "insert on events when new.type in ('task.closed', 'intent.abandoned')", STEPS);
});
afterAll(() => worker.close());

describe("an advance, when the runtime is killed", () => {
  test.each(KILLS.map((kill, n) => [...kill, n + 1] as const))("%s", async (_when, reached, kills) => {
    await fallDue();
    const recorded = await killWhere(reached);
    expect(recorded.moved).toBe(kills);
    expect(recorded.tasks + recorded.intents).toBeLessThan(2 * DUE);
    await worker.start();
    let sweptAt = 0;
    const left = async () => {
      // The minute's trigger: a run whose node answers too late leaves intents to the next.
      if (Date.now() > sweptAt + SWEEP_MS) {
        await fireCron(worker.baseUrl);
        sweptAt = Date.now();
      }
      return unrecorded();
    };
    await expect.poll(left, { timeout: DONE_WITHIN_MS, interval: 200 }).toBe(0);
    expectOnce(kills);
  });
});

// ---- The due rows -----------------------------------------------------------------------------------------------------

type Row = Record<string, unknown>;
const rowsIn = (database: DatabaseSync, text: string, ...values: (string | number)[]): Row[] =>
  database.prepare(text).all(...values);
function rows(text: string, ...values: (string | number)[]): Row[] {
  using database = worker.database("d1", "events");
  return rowsIn(database, text, ...values).map((row) => ({ ...row }));
}

async function as(path: string, body: Json, status: number): Promise<Json> {
  const sent = { method: "POST", path, body };
  const reply = await send(worker.baseUrl, sent, await agentHeaders(consumer, sent));
  if (reply.status !== status) throw new Error(`${path} answered ${reply.status}: ${reply.text}`);
  return JSON.parse(reply.text) as Json;
}

async function openIntent(): Promise<string> {
  // Fires the cron, because the jobs have not read the chain for a while.
  await fireCron(worker.baseUrl);
  const body = { consumer_did: consumer.did, provider_did: provider.did, amount: "10.00", currency: "USDC" };
  return pickValue<string>(await as("/v1/payment-intents", body, 201), "intent_id");
}

/** Creates open tasks and open intents: makes one of each, and copies its rows. */
async function fallDue(): Promise<void> {
  const { rpcUrl, token, contract } = worker.chain;
  const paid = await openIntent();
  const payment_tx = await payIntent(rpcUrl, payer?.privateKey ?? "0x", {
    settlementContract: contract,
    token,
    amount: AMOUNT,
    providerDidHash: hashDid(provider.did),
    consumerDidHash: hashDid(consumer.did),
    intentHash: hashIntent(paid),
  });
  const taskId = pickValue<string>(await as("/v1/facilitate", { intent_id: paid, payment_tx }, 200), "task_id");
  const intentId = await openIntent();
  const numbered = (...columns: string[]) =>
    Object.fromEntries(columns.map((column) => [column, `m.${column} || '-' || n`]));
  using database = worker.database("d1", "events");
  const ofTask = numbered("task_id", "transaction_id");
  copy(database, "transactions", `task_id = '${taskId}'`, {
    ...ofTask,
    ...numbered("intent_id"),
    log_index: "m.log_index + n",
  });
  copy(database, "tasks", `task_id = '${taskId}'`, ofTask);
  copy(database, "payment_intents", `intent_id = '${intentId}'`, numbered("intent_id", "intent_hash"));
}

function copy(database: DatabaseSync, table: string, where: string, vary: Readonly<Record<string, string>>): void {
  const names = rowsIn(database, "select name from pragma_table_info(?)", table).map(({ name }) => String(name));
  database.exec(`insert into ${table} (${names.join(", ")})
    with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < ${DUE - 1})
    select ${names.map((name) => vary[name] ?? `m.${name}`).join(", ")} from (select * from ${table} where ${where}) m, numbers`);
}

// ---- The kill ---------------------------------------------------------------------------------------------------------

const RECORDED = `select
  (select count(*) from activity_entries where action = 'sandbox.clock_advanced') as moved,
  (select count(*) from tasks where status = 'auto_confirmed') as tasks,
  (select count(*) from payment_intents where status = 'ABANDONED') as intents`;

/** Freezes the runtime of an advance once its offset is committed and enough is recorded, and kills it. Returns the recorded numbers. */
async function killWhere(reached: (recorded: Recorded) => boolean): Promise<Recorded> {
  const [before] = rows(RECORDED) as unknown as [Recorded];
  let [dead, refused] = [false, null as unknown];
  const answered = worker.manage("/v1/sandbox/clock/advance", { seconds: FOUR_DAYS_S }, 200).catch((thrown) => {
    if (!dead) refused = thrown;
  });
  using database = worker.database("d1", "events");
  const look = (): Recorded => {
    const [now] = rowsIn(database, RECORDED) as unknown as [Recorded];
    return { moved: now.moved, tasks: now.tasks - before.tasks, intents: now.intents - before.intents };
  };
  for (;;) {
    const seen = look();
    if (refused !== null) throw refused;
    if (seen.moved > before.moved && reached(seen)) break;
    await sleep(1);
  }
  await worker.freeze();
  const left = look();
  dead = true;
  await worker.kill();
  await answered;
  return left;
}

// ---- The state at rest ------------------------------------------------------------------------------------------------

const unrecorded = (): unknown =>
  rows(`select (select count(*) from tasks where status = 'open')
    + (select count(*) from payment_intents where status = 'OPEN' or (status = 'ABANDONED' and abandon_rated = 0)) as n`)[0]?.[
    "n"
  ];

/** Expects, for each task and each intent of so many advances, everything that its end leaves. */
function expectOnce(advances: number): void {
  const due = advances * DUE;
  const told = (type: string, id: string) =>
    rows(
      `select count(*) as objects, max(n) as times from (select count(*) as n from events where type = ? group by object ->> ?)`,
      type,
      id,
    )[0];
  const interactions = (agent: Agent) => rows("select rating_interactions as n from agents where did = ?", agent.did);
  expect({
    offset: rows("select clock_offset_ms as ms from platforms where clock_offset_ms > 0"),
    late: rows("select * from tasks where closed_at <> confirm_by"),
    tasks: told("task.closed", "task_id"),
    intents: told("intent.abandoned", "intent_id"),
    rated: [interactions(provider), interactions(consumer)],
  }).toEqual({
    offset: [{ ms: advances * FOUR_DAYS_S * 1_000 }],
    late: [],
    tasks: { objects: due, times: 1 },
    intents: { objects: due, times: 1 },
    rated: [[{ n: due }], [{ n: due }]],
  });
}
