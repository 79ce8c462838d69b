// A provider has left a vault (MKT-30) if it sells nothing there, nothing is open, and every dispute window has closed at that instant.
import { expect, it } from "vitest";
import { isLeaving } from "../../src/vaults/exit.ts";

const NOW = 1_800_000_000_000;
const gone = { sells: false, open: false, closesAt: NOW };

it.each([
  ["at the instant at which the last window closes", gone, true],
  ["not a millisecond before", { ...gone, closesAt: NOW + 1 }, false],
  ["not while it sells", { ...gone, sells: true }, false],
  ["not while something is open", { ...gone, open: true }, false],
])("decides that the provider has left: %s", (_name, standing, left) => {
  expect(isLeaving({ standing }, NOW)).toBe(left);
});
