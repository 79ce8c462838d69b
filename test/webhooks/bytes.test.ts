// How much events and their deliveries take up in the database (EVT-24, EVT-35): the body is stored once, in the event, for any number of endpoints.
import { expect, it } from "vitest";
import { deliverAll } from "../support/queue.ts";
import { readDatabase } from "../support/readings.ts";
import { env, expectStatus, type Json } from "../support/world.ts";
import { asleep, deliveriesOf, endpoint, receiver, work } from "./support.ts";

const ENDPOINTS = 20;
const ROUNDS = 2;
const KB = 1_000;

/** Characters without a pattern that deflating would find. */
function drawn(count: number, alphabet: string): string {
  let state = 7;
  return Array.from({ length: count }, () => {
    state = (state * 48_271) % 2_147_483_647;
    return alphabet[Math.floor(state / 7) % alphabet.length];
  }).join("");
}
const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const PAGE =
  `<!doctype html><html><head><title>502 Bad Gateway</title></head><body><h1>Bad Gateway</h1><p>${drawn(300, LETTERS)}</p>
  <p>The server encountered a temporary error and could not complete your request. Please try again in 30 seconds.</p>`.padEnd(
    2_000,
    "<p>If the problem goes on, write to support.</p>",
  );

/** The size of the database, which grows by pages. */
const size = async (): Promise<number> => (await env.DB.prepare("select 1").run()).meta.size_after;
const lengthOf = (value: unknown): number => (Array.isArray(value) ? value : String(value ?? "")).length;
const bytesInRows = async (): Promise<number> =>
  (await readDatabase())
    .flatMap(({ rows }) => rows.flatMap((row) => Object.values(row)))
    .reduce((sum: number, value) => sum + lengthOf(value), 0);

it.each([
  ["of text", PAGE],
  ["of letters without a rule", drawn(2_000, LETTERS)],
])("stores two changes, sent to 20 endpoints that answer 2,000 bytes %s, in less than 60 KB", async (_what, answer) => {
  const world = await asleep();
  const there = await receiver({ status: 200, body: answer });
  const made: Json[] = [];
  for (let n = 0; n < ENDPOINTS; n++) made.push(await endpoint(world, `${there.url}?n=${n}`));
  const principalId = await world.principal();
  const round = async () => {
    for (const act of ["suspend", "reactivate"]) {
      expectStatus(await world.call("POST", `/v1/principals/${principalId}/${act}`, { body: {} }), 200);
      await deliverAll(world);
      for (const one of made) await work(world, one);
    }
  };
  await round();
  const before = { size: await size(), rows: await bytesInRows() };
  for (let n = 0; n < ROUNDS; n++) await round();
  const [inPages, inRows] = [((await size()) - before.size) / ROUNDS, ((await bytesInRows()) - before.rows) / ROUNDS];
  expect(await there.received()).toHaveLength((ROUNDS + 1) * 2 * ENDPOINTS);
  const [last] = await deliveriesOf(world, made[0] ?? {}, "?limit=1");
  expect(last.attempts.at(-1)).toMatchObject({ status_code: 200, answer: answer.slice(0, 1_024) });
  expect(inRows).toBeLessThan(60 * KB);
  expect(inPages).toBeLessThan(60 * KB);
});
