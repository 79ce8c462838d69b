// `did:aeap:<uuid4>`, opaque and case-sensitive, raw or with %3A in a path (IDN-1).
import { describe, expect, it } from "vitest";
import { formatDid, generateDid, isDid, parseDid, parseDidSegment, toDidUuid } from "../../src/protocol/did.ts";

const uuid = "11111111-1111-4111-8111-111111111111";
const did = `did:aeap:${uuid}`;

describe("a DID", () => {
  it("is did:aeap: and a lower-case version 4 UUID", () => {
    expect(parseDid(did)).toBe(did);
    expect(formatDid(uuid)).toBe(did);
    expect(toDidUuid(formatDid(uuid))).toBe(uuid);
  });

  it.each([
    ["upper-case hex", "did:aeap:AAAAAAAA-1111-4111-8111-111111111111"],
    ["an upper-case method", did.replace("aeap", "AEAP")],
    ["an upper-case scheme", did.replace("did", "DID")],
    ["another method", did.replace("aeap", "web")],
    ["version 1", "did:aeap:11111111-1111-1111-8111-111111111111"],
    ["version 7", "did:aeap:11111111-1111-7111-8111-111111111111"],
    ["a variant below 8", "did:aeap:11111111-1111-4111-7111-111111111111"],
    ["a variant above b", "did:aeap:11111111-1111-4111-c111-111111111111"],
    ["no dashes", `did:aeap:${uuid.replaceAll("-", "")}`],
    ["braces", `did:aeap:{${uuid}}`],
    ["a space before", ` ${did}`],
    ["a line break after", `${did}\n`],
    ["a separator after", `${did}|`],
    ["a fragment", `${did}#key-1`],
    ["a path", `${did}/aid`],
    ["the uuid alone", uuid],
    ["nothing", ""],
  ])("is not %s", (_name, text) => {
    expect(parseDid(text)).toBeUndefined();
    expect(isDid(text)).toBe(false);
  });

  it("is not a value other than a text", () => {
    for (const value of [undefined, null, 1, {}, [did]]) expect(isDid(value)).toBe(false);
  });

  it("cannot be formatted from a text that is not a version 4 UUID", () => {
    expect(() => formatDid("11111111-1111-1111-8111-111111111111")).toThrow(TypeError);
  });

  it("is new at every draw", () => {
    const drawn = Array.from({ length: 50 }, () => generateDid());
    expect(drawn.every(isDid)).toBe(true);
    expect(new Set(drawn).size).toBe(50);
  });
});

describe("a DID in a path", () => {
  it.each([did, did.replaceAll(":", "%3A"), did.replaceAll(":", "%3a"), did.replace(":", "%3A")])(
    "%s is accepted",
    (segment) => {
      expect(parseDidSegment(segment)).toBe(did);
    },
  );

  it.each([did.replaceAll(":", "%253A"), did.replace("a", "%61"), `${did}%7C`, "%", "did%3Aaeap%3A"])(
    "%s is not accepted",
    (segment) => {
      expect(parseDidSegment(segment)).toBeUndefined();
    },
  );
});
