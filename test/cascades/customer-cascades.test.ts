// A customer with many principals (PRN-24): all change at once, and each principal and agent is reported once, even after a crash, and even if other
// acts change them meanwhile.
import { beforeEach, describe, expect, it } from "vitest";
import { finishCascades } from "../../src/cascades/cascades.ts";
import { endAttestations } from "../../src/cascades/expire.ts";
import { walks } from "../../src/db/tables/walks.ts";
import { isWhole } from "../support/scale.ts";
import { env, expectStatus, type Reply, type World } from "../support/world.ts";
import {
  close as closeAccount,
  crowd,
  dieBefore,
  each,
  entriesOf,
  givePassword,
  outcome,
  publicly,
  suspensions,
} from "./account-support.ts";
import {
  cascadesLeft,
  dyingAt,
  grouped,
  historyOf,
  ofCustomer,
  ofPrincipal,
  readPrincipal,
  regroup,
  reportedPrincipals,
  statesTold,
  stored,
  unreported,
  withQueue,
} from "./customer-support.ts";
import { createSlicedWorld, FIRST_PRINCIPALS, SLICE } from "./slices.ts";

let world: World;
beforeEach(async () => {
  world = await createSlicedWorld();
  await world.deps.db.delete(walks);
});

const last = <T>(list: readonly T[]): T => {
  const found = list.at(-1);
  if (found === undefined) throw new Error("an empty list");
  return found;
};
const bothReported = (ids: readonly string[]) => ({ log: [...ids].sort(), outbox: [...ids].sort() });

describe("many principals of a customer", () => {
  const MANY = isWhole() ? 1_000 : 60;
  /** The trips in which a run of the job dies, and whether the database has done them. */
  const DEATHS = [
    [2, false],
    [3, true],
    ...(isWhole()
      ? ([
          [40, true],
          [301, false],
          [700, true],
        ] as const)
      : ([
          [10, true],
          [21, false],
          [40, true],
        ] as const)),
  ] as const;

  it("change in one batch of two trips, and each of them and of their agents is reported once, even after a crash", async () => {
    const { customerId, principalIds, dids } = await grouped(world, MANY, 2);
    // The answer and the message to the queue are lost after the commit.
    const lost = await ofCustomer(dyingAt(world, 2, true), customerId, "suspend");
    expect(lost.status).toBe(500);
    expect((await stored(world)).principals).toEqual({ SUSPENDED: MANY });
    // From the commit on no agent is active, whatever is still to be written.
    expect((await publicly(world, `/v1/agents/${last(dids)}/status`)).status).toBe("SUSPENDED");
    expect((await readPrincipal(world, last(principalIds))).status_reason).toBe("customer");
    expect((await stored(world)).agents).toEqual({
      ACTIVE: 2 * (MANY - FIRST_PRINCIPALS),
      SUSPENDED: 2 * FIRST_PRINCIPALS,
    });
    expect((await unreported(world)).length).toBe(MANY - FIRST_PRINCIPALS);
    for (const [trip, done] of DEATHS) {
      const dying = dyingAt(world, trip, done);
      await dying.run(finishCascades, dying.deps).catch(() => undefined);
    }
    const left = (await unreported(world)).length;
    expect(left).toBeGreaterThan(MANY / 10);
    expect(left).toBeLessThan((9 * MANY) / 10);
    await world.run(finishCascades);
    expect(await stored(world)).toEqual({ principals: { SUSPENDED: MANY }, agents: { SUSPENDED: 2 * MANY } });
    expect(await reportedPrincipals(world, "principal.suspended", "SUSPENDED")).toEqual(bothReported(principalIds));
    expect(await suspensions(world)).toEqual(each(dids));
    expect(await cascadesLeft(world)).toEqual([]);
  });
});

describe("the principals of a customer after the first ones", () => {
  const COUNT = FIRST_PRINCIPALS + 12;

  it("follow by the queue, in a suspension and in a reactivation, and each is reported once", async () => {
    const { customerId, principalIds, dids } = await grouped(world, COUNT, 5);
    const { held, sent, drain } = withQueue(world);
    expectStatus(await ofCustomer(held, customerId, "suspend"), 200);
    const found = { kind: "find", job: finishCascades.name, after: { at: expect.any(Number), id: "" }, apart: true };
    expect(sent).toEqual([found]);
    // The first slice takes as many agents as it has room for.
    expect((await stored(world)).agents).toEqual({ ACTIVE: 5 * COUNT - SLICE, SUSPENDED: SLICE });
    await drain();
    expect(await reportedPrincipals(world, "principal.suspended", "SUSPENDED")).toEqual(bothReported(principalIds));
    expect(await suspensions(world)).toEqual(each(dids));
    expect(await cascadesLeft(world)).toEqual([]);
    expectStatus(await ofCustomer(held, customerId, "reactivate"), 200);
    expect(sent).toEqual([found]);
    expect((await stored(world)).principals).toEqual({ ACTIVE: COUNT });
    await drain();
    expect(await reportedPrincipals(world, "principal.reactivated", "ACTIVE")).toEqual(bothReported(principalIds));
    expect((await stored(world)).agents).toEqual({ SUSPENDED: 5 * COUNT });
    expect(await cascadesLeft(world)).toEqual([]);
  });

  it("are reported once by several runs at once", async () => {
    const { customerId, principalIds, dids } = await grouped(world, COUNT, 2);
    const { held } = withQueue(world);
    expectStatus(await ofCustomer(held, customerId, "suspend"), 200);
    await Promise.all([1, 2, 3].map(() => world.run(finishCascades)));
    expect(await reportedPrincipals(world, "principal.suspended", "SUSPENDED")).toEqual(bothReported(principalIds));
    expect(await suspensions(world)).toEqual(each(dids));
  });

  it("are reported once if one of them has more agents than a slice, even after a crash", async () => {
    const { customerId, principalIds, dids } = await grouped(world, 2, 2 * SLICE + 10);
    const { held, drain } = withQueue(world);
    expectStatus(await ofCustomer(held, customerId, "suspend"), 200);
    expect((await stored(world)).agents).toEqual({ ACTIVE: 2 * SLICE + 20 + SLICE, SUSPENDED: SLICE });
    for (const [trip, done] of [
      [3, true],
      [5, false],
    ] as const) {
      const dying = dyingAt(world, trip, done);
      await dying.run(finishCascades, dying.deps).catch(() => undefined);
    }
    await drain();
    expect(await suspensions(world)).toEqual(each(dids));
    expect(await reportedPrincipals(world, "principal.suspended", "SUSPENDED")).toEqual(bothReported(principalIds));
    expect(await cascadesLeft(world)).toEqual([]);
  });

  it("report a reactivation and a further suspension in their order", async () => {
    const { customerId, principalIds } = await grouped(world, COUNT, 1);
    const { held, drain } = withQueue(world);
    expectStatus(await ofCustomer(held, customerId, "suspend", { reason: "One." }), 200);
    await drain();
    expectStatus(await ofCustomer(held, customerId, "reactivate", { reason: "Two." }), 200);
    // A suspension is never refused, although the reactivation is not reported yet.
    expectStatus(await ofCustomer(held, customerId, "suspend", { reason: "Three." }), 200);
    await drain();
    for (const principalId of [principalIds[0] ?? "", last(principalIds)]) {
      expect(await historyOf(world, principalId)).toEqual([
        "principal.suspended: ACTIVE → SUSPENDED",
        "principal.reactivated: SUSPENDED → ACTIVE",
        "principal.suspended: ACTIVE → SUSPENDED",
      ]);
    }
    expect((await readPrincipal(world, last(principalIds))).status_note).toBe("Three.");
    const reasons = (await entriesOf(world, "principal.suspended"))
      .filter(({ subjectId }) => subjectId === last(principalIds))
      .map(({ changes }) => changes?.["reason"]);
    expect(reasons).toEqual([
      { from: null, to: "One." },
      { from: "Two.", to: "Three." },
    ]);
    expect(await cascadesLeft(world)).toEqual([]);
  });
});

describe("an act on a principal whose suspension is not reported yet", () => {
  /** A suspended customer, with one principal that is not reported yet. */
  async function pending() {
    const group = await grouped(world, FIRST_PRINCIPALS + 1, 1);
    const { held, drain } = withQueue(world);
    expectStatus(await ofCustomer(held, group.customerId, "suspend"), 200);
    const principalId = last(group.principalIds);
    expect(await unreported(world)).toEqual([principalId]);
    return { ...group, principalId, held, drain };
  }
  const SUSPENDED = "principal.suspended: ACTIVE → SUSPENDED";

  it("comes after the suspension in the log", async () => {
    const cases: [(id: string) => Promise<Reply>, string, number][] = [
      [(id) => ofPrincipal(world, id, "suspend"), "principal.suspended: SUSPENDED → SUSPENDED", 1],
      [(id) => ofPrincipal(world, id, "close"), "principal.closed: SUSPENDED → CLOSED", 2],
      [(id) => world.call("PATCH", `/v1/principals/${id}`, { body: { metadata: { a: "1" } } }), "principal.updated", 1],
    ];
    for (const [act, entry, told] of cases) {
      const { principalId, drain } = await pending();
      expectStatus(await act(principalId), 200);
      expect(await historyOf(world, principalId)).toEqual([SUSPENDED, entry]);
      expect((await statesTold(world, principalId)).length).toBe(told);
      await drain();
      expect(await historyOf(world, principalId)).toEqual([SUSPENDED, entry]);
      expect((await stored(world)).agents["ACTIVE"]).toBeUndefined();
      expect(await cascadesLeft(world)).toEqual([]);
      world = await createSlicedWorld();
    }
  });

  it("is decided again if another run has reported the suspension meanwhile", async () => {
    const { principalId } = await pending();
    world.meter.beforeBatch(2, () => world.run(finishCascades));
    expectStatus(await ofPrincipal(world, principalId, "suspend"), 200);
    expect(await historyOf(world, principalId)).toEqual([SUSPENDED, "principal.suspended: SUSPENDED → SUSPENDED"]);
  });

  it("comes after the suspension if the account closes", async () => {
    const { principalId, principalIds } = await pending();
    await givePassword(world);
    expectStatus(await closeAccount(world), 200);
    await world.run(finishCascades);
    expect(await historyOf(world, principalId)).toEqual([SUSPENDED, "principal.closed: SUSPENDED → CLOSED"]);
    expect((await reportedPrincipals(world, "principal.suspended", "SUSPENDED")).log).toEqual([...principalIds].sort());
    expect((await stored(world)).agents).toEqual({ REVOKED: principalIds.length });
    expect(await cascadesLeft(world)).toEqual([]);
  });

  it("waits if it would make the principal ACTIVE, and succeeds when its agents are suspended", async () => {
    const { customerId, principalId, drain } = await pending();
    expectStatus(await ofPrincipal(world, principalId, "suspend"), 200);
    // The customer still stops it, so it does not become ACTIVE.
    expectStatus(await ofPrincipal(world, principalId, "reactivate"), 200);
    const acts: (() => Promise<Reply>)[] = [
      () => ofCustomer(world, customerId, "reactivate"),
      () => regroup(world, principalId, null),
    ];
    for (const act of acts) {
      const { status, body, headers } = await act();
      expect([status, body.code, headers.get("retry-after")]).toEqual([409, "invalid_status", "5"]);
    }
    await drain();
    expectStatus(await regroup(world, principalId, null), 200);
    expectStatus(await ofCustomer(world, customerId, "reactivate"), 200);
    expect((await stored(world)).agents["ACTIVE"]).toBeUndefined();
  });

  it("waits if the platform reactivates a principal that it suspended itself", async () => {
    const { first } = await crowd(world, SLICE + 5);
    // The call dies after the first slice.
    dieBefore(world, 3);
    expectStatus(await ofPrincipal(world, first.principalId, "suspend"), 200);
    const refused = await ofPrincipal(world, first.principalId, "reactivate");
    expect([...outcome(refused), refused.headers.get("retry-after")]).toEqual([409, "invalid_status", "5"]);
    await world.run(finishCascades);
    expectStatus(await ofPrincipal(world, first.principalId, "reactivate"), 200);
  });

  it("comes after a reactivation if it is the end of the attestation", async () => {
    const { customerId, principalId, held, drain } = await pending();
    await drain();
    expectStatus(await ofCustomer(held, customerId, "reactivate"), 200);
    expect(await unreported(world)).toEqual([principalId]);
    await env.DB.prepare("update principals set attestation_expires_at = ? where principal_id = ?")
      .bind(world.now() + 60_000, principalId)
      .run();
    world.advance(120_000);
    await world.run(endAttestations);
    await world.run(finishCascades);
    expect(await historyOf(world, principalId)).toEqual([
      SUSPENDED,
      "principal.reactivated: SUSPENDED → ACTIVE",
      "principal.attestation_expired: ACTIVE → ATTESTATION_EXPIRED",
    ]);
    // The event shows the status at its instant.
    expect(await statesTold(world, principalId)).toEqual(["SUSPENDED", "ACTIVE", "ATTESTATION_EXPIRED"]);
  });
});

describe("a refused act on a customer", () => {
  it("reads none of its principals", async () => {
    const rowsOf = async (verb: string, customerId: string): Promise<number> => {
      world.meter.reset();
      expect(outcome(await ofCustomer(world, customerId, verb))).toEqual([409, "invalid_status"]);
      return world.meter.reading.rowsRead;
    };
    const few = (await grouped(world, 1, 1)).customerId;
    const many = (await grouped(world, 30, 1)).customerId;
    expect(await rowsOf("reactivate", many)).toBe(await rowsOf("reactivate", few));
    for (const customerId of [few, many]) expectStatus(await ofCustomer(world, customerId, "suspend"), 200);
    await world.run(finishCascades);
    expect(await rowsOf("suspend", many)).toBe(await rowsOf("suspend", few));
  });
});

describe(`a principal with ${10 * SLICE} agents`, () => {
  it("reports each agent once if the isolate dies in the third slice of ten", async () => {
    const { first, dids } = await crowd(world, 10 * SLICE);
    // The call's trips: its reading, its commit with the first slice, and two for each further slice.
    const lost = dyingAt(world, 6, false);
    expectStatus(await ofPrincipal(lost, first.principalId, "suspend"), 200);
    expect((await stored(world)).agents["SUSPENDED"]).toBe(2 * SLICE);
    const again = dyingAt(world, 3, true);
    await again.run(finishCascades, again.deps).catch(() => undefined);
    expect((await stored(world)).agents["SUSPENDED"]).toBe(3 * SLICE);
    await world.run(finishCascades);
    expect(await suspensions(world)).toEqual(each(dids));
    expect(await cascadesLeft(world)).toEqual([]);
  });
});
