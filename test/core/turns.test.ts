// How much of one kind of work an isolate does at once (HTTP-36, CRED-20).
import { describe, expect, it } from "vitest";
import { ServiceError } from "../../src/core/errors.ts";
import { turnsOf } from "../../src/core/turns.ts";

const TURNS = { atOnce: 1, patienceSeconds: 5, leaseSeconds: 30 };

/** Work that ends when it is told to. */
function workOf() {
  const running = { now: 0, most: 0 };
  const ends: (() => void)[] = [];
  const work = () => {
    running.now += 1;
    running.most = Math.max(running.most, running.now);
    return new Promise<void>((resolve) => {
      ends.push(() => {
        running.now -= 1;
        resolve();
      });
    });
  };
  return { running, ends, work };
}

describe("turns", () => {
  it("let so many run at a time, and the next when one has ended, also when it failed", async () => {
    const { running, ends, work } = workOf();
    const inTurn = turnsOf({ ...TURNS, atOnce: 2 });
    const failing = inTurn("one", async () => {
      await work();
      throw new Error("it failed");
    }).catch(({ message }: Error) => message);
    const others = Array.from({ length: 4 }, () => inTurn("one", work));
    for (let ended = 0; ended < 5; ended++) {
      await expect.poll(() => ends.length).toBeGreaterThan(ended);
      ends[ended]?.();
    }
    expect(await failing).toBe("it failed");
    await Promise.all(others);
    expect(running).toEqual({ now: 0, most: 2 });
  });

  it("refuse whoever has waited to the end of their patience, and what was refused does not run", async () => {
    const { running, ends, work } = workOf();
    const inTurn = turnsOf({ ...TURNS, patienceSeconds: 0.1 });
    const first = inTurn("one", work);
    const refusal = await inTurn("one", work).catch((thrown: unknown) => thrown);
    expect(refusal).toBeInstanceOf(ServiceError);
    expect(refusal).toMatchObject({ status: 429, code: "rate_limited", extra: { headers: { "Retry-After": "2" } } });
    ends[0]?.();
    await first;
    expect(running.most).toBe(1);
    await Promise.all([inTurn("one", async () => "free"), scheduler.wait(0)]);
  });

  it("are counted for each key apart", async () => {
    const { running, ends, work } = workOf();
    const inTurn = turnsOf({ ...TURNS, patienceSeconds: 0 });
    const both = [inTurn("one", work), inTurn("other", work)];
    await expect.poll(() => ends.length).toBe(2);
    expect((await inTurn("one", work).catch((thrown: unknown) => thrown)) instanceof ServiceError).toBe(true);
    for (const end of ends) end();
    await Promise.all(both);
    expect(running.most).toBe(2);
  });

  it("that are never given back count no more when their lease is over", async () => {
    const inTurn = turnsOf({ ...TURNS, leaseSeconds: 0.1 });
    const lost = inTurn("one", () => new Promise<never>(() => undefined));
    expect(await inTurn("one", async () => "next")).toBe("next");
    expect(await Promise.race([lost, scheduler.wait(0).then(() => "still there")])).toBe("still there");
  });
});
