// How signed documents are stored (src/db/deflated.ts): a read returns what was stored, in every form that was ever stored.
import { eq } from "drizzle-orm";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { findStatedAgents } from "../../src/agents/slice-store.ts";
import { readBatch } from "../../src/db/batch.ts";
import { deflateJson, inflateJson } from "../../src/db/deflated.ts";
import { aidVersions } from "../../src/db/tables/agents.ts";
import { rows } from "../promotion/support.ts";
import { runs } from "../support/scale.ts";
import { createWorld, expectStatus } from "../support/world.ts";

const base64Url = (text: string) => Buffer.from(text).toString("base64url");
const jws = fc
  .tuple(fc.json(), fc.json(), fc.string({ unit: fc.constantFrom(..."abcXYZ019-_"), minLength: 1 }))
  .map(([header, payload, signature]) => `eyJ${base64Url(header)}.${base64Url(payload)}.${signature}`);
/** Texts that only look like a segment, and texts with the enclosing characters. */
const odd = fc.constantFrom(
  "eyJ",
  "eyJhbGciOiJub25lIn0=",
  "eyJ_-_-",
  "\u0001eyJhIjoxfQ\u0002",
  base64Url('{"a":"\u0001\u0002"}'),
);
const value = fc.oneof(fc.string({ unit: "binary" }), jws, odd);

describe("deflated JSON", () => {
  it("is inflated to the same text, from its bytes and from their hexadecimal digits", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.oneof(value, fc.array(value))), (document) => {
        const text = JSON.stringify(document);
        const stored = deflateJson(text);
        expect(inflateJson(stored)).toBe(text);
        expect(inflateJson(stored.toString("hex").toUpperCase())).toBe(text);
        expect(inflateJson(text)).toBe(text);
      }),
      runs(),
    );
  });
});

describe("a version of a document", () => {
  it("is stored in less than half its characters, and served as it was signed", async () => {
    const world = await createWorld();
    const principal_id = await world.principal();
    const { did } = await world.provider({ principal_id });
    const path = `/v1/agents/${did}/aid?version=2`;
    const [stored] = await rows(
      "select content, typeof(content) as type, length(content) + length(proof) as size from aid_versions where did = ? and version = 2",
      did,
    );
    expect(stored?.type).toBe("blob");
    const served = await world.call("GET", path, { key: null });
    expectStatus(served, 200);
    const stated = async () =>
      (await readBatch(world.deps.db, findStatedAgents(world.deps.db, principal_id, 10))).agents;
    const before = await stated();
    expect(before).toMatchObject([{ agent: { did }, certificate: expect.stringMatching(/^eyJ/), country: "DE" }]);
    const [row] = await world.deps.db.select().from(aidVersions).where(eq(aidVersions.did, did));
    expect(row?.content.startsWith('{"did":')).toBe(true);
    expect(stored?.size).toBeLessThan(0.5 * Number(row?.content.length));
    // As earlier versions of the service stored it.
    await rows(
      "update aid_versions set content = ? where did = ? and version = 2",
      inflateJson(new Uint8Array(stored?.content)),
      did,
    );
    expect((await world.call("GET", path, { key: null })).text).toBe(served.text);
    expect(await stated()).toEqual(before);
  });
});
