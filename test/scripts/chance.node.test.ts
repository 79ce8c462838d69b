// The check of scripts/chance.ts finds lines that depend on real time or on chance, and no others.
import { expect, it } from "vitest";
import { kindsIn } from "../../scripts/chance.ts";

it.each([
  ["draw", "const n = Math.random();"],
  ["draw", "list.sort(Math.random);"],
  ["draw", "crypto.getRandomValues(new Uint8Array(4))"],
  ["wait", "await setTimeout(500);"],
  ["wait", 'import { setTimeout as pause } from "node:timers/promises";'],
  ["wait", "while (!done) await setImmediate();"],
  ["wait", "await scheduler.wait(10);"],
  ["poll", "await vi.waitFor(() => expect(seen).toBe(1));"],
  ["race", "await Promise.race([answer, limit]);"],
  ["race", "await Promise.any(all);"],
  ["duration", "expect(Date.now() - startedAt).toBeLessThan(100);"],
  ["duration", "const took = Date.now() - started;"],
  ["duration", "const before = performance.now();"],
  ["duration", "{ interruptAfterTimeLimit: 60 }"],
  ["retry", 'it("x", { retry: 3 }, run);'],
  ["retry", "{ retry: TRIES }"],
  ["retry", '"test": "vitest run --retry 2",'],
  ["retry", 'describe("x", { repeats: 2 }, all);'],
  ["id", 'expect(entry).not.toContain("0800");'],
  ["id", 'for (const text of ["0800", name]) expect(entry).not.toContain(text);'],
  ["limit", "}, 5_000);"],
  ["limit", "}, LIMIT_MS);"],
  ["limit", 'it("x", run, 300);'],
  ["limit", "fetch(url, { signal: AbortSignal.timeout(100) })"],
  ["limit", "{ timeout: 1000 }"],
])("a %s is found in %s", (kind, line) => {
  expect(kindsIn(line)).toContain(kind);
});

it.each([
  "// A sleep( of a comment.",
  "const ago = (days: number) => new Date(Date.now() - days * DAY_MS).toISOString();",
  "const from = Date.now() - HOUR_MS;",
  "const dead = { ack: () => undefined, retry: () => undefined };",
  "}, DELAYS);",
  "const ends = await clock.timeout();",
])("nothing is found in %s", (line) => {
  expect(kindsIn(line)).toEqual([]);
});
