// Tests that the settlement contract's gas stays within its gates, with a token like USDC (CHN-21). The bench prints the same table.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { checkGas, GATES, measureGas, PLAIN, PLAIN_AUTHORIZED, type Profiles, RATIOS } from "../../bench/gas.ts";
import { floorOf, rowsOf } from "../../bench/gas-profile.ts";

const number = (text = "") => Number(text.replaceAll(",", ""));
const profiles: Profiles = new Map();
const measured = await measureGas(profiles);
const page = readFileSync(join(import.meta.dirname, "../../docs/contracts.md"), "utf8");

test("every call stays within its gate", () => {
  expect(checkGas(measured)).toEqual([]);
  // docs/contracts.md states the same numbers.
  const gasSection = page.slice(page.indexOf("## Gas"), page.indexOf("### Where it goes"));
  const rows = [...gasSection.matchAll(/^\| ([a-zA-Z].*?) \| ([\d,]+) \| ([\d,]*) ?\|$/gm)];
  expect(rows.map(([, call]) => call).sort()).toEqual(measured.map(({ call }) => call).sort());
  for (const [, call = "", gas, gate] of rows) {
    const found = measured.find((one) => one.call === call)?.gas ?? 0;
    // Times and salts have random zero bytes, which cost less gas.
    expect([call, Math.abs(found - number(gas)) < 400]).toEqual([call, true]);
    expect([call, number(gate)]).toEqual([call, GATES[call] ?? 0]);
  }
  // A missed gate and a call that was not measured are reported.
  const [first] = Object.keys(GATES);
  expect(checkGas(measured.map((one) => (one.call === first ? { ...one, gas: 1_000_000 } : one)))).toHaveLength(1);
  expect(checkGas([])).toHaveLength(Object.keys(GATES).length + RATIOS.length);
});

test("a payment uses the slots, events and calls that the page names, and little computation besides", () => {
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
    // A call of the token alone has one contract, so its own work counts as the token's.
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
  // Even without instructions of its own, it would use more than 1.75 times the gas of the token alone.
  const [, authorized, , alone] = found;
  if (!authorized || !alone) throw new Error("nothing was profiled");
  expect(floorOf(authorized) / alone.gas).toBeGreaterThan(1.75);
});
