// The table of consequences (test/consequences/table.ts): every operation and job has a row, and each case of each row is played on the real service
// and compared with the tables before and after it (EVT-3, EVT-5, EVT-7, DIR-1). After each case, the facts that an agent's row repeats must be true.
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ROUTES } from "../../src/app.ts";
import { JOBS, SUBSCRIBERS } from "../../src/cron.ts";
import type { Route } from "../../src/http/route.ts";
import { handOnJob } from "../../src/jobs/tend.ts";
import { recordEvent } from "../../src/journal/events.ts";
import { unpackJws } from "../../src/protocol/jws.ts";
import { RECEIPT_TYPE } from "../../src/protocol/receipt.ts";
import { strayAgents } from "../support/agent-rows.ts";
import { expectedOf, observe } from "../support/consequences.ts";
import { checkEvents } from "../support/events.ts";
import { madeUp } from "../support/openapi.ts";
import { takeSnapshot } from "../support/snapshot.ts";
import { startEmpty } from "../support/storage.ts";
import { createWorld, env, type Json } from "../support/world.ts";
import { PLAYS } from "./plays/all.ts";
import { type Stage, store } from "./plays/stage.ts";
import {
  JOB_CONSEQUENCES,
  MESSAGE_CONSEQUENCES,
  OPERATION_CONSEQUENCES,
  READING_POSTS,
  RUNNING_CONSEQUENCES,
} from "./table.ts";

const ROWS = {
  ...OPERATION_CONSEQUENCES,
  ...JOB_CONSEQUENCES,
  ...MESSAGE_CONSEQUENCES,
  ...RUNNING_CONSEQUENCES,
};
/**
 * Cases that are played elsewhere: in test/markets/waiting-consequences.test.ts, test/markets/delayed-wallets.test.ts and
 * test/follower/wallets.test.ts, which have chains of their own, in event-list.test.ts, in test/webhooks/fan-out.test.ts, and below.
 */
const ELSEWHERE: ReadonlySet<string> = new Set([
  "authorizeMarkets: the registrar has no gas",
  "provision_market: the registrar has no gas",
  "watch_registrations: the contract has a wallet that no market has requested",
  "provision_market: a wallet that was not requested stays until the delay is over",
  "provision_market: another wallet waits for the contract's delay",
  "provision_market: the change was cancelled on-chain",
  "provision_market: the delay is over",
  "provision_market: no block takes the transaction",
  "provision_market: the network's fees are above the bound",
  "tend_signers: a transaction has waited for five minutes",
  "tend_arbiters: a transaction has waited for five minutes",
  "tend_signers: the node is of another chain",
  "tend_arbiters: the node is of another chain",
  "hand_on_events: there are new events",
  "prune_events: events are older than 30 days",
  "fan_out_events: an endpoint selects a new event",
]);

const CASES = Object.entries(ROWS).flatMap(([name, rows]) =>
  rows.map((row) => [`${name}: ${row.when}`, name, row] as const),
);

let stage: Stage;
/** Agents whose rows went wrong in earlier cases, so that a batch that forgets them fails only its own case. */
const strays = new Set<string>();
/** The events and receipts that all cases wrote, and the keys that they used. */
const written: Json[] = [];
const receipts: Json[] = [];
const keys: string[] = [];

/** Cases per stage, because each case is compared by reading all rows of the cases before it. */
const CASES_OF_STAGE = 20;
async function setStage(): Promise<void> {
  await keepWritten();
  await startEmpty();
  stage = { world: await createWorld(), other: await createWorld() };
  keys.push(stage.world.key, stage.other.key);
}

async function keepWritten(): Promise<void> {
  await checkEvents(env.DB);
  written.push(...(await env.DB.prepare("select type, object from events").all<Json>()).results);
  receipts.push(...(await env.DB.prepare("select receipt from receipts").all<Json>()).results);
}

const changes = ({ method, effects, operationId }: Route): boolean =>
  effects === true || (method !== "get" && !READING_POSTS.includes(operationId));

describe("the table of consequences", () => {
  it.each(ROUTES.filter(changes).map(({ operationId }) => operationId))("has a row for %s", (operationId) => {
    expect(OPERATION_CONSEQUENCES[operationId]).toBeDefined();
  });

  it("has no row for an operation that does not exist or only reads", () => {
    const known = ROUTES.map(({ operationId }) => operationId);
    expect(known).toEqual(expect.arrayContaining([...Object.keys(OPERATION_CONSEQUENCES), ...READING_POSTS]));
    expect(READING_POSTS.filter((operationId) => operationId in OPERATION_CONSEQUENCES)).toEqual([]);
  });

  it("has a row for each job, and no other", () => {
    expect(Object.keys(JOB_CONSEQUENCES).sort()).toEqual(JOBS.map(({ name }) => name).sort());
  });

  it("names each row and each case once, and each is played", () => {
    const names = CASES.map(([name]) => name);
    expect(new Set(names).size).toBe(names.length);
    const played = Object.entries(PLAYS).flatMap(([name, plays]) =>
      Object.keys(plays).map((when) => `${name}: ${when}`),
    );
    expect([...played, ...ELSEWHERE].sort()).toEqual([...names].sort());
  });
});

describe("the case writes exactly its row:", () => {
  let cases = 0;
  beforeEach(async () => {
    if (cases % CASES_OF_STAGE === 0) await setStage();
    cases += 1;
  });
  // A key that is short of gas closes its network to later cases (PAY-24).
  afterEach(() => env.DB.prepare("update network_standings set low_gas_until = 0").run());

  it.each(CASES.filter(([title]) => !ELSEWHERE.has(title)))("%s", async (_title, name, row) => {
    const play = PLAYS[name]?.[row.when];
    if (!play) throw new Error("the case has no play");
    const act = await play(stage);
    expect(await observe(stage.world, act)).toEqual(expectedOf(row));
    const stray = await strayAgents(stage.world);
    expect(stray.filter(({ did }) => !strays.has(did) && strays.add(did))).toEqual([]);
  });

  it("hand_on_events: there are new events", async () => {
    const { world } = stage;
    const owner = { platformId: world.platformId, environment: "sandbox" } as const;
    const event = { type: "agent.registered", object: madeUp({ did: "did:aeap:none" }) } as const;
    await store(world, (db) => recordEvent(db, owner, world.now(), event));
    const before = await takeSnapshot();
    await world.run(handOnJob(SUBSCRIBERS));
    const after = await takeSnapshot();
    const rows = (snapshot: typeof before, table: string) => [...(snapshot.get(table) ?? []).values()];
    const newest = Math.max(...rows(after, "events").map(({ seq }) => seq));
    expect(rows(after, "outbox")).toContainEqual({ name: "all", seq: newest });
    for (const table of after.keys()) {
      if (table !== "outbox") expect(rows(after, table), table).toEqual(rows(before, table));
    }
  });
});

describe("the events that all cases wrote", () => {
  it("are of every type, and none carries a receipt or a secret", async () => {
    await keepWritten();
    const types = Object.values(ROWS).flatMap((rows) => rows.flatMap(({ events }) => Object.values(events).flat()));
    expect(new Set(written.map(({ type }) => type))).toEqual(new Set(types));
    expect(receipts.length).toBeGreaterThan(0);
    const signed = receipts.map(({ receipt }) => unpackJws(receipt, RECEIPT_TYPE));
    const forbidden = [...signed, "PRIVATE KEY", ...keys];
    for (const { object } of written) {
      expect(forbidden.filter((text) => object.includes(text))).toEqual([]);
      expect(object).not.toMatch(/"(receipt|private_key|d)":/);
    }
  });
});
