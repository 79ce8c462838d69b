// The rules' table of acts and their names (MAIL-6) names every notice of the catalogue, and agrees with the consequences.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { CATALOGUE } from "../../src/mail/catalogue.ts";
import { JOB_CONSEQUENCES, MESSAGE_CONSEQUENCES, OPERATION_CONSEQUENCES } from "../consequences/table.ts";

type Names = readonly string[];
type Row = {
  readonly act: string;
  readonly activity: Names;
  readonly events: Names;
  readonly mails: Names;
  readonly alerts: Names;
};

const page = readFileSync(join(import.meta.dirname, "../../docs/rules/mails.md"), "utf8");
const namesIn = (cell = ""): Names => [...cell.matchAll(/`([a-z_.]+)`/g)].map(([, name = ""]) => name);
const ROWS: readonly Row[] = page
  .split("\n")
  .filter((line) => line.startsWith("| "))
  .slice(1)
  .map((line) => {
    const [, act = "", activity, events, mails, alerts] = line.split("|").map((cell) => cell.trim());
    return {
      act,
      activity: namesIn(activity),
      events: namesIn(events),
      mails: namesIn(mails),
      alerts: namesIn(alerts),
    };
  });
const CASES = [OPERATION_CONSEQUENCES, JOB_CONSEQUENCES, MESSAGE_CONSEQUENCES]
  .flatMap((table) => Object.values(table).flat())
  .map(({ activity, events, mails, alerts }) => ({
    activity: "none" in activity ? [] : activity,
    events: Object.values(events).flat(),
    mails,
    alerts,
  }));

it("names every notice of the catalogue, and nothing else", () => {
  const notices = Object.keys(CATALOGUE).filter((kind) => kind.startsWith("customer."));
  expect([...new Set(ROWS.flatMap(({ mails }) => mails))].sort()).toEqual(notices.sort());
});

/** Announcements have four kinds, of which the consequences play one. */
const ANNOUNCED = "the operator announces something";
const holds = (has: readonly string[], names: Names): boolean => names.every((name) => has.includes(name));
describe.each(ROWS.filter(({ act }) => act !== ANNOUNCED))("$act", ({ activity, events, mails, alerts }) => {
  it("writes these names together, and no other notice or alert", () => {
    const written = CASES.filter(
      (one) =>
        holds(one.activity, activity) &&
        holds(one.events, events) &&
        one.alerts.join() === alerts.join() &&
        [...new Set(one.mails)].join() === mails.join(),
    );
    expect(written).not.toEqual([]);
  });
});
