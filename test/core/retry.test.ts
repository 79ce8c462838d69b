// A change whose write is refused is decided again on a fresh reading, a bounded number of times.
import { describe, expect, it } from "vitest";
import { CONFLICT_TRIES, Conflict, retryConflicts } from "../../src/core/retry.ts";

/** Throws each of the failures in turn, then answers how often it was tried. */
function failing(failures: readonly Error[]) {
  let tried = 0;
  return async () => {
    const failure = failures[tried++];
    if (failure) throw failure;
    return tried;
  };
}
const conflicts = (count: number) => Array.from({ length: count }, () => new Conflict());

describe("a change that meets conflicts", () => {
  it("is decided again until it succeeds", async () => {
    expect(await retryConflicts(failing([]))).toBe(1);
    expect(await retryConflicts(failing(conflicts(CONFLICT_TRIES - 1)))).toBe(CONFLICT_TRIES);
  });

  it("fails after the last try, with its conflict", async () => {
    const refused = conflicts(CONFLICT_TRIES);
    await expect(retryConflicts(failing(refused))).rejects.toBe(refused.at(-1));
  });

  it("fails at once on any other error", async () => {
    const broken = new Error("broken");
    const attempt = failing([broken]);
    await expect(retryConflicts(attempt)).rejects.toBe(broken);
    expect(await attempt()).toBe(2);
  });
});
