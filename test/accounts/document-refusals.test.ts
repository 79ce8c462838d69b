// Refused uploads (ACC-20, HTTP-36): each has its code, and leaves no row and no file.
import { beforeAll, describe, expect, it } from "vitest";
import { DOCUMENT_MAX_BYTES } from "../../src/core/limits.ts";
import { FORM_MAX_BYTES } from "../../src/http/incoming.ts";
import { documentParts, type FormPart, formBytes, formHeaders, joined, pdf } from "../support/form.ts";
import { dumpDatabase } from "../support/variants.ts";
import { createWorld, env, type Json, type World } from "../support/world.ts";
import { complete, type Person, sendForm, storedFiles } from "./review-support.ts";
import { bearer } from "./support.ts";

let world: World;
let person: Person;
beforeAll(async () => {
  world = await createWorld();
  person = await complete(world);
});

const PATH = "/v1/platform/documents";
const FILE = "certificate_of_incorporation";
const utf8 = new TextEncoder();
const named = (fileName: string): FormPart[] => documentParts(FILE, pdf(), fileName);

describe("an upload is refused, and leaves neither row nor file:", () => {
  /** The content of the refusal, after a check that no row and no file has changed. */
  async function refused(send: () => Promise<{ status: number; body: Json }>) {
    const [rows, files] = [await dumpDatabase(), await storedFiles()];
    const { status, body } = await send();
    expect([await dumpDatabase(), await storedFiles()]).toEqual([rows, files]);
    const faults = (body.field_errors ?? []).map(
      ({ field, code }: { field: string; code: string }) => `${field}: ${code}`,
    );
    return [status, body.code, faults];
  }

  const FILES: [string, FormPart[], string, string[]][] = [
    ["zero bytes", documentParts(FILE, new Uint8Array(0)), "validation_failed", ["file: too_short"]],
    [
      "10 MiB and one byte",
      documentParts(FILE, pdf(DOCUMENT_MAX_BYTES + 1)),
      "file_too_large",
      ["file: file_too_large"],
    ],
    [
      "text that calls itself a PDF",
      documentParts(FILE, utf8.encode("Hello, I am a PDF.")),
      "unsupported_file_type",
      ["file: unsupported_file_type"],
    ],
    [
      "a PDF that begins later",
      documentParts(FILE, utf8.encode(" %PDF-1.7")),
      "unsupported_file_type",
      ["file: unsupported_file_type"],
    ],
    ["a GIF", documentParts(FILE, utf8.encode("GIF89a...")), "unsupported_file_type", ["file: unsupported_file_type"]],
    ["an unknown type", documentParts("passport"), "document_type_invalid", ["type: document_type_invalid"]],
    ["an empty type", documentParts(""), "document_type_invalid", ["type: document_type_invalid"]],
    [
      "an unknown type and an unknown format",
      documentParts("passport", utf8.encode("GIF89a")),
      "document_type_invalid",
      ["type: document_type_invalid", "file: unsupported_file_type"],
    ],
    [
      "an unknown type and no bytes",
      documentParts("passport", new Uint8Array(0)),
      "validation_failed",
      ["type: document_type_invalid", "file: too_short"],
    ],
    ["a name of 300 characters", named("x".repeat(300)), "validation_failed", ["file: invalid_format"]],
    ["a name of 256 characters", named("x".repeat(256)), "validation_failed", ["file: invalid_format"]],
    ["a name with ../", named("../../etc/passwd"), "validation_failed", ["file: invalid_format"]],
    ["a name of ..", named(".."), "validation_failed", ["file: invalid_format"]],
    ["a name with a slash", named("a/b.pdf"), "validation_failed", ["file: invalid_format"]],
    ["a name with a backslash", named("a\\b.pdf"), "validation_failed", ["file: invalid_format"]],
    ["a name with a line break", named("a%0D%0Ab.pdf"), "validation_failed", ["file: invalid_format"]],
    ["a name with a zero byte", named("a\0.pdf"), "validation_failed", ["file: invalid_format"]],
    ["a name that is written backwards", named("a\u202efdp.exe"), "validation_failed", ["file: invalid_format"]],
    ["no name", named(""), "validation_failed", ["file: invalid_format"]],
    [
      "a file that is a field",
      [
        { name: "type", value: FILE },
        { name: "file", value: "%PDF-1.7" },
      ],
      "validation_failed",
      ["file: invalid_format"],
    ],
    [
      "a type that is a file",
      [
        { name: "type", fileName: "t", value: FILE },
        { name: "file", fileName: "a.pdf", value: pdf() },
      ],
      "validation_failed",
      ["type: invalid_value"],
    ],
    ["no file", [{ name: "type", value: FILE }], "validation_failed", ["file: required"]],
    ["no type", [{ name: "file", fileName: "a.pdf", value: pdf() }], "validation_failed", ["type: required"]],
    [
      "two files",
      [...documentParts(FILE), { name: "file", fileName: "b.pdf", value: pdf() }],
      "validation_failed",
      ["file: invalid_value"],
    ],
    [
      "two types",
      [{ name: "type", value: FILE }, ...documentParts(FILE)],
      "validation_failed",
      ["type: invalid_value"],
    ],
    [
      "an unknown part",
      [...documentParts(FILE), { name: "note", value: "hi" }],
      "validation_failed",
      ["note: unknown_field"],
    ],
  ];
  it.each(FILES)("%s", async (_what, parts, code, faults) => {
    expect(await refused(() => sendForm(world, person, parts))).toEqual([422, code, faults]);
  });

  it("a broken form, after its credential is checked", async () => {
    const whole = formBytes(documentParts(FILE));
    const post = (rawBody: Uint8Array, headers: Record<string, string>) => () =>
      world.call("POST", PATH, { key: null, rawBody, headers });
    const signed = { ...bearer(person.session) };
    for (const [body, type] of [
      [whole, formHeaders("another")],
      [whole, { "Content-Type": "application/json" }],
      [whole.slice(0, -5), formHeaders()],
      [utf8.encode("{}"), { "Content-Type": "application/json" }],
    ] as const) {
      expect(await refused(post(body, { ...signed, ...type }))).toEqual([400, "invalid_request", []]);
      expect(await refused(post(body, type))).toEqual([401, "invalid_credentials", []]);
    }
    expect(await refused(post(formBytes(documentParts("passport")), formHeaders()))).toEqual([
      401,
      "invalid_credentials",
      [],
    ]);
    expect(
      await refused(post(formBytes(documentParts(FILE)), { ...formHeaders(), "Service-Api-Key": person.key })),
    ).toEqual([401, "invalid_credentials", []]);
  });

  it("a body that is too large for a file of 10 MiB, before it is read, and for its file", async () => {
    const length = DOCUMENT_MAX_BYTES + FORM_MAX_BYTES + 1;
    const small = formBytes(documentParts(FILE));
    const declared = () => sendForm(world, person, documentParts(FILE), { "Content-Length": String(length) });
    expect(await refused(declared)).toEqual([422, "file_too_large", ["file: file_too_large"]]);
    // Without a length it is read up to the bound.
    const streamed = joined([small.slice(0, -2), pdf(length)]);
    const body = new ReadableStream({
      start: (controller) => {
        controller.enqueue(streamed);
        controller.close();
      },
    });
    const request = new Request(`http://service.test${PATH}`, {
      method: "POST",
      body,
      headers: { ...bearer(person.session), ...formHeaders() },
    });
    const answer = await world.serve(async () =>
      world.app.fetch(request, env, { waitUntil: () => undefined } as never),
    );
    expect([answer.status, ((await answer.json()) as Json).code]).toEqual([422, "file_too_large"]);
  });

  it("a body that breaks off in the middle", async () => {
    const [rows, files] = [await dumpDatabase(), await storedFiles()];
    const half = formBytes(documentParts(FILE, pdf(200_000))).slice(0, 100_000);
    const body = new ReadableStream({
      start: (controller) => {
        controller.enqueue(half);
        controller.error(new Error("the client is gone"));
      },
    });
    const request = new Request(`http://service.test${PATH}`, {
      method: "POST",
      body,
      headers: { ...bearer(person.session), ...formHeaders() },
    });
    const answer = await world.serve(async () =>
      world.app.fetch(request, env, { waitUntil: () => undefined } as never),
    );
    expect([answer.status, ((await answer.json()) as Json).code]).toEqual([400, "invalid_request"]);
    expect([await dumpDatabase(), await storedFiles()]).toEqual([rows, files]);
  });
});
