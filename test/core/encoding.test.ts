// Strict decoding: bytes have one text in each alphabet, so a signature cannot be altered without being broken.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  decodeBase64Any,
  decodeBase64Url,
  decodeUtf8,
  encodeBase64,
  encodeBase64Url,
  encodeHex,
  encodeUtf8,
} from "../../src/core/encoding.ts";
import { runs } from "../support/scale.ts";

const anyBytes = fc.uint8Array({ maxLength: 80 });

describe("base64", () => {
  it("encodes the vectors of RFC 4648, section 10", () => {
    const vectors = {
      "": "",
      f: "Zg==",
      fo: "Zm8=",
      foo: "Zm9v",
      foob: "Zm9vYg==",
      fooba: "Zm9vYmE=",
      foobar: "Zm9vYmFy",
    };
    for (const [text, encoded] of Object.entries(vectors)) {
      expect(encodeBase64(encodeUtf8(text))).toBe(encoded);
      expect(encodeBase64Url(encodeUtf8(text))).toBe(encoded.replaceAll("=", ""));
    }
  });

  it("decodes any bytes from either alphabet, padded or not", () => {
    fc.assert(
      fc.property(anyBytes, (bytes) => {
        const [standard, url] = [encodeBase64(bytes), encodeBase64Url(bytes)];
        const padded = url.padEnd(standard.length, "=");
        for (const text of [standard, standard.replaceAll("=", ""), url, padded]) {
          expect(decodeBase64Any(text)).toEqual(new Uint8Array(bytes));
        }
        expect(decodeBase64Url(url)).toEqual(new Uint8Array(bytes));
      }),
      runs(),
    );
  });

  it("decodes only the text that encoding writes", () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[A-Za-z0-9_-]{0,12}$/), (text) => {
        const bytes = decodeBase64Url(text);
        if (bytes !== undefined) expect(encodeBase64Url(bytes)).toBe(text);
      }),
      runs(),
    );
  });

  it.each([
    ["one character too many", "Zm9vY"],
    ["bits that no byte uses", "Zh"],
    ["bits that no byte uses, in two bytes", "Zm9"],
    ["white space", "Zm9v Zm9v"],
    ["a line break", "Zm9v\n"],
    ["mixed alphabets", "+-++"],
    ["half the padding", "Zg="],
    ["padding where none is due", "Zm9v="],
    ["padding inside", "Zg==Zm9v"],
    ["a letter outside ASCII", "Zm9é"],
  ])("refuses %s", (_name, text) => {
    expect(decodeBase64Any(text)).toBeUndefined();
    expect(decodeBase64Url(text)).toBeUndefined();
  });

  it("refuses padding, + and / in base64url, as JOSE writes it", () => {
    for (const text of ["Zg==", "+///", "Zm8="]) expect(decodeBase64Url(text)).toBeUndefined();
  });
});

describe("text and hex", () => {
  it("does not decode bytes that are not UTF-8", () => {
    expect(decodeUtf8(Uint8Array.of(0xc3, 0x28))).toBeUndefined();
    expect(decodeUtf8(encodeUtf8("é€😀"))).toBe("é€😀");
  });

  it("keeps a byte order mark, because it was signed", () => {
    expect(decodeUtf8(Uint8Array.of(0xef, 0xbb, 0xbf, 0x41))).toBe("\ufeffA");
  });

  it("writes hex in lower case with two digits a byte", () => {
    expect(encodeHex(Uint8Array.of(0, 10, 255))).toBe("000aff");
  });
});
