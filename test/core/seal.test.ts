// Sealed secrets open only with their own key and at their own place; a list is worked through a few entries at a time; a memo is made once.
import { beforeAll, describe, expect, it, vi } from "vitest";
import { memoizeBy, runConcurrently } from "../../src/core/retry.ts";
import { deriveSealingKey, seal, unseal } from "../../src/core/seal.ts";

describe("a sealed text", () => {
  let key: CryptoKey;
  let text: string;
  beforeAll(async () => {
    key = await deriveSealingKey("secret", "salt", "use");
    text = await seal(key, "plain é", "place");
  });

  it("opens with the key of the same secret, salt and use", async () => {
    expect(await unseal(await deriveSealingKey("secret", "salt", "use"), text, "place")).toBe("plain é");
  });

  it.each([
    ["secret", () => deriveSealingKey("other", "salt", "use")],
    ["salt", () => deriveSealingKey("secret", "other", "use")],
    ["use", () => deriveSealingKey("secret", "salt", "other")],
  ])("does not open with the key of another %s", async (_what, other) => {
    expect(await unseal(await other(), text, "place")).toBeUndefined();
  });

  it("does not open at another place, altered or cut", async () => {
    expect(await unseal(key, text, "other")).toBeUndefined();
    const last = text.at(-6) === "A" ? "B" : "A";
    expect(await unseal(key, `${text.slice(0, -6)}${last}${text.slice(-5)}`, "place")).toBeUndefined();
    for (const cut of ["", ".", text.split(".")[0] ?? "", `.${text.split(".")[1]}`])
      expect(await unseal(key, cut, "place")).toBeUndefined();
  });

  it("is another text each time", async () => {
    expect(await seal(key, "plain é", "place")).not.toBe(text);
  });
});

describe("a list that is worked through a few entries at a time", () => {
  it("works on each entry once, and on at most the allowed number at a time", async () => {
    const running = { now: 0, most: 0 };
    const done: number[] = [];
    const entries = Array.from({ length: 10 }, (_, at) => at);
    await runConcurrently(
      entries,
      async (entry) => {
        running.most = Math.max(running.most, ++running.now);
        await Promise.resolve();
        running.now -= 1;
        done.push(entry);
      },
      3,
    );
    expect([done.sort((a, b) => a - b), running]).toEqual([entries, { now: 0, most: 3 }]);
    await runConcurrently([], () => Promise.reject(new Error("nothing to work")));
  });
});

describe("a value that is made once for an object", () => {
  it("stays the same for the same object, and is made again for another", () => {
    const make = vi.fn((key: object) => ({ key }));
    const made = memoizeBy(make);
    const [one, other] = [{}, {}];
    const [first, again, another] = [made(one), made(one), made(other)];
    expect([first === again, first === another, make.mock.calls.length]).toEqual([true, false, 2]);
  });
});
