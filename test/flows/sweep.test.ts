// A sweep goes on: what fails or was overtaken stops none of the others.
import { expect, it, vi } from "vitest";
import { Conflict } from "../../src/db/batch.ts";
import { sweepEach } from "../../src/flows/sweep.ts";

it("does every one that can be done, counts those, and logs what failed", async () => {
  const log = vi.spyOn(console, "error").mockImplementation(() => undefined);
  const done: number[] = [];
  const count = await sweepEach([1, 2, 3, 4], async (one) => {
    if (one === 1) throw new Error("string or blob too big");
    if (one === 2) throw new Conflict(null);
    done.push(one);
    return one === 3;
  });
  expect([count, done]).toEqual([1, [3, 4]]);
  expect(log.mock.calls).toEqual([['{"event":"sweep_failed","message":"string or blob too big"}']]);
  log.mockRestore();
});
