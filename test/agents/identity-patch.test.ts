// The patch of an agent's identity, reference and metadata (AGT-30, AGT-20).
import { beforeAll, describe, expect, it } from "vitest";
import { dumpDatabase } from "../support/variants.ts";
import { createWorld, env, expectStatus, type Json, type World } from "../support/world.ts";
import { agentIn, faultsOf, readAgent, registerAgent, registrationOf, rowsOf, STATES } from "./support.ts";

let world: World;
beforeAll(async () => {
  world = await createWorld();
});

const patch = (did: string, body: unknown, of = world, key = of.key) =>
  of.call("PATCH", `/v1/agents/${did}`, { body, key });
const readAid = async (did: string): Promise<Json> =>
  expectStatus(await world.call("GET", `/v1/agents/${did}/aid`, { key: null }), 200);

describe("the patch of an identity", () => {
  const change = { profile: { display_name: "Renamed" }, endpoint_url: "https://moved.example/v2" };

  it.each(
    STATES.map(
      (state) =>
        [state, state === "REVOKED" || state === "TERMINATED" ? "agent_status_not_mutable" : "passes"] as const,
    ),
  )("of an agent that is %s results in %s", async (state, expected) => {
    const did = await agentIn(world, state);
    const before = await dumpDatabase();
    const reply = await patch(did, change);
    if (expected === "passes") {
      expect([reply.status, reply.body.profile.display_name, reply.body.endpoint_url, reply.body.status]).toEqual([
        200,
        "Renamed",
        "https://moved.example/v2",
        state,
      ]);
    } else {
      expect([reply.status, reply.body.code]).toEqual([409, expected]);
      expect(await dumpDatabase()).toEqual(before);
    }
  });

  it("is refused as soon as the principal is CLOSED, whatever the agent's row says", async () => {
    const { did, principalId } = await world.consumer();
    expectStatus(await world.call("PATCH", `/v1/agents/${did}/status`, { body: { status: "SUSPENDED" } }), 200);
    expectStatus(await world.call("POST", `/v1/principals/${principalId}/close`), 200);
    await env.DB.prepare("update agents set status = 'SUSPENDED' where did = ?").bind(did).run();
    for (const path of ["", "/scope"]) {
      const body = path === "" ? change : { capabilities: ["more"] };
      const { status, body: refused } = await world.call("PATCH", `/v1/agents/${did}${path}`, { body });
      expect([status, refused.code, refused.detail]).toEqual([409, "agent_status_not_mutable", { status: "REVOKED" }]);
    }
  });

  it("makes a new version with the same certificate, an activity entry of the changes and a directory record, in two trips", async () => {
    const agent = await world.consumer();
    const before = await readAgent(world, agent.did);
    world.meter.reset();
    const after = expectStatus(await patch(agent.did, change), 200);
    expect(world.meter.reading.trips).toBe(2);
    expect(after.version).toBe(before.version + 1);
    const { version, identity } = await readAid(agent.did);
    expect([version, identity.profile.display_name, identity.endpoint_url, identity.certificate]).toEqual([
      after.version,
      "Renamed",
      "https://moved.example/v2",
      agent.certificate,
    ]);
    const entries = await rowsOf("activity_entries", "subject_id", agent.did);
    const entry = entries.find(({ action }) => action === "agent.updated");
    expect(JSON.parse(entry?.["changes"])).toEqual({
      "profile.display_name": { from: "Buyer", to: "Renamed" },
      endpoint_url: { from: before.endpoint_url, to: "https://moved.example/v2" },
    });
    const listed = await rowsOf("directory_changes", "did", agent.did);
    expect(listed.map((row) => row.change_type)).toEqual(["registered", "updated"]);
  });

  it("keeps the reference and the metadata out of the document and the directory", async () => {
    const agent = await world.consumer();
    const before = await readAid(agent.did);
    const given = { external_ref: "bot-1", metadata: { team: "buying" } };
    expect(expectStatus(await patch(agent.did, given), 200)).toMatchObject(given);
    const { proof, version, revision } = await readAid(agent.did);
    expect([proof, version, revision]).toEqual([before.proof, before.version, before.revision]);
    expect(JSON.stringify(await readAid(agent.did))).not.toContain("bot-1");
    expect((await rowsOf("directory_changes", "did", agent.did)).length).toBe(1);
    expect(expectStatus(await patch(agent.did, { external_ref: null, metadata: {} }), 200)).toMatchObject({
      external_ref: null,
      metadata: {},
    });
  });

  it("removes a description and a catalogue", async () => {
    const { did } = await world.agent("PROVIDER");
    const catalog_url = "https://agent.example/catalog";
    expect(expectStatus(await patch(did, { profile: { catalog_url } }), 200).profile.catalog_url).toBe(catalog_url);
    const none = { catalog_url: null, description: null };
    expect(expectStatus(await patch(did, { profile: none }), 200).profile).toMatchObject(none);
  });

  it.each<[string, unknown]>([
    ["nothing", {}],
    ["an empty profile", { profile: {} }],
    ["values that are already set", { profile: { display_name: "Buyer" }, metadata: {}, external_ref: null }],
  ])("with %s is refused as 400 no_changes_requested", async (_name, body) => {
    const { did } = await world.consumer();
    const before = await dumpDatabase();
    const reply = await patch(did, body);
    expect([reply.status, reply.body.code]).toEqual([400, "no_changes_requested"]);
    expect(await dumpDatabase()).toEqual(before);
  });

  it.each<[unknown, string, [string, string][]]>([
    [
      { profile: { catalog_url: "https://agent.example/c" } },
      "catalog_url_not_permitted",
      [["profile.catalog_url", "catalog_url_not_permitted"]],
    ],
    [
      { profile: { catalog_url: "https://agent.example/c", colour: "red" }, endpoint_url: "nowhere" },
      "validation_failed",
      [
        ["endpoint_url", "invalid_format"],
        ["profile.catalog_url", "catalog_url_not_permitted"],
        ["profile.colour", "unknown_field"],
      ],
    ],
    [
      { economic_role: "PROVIDER", scope: {}, principal_id: "prn_x" },
      "validation_failed",
      [
        ["economic_role", "invalid_field"],
        ["principal_id", "invalid_field"],
        ["scope", "invalid_field"],
      ],
    ],
    [{ profile: { display_name: null } }, "validation_failed", [["profile.display_name", "invalid_type"]]],
    [{ metadata: { a: "x".repeat(501) } }, "validation_failed", [["metadata.a", "too_long"]]],
  ])("with %j is refused as 422 %s", async (body, code, faults) => {
    const { did } = await world.draft("CONSUMER");
    const reply = await patch(did, body);
    expect([reply.status, reply.body.code, faultsOf(reply)]).toEqual([422, code, faults]);
    expect((await readAgent(world, did)).version).toBe(1);
  });

  it("loses nothing when two patches come at once", async () => {
    const { did } = await world.consumer();
    const [one, other] = await Promise.all([
      patch(did, { profile: { display_name: "One" } }),
      patch(did, { endpoint_url: "https://other.example" }),
    ]);
    expect([one.status, other.status]).toEqual([200, 200]);
    const { profile, endpoint_url, version } = await readAgent(world, did);
    expect([profile.display_name, endpoint_url, version]).toEqual(["One", "https://other.example", 4]);
  });
});

describe("an agent's reference", () => {
  it("belongs to one agent of a platform and an environment, at registration and at a patch", async () => {
    const principal_id = await world.principal();
    const register = (external_ref: string, of = world, owner = principal_id, key = of.key) =>
      registerAgent(of, registrationOf(owner, "CONSUMER", { external_ref, metadata: { a: "b" } }), key);
    const first = expectStatus(await register("ref-1"), 201);
    const second = expectStatus(await register("ref-2"), 201);
    expect(await readAgent(world, first.did)).toMatchObject({ external_ref: "ref-1", metadata: { a: "b" } });
    const taken = { did: first.did, matched: "external_ref" };
    for (const reply of [await register("ref-1"), await patch(second.did, { external_ref: "ref-1" })])
      expect([reply.status, reply.body.code, reply.body.detail]).toEqual([409, "external_ref_exists", taken]);
    // An agent may keep its own reference; another environment and another platform have their own.
    expect((await patch(first.did, { external_ref: "ref-1" })).body.code).toBe("no_changes_requested");
    expectStatus(await register("ref-1", world, world.tenantPrincipalId, world.liveKey), 201);
    const other = await createWorld();
    expectStatus(await register("ref-1", other, await other.principal()), 201);
  });

  it("finds the agent in the list, together with the other filters", async () => {
    const { did, principalId } = await world.consumer({ external_ref: "found" });
    const found = async (query: string) =>
      expectStatus(await world.call("GET", `/v1/agents?external_ref=found${query}`), 200).data.map(
        (agent: Json) => agent.did,
      );
    expect(await found("")).toEqual([did]);
    expect(await found(`&principal_id=${principalId}&status=ACTIVE&economic_role=CONSUMER`)).toEqual([did]);
    for (const other of ["&status=SUSPENDED", "&economic_role=PROVIDER", `&principal_id=${await world.principal()}`])
      expect([other, await found(other)]).toEqual([other, []]);
    expectStatus(await world.call("POST", `/v1/principals/${principalId}/suspend`), 200);
    expect([await found("&status=ACTIVE"), await found("&status=SUSPENDED")]).toEqual([[], [did]]);
  });

  it("goes to one of ten registrations at once", async () => {
    const body = registrationOf(await world.principal(), "CONSUMER", { external_ref: "raced" });
    const replies = await Promise.all(Array.from({ length: 10 }, () => registerAgent(world, body)));
    expect(replies.map(({ status }) => status).sort()).toEqual([201, ...Array(9).fill(409)]);
  });
});
