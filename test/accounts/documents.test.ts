// Documents of the review (ACC-20): uploaded by a person of the account.
import { beforeAll, describe, expect, it } from "vitest";
import {
  DAY_MS,
  DOCUMENT_MAX_BYTES,
  DOCUMENTS_PER_DAY,
  SECOND_MS,
  SUPPORTING_DOCUMENTS_MAX,
} from "../../src/core/limits.ts";
import { DOCUMENT_TYPES, REQUIRED_DOCUMENTS } from "../../src/core/vocabulary.ts";
import { stopped } from "../support/clock.ts";
import { documentParts, type FormPart, formBytes, formHeaders, jpeg, pdf, png } from "../support/form.ts";
import { dumpDatabase } from "../support/variants.ts";
import { createWorld, env, expectStatus, type Json, type World } from "../support/world.ts";
import { accountOf, ask, complete, decide, type Person, sendForm, storedFiles, submit } from "./review-support.ts";

let world: World;
let person: Person;
beforeAll(async () => {
  world = await createWorld();
  person = await complete(world);
});

const PATH = "/v1/platform/documents";
const FILE = "certificate_of_incorporation";
const named = (fileName: string): FormPart[] => documentParts(FILE, pdf(), fileName);

describe("a document", () => {
  it.each([
    ["PDF", pdf(), "application/pdf"],
    ["PNG", png(), "image/png"],
    ["JPEG", jpeg(), "image/jpeg"],
  ])("is stored as the %s that its bytes are, whatever name it has", async (_what, bytes, media_type) => {
    const view = expectStatus(await sendForm(world, person, documentParts(FILE, bytes, "scan.exe")), 201);
    const digest = await crypto.subtle.digest("SHA-256", bytes);
    expect(view).toEqual({
      document_id: expect.stringMatching(/^doc_/),
      type: FILE,
      status: "current",
      file_name: "scan.exe",
      media_type,
      size_bytes: bytes.length,
      sha256: Buffer.from(digest).toString("hex"),
      created_at: expect.any(String),
    });
    const stored = await env.DOCUMENTS.get(`${person.platformId}/${view.document_id}`);
    expect(new Uint8Array((await stored?.arrayBuffer()) ?? new ArrayBuffer(0))).toEqual(bytes);
    expect(expectStatus(await ask(world, person, "GET", `${PATH}/${view.document_id}`), 200)).toEqual(view);
  });

  it("is in the log with its person, and without its name or its bytes", async () => {
    const { document_id } = expectStatus(await sendForm(world, person, named("secret plan.pdf")), 201);
    const { activity_entries: entries = [] } = await dumpDatabase();
    const [entry, ...others] = entries.filter((row) => row.includes(document_id));
    expect(others).toEqual([]);
    expect(entry).toContain("account.document_submitted");
    expect(entry).toContain(person.email);
    expect(entry).not.toContain("secret plan");
  });

  it("may be sent as a FormData, as real clients do", async () => {
    const form = new FormData();
    form.append("type", "supporting");
    form.append("file", new File([pdf()], "“naïve” ½.pdf", { type: "application/pdf" }));
    const request = new Request("http://client.test/", { method: "POST", body: form });
    const reply = await ask(world, person, "POST", PATH, {
      rawBody: new Uint8Array(await request.arrayBuffer()),
      headers: { "Content-Type": request.headers.get("content-type") ?? "" },
    });
    expect(expectStatus(reply, 201)).toMatchObject({ file_name: "“naïve” ½.pdf", size_bytes: 2_000 });
  });

  it("is charged once, although its caller is authenticated before its body is read", async () => {
    const left = async () => {
      const { headers } = await sendForm(world, person, documentParts("supporting"));
      return Number(/;r=(\d+)/.exec(headers.get("ratelimit") ?? "")?.[1]);
    };
    const [before, after] = [await left(), await left()];
    expect(before - after).toBe(1);
  });

  it("may have exactly 10 MiB", async () => {
    const reply = await sendForm(world, person, documentParts("supporting", pdf(DOCUMENT_MAX_BYTES)));
    expect(expectStatus(reply, 201).size_bytes).toBe(10 * 1024 * 1024);
  });

  it("may have a name of 255 characters", async () => {
    expect((await sendForm(world, person, named(`${"é".repeat(251)}.pdf`))).status).toBe(201);
  });
});

describe("an Idempotency-Key", () => {
  it("replays the same file under another boundary, and refuses another file, name or type", async () => {
    const key = { "Idempotency-Key": crypto.randomUUID() };
    const first = expectStatus(await sendForm(world, person, documentParts("supporting"), key), 201);
    const again = await ask(world, person, "POST", PATH, {
      rawBody: formBytes(documentParts("supporting"), "another"),
      headers: { ...formHeaders("another"), ...key },
    });
    expect([again.status, again.body, again.headers.get("idempotent-replayed")]).toEqual([201, first, "true"]);
    const other = pdf();
    other[1_000] = 1;
    for (const parts of [
      documentParts("supporting", other),
      documentParts("supporting", pdf(), "other.pdf"),
      documentParts(FILE),
    ]) {
      const reply = await sendForm(world, person, parts, key);
      expect([reply.status, reply.body.code]).toEqual([422, "idempotency_key_reused"]);
    }
    expect((await storedFiles(person.platformId)).filter((file) => file.endsWith(first.document_id))).toHaveLength(1);
  });

  it("gives one document to 10 simultaneous uploads", async () => {
    const before = (await storedFiles(person.platformId)).length;
    const key = { "Idempotency-Key": crypto.randomUUID() };
    const replies = await Promise.all(
      Array.from({ length: 10 }, () => sendForm(world, person, documentParts("supporting"), key)),
    );
    const ids = replies.filter(({ status }) => status === 201).map(({ body }) => body.document_id);
    expect(new Set(ids).size).toBe(1);
    expect(replies.every(({ status }) => status === 201 || status === 409)).toBe(true);
    expect((await storedFiles(person.platformId)).length).toBe(before + 1);
  });
});

describe("a required type", () => {
  it("supersedes the current one, in every state of the account", async () => {
    const early = await complete(world);
    const first = await submit(world, early, FILE);
    const second = await submit(world, early, FILE);
    const statusOf = async ({ document_id }: Json) =>
      expectStatus(await ask(world, early, "GET", `${PATH}/${document_id}`), 200).status;
    expect([await statusOf(first), await statusOf(second)]).toEqual(["superseded", "current"]);
    for (const type of REQUIRED_DOCUMENTS) await submit(world, early, type);
    expectStatus(await ask(world, early, "POST", "/v1/platform/verification"), 200);
    const inTheReview = await submit(world, early, FILE);
    expect((await accountOf(world, early)).platform_status).toBe("IN_REVIEW");
    expectStatus(await decide(world, early, { decision: "approve" }), 200);
    const afterwards = await submit(world, early, FILE);
    expect([await statusOf(inTheReview), await statusOf(afterwards)]).toEqual(["superseded", "current"]);
    expect((await accountOf(world, early)).platform_status).toBe("ACCREDITED");
  });

  it("has one current document after 8 simultaneous uploads, and all of them are stored", async () => {
    const racing = await complete(world);
    const replies = await Promise.all(Array.from({ length: 8 }, () => sendForm(world, racing, documentParts(FILE))));
    expect(replies.map(({ status }) => status)).toEqual(Array.from({ length: 8 }, () => 201));
    const { data } = expectStatus(await ask(world, racing, "GET", PATH), 200);
    expect(data.filter(({ status }: Json) => status === "current")).toHaveLength(1);
    expect(data).toHaveLength(8);
    expect(await storedFiles(racing.platformId)).toEqual(
      data.map(({ document_id }: Json) => `${racing.platformId}/${document_id}`).sort(),
    );
    expectStatus(await sendForm(world, racing, documentParts("proof_of_registered_address")), 201);
    const { requirements } = await accountOf(world, racing);
    expect(requirements.currently_due).toEqual(["director_identification", "ownership_and_control_structure"]);
  });
});

describe("supporting documents", () => {
  it("append, up to 50", async () => {
    const many = await complete(world);
    await env.DB.prepare(
      "update platforms set documents = json_set(documents, '$.supporting', ?) where platform_id = ?",
    )
      .bind(SUPPORTING_DOCUMENTS_MAX - 2, many.platformId)
      .run();
    const replies = await Promise.all(
      Array.from({ length: 4 }, () => sendForm(world, many, documentParts("supporting"))),
    );
    expect(replies.map(({ status }) => status).sort()).toEqual([201, 201, 422, 422]);
    const full = await sendForm(world, many, documentParts("supporting"));
    expect([full.status, full.body.code, full.body.field_errors[0].field]).toEqual([422, "validation_failed", "type"]);
    const { data } = expectStatus(await ask(world, many, "GET", PATH), 200);
    expect(data.map(({ status }: Json) => status)).toEqual(["current", "current"]);
    // Documents of other types are not limited by them.
    await submit(world, many, FILE);
  });
});

describe("a hundred documents a day", () => {
  it("is the limit of an account, for all types together and for simultaneous uploads; the next is 429 until the UTC day is over", async () => {
    const still = stopped(world);
    const busy = await complete(still);
    const today = Math.floor(still.now() / DAY_MS);
    const count = (day: number, submitted: number) =>
      env.DB.prepare(
        "update platforms set documents = json_set(documents, '$.day', ?, '$.submitted', ?) where platform_id = ?",
      )
        .bind(day, submitted, busy.platformId)
        .run();
    await submit(still, busy, FILE);
    await count(today, DOCUMENTS_PER_DAY - 2);
    const types = [FILE, "supporting", "director_identification", "supporting"];
    const replies = await Promise.all(types.map((type) => sendForm(still, busy, documentParts(type))));
    expect(replies.map(({ status }) => status).sort()).toEqual([201, 201, 429, 429]);
    const refused = await sendForm(still, busy, documentParts("supporting"));
    expect([refused.status, refused.body.code]).toEqual([429, "rate_limited"]);
    const left = DAY_MS - (still.now() % DAY_MS);
    expect(refused.headers.get("retry-after")).toBe(String(Math.ceil(left / SECOND_MS)));
    await count(today - 1, DOCUMENTS_PER_DAY);
    await submit(still, busy, FILE);
    const stored = await env.DB.prepare("select documents from platforms where platform_id = ?")
      .bind(busy.platformId)
      .first<{ documents: string }>();
    expect(JSON.parse(stored?.documents ?? "")).toMatchObject({ day: today, submitted: 1 });
  });
});

describe("the listing", () => {
  it("has the newest first, page by page, and no document of another account", async () => {
    const own = await complete(world);
    const ids: string[] = [];
    for (const type of DOCUMENT_TYPES) ids.unshift((await submit(world, own, type)).document_id);
    const first = expectStatus(await ask(world, own, "GET", `${PATH}?limit=3`), 200);
    const second = expectStatus(await ask(world, own, "GET", `${PATH}?limit=3&cursor=${first.next_cursor}`), 200);
    expect([...first.data, ...second.data].map(({ document_id }: Json) => document_id)).toEqual(ids);
    expect([first.has_more, second.has_more, second.next_cursor]).toEqual([true, false, null]);
  });
});
