// The checks of wording and of names find what they refuse, and nothing else.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { findSharedNames } from "../../scripts/names.ts";
import { findForms } from "../../scripts/wording.ts";

describe("the check of the wording", () => {
  it.each([
    ["src/a.ts", "// What is due, oldest first."],
    ["src/a.ts", "  /** Deletes it. Of two callers one wins. */"],
    ["src/a.ts", "// The same for a list."],
    ["src/a.ts", " * Runs behind the batch."],
    ["src/a.ts", "// Stands beside its index."],
    ["src/a.ts", "// Signs it anew."],
    ["src/a.ts", "// Nobody reads it."],
    ["src/a.ts", "// The platform is told."],
    ["src/a.ts", "// Sees what comes of it."],
    ["src/a.ts", "// It counts no more."],
    ["src/a.ts", "// Gives back the lock; the caller gave back the rest."],
    ["test/a.test.ts", '  it("is told once", () => {'],
    ["test/a.test.ts", '  it.each(CASES)("gives back %s", (one) => {'],
    ["docs/a.md", "- What a page says."],
  ])("refuses a line of %s: %s", (file, line) => {
    expect(findForms(file, line)).not.toEqual([]);
  });

  it.each([
    ["src/a.ts", "// Leases up to `limit` due deliveries, oldest first."],
    ["src/a.ts", 'const message = "What is due";'],
    ["src/a.ts", "// How far the follower is behind real time."],
    ["src/a.ts", "// At most ten, no more than a batch holds."],
  ])("accepts a line of %s: %s", (file, line) => {
    expect(findForms(file, line)).toEqual([]);
  });
});

it("finds a name that two folders export, and no other", () => {
  const shared = findSharedNames([
    { path: "agents/a.ts", text: "export const readOne = () => 1;\nexport type Row = string;\nconst own = 1;" },
    { path: "agents/b.ts", text: "export function writeOne() {}" },
    { path: "tasks/a.ts", text: "export function readOne() {}\nexport type Row = number;\nconst own = 2;" },
  ]);
  expect(shared).toEqual([["readOne", ["agents", "tasks"]]]);
});

it("refuses a migration whose name does not say what it does", () => {
  const script = join(import.meta.dirname, "../../scripts/migrations.ts");
  const { status, stderr } = spawnSync(process.execPath, [script, "spicy_hand"], { encoding: "utf8" });
  expect([status, stderr]).toEqual([1, expect.stringContaining("named by what it does")]);
});
