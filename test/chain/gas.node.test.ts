// The gas of the settlement contract keeps its gates, in a token as USDC is (CHN-21). The bench prints the same table.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { checkGas, GATES, measureGas, PLAIN, PLAIN_AUTHORIZED, type Profiles, RATIOS } from "../../bench/gas.ts";
import { floorOf, rowsOf } from "../../bench/gas-profile.ts";

const number = (text = "") => Number(text.replaceAll(",", ""));
const profiles: Profiles = new Map();
const measured = await measureGas(profiles);
const page = readFileSync(join(import.meta.dirname, "../../docs/contracts.md"), "utf8");

test("every call keeps its gate", () => {
  expect(checkGas(measured)).toEqual([]);
  // The page for those who hold keys says the same.
  const gasSection = page.slice(page.indexOf("## Gas"), page.indexOf("### Where it goes"));
  const rows = [...gasSection.matchAll(/^\| ([a-zA-Z].*?) \| ([\d,]+) \| ([\d,]*) ?\|$/gm)];
  expect(rows.map(([, call]) => call).sort()).toEqual(measured.map(({ call }) => call).sort());
  for (const [, call = "", gas, gate] of rows) {
    const found = measured.find((one) => one.call === call)?.gas ?? 0;
    // Times and salts have bytes that are zero by chance.
    expect([call, Math.abs(found - number(gas)) < 400]).toEqual([call, true]);
    expect([call, number(gate)]).toEqual([call, GATES[call] ?? 0]);
  }
  // A gate that is missed, and a call that was not measured, are told.
  const [first] = Object.keys(GATES);
  expect(checkGas(measured.map((one) => (one.call === first ? { ...one, gas: 1_000_000 } : one)))).toHaveLength(1);
  expect(checkGas([])).toHaveLength(Object.keys(GATES).length + RATIOS.length);
});

test("a payment uses the slots, events and calls that the page names, and computes little beside them", () => {
  const calls = RATIOS.map(([call]) => call);
  const order = [...calls, PLAIN, PLAIN_AUTHORIZED];
  const section = page.slice(page.indexOf("### Where it goes"), page.indexOf("## More"));
  const rows = [...section.matchAll(/^\| ([a-z][a-z ]+) \|((?: [\d,]+ \|){4})$/gm)];
  const found = order.map((call) => {
    const profile = profiles.get(call);
    if (!profile) throw new Error(`${call} was not profiled`);
    return profile;
  });
  const [first] = found;
  expect(rows.map(([, row]) => row)).toEqual(Object.keys(first ? rowsOf(first) : {}));
  for (const [, row = "", cells = ""] of rows) {
    const told = cells.split("|").slice(0, -1).map(number);
    // The token alone is one contract: what it does itself is the token's.
    const measuredRow = found.map((profile, at) => {
      const own = rowsOf(at < calls.length ? profile : { ...profile, own: profile.others, others: profile.own });
      return own[row] ?? 0;
    });
    expect([row, told.map((gas, at) => Math.abs(gas - (measuredRow[at] ?? 0)) < 400)]).toEqual([
      row,
      told.map(() => true),
    ]);
  }
  for (const call of calls) expect(profiles.get(call)).toMatchObject({ ownSlots: 4, ownNewSlots: 1 });
  // Without one instruction of its own it would still be more than 1.75 times what the token alone uses.
  const [, authorized, , alone] = found;
  if (!authorized || !alone) throw new Error("nothing was profiled");
  expect(floorOf(authorized) / alone.gas).toBeGreaterThan(1.75);
});
