// The form of a multipart body (HTTP-36): read exactly, or refused as a whole.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Bytes } from "../../src/core/encoding.ts";
import { ServiceError } from "../../src/core/errors.ts";
import { parseMultipart } from "../../src/http/incoming.ts";
import { BOUNDARY, formBytes, formHeaders, joined } from "../support/form.ts";
import { runs } from "../support/scale.ts";

const TYPE = formHeaders()["Content-Type"] ?? "";
const utf8 = new TextEncoder();
const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

/** A part with these headers. */
const part = (headers: string, content = "x") => utf8.encode(`--${BOUNDARY}\r\n${headers}\r\n\r\n${content}\r\n`);
const END = utf8.encode(`--${BOUNDARY}--\r\n`);
const NAMED = 'Content-Disposition: form-data; name="type"';
const whole = (...pieces: Uint8Array[]): Bytes => joined([...pieces, END]);

function refusal(body: Bytes, type: string | null = TYPE): [number, string, string] {
  try {
    parseMultipart(body, type);
  } catch (thrown) {
    if (thrown instanceof ServiceError) return [thrown.status, thrown.code, thrown.message];
    throw thrown;
  }
  throw new Error("it was read");
}

describe("a form", () => {
  it("is read part by part, without a copy of its bytes", () => {
    const file = Uint8Array.from({ length: 256 }, (_, i) => i);
    const body = formBytes([
      { name: "type", value: "supporting" },
      { name: "file", fileName: "naïve plan.pdf", value: file },
    ]);
    const [first, second] = parseMultipart(body, TYPE);
    expect([first?.name, first?.fileName, text(first?.bytes ?? file)]).toEqual(["type", null, "supporting"]);
    expect([second?.name, second?.fileName, second?.bytes]).toEqual(["file", "naïve plan.pdf", file]);
    expect(second?.bytes.buffer).toBe(body.buffer);
  });

  it("keeps parts of any bytes, also bytes that look like a boundary", () => {
    const bytes = fc.oneof(
      fc.uint8Array({ maxLength: 200 }),
      fc
        .constantFrom(`\r\n--${BOUNDARY}X`, `x--${BOUNDARY}`, "\r\n--", "\r", "\r\n\r\n", "")
        .map((t) => utf8.encode(t)),
    );
    fc.assert(
      fc.property(fc.array(bytes, { minLength: 1, maxLength: 6 }), (contents) => {
        const body = formBytes(contents.map((value, i) => ({ name: `p${i}`, fileName: "f", value })));
        expect(parseMultipart(new Uint8Array(body), TYPE).map((one) => [...one.bytes])).toEqual(
          contents.map((one) => [...one]),
        );
      }),
      runs(),
    );
  });

  it.each([
    ["quoted boundary", 'multipart/form-data; charset=utf-8; boundary="a b\'()+_,-./:=?c"', "a b'()+_,-./:=?c"],
    ["bare boundary with =", "Multipart/Form-Data;boundary=----=_Part_1", "----=_Part_1"],
    ["boundary of 70 characters", `multipart/form-data; boundary=${"x".repeat(70)}`, "x".repeat(70)],
  ])("is read with a %s", (_what, type, boundary) => {
    const body = formBytes([{ name: "type", value: "supporting" }], boundary);
    expect(parseMultipart(body, type)).toHaveLength(1);
  });

  it.each([
    ["plain", 'filename="a.pdf"', "a.pdf"],
    ["bare", "filename=a.pdf", "a.pdf"],
    ["with an escaped quote", 'filename="a\\"b.pdf"', 'a"b.pdf'],
    ["with a quote as browsers write it", 'filename="a%22b.pdf"', 'a"b.pdf'],
    ["with a line break as browsers write it", 'filename="a%0D%0Ab.pdf"', "a\r\nb.pdf"],
    ["with another percent sign", 'filename="50%25.pdf"', "50%25.pdf"],
    ["a backslash at the end as browsers write it", 'filename="a\\"', "a\\"],
    ["a backslash at the end before another parameter", 'filename="a\\"; x="b"', "a\\"],
    ["an escaped backslash at the end", 'filename="a\\\\"', "a\\"],
    ["a path without escapes", 'filename="C:\\dir\\a.pdf"', "C:\\dir\\a.pdf"],
    ["in UTF-8 beside a plain one", "filename=\"x.pdf\"; filename*=UTF-8''na%C3%AFve.pdf", "naïve.pdf"],
    ["empty", 'filename=""', ""],
  ])("has a file name that is %s", (_what, parameter, name) => {
    const [read] = parseMultipart(whole(part(`${NAMED}; ${parameter}`)), TYPE);
    expect(read?.fileName).toBe(name);
  });

  it("may have white space after a boundary, a line break before the first, and none after the last", () => {
    const body = joined([utf8.encode(`\r\n--${BOUNDARY} \t\r\n${NAMED}\r\n\r\nx\r\n--${BOUNDARY}--`)]);
    expect(parseMultipart(body, TYPE).map(({ bytes }) => text(bytes))).toEqual(["x"]);
  });
});

describe("a body that is not a complete form is 400 with", () => {
  const GOOD = formBytes([{ name: "type", value: "supporting" }]);

  it.each([
    ["no Content-Type", null],
    ["another Content-Type", "application/json"],
    ["another multipart", "multipart/mixed; boundary=x"],
    ["a Content-Type that only begins like it", `multipart/form-data-x; boundary=${BOUNDARY}`],
    ["no boundary", "multipart/form-data"],
    ["an empty boundary", 'multipart/form-data; boundary=""'],
    ["another boundary", "multipart/form-data; boundary=another"],
    ["a boundary of 71 characters", `multipart/form-data; boundary=${"x".repeat(71)}`],
    ["a boundary that ends with a space", 'multipart/form-data; boundary="x "'],
    ["two boundaries", `multipart/form-data; boundary=${BOUNDARY}; boundary=x`],
    // An expression of quadratic time would take minutes.
    ["a million spaces before another character", `multipart/form-data${" ".repeat(1_000_000)}x`],
  ])("%s", (_what, type) => {
    expect(refusal(GOOD, type)).toEqual([400, "invalid_request", expect.any(String)]);
  });

  it.each([
    ["nothing", new Uint8Array(0)],
    ["text before the first boundary", joined([utf8.encode("Hello\r\n"), GOOD])],
    ["text after the last boundary", joined([GOOD, utf8.encode("more")])],
    ["a part without headers", whole(utf8.encode(`--${BOUNDARY}\r\n\r\nx\r\n`))],
    ["a part without a disposition", whole(part("Content-Type: text/plain"))],
    ["a part with two dispositions", whole(part(`${NAMED}\r\n${NAMED}`))],
    ["a part with another disposition", whole(part('Content-Disposition: attachment; name="type"'))],
    ["a part without a name", whole(part("Content-Disposition: form-data"))],
    ["a part with an empty name", whole(part('Content-Disposition: form-data; name=""'))],
    ["a part with a header that is none", whole(part(`${NAMED}\r\nnonsense`))],
    ["a part with two names", whole(part(`${NAMED}; name="file"`))],
    ["a part with an unclosed quote", whole(part('Content-Disposition: form-data; name="type'))],
    ["a part in base64", whole(part(`${NAMED}\r\nContent-Transfer-Encoding: base64`))],
    [
      "headers that are not UTF-8",
      whole(
        joined([utf8.encode(`--${BOUNDARY}\r\n${NAMED}`), Uint8Array.of(0xff, 13, 10, 13, 10), utf8.encode("x\r\n")]),
      ),
    ],
    ["a file name in another charset", whole(part(`${NAMED}; filename*=ISO-8859-1''%E4`))],
    ["a file name of broken UTF-8", whole(part(`${NAMED}; filename*=UTF-8''%E4`))],
    ["headers of more than 8 KiB", whole(part(`${NAMED}\r\nX: ${"x".repeat(9_000)}`))],
    ["21 parts", formBytes(Array.from({ length: 21 }, (_, i) => ({ name: `p${i}`, value: "" })))],
  ])("%s", (_what, body) => {
    expect(refusal(body)).toEqual([400, "invalid_request", expect.any(String)]);
  });

  it("a cut at any byte", () => {
    const body = formBytes([
      { name: "type", value: "supporting" },
      { name: "file", fileName: "a.pdf", value: "%PDF-1.7" },
    ]);
    // The line break at the very end is optional.
    for (let length = 0; length < body.length - 2; length++) {
      expect([length, ...refusal(body.slice(0, length))]).toEqual([length, 400, "invalid_request", expect.any(String)]);
    }
  });
});
