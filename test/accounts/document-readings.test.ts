// Only operators read the files of documents, and each reading is an entry of their log (ACC-22).
import { beforeAll, describe, expect, inject, it } from "vitest";
import { documentParts, png } from "../support/form.ts";
import { dumpDatabase, failingBatches, send, withDatabase } from "../support/variants.ts";
import { createWorld, env, expectStatus, type Json, type World } from "../support/world.ts";
import { ask, complete, inReview, operate, type Person, sendForm, submit } from "./review-support.ts";
import { bearer } from "./support.ts";

let world: World;
let person: Person;
beforeAll(async () => {
  world = await createWorld();
  person = await complete(world);
});

const PATH = "/v1/platform/documents";
const FILE = "certificate_of_incorporation";

describe("the operator", () => {
  it("lists the documents of an account and reads each file as a download", async () => {
    const reviewed = await inReview(world);
    const bytes = png(5_000);
    const { document_id } = expectStatus(
      await sendForm(world, reviewed, documentParts("supporting", bytes, "Plan (neu) – 'a'.png")),
      201,
    );
    const path = `/v1/operator/platforms/${reviewed.platformId}/documents`;
    const { data } = expectStatus(await operate(world, "GET", path), 200);
    expect([data.length, data[0].document_id]).toEqual([5, document_id]);
    const reply = await operate(world, "GET", `${path}/${document_id}`);
    expect([reply.status, reply.bytes]).toEqual([200, bytes]);
    expect(Object.fromEntries(reply.headers)).toMatchObject({
      "content-type": "image/png",
      "content-disposition": `attachment; filename="${document_id}.png"; filename*=UTF-8''Plan%20%28neu%29%20%E2%80%93%20%27a%27.png`,
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
    });
  });

  it("leaves an entry in the operators' own log with each reading, and none in the platform's", async () => {
    const reviewed = await inReview(world);
    const { data } = expectStatus(await ask(world, reviewed, "GET", PATH), 200);
    const [{ document_id }] = data;
    const path = `/v1/operator/platforms/${reviewed.platformId}/documents/${document_id}`;
    const before = await dumpDatabase();
    await operate(world, "GET", path);
    await operate(world, "GET", path);
    const after = await dumpDatabase();
    const readings = (after["operator_entries"] ?? []).map((row): Json => JSON.parse(row));
    expect(readings.filter(({ subject_id }) => subject_id === document_id)).toMatchObject([
      { action: "document.read", subject_type: "document", platform_id: reviewed.platformId },
      { action: "document.read", subject_type: "document", platform_id: reviewed.platformId },
    ]);
    expect(after["activity_entries"]).toEqual(before["activity_entries"]);
  });

  it("gets no file whose reading could not be recorded", async () => {
    const reviewed = await inReview(world);
    const { data } = expectStatus(await ask(world, reviewed, "GET", PATH), 200);
    const path = `/v1/operator/platforms/${reviewed.platformId}/documents/${data[0].document_id}`;
    const failing = withDatabase(
      world,
      failingBatches(env.DB, (batch) => (batch === 2 ? "before" : "never")),
    );
    const reply = await operate(failing, "GET", path);
    expect([reply.status, reply.text.includes("%PDF-1.7")]).toEqual([500, false]);
  });

  it("can only use GET, because a reading leaves an entry", async () => {
    const { document_id } = await submit(world, person, FILE);
    const path = `/v1/operator/platforms/${person.platformId}/documents/${document_id}`;
    const headers = { Authorization: `Bearer ${inject("operatorKey")}` };
    const { response } = await send(world, path, { method: "HEAD", headers });
    expect([response.status, response.headers.get("allow")]).toEqual([405, "GET"]);
  });
});

describe("a caller that is not an operator", () => {
  it("cannot read a file: neither its account, with a key or a session, nor the public", async () => {
    const { document_id } = await submit(world, person, FILE);
    const path = `/v1/operator/platforms/${person.platformId}/documents/${document_id}`;
    for (const headers of [{}, bearer(person.session), { "Service-Api-Key": person.key }]) {
      const reply = await world.call("GET", path, { key: null, headers });
      expect([reply.status, reply.body.code]).toEqual([401, "invalid_credentials"]);
    }
    for (const guess of [`/${person.platformId}/${document_id}`, `/documents/${document_id}`]) {
      expect((await world.call("GET", guess, { key: null })).status).toBe(404);
    }
  });
});
