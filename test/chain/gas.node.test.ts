// The gas of the settlement contract keeps its gates, in a token as USDC is (CHN-21). The bench prints the same table.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { checkGas, GATES, measureGas } from "../../bench/gas.ts";

test("every call keeps its gate", async () => {
  const measured = await measureGas();
  expect(checkGas(measured)).toEqual([]);
  // The page for those who hold keys says the same.
  const page = readFileSync(join(import.meta.dirname, "../../docs/contracts.md"), "utf8");
  const gasSection = page.slice(page.indexOf("## Gas"));
  const rows = [...gasSection.matchAll(/^\| ([a-zA-Z].*?) \| ([\d,]+) \| ([\d,]*) ?\|$/gm)];
  const number = (text = "") => Number(text.replaceAll(",", ""));
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
  expect(checkGas([])).toHaveLength(Object.keys(GATES).length);
});
