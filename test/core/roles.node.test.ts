// The table of roles in the rules equals the table in the code (AGT-2 to AGT-7).
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { buys, isRegistrable, listRequiredActions, listTiers, SPEND_FIELDS, sells } from "../../src/core/roles.ts";
import { ECONOMIC_ROLES } from "../../src/core/vocabulary.ts";

it("shows the same table of roles in the rules", () => {
  const yes = (has: boolean) => (has ? "yes" : "no");
  const words = (list: readonly string[]) => list.map((word) => `\`${word}\``).join(", ");
  const rows = ECONOMIC_ROLES.map((role) => {
    const { must, mustNot } = listRequiredActions(role);
    const actions = [words(must), words(mustNot)];
    return [role, yes(isRegistrable(role)), listTiers(role).join(", "), ...actions, yes(sells(role)), yes(buys(role))];
  });
  const rules = readFileSync(join(import.meta.dirname, "../../docs/rules/agents.md"), "utf8");
  const shown = rules.split("\n").filter((line) => /^\| [A-Z]+ \|/.test(line));
  expect(
    shown.map((line) =>
      line
        .split("|")
        .slice(1, -1)
        .map((cell) => cell.trim()),
    ),
  ).toEqual(rows);
  const spend = rules.split("\n").find((line) => line.includes("**AGT-6**"));
  expect(spend?.match(/\(([^)]*)\)/)?.[1]).toBe(words(SPEND_FIELDS));
});
