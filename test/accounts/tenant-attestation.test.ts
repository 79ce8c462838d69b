// The operator renews the attestation of an account's own company (ACC-24).
import { beforeAll, describe, expect, it } from "vitest";
import { endAttestations } from "../../src/cascades/expire.ts";
import { finishRestatements } from "../../src/cascades/restate-agents.ts";
import { addMonths, toIso } from "../../src/core/clock.ts";
import { DAY_MS } from "../../src/core/limits.ts";
import { SLICE } from "../../src/jobs/walk.ts";
import { beginWalk } from "../../src/jobs/walk-store.ts";
import { copyDid } from "../support/copies.ts";
import { dumpDatabase } from "../support/variants.ts";
import { agentBody, createWorld, env, expectStatus, type Json, type World } from "../support/world.ts";
import { accountOf, complete, decide, inReview, operate, type Person } from "./review-support.ts";

let world: World;
beforeAll(async () => {
  world = await createWorld();
});

const renew = (person: Pick<Person, "platformId">, body: unknown = {}) =>
  operate(world, "POST", `/v1/operator/platforms/${person.platformId}/attestation`, body);

type Accredited = Person & { readonly principalId: string };

async function accredited(): Promise<Accredited> {
  const person = await inReview(world);
  expectStatus(await decide(world, person, { decision: "approve" }), 200);
  return { ...person, principalId: (await accountOf(world, person)).tenant_principal_id };
}

async function activeAgent({ key, principalId }: Accredited): Promise<string> {
  const body = { ...agentBody("CONSUMER"), principal_id: principalId };
  const { did } = expectStatus(await world.call("POST", "/v1/agents", { key, body }), 201);
  expectStatus(await world.call("POST", `/v1/agents/${did}/activate`, { key }), 200);
  return did;
}

const principalOf = async ({ key, principalId }: Accredited): Promise<Json> =>
  expectStatus(await world.call("GET", `/v1/principals/${principalId}`, { key }), 200);
const agentOf = async ({ key }: Accredited, did: string): Promise<Json> =>
  expectStatus(await world.call("GET", `/v1/agents/${did}`, { key }), 200);
const revisionOf = async (did: string): Promise<number> =>
  expectStatus(await world.call("GET", `/v1/agents/${did}/aid`, { key: null }), 200).revision;

describe("a renewal", () => {
  it("lasts twelve months, or until the end that it names", async () => {
    const person = await accredited();
    const renewed = expectStatus(await renew(person), 201);
    expect(await principalOf(person)).toEqual(renewed);
    const { verification_attestation: whole } = renewed;
    expect(Date.parse(whole.expires_at)).toBe(addMonths(Date.parse(whole.issued_at), 12));
    const expires_at = toIso(world.now() + 30 * DAY_MS);
    const shorter = expectStatus(await renew(person, { expires_at }), 201);
    expect(shorter.verification_attestation).toMatchObject({ expires_at, verifier_id: "operator", tier: "TIER_2" });
    const { attestations = [], operator_entries: acts = [] } = await dumpDatabase();
    expect(attestations.filter((row) => row.includes(person.principalId))).toHaveLength(4);
    expect(acts.filter((row) => row.includes(person.platformId) && row.includes("attestation_renewed"))).toHaveLength(
      2,
    );
  });

  it.each([
    ["in the past", () => world.now() - 1_000],
    ["more than twelve months away", () => addMonths(world.now(), 12) + DAY_MS],
  ])("until an instant %s is refused", async (_what, end) => {
    const person = await accredited();
    const before = await dumpDatabase();
    const reply = await renew(person, { expires_at: toIso(end()) });
    expect([reply.status, reply.body.field_errors]).toMatchObject([
      422,
      [{ field: "expires_at", code: "invalid_value" }],
    ]);
    expect(await dumpDatabase()).toEqual(before);
  });

  it("of an account that is not accredited is 409", async () => {
    const person = await complete(world);
    const before = await dumpDatabase();
    const reply = await renew(person);
    expect([reply.status, reply.body.code]).toEqual([409, "invalid_status"]);
    expect(await dumpDatabase()).toEqual(before);
  });

  it("makes each agent's document stale once, also those of further slices", async () => {
    const person = await accredited();
    const did = await activeAgent(person);
    const [row] = (await env.DB.prepare("select * from agents where did = ?").bind(did).all<Json>()).results;
    const columns = Object.keys(row);
    // Copies of the agent that are older and younger than it.
    const copies = Array.from({ length: SLICE + 5 }, (_, i) => ({
      ...row,
      did: copyDid(did, i),
      created_at: row.created_at - 100 + i,
    }));
    const text = `insert into agents (${columns.map((name) => `"${name}"`).join(", ")}) values (${columns.map(() => "?").join(", ")})`;
    await env.DB.batch(
      copies.map((copy) => env.DB.prepare(text).bind(...columns.map((name) => copy[name as keyof typeof copy]))),
    );
    // The copies state the same as the agent.
    await env.DB.prepare(
      "insert into aid_versions (did, version, content, proof) select a.did, v.version, v.content, v.proof from agents a join aid_versions v on v.did = ? and v.version = a.version where a.principal_id = ? and a.did <> v.did",
    )
      .bind(did, person.principalId)
      .run();
    expectStatus(await renew(person), 201);
    await world.run(finishRestatements);
    const { results } = await env.DB.prepare(
      "select version, revision, count(*) as many from agents where principal_id = ? group by 1, 2",
    )
      .bind(person.principalId)
      .all<Json>();
    expect(results).toEqual([{ version: row.version, revision: row.revision + 1, many: SLICE + 6 }]);
    expect(await revisionOf(did)).toBe(row.revision + 1);
  });
});

describe("after the attestation has ended", () => {
  it.each([
    ["recorded", true],
    ["not recorded yet", false],
  ])("(%s) the principal returns, while its agents wait for their own reactivation", async (_what, recorded) => {
    const person = await accredited();
    const did = await activeAgent(person);
    const past = world.now() - 1;
    await env.DB.prepare("update principals set attestation_expires_at = ? where principal_id = ?")
      .bind(past, person.principalId)
      .run();
    if (recorded) await world.run(endAttestations);
    expect((await principalOf(person)).status).toBe("ATTESTATION_EXPIRED");
    const renewed = expectStatus(await renew(person), 201);
    expect([renewed.status, renewed.status_reason]).toEqual(["ACTIVE", null]);
    expect((await principalOf(person)).status).toBe("ACTIVE");
    expect((await agentOf(person, did)).status).toBe("SUSPENDED");
    const back = await world.call("PATCH", `/v1/agents/${did}/status`, { key: person.key, body: { status: "ACTIVE" } });
    expect(expectStatus(back, 200).status).toBe("ACTIVE");
    const { events = [] } = await dumpDatabase();
    const changed = events
      .map((row): Json => JSON.parse(row))
      .filter(({ type, platform_id }) => type === "principal.status_changed" && platform_id === person.platformId)
      .map(({ object }) => JSON.parse(object).status);
    expect(changed).toEqual(["ATTESTATION_EXPIRED", "ACTIVE"]);
  });

  it("(with a running cascade) a renewal waits until all agents of the ended attestation are suspended", async () => {
    const person = await accredited();
    const payload = { reason: "attestation", actor: { type: "system", id: "attestation_expiry" } } as const;
    await world.deps.db.batch([
      beginWalk(world.deps.db, "cascade", person.principalId, { startedAt: 0, trigger: "principal_stops", payload }),
    ]);
    const before = await dumpDatabase();
    const reply = await renew(person);
    expect([reply.status, reply.body.code, reply.headers.get("retry-after")]).toEqual([409, "invalid_status", "5"]);
    expect(await dumpDatabase()).toEqual(before);
    await env.DB.prepare("delete from walks where subject = ?").bind(person.principalId).run();
  });
});
