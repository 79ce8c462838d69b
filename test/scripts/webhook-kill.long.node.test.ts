// The Worker's runtime is killed (SIGKILL) while events are made, fanned out, delivered and replayed (EVT-24, EVT-25, EVT-31), each time a little
// later. After restarts and the minute's jobs, each event has reached each endpoint that answers, under one id and with one body, and a dead endpoint
// has delayed no other. test/webhooks/cuts.test.ts has each step by name.
import { afterAll, beforeAll, expect, test } from "vitest";
import { fireCron } from "../../scripts/local-worker.ts";
import { sleep } from "../../scripts/processes.ts";
import { checkEvent } from "../support/openapi.ts";
import { type Behaviour, type Received, startReceiver } from "../support/receiver.ts";
import { scaled } from "../support/scale.ts";
import { type KillableWorker, slowDown, startKillable } from "./killable-worker.ts";

const EVENTS = scaled(1_000);
const KILLS = Math.max(4, scaled(60));
const EACH = Math.ceil(EVENTS / KILLS);
const DONE_WITHIN_MS = 1_200_000;
/** Makes the batch of a POST take some hundredths of a second. */
const STEPS = 40_000;
const SWEEP_MS = 3_000;

const HEALTHY = ["one", "two", "three"];
const OTHERS: Readonly<Record<string, Behaviour[]>> = {
  flapping: [{ status: 500 }, { status: 200 }, { how: "close" }, { status: 200 }, { status: 503 }, {}],
  slow: [{ waitMs: 400 }],
  dead: [{ waitMs: 20_000 }],
};

let worker: KillableWorker;
let receiver: Awaited<ReturnType<typeof startReceiver>>;
const endpoints = new Map<string, string>();
let principalId = "";

beforeAll(async () => {
  [worker, receiver] = [await startKillable(), await startReceiver()];
  for (const name of [...HEALTHY, ...Object.keys(OTHERS)]) {
    const url = `${receiver.url}/of/${name}`;
    if (OTHERS[name]) await (await fetch(url, { method: "PUT", body: JSON.stringify(OTHERS[name]) })).text();
    const made = await worker.manage("/v1/webhooks", { url, event_types: ["agent.registered"] }, 201);
    endpoints.set(name, String(made["webhook_id"]));
  }
  const principal = { legal_name: "Acme GmbH", country: "DE", entity_type: "company", external_ref: "acme" };
  const made = await worker.manage(
    "/v1/principals",
    { ...principal, verification_attestation: { placeholder: true } },
    201,
  );
  principalId = String(made["principal_id"]);
  using database = worker.database("d1", "webhook_deliveries");
  slowDown(database, "insert on webhook_deliveries", STEPS);
});
afterAll(async () => {
  receiver.stop();
  await worker.close();
});

test(`${EVENTS} events, while the runtime is killed ${KILLS} times`, async ({ annotate }) => {
  const answers: (string | undefined)[] = [];
  for (let kill = 0; kill < KILLS; kill++) {
    // A runtime that has just started is slow at first, so that the kill would come before everything.
    answers.push(await register(-1));
    const calls = Array.from({ length: EACH }, (_, n) => register(n));
    const replayed = kill % 2 === 1 ? replay(itemOf(HEALTHY, kill)) : undefined;
    await sleep((kill / KILLS) * 50 * EACH);
    await worker.kill();
    answers.push(...(await Promise.all(calls)));
    await replayed;
    await worker.start();
    await sweep();
  }
  while (events().length < EVENTS) answers.push(await register(answers.length));
  const begun = Date.now();
  const missing = async () => {
    await sweep();
    await sleep(SWEEP_MS);
    const ids = events().map(({ id }) => id);
    const got = await Promise.all([...HEALTHY, "slow"].map(receivedBy));
    return ids.flatMap((id) => got.filter((each) => !each.some(({ headers }) => headers["webhook-id"] === id))).length;
  };
  await expect.poll(missing, { timeout: DONE_WITHIN_MS, interval: 100 }).toBe(0);
  await expect.poll(atRest, { timeout: DONE_WITHIN_MS, interval: SWEEP_MS }).toEqual({ replays: 0, waiting: 0 });
  const written = events();
  const told = new Set(written.map(({ did }) => did));
  expect(told.size).toBe(written.length);
  const made = answers.filter((did) => did !== undefined);
  expect(made.filter((did) => !told.has(did))).toEqual([]);
  const bodies = new Map<string, Set<string>>();
  let [sent, twice] = [0, 0];
  for (const name of [...HEALTHY, ...Object.keys(OTHERS)]) {
    const received = await receivedBy(name);
    sent += received.length;
    twice += received.length - new Set(received.map(({ headers }) => headers["webhook-id"])).size;
    for (const { headers, body } of received) {
      const id = String(headers["webhook-id"]);
      bodies.set(id, (bodies.get(id) ?? new Set()).add(body));
      const event = JSON.parse(body);
      expect(event.id).toBe(id);
      checkEvent(event);
    }
  }
  expect([...bodies.values()].filter(({ size }) => size !== 1)).toEqual([]);
  expect([...bodies.keys()].sort()).toEqual(written.map(({ id }) => id).sort());
  await annotate(
    `${written.length} events, ${answers.length - made.length} calls cut by a kill, ${sent} POSTs, ${twice} of them repeated, ${Date.now() - begun} ms behind the last kill`,
  );
});

// ---- The service --------------------------------------------------------------------------------------------------------

/** Returns the new agent's DID, unless a kill has cut the call. */
async function register(n: number): Promise<string | undefined> {
  const profile = { display_name: `Buyer ${n}`, description: "Buys." };
  const scope = { authorized_actions: ["purchase"], capabilities: ["translation"] };
  const body = { principal_id: principalId, economic_role: "CONSUMER", profile, scope };
  const made = await unlessCut(worker.manage("/v1/agents", { ...body, endpoint_url: "https://agent.example/v1" }, 201));
  return made && String(made["did"]);
}

const replay = (name: string) => {
  const since = new Date(Date.now() - 3_600_000).toISOString();
  return unlessCut(worker.manage(`/v1/webhooks/${endpoints.get(name)}/replay`, { since }, 200));
};

async function unlessCut<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (thrown) {
    if (thrown instanceof Error && /answered [45]/.test(thrown.message)) throw thrown;
    return undefined;
  }
}

/** Lets a minute pass: leases of dead runtimes end, and deliveries that wait for another attempt are due. */
async function sweep(): Promise<void> {
  rows("update webhook_queue set lease_until = 0");
  await fireCron(worker.baseUrl);
}

const receivedBy = async (name: string): Promise<Received[]> => (await fetch(`${receiver.url}/of/${name}`)).json();

// ---- The database -------------------------------------------------------------------------------------------------------

type Row = Record<string, unknown>;
function rows(text: string, ...values: string[]): Row[] {
  using database = worker.database("d1", "webhook_queue");
  return database
    .prepare(text)
    .all(...values)
    .map((row) => ({ ...row }));
}

const events = () =>
  rows("select id, object ->> 'did' as did from events where type = 'agent.registered'").map(({ id, did }) => ({
    id: String(id),
    did: String(did),
  }));

/** Counts what is left of replays, and of deliveries to endpoints that answer. */
async function atRest(): Promise<unknown> {
  await fireCron(worker.baseUrl);
  const healthy = JSON.stringify([...HEALTHY, "slow"].map((name) => endpoints.get(name)));
  const [left] = rows(
    `select (select count(*) from walks where kind = 'replay') as replays,
      (select count(*) from webhook_queue where webhook_id in (select value from json_each(?))) as waiting`,
    healthy,
  );
  return left;
}

function itemOf<T>(list: readonly T[], n: number): T {
  const item = list[n % list.length];
  if (item === undefined) throw new Error("an empty list");
  return item;
}
