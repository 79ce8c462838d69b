// The rules name every action, every event and every kind of alert that the code writes (EVT-3, EVT-7, JOB-9).
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { ACTIVITY_ACTIONS, ALERT_KINDS } from "../../src/core/vocabulary.ts";
import { JOB_CONSEQUENCES, MESSAGE_CONSEQUENCES, OPERATION_CONSEQUENCES } from "../consequences/table.ts";

const rulesIn = (file: string): string[] =>
  readFileSync(join(import.meta.dirname, "../../docs/rules", file), "utf8").split("\n");
const [EVENTS, JOBS] = [rulesIn("events.md"), rulesIn("jobs.md")];

/** The names in a rule; those of actions and events contain a dot. */
const namedIn = (rule: string, rules = EVENTS, form = /`([a-z_]+\.[a-z_]+)`/g): string[] => {
  const text = rules.find((line) => line.includes(`**${rule}**`)) ?? "";
  return [...text.matchAll(form)].map(([, name = ""]) => name);
};

it("EVT-7 names the actions of the log, each once", () => {
  expect(namedIn("EVT-7").sort()).toEqual([...ACTIVITY_ACTIONS].sort());
});

it("EVT-3 names the events that any change writes, each once", () => {
  const tables = [OPERATION_CONSEQUENCES, JOB_CONSEQUENCES, MESSAGE_CONSEQUENCES];
  const written = tables
    .flatMap((table) => Object.values(table).flat())
    .flatMap(({ events }) => ("none" in events ? [] : Object.values(events).flat()));
  expect(namedIn("EVT-3").sort()).toEqual([...new Set(written)].sort());
});

it("JOB-9 names the kinds of alerts, each once", () => {
  expect(namedIn("JOB-9", JOBS, /`([a-z_]+)`/g).sort()).toEqual([...ALERT_KINDS].sort());
});
