// Tests the contract's documentation for its callers (CHN-1 to CHN-7): it explains every call, event and error, and the unit of every number.
import { expect, test } from "vitest";
import { documented } from "./natspec.ts";

const ENTRIES = documented();
// Errors of the libraries, which this documentation does not cover.
const FOREIGN = new Set([
  ...["FailedDeployment", "InsufficientBalance", "ReentrancyGuardReentrantCall"],
  ...["SafeCastOverflowedUintDowncast", "SafeERC20FailedOperation"],
]);
const OWN = ENTRIES.filter(({ name }) => !FOREIGN.has(name));
const UNIT = /base units|hundredths of a percent|the same unit|epoch seconds/;

test("every call, event and error is described", () => {
  expect(OWN.filter(({ notice }) => notice === "").map(({ name }) => name)).toEqual([]);
});

test("every parameter and every return value is explained", () => {
  const silent = OWN.filter(({ isVariable, said }) => !isVariable && said.some(({ text }) => text === ""));
  expect(silent.map(({ name }) => name)).toEqual([]);
});

test("every number has its unit", () => {
  const numbers = OWN.filter(({ isVariable }) => !isVariable).flatMap(({ name, said }) =>
    said.filter(({ type }) => type.startsWith("uint")).map(({ text }) => [name, text] as const),
  );
  expect(numbers.length).toBeGreaterThan(40);
  expect(numbers.filter(([, text]) => !UNIT.test(text))).toEqual([]);
});
