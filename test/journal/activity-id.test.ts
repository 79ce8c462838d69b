// The id of an activity entry is computed from its number, and back (EVT-11).
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { buildIdPattern, createId } from "../../src/core/ids.ts";
import { parseActivitySeq, toActivityId } from "../../src/journal/activity.ts";
import { runs } from "../support/scale.ts";

const NOW = 1_795_234_800_000;
const platform = createId("plt", NOW);

describe("the id of an activity entry", () => {
  it("gives its number to its platform, for any number and any instant", () => {
    const seqs = fc.integer({ min: 1, max: 2 ** 48 - 1 });
    const instants = fc.integer({ min: 0, max: 2 ** 47 });
    fc.assert(
      fc.property(fc.string(), seqs, instants, (platformId, seq, at) => {
        const id = toActivityId(platformId, seq, at);
        expect(id).toMatch(buildIdPattern("act"));
        expect(parseActivitySeq(platformId, id)).toBe(seq);
      }),
      runs(),
    );
  });

  it("has the form of a UUIDv7 and sorts by its instant, then by its number", () => {
    const ids = [
      toActivityId(platform, 9, NOW - 1),
      toActivityId(platform, 1, NOW),
      toActivityId(platform, 2, NOW),
      toActivityId(platform, 300, NOW),
    ];
    expect(ids.toSorted()).toEqual(ids);
    // Another kind of id has the same time at that instant.
    expect(ids[1]?.slice(4, 13)).toBe(createId("evt", NOW).slice(4, 13));
  });

  it("is not an id of another platform's log", () => {
    expect(parseActivitySeq(createId("plt", NOW), toActivityId(platform, 7, NOW))).toBeNull();
  });

  it.each(["", "act_1", createId("act", NOW), createId("evt", NOW), toActivityId(platform, 7, NOW).toLowerCase()])(
    "is not %s",
    (text) => {
      expect(parseActivitySeq(platform, text)).toBeNull();
    },
  );
});
