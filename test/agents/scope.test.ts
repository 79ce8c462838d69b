// The patch of the scope, in every state and under races (AGT-20 to AGT-22, AGT-28).
import { beforeAll, describe, expect, it } from "vitest";
import { verifyCertificate } from "../../src/protocol/certificate.ts";
import { dumpDatabase, failingBatches, type Moment, withDatabase } from "../support/variants.ts";
import { createWorld, env, expectStatus, ISSUER, type World } from "../support/world.ts";
import { agentIn, readAgent, rowsOf, STATES } from "./support.ts";

let world: World;
beforeAll(async () => {
  world = await createWorld();
});

const patchScope = (did: string, body: unknown, of = world) => of.call("PATCH", `/v1/agents/${did}/scope`, { body });

it.each([
  ["nothing", undefined, 400],
  ["half an object", "{", 400],
  ["null", "null", 422],
  ["a number", "5", 422],
  ["a text", '"a"', 422],
  ["a list", "[1]", 422],
  ["true", "true", 422],
])("a patch of %s is refused", async (_what, rawBody, status) => {
  const { did } = await world.draft("CONSUMER");
  const headers = { "Content-Type": "application/json" };
  const reply = await world.call("PATCH", `/v1/agents/${did}/scope`, { headers, ...(rawBody && { rawBody }) });
  expect([reply.status, reply.body.code]).toEqual([status, status === 400 ? "invalid_request" : "validation_failed"]);
});

describe("the scope patch", () => {
  const change = { capabilities: ["translation", "summary"] };

  it.each(
    STATES.map(
      (state) =>
        [state, state === "REVOKED" || state === "TERMINATED" ? "agent_status_not_mutable" : "passes"] as const,
    ),
  )("of an agent that is %s results in %s", async (state, expected) => {
    const did = await agentIn(world, state);
    const before = await dumpDatabase();
    const reply = await patchScope(did, change);
    if (expected === "passes") {
      expect([reply.status, reply.body.scope.capabilities, reply.body.status]).toEqual([
        200,
        change.capabilities,
        state,
      ]);
    } else {
      expect([reply.status, reply.body.code]).toEqual([409, expected]);
      expect(await dumpDatabase()).toEqual(before);
    }
  });

  it("makes a new version, a new certificate for the same key, a signed document, an activity entry and a directory record, in two trips", async () => {
    const agent = await world.consumer();
    const before = await readAgent(world, agent.did);
    world.meter.reset();
    const after = expectStatus(await patchScope(agent.did, { ...change, max_transaction_value: "10" }), 200);
    expect(world.meter.reading.trips).toBe(2);
    expect([after.version, after.key_id]).toEqual([before.version + 1, before.key_id]);
    const aid = (await world.call("GET", `/v1/agents/${agent.did}/aid`, { key: null })).body;
    expect(aid.version).toBe(after.version);
    expect(aid.identity.certificate).not.toBe(agent.certificate);
    const { verification } = await world.deps.ca();
    const checked = await verifyCertificate(aid.identity.certificate, verification, {
      issuer: ISSUER,
      now: Date.now(),
    });
    expect(checked).toMatchObject({
      ok: true,
      claims: { aeap: { capabilities: change.capabilities, scope: { max_transaction_value: "10.00" } } },
    });
    const entry = (await rowsOf("activity_entries", "subject_id", agent.did)).find(
      (row) => row.action === "agent.scope_changed",
    );
    expect(JSON.parse(entry.changes)).toEqual({
      "scope.capabilities": { from: ["translation"], to: change.capabilities },
      "scope.max_transaction_value": { from: null, to: "10.00" },
    });
    expect((await rowsOf("directory_changes", "did", agent.did)).map((row) => row.change_type)).toEqual([
      "registered",
      "updated",
    ]);
    // The earlier certificate still authenticates the agent: its permissions are judged by its live scope.
    expect((await world.as(agent, "GET", "/v1/payment-intents/pin_none")).body.code).toBe("not_found");
  });

  it.each<[string, unknown]>([
    ["nothing", {}],
    ["values that are already set", { capabilities: ["translation"], dispute_window_days: 14 }],
    ["no ceiling where there is none", { max_transaction_value: null }],
  ])("with %s is refused as 400 no_changes_requested", async (_name, body) => {
    const { did } = await world.consumer();
    const before = await dumpDatabase();
    const reply = await patchScope(did, body);
    expect([reply.status, reply.body.code]).toEqual([400, "no_changes_requested"]);
    expect(await dumpDatabase()).toEqual(before);
  });

  it("with the same ceiling in another notation is refused as 400 no_changes_requested", async () => {
    const { did } = await world.consumer();
    expectStatus(await patchScope(did, { max_transaction_value: "10" }), 200);
    expect((await patchScope(did, { max_transaction_value: "1.0e1" })).body.code).toBe("no_changes_requested");
  });

  it.each<["CONSUMER" | "PROVIDER", unknown, string, string]>([
    ["CONSUMER", { authorized_markets: ["DE-USDC"] }, "field_not_allowed_for_role", "field_not_allowed_for_role"],
    ["PROVIDER", { max_transaction_value: "1" }, "field_not_allowed_for_role", "field_not_allowed_for_role"],
    ["PROVIDER", { minimum_counterparty_ar: 0.5 }, "field_not_allowed_for_role", "field_not_allowed_for_role"],
    ["PROVIDER", { authorized_actions: ["purchase"] }, "validation_failed", "authorized_action_role_mismatch"],
    ["CONSUMER", { authorized_actions: ["sell"] }, "validation_failed", "authorized_action_role_mismatch"],
    ["CONSUMER", { dispute_window_days: 366 }, "validation_failed", "too_big"],
    ["CONSUMER", { scope: {} }, "validation_failed", "unknown_field"],
  ])("of a %s with %j is refused as 422 %s", async (role, body, code, fieldCode) => {
    const { did } = await world.draft(role);
    const reply = await patchScope(did, body);
    expect([reply.status, reply.body.code, reply.body.field_errors[0].code]).toEqual([422, code, fieldCode]);
    expect((await readAgent(world, did)).version).toBe(1);
  });

  it("of a delegate stays within its delegator's scope", async () => {
    const delegator = await world.consumer();
    const delegate = await world.consumer({ principal_id: delegator.principalId, delegated_by: delegator.did });
    const reply = await patchScope(delegate.did, { capabilities: ["translation", "more"] });
    expect([reply.status, reply.body.field_errors]).toEqual([
      422,
      [expect.objectContaining({ field: "capabilities", code: "scope_exceeds_delegator" })],
    ]);
  });

  it("makes ten versions and loses none when ten patches come at once", async () => {
    const { did } = await world.consumer();
    const replies = await Promise.all(
      Array.from({ length: 10 }, (_, i) => patchScope(did, { dispute_window_days: 20 + i })),
    );
    expect(replies.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 200));
    expect(replies.map(({ body }) => body.version).sort((a, b) => a - b)).toEqual(
      Array.from({ length: 10 }, (_, i) => 3 + i),
    );
  });

  it("never overwrites the sums that intents and ratings change meanwhile", async () => {
    const { did } = await world.consumer();
    const volumes = JSON.stringify({ USDC: 5 });
    const sums = `rating_interactions = 3, settled_volumes = '${volumes}', revision = revision + 1`;
    const moving = failingBatches(env.DB, async (batch): Promise<Moment> => {
      if (batch === 2) await env.DB.prepare(`update agents set ${sums} where did = ?`).bind(did).run();
      return "never";
    });
    expectStatus(await patchScope(did, change, withDatabase(world, moving)), 200);
    expect(await rowsOf("agents", "did", did)).toEqual([
      expect.objectContaining({
        settled_volumes: volumes,
        rating_interactions: 3,
        revision: 4,
        capabilities: JSON.stringify(change.capabilities),
      }),
    ]);
  });

  it("is decided again if the status changed meanwhile", async () => {
    const { did } = await world.consumer();
    const racing = failingBatches(env.DB, async (batch): Promise<Moment> => {
      if (batch === 2) await env.DB.prepare("update agents set status = 'TERMINATED' where did = ?").bind(did).run();
      return "never";
    });
    const reply = await patchScope(did, change, withDatabase(world, racing));
    expect(reply.body.code).toBe("agent_status_not_mutable");
    expect((await readAgent(world, did)).scope.capabilities).toEqual(["translation"]);
  });

  it("of an agent whose principal's attestation has expired does not answer 500", async () => {
    const { did, principalId } = await world.consumer();
    const ended = Date.now() - 86_400_000;
    await env.DB.prepare("update principals set attestation_expires_at = ? where principal_id = ?")
      .bind(ended, principalId)
      .run();
    const reply = await patchScope(did, change);
    expect([200, 409]).toContain(reply.status);
  });
});
