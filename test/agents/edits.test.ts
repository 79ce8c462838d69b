// Specification 3.3 and contract section 5: the patches of scope and status, in every state, and whoever races.
import { beforeAll, describe, expect, it } from "vitest";
import { verifyCertificate } from "../../src/protocol/certificate.ts";
import { dumpDatabase, failingBatches, type Moment, withDatabase } from "../support/variants.ts";
import { createWorld, env, expectStatus, ISSUER, type Json, type World } from "../support/world.ts";

let world: World;
beforeAll(async () => {
  world = await createWorld();
});

const STATES = ["DRAFT", "ACTIVE", "SUSPENDED", "REVOKED", "TERMINATED", "FUNDING"] as const;
/** An agent in a state that no route leads to yet is put there in its row. */
async function agentIn(state: (typeof STATES)[number], role: "CONSUMER" | "PROVIDER" = "CONSUMER"): Promise<string> {
  if (state === "DRAFT") return (await world.draft(role)).did;
  const { did } = await world.agent(role);
  await env.DB.prepare("update agents set status = ? where did = ?").bind(state, did).run();
  return did;
}
const read = async (did: string): Promise<Json> => expectStatus(await world.call("GET", `/v1/agents/${did}`), 200);
const patchScope = (did: string, body: unknown, of = world) => of.call("PATCH", `/v1/agents/${did}/scope`, { body });
const patchStatus = (did: string, status: string, reason?: string) =>
  world.call("PATCH", `/v1/agents/${did}/status`, { body: { status, ...(reason !== undefined && { reason }) } });
const rowsOf = async (table: string, column: string, did: string): Promise<Json[]> =>
  (await env.DB.prepare(`select * from ${table} where ${column} = ?`).bind(did).all<Json>()).results;

describe("the status patch", () => {
  /** 3.3: what each target answers from each state: the new state, or the code. */
  const TABLE: Record<string, readonly string[]> = {
    //           DRAFT, ACTIVE, SUSPENDED, REVOKED, TERMINATED, FUNDING
    ACTIVE: ["use_activate_endpoint", "invalid_status", "ACTIVE", "invalid_status", "invalid_status", "invalid_status"],
    SUSPENDED: ["invalid_status", "SUSPENDED", "invalid_status", "invalid_status", "invalid_status", "SUSPENDED"],
    TERMINATED: ["TERMINATED", "TERMINATED", "TERMINATED", "invalid_status", "invalid_status", "TERMINATED"],
  };
  const cases = Object.entries(TABLE).flatMap(([target, row]) =>
    STATES.map((state, i) => [state, target, row[i] ?? "?"] as const),
  );

  it("of an agent that waited in FUNDING suspends it and returns it to FUNDING, never to ACTIVE", async () => {
    const did = await agentIn("FUNDING");
    expect(expectStatus(await patchStatus(did, "SUSPENDED"), 200).status).toBe("SUSPENDED");
    expect(expectStatus(await patchStatus(did, "ACTIVE"), 200).status).toBe("FUNDING");
    expect((await patchStatus(did, "ACTIVE")).body.code).toBe("invalid_status");
  });

  it.each(cases)("%s → %s: %s", async (state, target, expected) => {
    const did = await agentIn(state);
    const before = await dumpDatabase();
    const reply = await patchStatus(did, target);
    if (expected === target) {
      expect([reply.status, reply.body.status]).toEqual([200, target]);
      expect((await read(did)).status).toBe(target);
    } else {
      expect([reply.status, reply.body.code]).toEqual([409, expected]);
      expect(await dumpDatabase()).toEqual(before);
    }
  });

  it.each(["DRAFT", "REVOKED", "FUNDING", "CLOSED", "active"])("to %s is no patch", async (target) => {
    const { did } = await world.consumer();
    const reply = await patchStatus(did, target);
    expect([reply.status, reply.body.field_errors[0].code]).toEqual([422, "invalid_value"]);
  });

  it("leaves an entry with before and after, an event and a directory change, and does not touch the signed document", async () => {
    const { did } = await world.consumer();
    const aid = async () => (await world.call("GET", `/v1/agents/${did}/aid`, { key: null })).body.proof;
    const proof = await aid();
    const suspended = { suspension_reason: "platform", status_reason: "a complaint" };
    expect((await patchStatus(did, "SUSPENDED", "a complaint")).body).toMatchObject(suspended);
    const listed = await world.call("GET", "/v1/agents?limit=100");
    expect(listed.body.data.find((agent: Json) => agent.did === did)).toMatchObject(suspended);
    expect(await aid()).toBe(proof);
    const entry = (await rowsOf("activity_entries", "subject_id", did)).find((row) => row.action === "agent.suspended");
    expect(JSON.parse(entry.changes)).toEqual({ status: { from: "ACTIVE", to: "SUSPENDED" } });
    const events = (await env.DB.prepare("select * from events where type = 'agent.status_changed'").all<Json>())
      .results;
    expect(
      events
        .map((event) => JSON.parse(event.object))
        .filter((agent) => agent.did === did)
        .map((agent) => agent.status),
    ).toEqual(["ACTIVE", "SUSPENDED"]);
    expect((await rowsOf("directory_changes", "did", did)).map((row) => row.change_type)).toEqual([
      "registered",
      "status_changed",
    ]);
    expect((await patchStatus(did, "TERMINATED")).status).toBe(200);
    expect((await rowsOf("directory_changes", "did", did)).at(-1).change_type).toBe("revoked");
  });

  it("of a DRAFT that is terminated is no directory change: it was never there", async () => {
    const did = await agentIn("DRAFT");
    expect((await patchStatus(did, "TERMINATED")).status).toBe(200);
    expect(await rowsOf("directory_changes", "did", did)).toEqual([]);
  });

  it("back to ACTIVE is refused while the escrow is CONSTRAINED", async () => {
    const provider = await world.provider();
    expectStatus(await patchStatus(provider.did, "SUSPENDED"), 200);
    await env.DB.prepare("update escrows set state = 'CONSTRAINED' where did = ?").bind(provider.did).run();
    const reply = await patchStatus(provider.did, "ACTIVE");
    expect([reply.status, reply.body.code]).toEqual([409, "escrow_constrained_cannot_reactivate"]);
    expect((await read(provider.did)).status).toBe("SUSPENDED");
  });

  it("names the status that the agent is shown with, also before the job has recorded it", async () => {
    const principal_id = await world.principal({
      verification_attestation: {
        attestation_id: "att_1",
        verifier_id: "ver_1",
        model: "kyb",
        issued_at: new Date(world.now() - 1_000).toISOString(),
        expires_at: new Date(world.now() + 3_000).toISOString(),
      },
    });
    const { did } = await world.consumer({ principal_id });
    world.advance(3_000);
    const { body } = await patchStatus(did, "ACTIVE");
    expect(body.detail).toEqual({ status: "SUSPENDED", principal_status: "ATTESTATION_EXPIRED" });
    expect(body.message).toBe("The agent is SUSPENDED: that does not permit this.");
  });

  it.each([
    ["SUSPENDED", "principal"],
    ["ATTESTATION_EXPIRED", "attestation"],
  ])("shows of an agent whose principal is %s who stopped it", async (status, suspension_reason) => {
    const { did, principalId } = await world.consumer();
    await env.DB.prepare("update principals set status = ? where principal_id = ?").bind(status, principalId).run();
    const view = expectStatus(await world.call("GET", `/v1/agents/${did}`), 200);
    expect(view).toMatchObject({ status: "SUSPENDED", suspension_reason, status_reason: null });
  });

  it.each(["SUSPENDED", "ATTESTATION_EXPIRED", "CLOSED"])(
    "back to ACTIVE is refused while the principal is %s",
    async (status) => {
      const { did, principalId } = await world.consumer();
      expectStatus(await patchStatus(did, "SUSPENDED"), 200);
      await env.DB.prepare("update principals set status = ? where principal_id = ?").bind(status, principalId).run();
      const reply = await patchStatus(did, "ACTIVE");
      expect([reply.status, reply.body.code, reply.body.detail.principal_status]).toEqual([
        409,
        "invalid_status",
        status,
      ]);
    },
  );

  it("raced by twenty has one winner, one entry and one event", async () => {
    const { did } = await world.consumer();
    const replies = await Promise.all(Array.from({ length: 20 }, () => patchStatus(did, "SUSPENDED")));
    expect(replies.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(replies.filter(({ body }) => body.code === "invalid_status")).toHaveLength(19);
    const entries = (await rowsOf("activity_entries", "subject_id", did)).filter(
      (row) => row.action === "agent.suspended",
    );
    expect(entries).toHaveLength(1);
  });

  it("raced in different directions ends where the last of a lawful order ends", async () => {
    const { did } = await world.consumer();
    const targets = Array.from({ length: 15 }, (_, i) => ["SUSPENDED", "ACTIVE", "TERMINATED"][i % 3] ?? "");
    const replies = await Promise.all(targets.map((target) => patchStatus(did, target)));
    expect(replies.filter(({ body }) => body.status === "TERMINATED" && body.did === did)).toHaveLength(1);
    expect((await read(did)).status).toBe("TERMINATED");
    const moves = (await rowsOf("activity_entries", "subject_id", did))
      .filter((row) => row.changes !== null)
      .map((row) => JSON.parse(row.changes).status);
    expect(moves.filter((move) => move.from === "TERMINATED")).toEqual([]);
    expect(moves.filter((move) => move.to === "TERMINATED")).toHaveLength(1);
  });
});

describe("the scope patch", () => {
  const change = { capabilities: ["translation", "summary"] };

  it.each(
    STATES.map(
      (state) =>
        [state, state === "REVOKED" || state === "TERMINATED" ? "agent_status_not_mutable" : "passes"] as const,
    ),
  )("of an agent that is %s: %s", async (state, expected) => {
    const did = await agentIn(state);
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

  it("makes a new version, a new certificate for the same key, a signed document, an entry and a change, in two trips", async () => {
    const agent = await world.consumer();
    const before = await read(agent.did);
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
    // The earlier certificate still proves who calls: what it may do is judged by its live scope.
    expect((await world.as(agent, "GET", "/v1/payment-intents/pin_none")).body.code).toBe("not_found");
  });

  it.each<[string, unknown]>([
    ["nothing", {}],
    ["what is so already", { capabilities: ["translation"], dispute_window_days: 14 }],
    ["a ceiling that is none already", { max_transaction_value: null }],
  ])("of %s is 400 no_changes_requested", async (_name, body) => {
    const { did } = await world.consumer();
    const before = await dumpDatabase();
    const reply = await patchScope(did, body);
    expect([reply.status, reply.body.code]).toEqual([400, "no_changes_requested"]);
    expect(await dumpDatabase()).toEqual(before);
  });

  it("of the same ceiling written otherwise is 400 no_changes_requested", async () => {
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
  ])("of a %s with %j is 422 %s", async (role, body, code, fieldCode) => {
    const { did } = await world.draft(role);
    const reply = await patchScope(did, body);
    expect([reply.status, reply.body.code, reply.body.field_errors[0].code]).toEqual([422, code, fieldCode]);
    expect((await read(did)).version).toBe(1);
  });

  it("of a delegate stays within its delegator's", async () => {
    const delegator = await world.consumer();
    const delegate = await world.consumer({ principal_id: delegator.principalId, delegated_by: delegator.did });
    const reply = await patchScope(delegate.did, { capabilities: ["translation", "more"] });
    expect([reply.status, reply.body.field_errors]).toEqual([
      422,
      [expect.objectContaining({ field: "capabilities", code: "scope_exceeds_delegator" })],
    ]);
  });

  it("raced by ten makes ten versions, none lost", async () => {
    const { did } = await world.consumer();
    const replies = await Promise.all(
      Array.from({ length: 10 }, (_, i) => patchScope(did, { dispute_window_days: 20 + i })),
    );
    expect(replies.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 200));
    expect(replies.map(({ body }) => body.version).sort((a, b) => a - b)).toEqual(
      Array.from({ length: 10 }, (_, i) => 3 + i),
    );
  });

  it("never sets back the sums that intents and ratings move in the meantime", async () => {
    const { did } = await world.consumer();
    const sums = "rating_interactions = 3, settled_volume = 5, revision = revision + 1";
    const moving = failingBatches(env.DB, async (batch): Promise<Moment> => {
      if (batch === 2) await env.DB.prepare(`update agents set ${sums} where did = ?`).bind(did).run();
      return "never";
    });
    expectStatus(await patchScope(did, change, withDatabase(world, moving)), 200);
    expect(await rowsOf("agents", "did", did)).toEqual([
      expect.objectContaining({
        settled_volume: 5,
        rating_interactions: 3,
        revision: 4,
        capabilities: JSON.stringify(change.capabilities),
      }),
    ]);
  });

  it("meets a status that changed in the meantime, and decides again", async () => {
    const { did } = await world.consumer();
    const racing = failingBatches(env.DB, async (batch): Promise<Moment> => {
      if (batch === 2) await env.DB.prepare("update agents set status = 'TERMINATED' where did = ?").bind(did).run();
      return "never";
    });
    const reply = await patchScope(did, change, withDatabase(world, racing));
    expect(reply.body.code).toBe("agent_status_not_mutable");
    expect((await read(did)).scope.capabilities).toEqual(["translation"]);
  });

  it("of an agent whose principal's attestation has expired answers no 500", async () => {
    const { did, principalId } = await world.consumer();
    const ended = Date.now() - 86_400_000;
    await env.DB.prepare("update principals set attestation_expires_at = ? where principal_id = ?")
      .bind(ended, principalId)
      .run();
    const reply = await patchScope(did, change);
    expect([200, 409]).toContain(reply.status);
  });
});

describe("activation", () => {
  it.each(STATES.filter((state) => state !== "DRAFT"))(
    "of an agent that is %s is 409 invalid_status",
    async (state) => {
      const did = await agentIn(state);
      const before = await dumpDatabase();
      const reply = await world.call("POST", `/v1/agents/${did}/activate`);
      expect([reply.status, reply.body.code, reply.body.detail]).toEqual([409, "invalid_status", { status: state }]);
      expect(await dumpDatabase()).toEqual(before);
    },
  );

  it("raced by fifty has one winner and one private key", async () => {
    const { did } = await world.draft("CONSUMER");
    const replies = await Promise.all(
      Array.from({ length: 50 }, () => world.call("POST", `/v1/agents/${did}/activate`)),
    );
    const winners = replies.filter(({ status }) => status === 200);
    expect(winners).toHaveLength(1);
    expect(replies.filter(({ body }) => body.code === "invalid_status")).toHaveLength(49);
    expect(replies.filter(({ text }) => text.includes("PRIVATE KEY"))).toHaveLength(1);
    expect(await rowsOf("certificates", "did", did)).toHaveLength(1);
    const entries = (await rowsOf("activity_entries", "subject_id", did)).filter(
      (row) => row.action === "agent.activated",
    );
    expect(entries).toHaveLength(1);
    expect((await read(did)).key_id).toBe(winners[0]?.body.key_id);
  });

  it("raced against the end of the agent leaves it ended or activated first, never ACTIVE after", async () => {
    const { did } = await world.draft("CONSUMER");
    await Promise.all([
      world.call("POST", `/v1/agents/${did}/activate`),
      patchStatus(did, "TERMINATED"),
      world.call("POST", `/v1/agents/${did}/activate`),
    ]);
    expect((await read(did)).status).toBe("TERMINATED");
  });
});
