// How much of one kind of work an isolate does at once (HTTP-36, CRED-20).
import { describe, expect, it } from "vitest";
import { ServiceError } from "../../src/core/errors.ts";
import { limitTurns } from "../../src/core/retry.ts";

const TURNS = { atOnce: 1, inAll: 9, patienceSeconds: 5, leaseSeconds: 30 };

/** Work that ends only when the test ends it. */
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

/** A clock that only `advance` moves; waits end in the order in which they are due. */
function stoppedTime() {
  let now = 0;
  let waiting: { at: number; resolve: () => void }[] = [];
  return {
    timer: {
      now: () => now,
      wait: (ms: number) =>
        new Promise<void>((resolve) => {
          waiting.push({ at: now + ms, resolve });
        }),
    },
    advance: async (seconds: number) => {
      const end = now + seconds * 1_000;
      for (;;) {
        await settled();
        const at = Math.min(end, ...waiting.map((one) => one.at));
        const due = waiting.filter((one) => one.at <= at);
        now = at;
        if (due.length === 0) return;
        waiting = waiting.filter((one) => one.at > at);
        for (const { resolve } of due) resolve();
      }
    },
  };
}

/** Runs all pending microtasks; the work of these tests uses nothing else. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await Promise.resolve();
}
const codeOf = (thrown: unknown) => thrown instanceof ServiceError && thrown.code;

describe("turns", () => {
  it("run up to the limit at a time, and let the next run when one has ended or failed", async () => {
    const { running, ends, work } = workOf();
    const { timer, advance } = stoppedTime();
    const inTurn = limitTurns({ ...TURNS, atOnce: 2 }, timer);
    const failing = inTurn("one", async () => {
      await work();
      throw new Error("it failed");
    }).catch(({ message }: Error) => message);
    const others = Array.from({ length: 4 }, () => inTurn("one", work));
    for (let ended = 0; ended < 5; ended++) {
      await advance(0.1);
      expect(ends.length).toBe(Math.min(5, ended + 2));
      ends[ended]?.();
    }
    expect(await failing).toBe("it failed");
    await Promise.all(others);
    expect(running).toEqual({ now: 0, most: 2 });
  });

  it("measure patience by the clock, also where each pause takes four times as long as requested", async () => {
    const { ends, work } = workOf();
    const { timer, advance } = stoppedTime();
    const slow = { now: timer.now, wait: (ms: number) => timer.wait(4 * ms) };
    const inTurn = limitTurns(TURNS, slow);
    const running = inTurn("one", work);
    const waiting = inTurn("one", work).catch(codeOf);
    let answered: unknown;
    waiting.then((code) => {
      answered = code;
    });
    await advance(4.9);
    expect(answered).toBeUndefined();
    await advance(0.2);
    expect(answered).toBe("rate_limited");
    ends[0]?.();
    await running;
  });

  it("refuse a caller whose patience has ended, and never run the refused work", async () => {
    const { running, ends, work } = workOf();
    const { timer, advance } = stoppedTime();
    const inTurn = limitTurns(TURNS, timer);
    const first = inTurn("one", work);
    let refusal: unknown;
    const second = inTurn("one", work).catch((thrown: unknown) => {
      refusal = thrown;
    });
    await advance(TURNS.patienceSeconds - 0.001);
    expect(refusal).toBeUndefined();
    await advance(0.001);
    expect(refusal).toBeInstanceOf(ServiceError);
    expect(refusal).toMatchObject({ status: 429, code: "rate_limited", extra: { headers: { "Retry-After": "2" } } });
    ends[0]?.();
    await Promise.all([first, second]);
    expect(running.most).toBe(1);
    expect(await inTurn("one", async () => "free")).toBe("free");
  });

  it("are counted separately for each key", async () => {
    const { running, ends, work } = workOf();
    const { timer } = stoppedTime();
    const inTurn = limitTurns({ ...TURNS, patienceSeconds: 0 }, timer);
    const both = [inTurn("one", work), inTurn("other", work)];
    await settled();
    expect(ends.length).toBe(2);
    expect(codeOf(await inTurn("one", work).catch((thrown: unknown) => thrown))).toBe("rate_limited");
    for (const end of ends) end();
    await Promise.all(both);
    expect(running.most).toBe(2);
  });

  it("are counted over all keys too", async () => {
    const { running, ends, work } = workOf();
    const { timer, advance } = stoppedTime();
    const inTurn = limitTurns({ ...TURNS, atOnce: 2, inAll: 3 }, timer);
    const all = ["one", "one", "other", "another"].map((key) => inTurn(key, work));
    await advance(1);
    expect(running.now).toBe(3);
    ends[0]?.();
    await advance(0.1);
    expect(running.now).toBe(3);
    for (const end of ends.slice(1)) end();
    await Promise.all(all);
    expect(running).toEqual({ now: 0, most: 3 });
  });

  it("rest for a multiple of the time that the work took, whether it succeeded or failed", async () => {
    const { ends, work } = workOf();
    const { timer, advance } = stoppedTime();
    const inTurn = limitTurns({ ...TURNS, patienceSeconds: 60, rest: 2 }, timer);
    const began: number[] = [];
    const timed = () =>
      inTurn("one", () => {
        began.push(timer.now());
        return work();
      });
    const each = [timed(), timed().catch(() => "failed"), timed()];
    await advance(3);
    ends[0]?.();
    await advance(5.9);
    expect(began).toEqual([0]);
    await advance(0.2);
    expect(began).toEqual([0, 9_000]);
    ends[1]?.();
    await advance(0.5);
    await advance(0.5);
    expect(began.length).toBe(3);
    ends[2]?.();
    await advance(0.1);
    await Promise.all(each);
  });

  it("are taken by the next caller if they are dropped while they rest", async () => {
    const { ends, work } = workOf();
    const { timer, advance } = stoppedTime();
    let isDropped = false;
    const dropping = {
      now: timer.now,
      wait: (ms: number) => (isDropped && ms === 0 ? new Promise(() => undefined) : timer.wait(ms)),
    };
    const inTurn = limitTurns({ ...TURNS, rest: 2 }, dropping);
    void inTurn("one", work);
    await advance(1);
    isDropped = true;
    ends[0]?.();
    await advance(0.1);
    isDropped = false;
    const next = inTurn("one", async () => "next").catch(codeOf);
    await advance(0.1);
    expect(await next).toBe("next");
  });

  it("no longer count after their lease if they are never released", async () => {
    const { timer, advance } = stoppedTime();
    const inTurn = limitTurns({ ...TURNS, patienceSeconds: 60 }, timer);
    let ended = false;
    void inTurn("one", () => new Promise<never>(() => undefined)).finally(() => {
      ended = true;
    });
    const began: string[] = [];
    const next = inTurn("one", async () => {
      began.push("next");
    });
    await advance(TURNS.leaseSeconds - 0.001);
    expect(began).toEqual([]);
    await advance(0.001);
    await next;
    expect([began, ended]).toEqual([["next"], false]);
  });
});
