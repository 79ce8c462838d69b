// A DRAFT's document can be read, and is never signed, whatever number is requested (IDN-19).
import { beforeAll, expect, it } from "vitest";
import { createWorld, expectStatus, type World } from "../support/world.ts";

let world: World;
beforeAll(async () => {
  world = await createWorld();
});

const read = (did: string, query = "", headers: Record<string, string> = {}) =>
  world.call("GET", `/v1/agents/${did}/aid${query}`, { key: null, headers });

async function isNeverSigned(did: string): Promise<void> {
  const document = await read(did);
  const aid = expectStatus(document, 200);
  expect(aid.proof).toBeNull();
  expect(document.headers.get("cache-control")).toBe("no-cache");
  for (const query of ["?version=1", `?version=${aid.version}`, `?revision=${aid.revision}`]) {
    for (const headers of [{}, { Accept: "application/jwt" }]) {
      const numbered = await read(did, query, headers);
      expect([query, numbered.status, numbered.body.code]).toEqual([query, 404, "not_found"]);
      expect(numbered.headers.get("cache-control")).toBe("no-store");
    }
  }
  const verified = await world.call("POST", "/v1/verify/aid", { key: null, body: { aid } });
  expect(verified.body).toMatchObject({ valid: false, reason: "proof_missing" });
}

it.each(["CONSUMER", "PROVIDER"] as const)(
  "the document of a %s is not signed under any number, even after a change",
  async (role) => {
    const { did } = await world.draft(role);
    await isNeverSigned(did);
    const scope = { body: { capabilities: ["other"] } };
    expectStatus(await world.call("PATCH", `/v1/agents/${did}/scope`, scope), 200);
    await isNeverSigned(did);
  },
);

it("the document of an agent that ends as a DRAFT is not signed, nor are the DRAFT versions of an agent that becomes ACTIVE", async () => {
  const ended = await world.draft("CONSUMER");
  const terminate = { body: { status: "TERMINATED" } };
  expectStatus(await world.call("PATCH", `/v1/agents/${ended.did}/status`, terminate), 200);
  await isNeverSigned(ended.did);
  const { did } = await world.draft("CONSUMER");
  const draft = expectStatus(await read(did), 200);
  expectStatus(await world.call("POST", `/v1/agents/${did}/activate`), 200);
  const active = expectStatus(await read(did), 200);
  expect(active.version).toBeGreaterThan(draft.version);
  expect((await read(did, `?version=${draft.version}`)).status).toBe(404);
  expect(expectStatus(await read(did, `?version=${active.version}`), 200).proof).not.toBeNull();
});
