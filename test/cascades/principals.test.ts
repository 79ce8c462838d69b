import { eq } from "drizzle-orm";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { finishCascades } from "../../src/cascades/cascades.ts";
import { endAttestations } from "../../src/cascades/expire.ts";
import { agents, certificates } from "../../src/db/tables/agents.ts";
import { walks } from "../../src/db/tables/walks.ts";
import type { Recorded } from "../../src/jobs/job.ts";
import { CERTIFICATE_STATUS } from "../../src/protocol/status-list.ts";
import { facilitated } from "../facilitation/support.ts";
import { openIntent, seller } from "../payments/support.ts";
import { isWhole } from "../support/scale.ts";
import {
  agentBody,
  createWorld,
  env,
  expectStatus,
  type Json,
  principalBody,
  type Reply,
  type World,
} from "../support/world.ts";
import {
  crowd,
  dieBefore,
  each,
  inStatus,
  outcome,
  publicly,
  revocations,
  storedAgent,
  suspensions,
} from "./account-support.ts";
import { createSlicedWorld, SLICE } from "./slices.ts";

const HOUR_MS = 3_600_000;

let world: World;
let other: World;
beforeAll(async () => {
  other = await createWorld();
});
beforeEach(async () => {
  world = await createSlicedWorld();
  // Removes cascades that an earlier test left unfinished.
  await world.deps.db.delete(walks);
});

const act = (principalId: string, verb: string, body?: unknown, of = world): Promise<Reply> =>
  of.call("POST", `/v1/principals/${principalId}/${verb}`, body === undefined ? {} : { body });
const read = async (principalId: string): Promise<Json> =>
  expectStatus(await world.call("GET", `/v1/principals/${principalId}`), 200);
const principalOf = async (did: string): Promise<string> => (await storedAgent(world, did))?.principalId ?? "";
const back = (did: string): Promise<Reply> =>
  world.call("PATCH", `/v1/agents/${did}/status`, { body: { status: "ACTIVE" } });
const eventsOf = async (principalId: string): Promise<unknown[]> =>
  (
    await env.DB.prepare(
      "select json_extract(object, '$.status') as status from events where type = 'principal.status_changed' and json_extract(object, '$.principal_id') = ? order by seq",
    )
      .bind(principalId)
      .all<{ status: string }>()
  ).results.map(({ status }) => status);

const certificatesOf = async (dids: readonly string[]) => {
  const own = new Set(dids);
  return (await world.deps.db.select().from(certificates)).filter(({ did }) => own.has(did));
};
/** The values of the agents' certificates in the status lists. */
const listed = async (dids: readonly string[]) =>
  new Set((await certificatesOf(dids)).map(({ listedStatus }) => listedStatus));

/** A principal whose attestation ends in an hour. */
async function anHour(): Promise<string> {
  const verification_attestation = {
    attestation_id: `att_${crypto.randomUUID()}`,
    verifier_id: "ver_1",
    model: "kyb",
    issued_at: new Date(world.now() - HOUR_MS).toISOString(),
    expires_at: new Date(world.now() + HOUR_MS).toISOString(),
  };
  const body = principalBody({ verification_attestation });
  return expectStatus(await world.call("POST", "/v1/principals", { body }), 201).principal_id;
}

describe("suspending a principal", () => {
  it("answers with the reason, and stops its agents in the commit of the answer", async () => {
    const { did } = await world.consumer();
    const principalId = await principalOf(did);
    const answer = expectStatus(await act(principalId, "suspend", { reason: "Under review." }), 200);
    expect(answer).toMatchObject({ status: "SUSPENDED", status_reason: "platform", status_note: "Under review." });
    expect(await read(principalId)).toEqual(answer);
    expect(await storedAgent(world, did)).toMatchObject({ status: "SUSPENDED", suspensionReason: "principal" });
    expect(await suspensions(world)).toEqual(each([did]));
    expect(await eventsOf(principalId)).toEqual(["SUSPENDED"]);
    const { data } = expectStatus(
      await world.call("GET", `/v1/platform/activity?subject_id=${principalId}&limit=1`),
      200,
    );
    expect(data).toMatchObject([
      {
        action: "principal.suspended",
        changes: { status: { from: "ACTIVE", to: "SUSPENDED" }, reason: { from: null, to: "Under review." } },
      },
    ]);
  });

  it("takes no body or an empty one, and refuses a faulty one", async () => {
    const [one, two] = [await world.principal(), await world.principal()];
    expectStatus(await act(one, "suspend"), 200);
    expectStatus(await act(two, "suspend", {}), 200);
    const faulty = await act(two, "reactivate", { reason: "x".repeat(501), colour: "red" });
    expect(faulty.status).toBe(422);
    expect(faulty.body.field_errors.map(({ field }: Json) => field).sort()).toEqual(["colour", "reason"]);
  });

  it.each(isWhole() ? [1, 10, SLICE - 1, 500, 10_000] : [1, SLICE - 1, 3 * SLICE + 2])(
    "reads and writes a bounded number of rows for %d agents",
    async (count) => {
      const { first } = await crowd(world, count, { certified: true });
      const principalId = await principalOf(first.did);
      world.meter.reset();
      expectStatus(await act(principalId, "suspend"), 200);
      if (count < SLICE) expect(world.meter.reading.trips).toBe(2);
      // Continues like the queue.
      for (let more: Recorded = count < SLICE ? false : "more"; more === "more"; )
        more = await finishCascades.record(world.deps, principalId);
      const { rowsRead, rowsWritten } = world.meter.reading;
      expect(await inStatus(world, "ACTIVE", "FUNDING")).toEqual([]);
      expect(rowsRead).toBeLessThanOrEqual(13 + 5 * count);
      expect(rowsWritten).toBeLessThanOrEqual(12 + 14 * count);
    },
    600_000,
  );

  it("reads no agent of an earlier slice, even if all were created at one instant", async () => {
    const count = 2 * SLICE + SLICE / 2;
    const { first } = await crowd(world, count, { certified: true });
    const principalId = await principalOf(first.did);
    await world.deps.db.update(agents).set({ createdAt: 1 }).where(eq(agents.principalId, principalId));
    world.meter.reset();
    expectStatus(await act(principalId, "suspend"), 200);
    expect(await inStatus(world, "ACTIVE", "FUNDING")).toEqual([]);
    expect(world.meter.reading.rowsRead).toBeLessThanOrEqual(10 + 5 * count);
  });

  it("shows every agent SUSPENDED from the commit on, before its row follows, and lets none trade", async () => {
    const { first, dids } = await crowd(world, 2 * SLICE + SLICE / 2);
    const shop = await seller(other);
    const principalId = await principalOf(first.did);
    // The call dies after the first slice.
    dieBefore(world, 3);
    expectStatus(await act(principalId, "suspend"), 200);
    const left = await inStatus(world, "ACTIVE", "FUNDING");
    expect(left.length).toBe(dids.length - SLICE);
    expect((await publicly(world, `/v1/agents/${left[0]}/status`)).status).toBe("SUSPENDED");
    expect(outcome(await openIntent(world, first, shop, "10.00"))).toEqual([409, "agent_not_active"]);
    await world.run(finishCascades);
    expect(await inStatus(world, "ACTIVE", "FUNDING")).toEqual([]);
    expect(await suspensions(world)).toEqual(each(dids));
  });

  it("is finished by the job if the isolate dies in the third of ten slices, and each agent is reported once", async () => {
    const { first, dids } = await crowd(world, 10 * SLICE, { certified: true });
    const principalId = await principalOf(first.did);
    // The two trips of the answer, two of the second slice, and the reading of the third.
    dieBefore(world, 6);
    expectStatus(await act(principalId, "suspend"), 200);
    const done = await inStatus(world, "SUSPENDED");
    expect(done).toHaveLength(2 * SLICE);
    expect(await suspensions(world)).toEqual(each(done));
    await world.run(finishCascades);
    expect(await inStatus(world, "SUSPENDED")).toEqual(dids);
    expect(await suspensions(world)).toEqual(each(dids));
    expect(await world.run(finishCascades)).toBe(0);
    expect(await suspensions(world)).toEqual(each(dids));
    expect(await listed(dids)).toEqual(new Set([CERTIFICATE_STATUS.suspended]));
  });

  it("lists every certificate of an agent, even one that is issued between the reading and the commit", async () => {
    const { did } = await world.consumer();
    const reissue = async () => expectStatus(await world.call("POST", `/v1/agents/${did}/certificate`), 200);
    await reissue();
    world.meter.beforeBatch(2, reissue);
    expectStatus(await act(await principalOf(did), "suspend"), 200);
    expect(await certificatesOf([did])).toHaveLength(3);
    expect(await listed([did])).toEqual(new Set([CERTIFICATE_STATUS.suspended]));
  });

  it("lists a second certificate that is issued between the reading and the commit", async () => {
    const { did } = await world.consumer();
    const reissue = async () => expectStatus(await world.call("POST", `/v1/agents/${did}/certificate`), 200);
    world.meter.beforeBatch(2, reissue);
    expectStatus(await act(await principalOf(did), "suspend"), 200);
    expect(await certificatesOf([did])).toHaveLength(2);
    expect(await listed([did])).toEqual(new Set([CERTIFICATE_STATUS.suspended]));
  });

  it("is refused the second time, and for a closed principal", async () => {
    const principalId = await world.principal();
    expectStatus(await act(principalId, "suspend"), 200);
    const again = await act(principalId, "suspend");
    expect(outcome(again)).toEqual([409, "invalid_status"]);
    expect([again.body.message, again.body.detail]).toEqual([
      "The platform has already suspended the principal.",
      { status: "SUSPENDED", status_reason: "platform" },
    ]);
    expectStatus(await act(principalId, "close"), 200);
    for (const verb of ["suspend", "reactivate", "close"]) {
      expect([verb, ...outcome(await act(principalId, verb))]).toEqual([verb, 409, "invalid_status"]);
    }
  });
});

describe("reactivating a principal", () => {
  it("restores it alone, and its agents are reactivated one by one", async () => {
    const { did } = await world.consumer();
    const principalId = await principalOf(did);
    expectStatus(await act(principalId, "suspend", { reason: "Under review." }), 200);
    expect(outcome(await back(did))).toEqual([409, "invalid_status"]);
    const answer = expectStatus(await act(principalId, "reactivate"), 200);
    expect(answer).toMatchObject({ status: "ACTIVE", status_reason: null, status_note: null });
    expect((await storedAgent(world, did))?.status).toBe("SUSPENDED");
    expectStatus(await back(did), 200);
    expect(await eventsOf(principalId)).toEqual(["SUSPENDED", "ACTIVE"]);
    expect(outcome(await act(principalId, "reactivate"))).toEqual([409, "invalid_status"]);
  });

  it("keeps an attestation's end as a stop, recorded or not", async () => {
    for (const recorded of [true, false]) {
      const principalId = await anHour();
      if (recorded) {
        world.advance(HOUR_MS);
        await world.run(endAttestations);
        expect((await read(principalId)).status).toBe("ATTESTATION_EXPIRED");
        expectStatus(await act(principalId, "suspend"), 200);
        expect(await read(principalId)).toMatchObject({ status: "SUSPENDED", status_reason: "platform" });
      } else {
        expectStatus(await act(principalId, "suspend"), 200);
        world.advance(HOUR_MS);
      }
      const answer = expectStatus(await act(principalId, "reactivate"), 200);
      expect(answer).toMatchObject({ status: "ATTESTATION_EXPIRED", status_reason: "attestation_expired" });
      await world.run(endAttestations);
      expect((await read(principalId)).status).toBe("ATTESTATION_EXPIRED");
    }
  });

  it("keeps the customer's stop, to which the platform's own is added and from which it is removed again", async () => {
    const principalId = await world.principal();
    const stop = "update principals set status = 'SUSPENDED', customer_stopped = 1 where principal_id = ?";
    await env.DB.prepare(stop).bind(principalId).run();
    expect(outcome(await act(principalId, "reactivate"))).toEqual([409, "invalid_status"]);
    expect(expectStatus(await act(principalId, "suspend"), 200).status_reason).toBe("platform");
    expect(expectStatus(await act(principalId, "reactivate"), 200)).toMatchObject({
      status: "SUSPENDED",
      status_reason: "customer",
    });
    // Its status has not changed.
    expect(await eventsOf(principalId)).toEqual([]);
  });
});

describe("closing a principal", () => {
  it("is refused while an agent is active, even if it becomes active at the same moment", async () => {
    const { did } = await world.consumer();
    const principalId = await principalOf(did);
    const refused = await act(principalId, "close");
    expect([...outcome(refused), refused.body.detail]).toEqual([409, "close_blocked_open_disputes", { did }]);
    expectStatus(await world.call("PATCH", `/v1/agents/${did}/status`, { body: { status: "SUSPENDED" } }), 200);
    world.meter.beforeBatch(2, async () => void expectStatus(await back(did), 200));
    expect(outcome(await act(principalId, "close"))).toEqual([409, "close_blocked_open_disputes"]);
    expect((await read(principalId)).status).toBe("ACTIVE");
    expect((await storedAgent(world, did))?.status).toBe("ACTIVE");
  });

  it("revokes agents of every status, once each, and frees the name and the reference", async () => {
    const { did } = await world.consumer();
    const principalId = await principalOf(did);
    const draft = { ...agentBody("CONSUMER"), principal_id: principalId };
    const { did: drafted } = expectStatus(await world.call("POST", "/v1/agents", { body: draft }), 201);
    expectStatus(await act(principalId, "suspend"), 200);
    const before = await read(principalId);
    const closed = expectStatus(await act(principalId, "close", { reason: "Offboarded." }), 200);
    expect(closed).toMatchObject({ status: "CLOSED", status_reason: "platform", status_note: "Offboarded." });
    expect(await inStatus(world, "REVOKED")).toEqual([did, drafted].sort());
    expect((await revocations(world)).log).toEqual([did, drafted].sort());
    expect((await publicly(world, `/v1/agents/${did}/status`)).status).toBe("REVOKED");
    const { external_ref, legal_name, country } = before;
    const anew = principalBody({ external_ref, legal_name, country });
    expect(expectStatus(await world.call("POST", "/v1/principals", { body: anew }), 201).principal_id).not.toBe(
      principalId,
    );
    expect(await eventsOf(principalId)).toEqual(["SUSPENDED", "CLOSED"]);
  });

  it("keeps settled history readable, and takes the principal out of its customer", async () => {
    const { intent, consumer } = await facilitated(world);
    const principalId = await principalOf(consumer.did);
    await env.DB.prepare(
      "insert into customers (customer_id, platform_id, environment, name, status, created_at) values ('cus_x', ?, 'sandbox', 'Acme', 'ACTIVE', 1)",
    )
      .bind(world.platformId)
      .run();
    expectStatus(await world.call("PATCH", `/v1/principals/${principalId}`, { body: { customer_id: "cus_x" } }), 200);
    expectStatus(await act(principalId, "suspend"), 200);
    expect(expectStatus(await act(principalId, "close"), 200).customer_id).toBeNull();
    const count = await env.DB.prepare("select principal_count as n from customers where customer_id = 'cus_x'").first(
      "n",
    );
    expect(count).toBe(0);
    const kept = await env.DB.prepare("select status from payment_intents where intent_id = ?")
      .bind(intent.intent_id)
      .first("status");
    expect(kept).toBe("SETTLED");
  });

  it("is refused for the tenant principal, which ends with the account", async () => {
    const { tenant_principal_id: tenant } = expectStatus(await world.call("GET", "/v1/platform"), 200);
    expect(outcome(await act(tenant, "close"))).toEqual([409, "tenant_principal_field_locked"]);
  });
});
