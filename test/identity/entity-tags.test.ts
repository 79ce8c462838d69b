// A revalidating cache never keeps an outdated document, and representations have different tags (IDN-22).
import { eq } from "drizzle-orm";
import { beforeAll, describe, expect, it } from "vitest";
import { principals } from "../../src/db/tables/principals.ts";
import { type Agent, createWorld, expectStatus, type World } from "../support/world.ts";

let world: World;
beforeAll(async () => {
  world = await createWorld();
});

const JWT = { Accept: "application/jwt" };
const read = (did: string, query = "", headers: Record<string, string> = {}) =>
  world.call("GET", `/v1/agents/${did}/aid${query}`, { key: null, headers });
const tagOf = async (did: string, query = "", headers = {}) => {
  const tag = (await read(did, query, headers)).headers.get("etag");
  if (tag === null) throw new Error("no entity tag");
  return tag;
};
/** The answer to a cache that has the tag. */
const revalidated = async (did: string, tag: string) => {
  const { status, body } = await read(did, "", { "If-None-Match": tag });
  return status === 304 ? 304 : body.live.status;
};
const set = (agent: Agent, status: string) =>
  world.call("PATCH", `/v1/agents/${agent.did}/status`, { body: { status } }).then((reply) => expectStatus(reply, 200));

describe("a cache that revalidates", () => {
  it("shows a suspension, a reactivation and a termination at once", async () => {
    const agent = await world.consumer();
    const active = await tagOf(agent.did);
    expect(await revalidated(agent.did, active)).toBe(304);
    await set(agent, "SUSPENDED");
    expect(await revalidated(agent.did, active)).toBe("SUSPENDED");
    const suspended = await tagOf(agent.did);
    expect(await revalidated(agent.did, suspended)).toBe(304);
    await set(agent, "ACTIVE");
    expect(await revalidated(agent.did, suspended)).toBe("ACTIVE");
    await set(agent, "TERMINATED");
    expect(await revalidated(agent.did, active)).toBe("TERMINATED");
  });

  it("shows the end of an attestation at its instant, before a job records it", async () => {
    const agent = await world.consumer();
    const tag = await tagOf(agent.did);
    const attestationExpiresAt = world.now() - 1;
    const { db } = world.deps;
    await db.update(principals).set({ attestationExpiresAt }).where(eq(principals.principalId, agent.principalId));
    expect(await revalidated(agent.did, tag)).toBe("SUSPENDED");
  });

  it("shows a DRAFT's renewed attestation at once, although the agent's own row did not change", async () => {
    const { did, principalId } = await world.draft("CONSUMER");
    const tag = await tagOf(did);
    const body = {
      attestation_id: "att-renewed",
      verifier_id: "demo-verifier",
      issued_at: new Date(world.now() - 1_000).toISOString(),
      expires_at: new Date(world.now() + 86_400_000).toISOString(),
      model: "kyb",
    };
    expectStatus(await world.call("POST", `/v1/principals/${principalId}/attestations`, { body }), 201);
    const { status, body: shown } = await read(did, "", { "If-None-Match": tag });
    expect([status, shown.identity?.principal.verification.attestation_id]).toEqual([200, "att-renewed"]);
  });

  it("revalidates the present document every time", async () => {
    const agent = await world.consumer();
    expect((await read(agent.did)).headers.get("cache-control")).toBe("no-cache");
  });
});

describe("the JSON and the JWT", () => {
  it.each(["", "?version=2", "?revision=R"])(
    "of %s have a tag each, and neither answers 304 to the other's tag",
    async (query) => {
      const { did } = await world.consumer();
      const { version, revision } = expectStatus(await read(did), 200);
      const asked = query.replace("=2", `=${version}`).replace("R", String(revision));
      const [json, jwt] = [await tagOf(did, asked), await tagOf(did, asked, JWT)];
      expect(json).not.toBe(jwt);
      const ask = async (headers: Record<string, string>, tag: string) =>
        (await read(did, asked, { ...headers, "If-None-Match": tag })).status;
      expect([await ask({}, json), await ask(JWT, jwt)]).toEqual([304, 304]);
      expect([await ask({}, jwt), await ask(JWT, json)]).toEqual([200, 200]);
    },
  );
});
