// The bench counts the hops of a far caller as the longest chain of hops that ended before the answer.
import { expect, it } from "vitest";
import { type Cost, countHops, type Hop, newCost } from "../../bench/meter.ts";

async function hopsOf(act: (hop: Hop) => Promise<unknown>): Promise<number> {
  const cost: Cost = newCost();
  await act(countHops(cost, 1));
  return cost.hops;
}
const nothing = async () => undefined;

it("counts each of several sequential hops", async () => {
  const chain = async (hop: Hop) => {
    for (let i = 0; i < 3; i++) await hop(nothing);
  };
  expect(await hopsOf(chain)).toBe(3);
});

it("counts concurrent hops as one", async () => {
  expect(await hopsOf((hop) => Promise.all([hop(nothing), hop(nothing), hop(nothing)]))).toBe(1);
  const besideTheFirst = async (hop: Hop) => {
    await Promise.all([hop(nothing), hop(nothing)]);
    await hop(nothing);
  };
  expect(await hopsOf(besideTheFirst)).toBe(2);
});

it("counts a refused hop", async () => {
  const refused = (hop: Hop) => hop(() => Promise.reject(new Error("a guard"))).catch(() => undefined);
  expect(await hopsOf(refused)).toBe(1);
});

it("does not count a hop that is still running at the answer, because the caller does not wait for it", async () => {
  let background: Promise<unknown> = Promise.resolve();
  const releasing = async (hop: Hop) => {
    await hop(nothing);
    await hop(nothing);
    background = hop(nothing);
  };
  expect(await hopsOf(releasing)).toBe(2);
  await background;
});
