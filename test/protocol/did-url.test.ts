// The grammar of DIDs and DID URLs, did:web identifiers, and URLs in the form of RFC 3986 (IDN-2, IDN-30, IDN-32).
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseDidUrl, toDidWeb, toUri } from "../../src/protocol/did.ts";
import { runs } from "../support/scale.ts";

const parts = { path: "", query: null, fragment: null };

describe("a DID URL", () => {
  it.each([
    ["did:a:b", { did: "did:a:b", method: "a", ...parts }],
    ["did:web:h%3A1:x", { did: "did:web:h%3A1:x", method: "web", ...parts }],
    ["did:a:b:", undefined],
    ["did:a::b", { did: "did:a::b", method: "a", ...parts }],
    ["did:a:b/p/q?r=/s?#t/?", { did: "did:a:b", method: "a", path: "/p/q", query: "r=/s?", fragment: "t/?" }],
    ["did:a:b?#", { did: "did:a:b", method: "a", path: "", query: "", fragment: "" }],
    ["did:a:b%", undefined],
    ["did:A:b", undefined],
    ["DID:a:b", undefined],
    [" did:a:b", undefined],
    ["did:a:b\n", undefined],
    ["did:a:b#c#d", undefined],
    ["did:a:é", undefined],
    [`did:a:${"b".repeat(5000)}`, undefined],
  ])("%j is parsed to %j", (text, expected) => {
    expect(parseDidUrl(text)).toEqual(expected);
  });

  // A pattern that tried every way to split such a text would never finish.
  it.each([`did:a:${"%41:".repeat(1000)}\u0000`, `did:a:b${"/a".repeat(2000)} `])(
    "is not mistaken for a long text that differs in its last character",
    (text) => {
      expect(parseDidUrl(text)).toBeUndefined();
    },
  );
});

describe("a did:web", () => {
  it("encodes characters that a segment may not contain", () => {
    expect(toDidWeb("https://a.example:8443", ["v1", "did:x:y"])).toBe("did:web:a.example%3A8443:v1:did%3Ax%3Ay");
    expect(parseDidUrl(toDidWeb("https://a.example", ["v1", "did:x:y"]))?.method).toBe("web");
  });
});

describe("a URL in the form of RFC 3986", () => {
  const URI =
    /^https?:\/\/(\[[0-9a-f:.]+\]|[A-Za-z0-9._~!$&'()*+,;=%-]*)(:\d+)?(?:[A-Za-z0-9._~!$&'()*+,;=:@/?-]|%[0-9A-Fa-f]{2})*(#(?:[A-Za-z0-9._~!$&'()*+,;=:@/?-]|%[0-9A-Fa-f]{2})*)?$/;

  it("results from any URL, and does not change again", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), fc.string({ unit: "grapheme" }), (path, rest) => {
        const given = `https://agent.example/${path}?${rest}#${path}${rest}`;
        if (!URL.canParse(given)) return;
        const written = toUri(given);
        expect(written).toMatch(URI);
        expect(toUri(written)).toBe(written);
      }),
      runs(),
    );
  });

  it("keeps an IPv6 address", () => {
    expect(toUri("http://[::1]:8787/a")).toBe("http://[::1]:8787/a");
  });
});
