// The rules name every action and every event that the code writes (EVT-3, EVT-7).
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { ACTIVITY_ACTIONS } from "../../src/core/vocabulary.ts";
import {
  JOB_CONSEQUENCES,
  MESSAGE_CONSEQUENCES,
  OPERATION_CONSEQUENCES,
} from "../../src/journal/consequences/table.ts";

const RULES = readFileSync(join(import.meta.dirname, "../../docs/rules/events.md"), "utf8").split("\n");

/** The dotted names in a rule. */
const namedIn = (rule: string): string[] => {
  const text = RULES.find((line) => line.includes(`**${rule}**`)) ?? "";
  return [...text.matchAll(/`([a-z_]+\.[a-z_]+)`/g)].map(([, name = ""]) => name);
};

it("EVT-7 names the actions of the log, each once", () => {
  expect(namedIn("EVT-7").sort()).toEqual([...ACTIVITY_ACTIONS].sort());
});

it("EVT-3 names the events that any change leaves, each once", () => {
  const tables = [OPERATION_CONSEQUENCES, JOB_CONSEQUENCES, MESSAGE_CONSEQUENCES];
  const written = tables
    .flatMap((table) => Object.values(table).flat())
    .flatMap(({ events }) => ("none" in events ? [] : Object.values(events).flat()));
  expect(namedIn("EVT-3").sort()).toEqual([...new Set(written)].sort());
});
