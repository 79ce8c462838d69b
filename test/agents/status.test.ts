// The patch of the status and the activation, in every state and under races (AGT-13 to AGT-19).
import { beforeAll, describe, expect, it } from "vitest";
import { finishCascades } from "../../src/cascades/cascades.ts";
import { endAttestations } from "../../src/cascades/expire.ts";
import { HOUR_MS } from "../../src/core/limits.ts";
import { SLICE } from "../../src/jobs/walk.ts";
import { crowd, dieBefore, reinstate, suspend } from "../cascades/account-support.ts";
import { isWhole } from "../support/scale.ts";
import { dumpDatabase } from "../support/variants.ts";
import { createWorld, env, expectStatus, type Json, type World } from "../support/world.ts";
import { agentIn, readAgent, rowsOf, STATES } from "./support.ts";

const AT_ONCE = isWhole() ? 50 : 10;

let world: World;
beforeAll(async () => {
  world = await createWorld();
});

/** An attestation that ends in an hour. */
const anHour = (): Json => ({
  verification_attestation: {
    attestation_id: `att_${crypto.randomUUID()}`,
    verifier_id: "ver_1",
    model: "kyb",
    issued_at: new Date(world.now() - HOUR_MS).toISOString(),
    expires_at: new Date(world.now() + HOUR_MS).toISOString(),
  },
});

const patchStatus = (did: string, status: string, reason?: string) =>
  world.call("PATCH", `/v1/agents/${did}/status`, { body: { status, ...(reason !== undefined && { reason }) } });

describe("the status patch", () => {
  /** The answer for each target from each status: the new status, or the code (AGT-13 to AGT-16). */
  const TABLE: Record<string, readonly string[]> = {
    //           DRAFT, ACTIVE, SUSPENDED, REVOKED, TERMINATED, FUNDING
    ACTIVE: ["use_activate_endpoint", "invalid_status", "ACTIVE", "invalid_status", "invalid_status", "invalid_status"],
    SUSPENDED: ["invalid_status", "SUSPENDED", "invalid_status", "invalid_status", "invalid_status", "SUSPENDED"],
    TERMINATED: ["TERMINATED", "TERMINATED", "TERMINATED", "invalid_status", "invalid_status", "TERMINATED"],
  };
  const cases = Object.entries(TABLE).flatMap(([target, row]) =>
    STATES.map((state, i) => [state, target, row[i] ?? "?"] as const),
  );

  it("suspends an agent in FUNDING, and returns it to FUNDING, never to ACTIVE", async () => {
    const did = await agentIn(world, "FUNDING");
    expect(expectStatus(await patchStatus(did, "SUSPENDED"), 200).status).toBe("SUSPENDED");
    expect(expectStatus(await patchStatus(did, "ACTIVE"), 200).status).toBe("FUNDING");
    expect((await patchStatus(did, "ACTIVE")).body.code).toBe("invalid_status");
  });

  it.each(cases)("%s → %s results in %s", async (state, target, expected) => {
    const did = await agentIn(world, state);
    const before = await dumpDatabase();
    const reply = await patchStatus(did, target);
    if (expected === target) {
      expect([reply.status, reply.body.status]).toEqual([200, target]);
      expect((await readAgent(world, did)).status).toBe(target);
    } else {
      expect([reply.status, reply.body.code]).toEqual([409, expected]);
      expect(await dumpDatabase()).toEqual(before);
    }
  });

  it.each(["DRAFT", "REVOKED", "FUNDING", "CLOSED", "active"])("to %s is refused by the schema", async (target) => {
    const { did } = await world.consumer();
    const reply = await patchStatus(did, target);
    expect([reply.status, reply.body.field_errors[0].code]).toEqual([422, "invalid_value"]);
  });

  it("leaves an activity entry with before and after, an event and a directory record, and does not touch the signed document", async () => {
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

  it("that terminates a DRAFT makes no directory record, because the DRAFT was never listed", async () => {
    const did = await agentIn(world, "DRAFT");
    expect((await patchStatus(did, "TERMINATED")).status).toBe(200);
    expect(await rowsOf("directory_changes", "did", did)).toEqual([]);
  });

  it("back to ACTIVE is refused while the escrow is CONSTRAINED", async () => {
    const provider = await world.provider();
    expectStatus(await patchStatus(provider.did, "SUSPENDED"), 200);
    await env.DB.prepare("update escrows set state = 'CONSTRAINED' where did = ?").bind(provider.did).run();
    const reply = await patchStatus(provider.did, "ACTIVE");
    expect([reply.status, reply.body.code]).toEqual([409, "escrow_constrained_cannot_reactivate"]);
    expect((await readAgent(world, provider.did)).status).toBe("SUSPENDED");
  });

  it("names the effective status in its refusal, even before the job has recorded it", async () => {
    const { did } = await world.consumer({ principal_id: await world.principal(anHour()) });
    world.advance(HOUR_MS);
    const { body } = await patchStatus(did, "ACTIVE");
    expect(body.detail).toEqual({ status: "SUSPENDED", principal_status: "ATTESTATION_EXPIRED" });
    expect(body.message).toBe("The agent is SUSPENDED, which does not permit this.");
  });

  it.each([
    ["SUSPENDED", "principal"],
    ["ATTESTATION_EXPIRED", "attestation"],
  ])("shows why an agent is suspended while its principal is %s", async (status, suspension_reason) => {
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

  it("has one winner, one activity entry and one event when twenty come at once", async () => {
    const { did } = await world.consumer();
    const replies = await Promise.all(Array.from({ length: 20 }, () => patchStatus(did, "SUSPENDED")));
    expect(replies.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(replies.filter(({ body }) => body.code === "invalid_status")).toHaveLength(19);
    const entries = (await rowsOf("activity_entries", "subject_id", did)).filter(
      (row) => row.action === "agent.suspended",
    );
    expect(entries).toHaveLength(1);
  });

  it("in several directions at once ends in the final status of a valid order", async () => {
    const { did } = await world.consumer();
    const targets = Array.from({ length: 15 }, (_, i) => ["SUSPENDED", "ACTIVE", "TERMINATED"][i % 3] ?? "");
    const replies = await Promise.all(targets.map((target) => patchStatus(did, target)));
    expect(replies.filter(({ body }) => body.status === "TERMINATED" && body.did === did)).toHaveLength(1);
    expect((await readAgent(world, did)).status).toBe("TERMINATED");
    const moves = (await rowsOf("activity_entries", "subject_id", did))
      .filter((row) => row.changes !== null)
      .map((row) => JSON.parse(row.changes).status);
    expect(moves.filter((move) => move.from === "TERMINATED")).toEqual([]);
    expect(moves.filter((move) => move.to === "TERMINATED")).toHaveLength(1);
  });
});

describe("suspending an agent that is already suspended with its principal or account", () => {
  const act = (principalId: string, verb: string) => world.call("POST", `/v1/principals/${principalId}/${verb}`);
  const stored = async (did: string): Promise<Json> => (await rowsOf("agents", "did", did))[0];
  const reported = async (did: string): Promise<Json> => ({
    events: (await env.DB.prepare("select * from events where json_extract(object, '$.did') = ?").bind(did).all<Json>())
      .results.length,
    listed: (await rowsOf("directory_changes", "did", did)).length,
  });
  const lastEntry = async (did: string): Promise<Json> => {
    const { action, changes } = (await rowsOf("activity_entries", "subject_id", did)).at(-1);
    return { action, changes: JSON.parse(changes) };
  };

  /** Suspended agents that were ACTIVE, by the reason in their rows. */
  const STOPPED: Record<string, () => Promise<string>> = {
    principal: async () => {
      const { did, principalId } = await world.consumer();
      expectStatus(await act(principalId, "suspend"), 200);
      return did;
    },
    attestation: async () => {
      const { did } = await world.consumer({ principal_id: await world.principal(anHour()) });
      world.advance(HOUR_MS);
      await world.run(endAttestations);
      return did;
    },
    // As a reinstatement of its account leaves it until the cascade reaches it.
    operator: async () => {
      const { did } = await world.consumer();
      await env.DB.prepare(
        "update agents set status = 'SUSPENDED', suspension_reason = 'operator', suspended_from = 'ACTIVE' where did = ?",
      )
        .bind(did)
        .run();
      return did;
    },
  };

  it.each(Object.keys(STOPPED))("by %s becomes the platform's own, which only the log shows", async (reason) => {
    const did = (await STOPPED[reason]?.()) ?? "";
    const before = await reported(did);
    expect((await stored(did)).suspension_reason).toBe(reason);
    const view = expectStatus(await patchStatus(did, "SUSPENDED", "Under review."), 200);
    const suspended = { status: "SUSPENDED", suspension_reason: "platform", status_reason: "Under review." };
    expect(view).toMatchObject(suspended);
    expect(await readAgent(world, did)).toEqual(view);
    expect(await stored(did)).toMatchObject({ suspended_from: "ACTIVE", suspension_reason: "platform" });
    expect(await reported(did)).toEqual(before);
    expect(await lastEntry(did)).toEqual({
      action: "agent.suspended",
      changes: { suspension_reason: { from: reason, to: "platform" } },
    });
    // From now on its platform itself has suspended it.
    const again = await patchStatus(did, "SUSPENDED");
    expect([again.status, again.body.code]).toEqual([409, "invalid_status"]);
  });

  it("keeps the status before the suspension, so that the agent returns to FUNDING", async () => {
    const { did, principalId } = await world.consumer();
    await env.DB.prepare("update agents set status = 'FUNDING' where did = ?").bind(did).run();
    expectStatus(await act(principalId, "suspend"), 200);
    expectStatus(await patchStatus(did, "SUSPENDED"), 200);
    expect((await stored(did)).suspended_from).toBe("FUNDING");
    expectStatus(await act(principalId, "reactivate"), 200);
    expect(expectStatus(await patchStatus(did, "ACTIVE"), 200).status).toBe("FUNDING");
  });

  it("whose end no job has recorded yet is one suspension and is reported once", async () => {
    const { did } = await world.consumer({ principal_id: await world.principal(anHour()) });
    world.advance(HOUR_MS);
    const before = await reported(did);
    const view = expectStatus(await patchStatus(did, "SUSPENDED"), 200);
    expect([view.status, view.suspension_reason]).toEqual(["SUSPENDED", "platform"]);
    await world.run(endAttestations);
    expect(await stored(did)).toMatchObject({ suspension_reason: "platform", suspended_from: "ACTIVE" });
    expect(await reported(did)).toEqual({ events: before.events + 1, listed: before.listed + 1 });
  });

  it("excludes it from the reinstatement of its account", async () => {
    const of = await createWorld();
    await crowd(of, SLICE + 20);
    expectStatus(await suspend(of), 200);
    await of.run(finishCascades);
    // The reinstatement dies after its first slice.
    dieBefore(of, 3);
    expectStatus(await reinstate(of), 200);
    const left = (await rowsOf("agents", "suspension_reason", "operator")).filter(
      ({ platform_id, environment }) => platform_id === of.platformId && environment === "sandbox",
    );
    const [kept, given] = left.map(({ did }) => did);
    const path = `/v1/agents/${kept}/status`;
    expectStatus(await of.call("PATCH", path, { body: { status: "SUSPENDED" } }), 200);
    await of.run(finishCascades);
    expect(await stored(kept)).toMatchObject({ status: "SUSPENDED", suspension_reason: "platform" });
    expect((await stored(given)).status).not.toBe("SUSPENDED");
  });

  it("is written once when twenty come at once", async () => {
    const did = (await STOPPED["principal"]?.()) ?? "";
    const replies = await Promise.all(Array.from({ length: 20 }, () => patchStatus(did, "SUSPENDED")));
    expect(replies.map(({ status }) => status).sort()).toEqual([200, ...Array.from({ length: 19 }, () => 409)]);
    const entries = (await rowsOf("activity_entries", "subject_id", did)).filter(({ changes }) =>
      changes?.includes("suspension_reason"),
    );
    expect(entries).toHaveLength(1);
  });

  it("is refused if another reason replaces the present one between the read and the commit", async () => {
    const did = (await STOPPED["principal"]?.()) ?? "";
    world.meter.beforeBatch(2, () =>
      env.DB.prepare("update agents set suspension_reason = 'platform' where did = ?").bind(did).run(),
    );
    expect((await patchStatus(did, "SUSPENDED")).status).toBe(409);
  });
});

describe("an agent of a closed principal", () => {
  it.each(["ACTIVE", "SUSPENDED", "TERMINATED"])(
    "has ended before its own row says so: %s is refused",
    async (target) => {
      const { did, principalId } = await world.consumer();
      await env.DB.prepare("update principals set status = 'CLOSED' where principal_id = ?").bind(principalId).run();
      const before = await dumpDatabase();
      const reply = await patchStatus(did, target);
      expect([reply.status, reply.body.code, reply.body.detail]).toEqual([
        409,
        "invalid_status",
        { status: "REVOKED", principal_status: "CLOSED" },
      ]);
      expect(await dumpDatabase()).toEqual(before);
    },
  );
});

describe("activation", () => {
  it.each(STATES.filter((state) => state !== "DRAFT"))(
    "of an agent that is %s is refused as 409 invalid_status",
    async (state) => {
      const did = await agentIn(world, state);
      const before = await dumpDatabase();
      const reply = await world.call("POST", `/v1/agents/${did}/activate`);
      expect([reply.status, reply.body.code, reply.body.detail]).toEqual([409, "invalid_status", { status: state }]);
      expect(await dumpDatabase()).toEqual(before);
    },
  );

  it("at the same moment by many has one winner and one private key", async () => {
    const { did } = await world.draft("CONSUMER");
    const replies = await Promise.all(
      Array.from({ length: AT_ONCE }, () => world.call("POST", `/v1/agents/${did}/activate`)),
    );
    const winners = replies.filter(({ status }) => status === 200);
    expect(winners).toHaveLength(1);
    expect(replies.filter(({ body }) => body.code === "invalid_status")).toHaveLength(AT_ONCE - 1);
    expect(replies.filter(({ text }) => text.includes("PRIVATE KEY"))).toHaveLength(1);
    expect(await rowsOf("certificates", "did", did)).toHaveLength(1);
    const entries = (await rowsOf("activity_entries", "subject_id", did)).filter(
      (row) => row.action === "agent.activated",
    );
    expect(entries).toHaveLength(1);
    expect((await readAgent(world, did)).key_id).toBe(winners[0]?.body.key_id);
  });

  it("at the same moment as the agent's end leaves the agent ended, never ACTIVE", async () => {
    const { did } = await world.draft("CONSUMER");
    await Promise.all([
      world.call("POST", `/v1/agents/${did}/activate`),
      patchStatus(did, "TERMINATED"),
      world.call("POST", `/v1/agents/${did}/activate`),
    ]);
    expect((await readAgent(world, did)).status).toBe("TERMINATED");
  });
});
