// Records the attestation that counts from now on (PRN-21): the principal returns, and so do its agents if that is requested, each under a
// certificate that works for its calls.
import { eq } from "drizzle-orm";
import { beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { finishCascades } from "../../src/cascades/cascades.ts";
import { endAttestations } from "../../src/cascades/expire.ts";
import { finishRestatements } from "../../src/cascades/restate-agents.ts";
import { HOUR_MS } from "../../src/core/limits.ts";
import { agents } from "../../src/db/tables/agents.ts";
import { walks } from "../../src/db/tables/walks.ts";
import { openIntent, seller } from "../payments/support.ts";
import { dumpDatabase } from "../support/variants.ts";
import { type Agent, createWorld, expectStatus, type Json, type Reply, type World } from "../support/world.ts";
import { faultsOf } from "../verifiers/support.ts";
import { crowd, dieBefore, each, inStatus, outcome, returns, storedAgent, suspensions } from "./account-support.ts";
import { createSlicedWorld, SLICE } from "./slices.ts";

let world: World;
let other: World;
beforeAll(async () => {
  other = await createWorld();
});
beforeEach(async () => {
  world = await createSlicedWorld();
  // Removes cascades and restatements that an earlier test left unfinished.
  await world.deps.db.delete(walks);
});

const path = (principalId: string): string => `/v1/principals/${principalId}/attestations`;
const record = (principalId: string, body: unknown = { placeholder: true }, options = {}): Promise<Reply> =>
  world.call("POST", path(principalId), { body, ...options });
const list = async (principalId: string, query = ""): Promise<Json> =>
  expectStatus(await world.call("GET", `${path(principalId)}${query}`), 200);
const read = async (principalId: string): Promise<Json> =>
  expectStatus(await world.call("GET", `/v1/principals/${principalId}`), 200);
const back = (did: string): Promise<Reply> =>
  world.call("PATCH", `/v1/agents/${did}/status`, { body: { status: "ACTIVE" } });
const act = (principalId: string, verb: string): Promise<Reply> =>
  world.call("POST", `/v1/principals/${principalId}/${verb}`);

/** An attestation from an hour ago, by a Verifier that is not registered. */
const given = (lasts: number, overrides: Json = {}): Json => ({
  attestation_id: `att_${crypto.randomUUID()}`,
  verifier_id: "acme-verification",
  model: "kyb",
  issued_at: new Date(world.now() - HOUR_MS).toISOString(),
  expires_at: new Date(world.now() + lasts).toISOString(),
  ...overrides,
});
const attestedFor = (lasts: number): Promise<string> => world.principal({ verification_attestation: given(lasts) });
const actions = async (principalId: string): Promise<string[]> => {
  const page = await world.call("GET", `/v1/platform/activity?subject_id=${principalId}&limit=50`);
  return expectStatus(page, 200)
    .data.map(({ action }: Json) => action)
    .reverse();
};

describe("recording an attestation", () => {
  it("answers with it, and the principal shows it, while the earlier one stays in the list", async () => {
    const principalId = await attestedFor(HOUR_MS);
    const next = given(9 * HOUR_MS, { tier: "TIER_2" });
    const answer = expectStatus(await record(principalId, next), 201);
    const shown = {
      ...next,
      signed: false,
      principal_id: principalId,
      status: "current",
      proof: null,
      revoked_at: null,
      revocation_reason: null,
    };
    expect(answer).toEqual({ ...shown, recorded_at: answer.recorded_at, principal_status: "ACTIVE" });
    expect((await read(principalId)).verification_attestation).toEqual({ ...next, signed: false });
    const { data } = await list(principalId);
    expect(data[0]).toEqual({ ...shown, recorded_at: answer.recorded_at });
    expect(data.map(({ status }: Json) => status)).toEqual(["current", "replaced"]);
    world.advance(10 * HOUR_MS);
    expect((await list(principalId)).data.map(({ status }: Json) => status)).toEqual(["expired", "replaced"]);
  });

  it("leaves the agents active before the end of the earlier one, and makes their documents stale", async () => {
    const agent = await world.consumer({ principal_id: await attestedFor(HOUR_MS) });
    const document = () => world.call("GET", `/v1/agents/${agent.did}/aid`, { key: null });
    const before = (await document()).body;
    const next = given(9 * HOUR_MS);
    expectStatus(await record(agent.principalId, next), 201);
    const after = (await document()).body;
    expect([after.version, after.revision]).toEqual([before.version, before.revision + 1]);
    expect(after.identity.principal.verification).toMatchObject({ attestation_id: next.attestation_id });
    expect((await storedAgent(world, agent.did))?.status).toBe("ACTIVE");
    world.advance(2 * HOUR_MS);
    await world.run(endAttestations);
    expect((await read(agent.principalId)).status).toBe("ACTIVE");
    expect(await actions(agent.principalId)).toEqual(["principal.registered", "principal.attestation_recorded"]);
  });

  it("pages the list, newest first", async () => {
    const principalId = await world.principal();
    const ids = [];
    for (let i = 0; i < 4; i++) ids.unshift(expectStatus(await record(principalId), 201).attestation_id);
    const seen = [];
    for (let query = "?limit=2"; query !== ""; ) {
      const { data, next_cursor } = await list(principalId, query);
      seen.push(...data.map(({ attestation_id }: Json) => attestation_id));
      query = next_cursor === null ? "" : `?limit=2&cursor=${next_cursor}`;
    }
    expect(seen.slice(0, 4)).toEqual(ids);
    expect(seen).toHaveLength(5);
  });
});

describe("after the end", () => {
  it("first records an end that no job has recorded, and the agents wait for their own reactivation", async () => {
    const { did, principalId } = await world.consumer({ principal_id: await attestedFor(HOUR_MS) });
    world.advance(2 * HOUR_MS);
    expect(expectStatus(await record(principalId), 201).principal_status).toBe("ACTIVE");
    expect(await actions(principalId)).toEqual([
      "principal.registered",
      "principal.attestation_expired",
      "principal.attestation_recorded",
    ]);
    expect(await storedAgent(world, did)).toMatchObject({ status: "SUSPENDED", suspensionReason: "attestation" });
    expect(await suspensions(world)).toEqual(each([did]));
    expect(await world.run(endAttestations)).toBe(0);
    expectStatus(await back(did), 200);
    expect((await read(principalId)).status).toBe("ACTIVE");
  });

  // Certificates end in real time.
  it("a reactivated agent gets another certificate, and can go on with it", async () => {
    const agent = await world.consumer({ principal_id: await attestedFor(HOUR_MS) });
    const shop = await seller(other);
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 2 * HOUR_MS });
    onTestFinished(() => void vi.useRealTimers());
    await world.run(endAttestations);
    expectStatus(await record(agent.principalId), 201);
    const answer = expectStatus(await back(agent.did), 200);
    expect(answer).toMatchObject({ status: "ACTIVE", certificate: expect.stringMatching(/^ey/) });
    expect(Date.parse(answer.certificate_expires_at)).toBeGreaterThan(world.now() + 24 * HOUR_MS);
    const published = await world.call("GET", `/v1/agents/${agent.did}/certificate`, { key: null });
    expect(published.text).toContain(answer.certificate);
    expect(outcome(await openIntent(world, agent, shop, "10.00"))).toEqual([401, "aeap_verification_failed"]);
    const renewed: Agent = { ...agent, certificate: answer.certificate };
    expectStatus(await openIntent(world, renewed, shop, "10.00"), 201);
    expect((await world.call("GET", `/v1/agents/${agent.did}/aid`, { key: null })).body).toMatchObject({
      version: 3,
      identity: { certificate: answer.certificate },
    });
  });

  it("an agent that its platform had suspended gets another certificate too, and keeps it at a later reactivation", async () => {
    const agent = await world.consumer({ principal_id: await attestedFor(HOUR_MS) });
    expectStatus(await world.call("PATCH", `/v1/agents/${agent.did}/status`, { body: { status: "SUSPENDED" } }), 200);
    expectStatus(await record(agent.principalId), 201);
    expect(expectStatus(await back(agent.did), 200).certificate).toMatch(/^ey/);
    expectStatus(await world.call("PATCH", `/v1/agents/${agent.did}/status`, { body: { status: "SUSPENDED" } }), 200);
    expect(expectStatus(await back(agent.did), 200)).not.toHaveProperty("certificate");
  });
});

describe("reactivate_agents", () => {
  const AND_BACK = { placeholder: true, reactivate_agents: true };
  const agentsOf = () =>
    world.deps.db.select().from(agents).where(eq(agents.platformId, world.platformId)).orderBy(agents.did);
  const versionsOf = (rows: readonly { version: number }[]) => rows.map(({ version }) => version);

  it.each(["recorded", "not recorded"])(
    "reactivates the agents that the end took, an end that is %s, and no others",
    async (how) => {
      const agent = await world.consumer({ principal_id: await attestedFor(HOUR_MS) });
      const held = await world.consumer({ principal_id: agent.principalId });
      expectStatus(await world.call("PATCH", `/v1/agents/${held.did}/status`, { body: { status: "SUSPENDED" } }), 200);
      const { did: draft } = await world.draft("CONSUMER", { principal_id: agent.principalId });
      world.advance(2 * HOUR_MS);
      if (how === "recorded") await world.run(endAttestations);
      expectStatus(await record(agent.principalId, AND_BACK), 201);
      const statuses = await Promise.all(
        [agent.did, held.did, draft].map(async (did) => (await storedAgent(world, did))?.status),
      );
      expect(statuses).toEqual(["ACTIVE", "SUSPENDED", "DRAFT"]);
      expect(await returns(world)).toEqual([agent.did]);
      const { certificate } = (await world.call("GET", `/v1/agents/${agent.did}/certificate`, { key: null })).body;
      expect(certificate).not.toBe(agent.certificate);
      const shop = await seller(other);
      expectStatus(await openIntent(world, { ...agent, certificate }, shop, "10.00"), 201);
      expect(outcome(await openIntent(world, agent, shop, "10.00"))).toEqual([401, "aeap_verification_failed"]);
    },
  );

  it("reactivates each agent once, even if the isolate dies between the slices", async () => {
    const count = 2 * SLICE + SLICE / 2;
    const { first, dids } = await crowd(world, count);
    await attestedUntil(first.principalId, world.now() + HOUR_MS);
    world.advance(2 * HOUR_MS);
    await world.run(endAttestations);
    await world.run(finishCascades);
    expect(await inStatus(world, "ACTIVE", "FUNDING")).toEqual([]);
    const versions = versionsOf(await agentsOf());
    // The call has two trips, one for the places and one for the key's last use. It dies in the second slice.
    dieBefore(world, 5);
    expectStatus(await record(first.principalId, AND_BACK), 201);
    expect((await inStatus(world, "ACTIVE", "FUNDING")).length).toBe(SLICE);
    await world.run(finishRestatements);
    expect(await inStatus(world, "ACTIVE", "FUNDING")).toEqual(dids);
    expect(await returns(world)).toEqual(dids);
    const rows = await agentsOf();
    expect(new Set(rows.map(({ certificateJti }) => certificateJti)).size).toBe(count);
    expect(versionsOf(rows)).toEqual(versions.map((version) => version + 1));
    expect(rows.filter(({ status }) => status === "FUNDING").length).toBe(Math.ceil((count - 1) / 5));
  });

  it("stops reactivating agents when the principal is suspended meanwhile", async () => {
    const { first } = await crowd(world, SLICE + SLICE / 2);
    await attestedUntil(first.principalId, world.now() + HOUR_MS);
    world.advance(2 * HOUR_MS);
    await world.run(endAttestations);
    await world.run(finishCascades);
    dieBefore(world, 5);
    expectStatus(await record(first.principalId, AND_BACK), 201);
    expectStatus(await act(first.principalId, "suspend"), 200);
    await world.run(finishCascades);
    await world.run(finishRestatements);
    expect(await inStatus(world, "ACTIVE", "FUNDING")).toEqual([]);
    expect(await returns(world)).toHaveLength(SLICE);
  });
});

describe("an attestation", () => {
  it("is refused while one batch cannot suspend all agents: the end is recorded, and the call succeeds after its cascade", async () => {
    const { first, dids } = await crowd(world, SLICE + SLICE / 2);
    await attestedUntil(first.principalId, world.now() + HOUR_MS);
    world.advance(2 * HOUR_MS);
    const headers = { "Idempotency-Key": crypto.randomUUID() };
    const body = given(9 * HOUR_MS);
    const early = await record(first.principalId, body, { headers });
    expect([...outcome(early), early.headers.get("Retry-After")]).toEqual([409, "invalid_status", "5"]);
    await world.run(finishCascades);
    expect(await suspensions(world)).toEqual(each(dids));
    const late = await record(first.principalId, body, { headers });
    expect(expectStatus(late, 201).principal_status).toBe("ACTIVE");
  });

  it("leaves a SUSPENDED principal and its agents suspended, and is refused for a CLOSED one", async () => {
    const agent = await world.consumer({ principal_id: await attestedFor(HOUR_MS) });
    expectStatus(await act(agent.principalId, "suspend"), 200);
    const answer = expectStatus(await record(agent.principalId, { placeholder: true, reactivate_agents: true }), 201);
    expect(answer).toMatchObject({ status: "current", principal_status: "SUSPENDED" });
    expect((await storedAgent(world, agent.did))?.status).toBe("SUSPENDED");
    expectStatus(await act(agent.principalId, "close"), 200);
    expect(outcome(await record(agent.principalId))).toEqual([409, "invalid_status"]);
  });

  it("of the tenant principal is recorded by the operator alone, and its list can be read", async () => {
    expect(outcome(await record(world.tenantPrincipalId))).toEqual([409, "tenant_principal_field_locked"]);
    expect(outcome(await record(world.tenantPrincipalId, { colour: "red" }))).toEqual([
      409,
      "tenant_principal_field_locked",
    ]);
    expect((await list(world.tenantPrincipalId)).data).toEqual([]);
  });

  it("is refused the second time for one principal", async () => {
    const first = given(HOUR_MS);
    const principalId = await world.principal({ verification_attestation: first });
    expect(faultsOf(await record(principalId, first))).toEqual([
      422,
      "validation_failed",
      [["attestation_id", "invalid_value"]],
    ]);
    // It may back another principal.
    expectStatus(await record(await world.principal(), first), 201);
  });

  it.each<[string, (valid: Json) => Json, [string, string][]]>([
    [
      "nothing",
      () => ({}),
      [
        ["attestation_id", "required"],
        ["expires_at", "required"],
        ["issued_at", "required"],
        ["model", "required"],
        ["verifier_id", "required"],
      ],
    ],
    [
      "an end that has passed",
      (valid) => ({ ...valid, expires_at: valid.issued_at }),
      [
        ["expires_at", "invalid_value"],
        ["expires_at", "invalid_value"],
      ],
    ],
    [
      "an issue in the future",
      (valid) => ({
        ...valid,
        issued_at: valid.expires_at,
        expires_at: new Date(Date.parse(valid.expires_at) + 1).toISOString(),
      }),
      [["issued_at", "invalid_value"]],
    ],
    [
      "one of thirteen months ago",
      (valid) => ({ ...valid, issued_at: new Date(world.now() - 400 * 24 * HOUR_MS).toISOString() }),
      [["issued_at", "invalid_value"]],
    ],
    [
      "an id that no URL names",
      (valid) => ({ ...valid, attestation_id: " .. " }),
      [["attestation_id", "invalid_format"]],
    ],
    ["an unknown field", (valid) => ({ ...valid, colour: "red" }), [["colour", "unknown_field"]]],
    ["a word for a flag", (valid) => ({ ...valid, reactivate_agents: "yes" }), [["reactivate_agents", "invalid_type"]]],
    ["another model", (valid) => ({ ...valid, model: "kya" }), [["model", "invalid_value"]]],
  ])("is refused for a body with %s", async (_what, broken, faults) => {
    const principalId = await world.principal();
    const before = await dumpDatabase();
    expect(faultsOf(await record(principalId, broken(given(HOUR_MS))))).toEqual([422, "validation_failed", faults]);
    expect((await dumpDatabase()).attestations).toEqual(before.attestations);
  });
});

/** Gives the principal of a crowd an attestation that ends at an instant. */
async function attestedUntil(principalId: string, at: number): Promise<void> {
  await world.call("POST", path(principalId), { body: given(at - world.now()) });
}
