// The gas of the settlement contract keeps its gates, in a token as USDC is (CHN-21). The bench prints the same table.
import { expect, test } from "vitest";
import { checkGas, GATES, measureGas } from "../../bench/gas.ts";

test("every call keeps its gate", async () => {
  const measured = await measureGas();
  expect(checkGas(measured)).toEqual([]);
  // A gate that is missed, and a call that was not measured, are told.
  const [first] = Object.keys(GATES);
  expect(checkGas(measured.map((one) => (one.call === first ? { ...one, gas: 1_000_000 } : one)))).toHaveLength(1);
  expect(checkGas([])).toHaveLength(Object.keys(GATES).length);
});
