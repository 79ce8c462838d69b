// A platform suspends and reactivates its customers (PRN-24): all principals change in the commit of the answer, on every surface, and each keeps its
// other stops.
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { endAttestations } from "../../src/cascades/expire.ts";
import { walks } from "../../src/db/tables/walks.ts";
import { openIntent, seller } from "../payments/support.ts";
import { isWhole } from "../support/scale.ts";
import { type Agent, createWorld, env, expectStatus, type Json, type Reply, type World } from "../support/world.ts";
import {
  entriesOf,
  outcome,
  publicly,
  reinstate,
  storedAgent,
  suspend as suspendAccount,
  suspensions,
} from "./account-support.ts";
import {
  newCustomer,
  ofCustomer,
  ofPrincipal,
  readPrincipal,
  register,
  regroup,
  reportedPrincipals,
  statesTold,
} from "./customer-support.ts";

let world: World;
let shop: Agent;
beforeAll(async () => {
  shop = await seller(await createWorld());
});
beforeEach(async () => {
  world = await createWorld();
  await world.deps.db.delete(walks);
});

const back = (did: string): Promise<Reply> =>
  world.call("PATCH", `/v1/agents/${did}/status`, { body: { status: "ACTIVE" } });

describe("suspending a customer", () => {
  it("answers with the reason, and changes its principals and their agents in the commit of the answer", async () => {
    const customerId = await newCustomer(world);
    const [one, two, outside] = [
      await register(world, customerId),
      await register(world, customerId),
      await register(world, null),
    ];
    const agent = await world.consumer({ principal_id: one });
    const bystander = await world.consumer({ principal_id: outside });
    world.meter.reset();
    const answer = expectStatus(await ofCustomer(world, customerId, "suspend", { reason: "Unpaid." }), 200);
    expect(world.meter.reading.trips).toBe(2);
    expect(answer).toMatchObject({ status: "SUSPENDED", status_note: "Unpaid.", principal_count: 2 });
    expect(expectStatus(await world.call("GET", `/v1/customers/${customerId}`), 200)).toEqual(answer);
    expect((await world.call("GET", "/v1/customers?status=SUSPENDED")).body.data).toEqual([answer]);
    for (const principalId of [one, two]) {
      const shown = { status: "SUSPENDED", status_reason: "customer", status_note: "Unpaid." };
      expect(await readPrincipal(world, principalId)).toMatchObject(shown);
      expect(await statesTold(world, principalId)).toEqual(["SUSPENDED"]);
    }
    expect(await storedAgent(world, agent.did)).toMatchObject({ status: "SUSPENDED", suspensionReason: "principal" });
    expect(await suspensions(world)).toEqual({ log: [agent.did], outbox: [agent.did], feed: [agent.did] });
    expect((await readPrincipal(world, outside)).status).toBe("ACTIVE");
    expect((await storedAgent(world, bystander.did))?.status).toBe("ACTIVE");
    expect(await entriesOf(world, "customer.suspended")).toMatchObject([
      {
        subjectType: "customer",
        subjectId: customerId,
        changes: { status: { from: "ACTIVE", to: "SUSPENDED" }, reason: { from: null, to: "Unpaid." } },
      },
    ]);
    const changes = { status: { from: "ACTIVE", to: "SUSPENDED" }, reason: { from: null, to: "Unpaid." } };
    expect(
      (await entriesOf(world, "principal.suspended")).map(({ subjectId, changes }) => [subjectId, changes]),
    ).toEqual([one, two].sort().map((id) => [id, changes]));
    expect(await world.deps.db.select().from(walks)).toEqual([]);
  });

  it("changes only the customer if it groups no principal", async () => {
    const customerId = await newCustomer(world);
    expect(expectStatus(await ofCustomer(world, customerId, "suspend"), 200)).toMatchObject({
      status: "SUSPENDED",
      status_note: null,
      principal_count: 0,
    });
    expect(await entriesOf(world, "principal.suspended")).toEqual([]);
  });

  it("stops principals from joining, lets them leave, and allows a deletion when none is left", async () => {
    const customerId = await newCustomer(world);
    const [inside, outside] = [await register(world, customerId), await register(world, null)];
    expectStatus(await ofCustomer(world, customerId, "suspend", { reason: "Unpaid." }), 200);
    expect(outcome(await regroup(world, outside, customerId))).toEqual([409, "invalid_status"]);
    const left = expectStatus(await regroup(world, inside, null), 200);
    expect(left).toMatchObject({ status: "ACTIVE", status_reason: null, status_note: null, customer_id: null });
    expect(await statesTold(world, inside)).toEqual(["SUSPENDED", "ACTIVE"]);
    expect((await world.call("DELETE", `/v1/customers/${customerId}`)).status).toBe(204);
  });
});

describe("reactivating a customer", () => {
  it("restores its principals alone, and their agents are reactivated one by one", async () => {
    const customerId = await newCustomer(world);
    const { did, principalId } = await world.consumer({ principal_id: await register(world, customerId) });
    expectStatus(await ofCustomer(world, customerId, "suspend", { reason: "Unpaid." }), 200);
    expect(outcome(await back(did))).toEqual([409, "invalid_status"]);
    world.meter.reset();
    const answer = expectStatus(await ofCustomer(world, customerId, "reactivate"), 200);
    expect(world.meter.reading.trips).toBe(2);
    expect(answer).toMatchObject({ status: "ACTIVE", status_note: null });
    expect(await readPrincipal(world, principalId)).toMatchObject({
      status: "ACTIVE",
      status_reason: null,
      status_note: null,
    });
    expect((await storedAgent(world, did))?.status).toBe("SUSPENDED");
    expectStatus(await back(did), 200);
    expect(await statesTold(world, principalId)).toEqual(["SUSPENDED", "ACTIVE"]);
    expect(await entriesOf(world, "principal.reactivated")).toMatchObject([
      { subjectId: principalId, changes: { status: { from: "SUSPENDED", to: "ACTIVE" } } },
    ]);
    expect(await entriesOf(world, "customer.reactivated")).toMatchObject([
      { subjectId: customerId, changes: { status: { from: "SUSPENDED", to: "ACTIVE" } } },
    ]);
    // Principals may join again.
    expectStatus(await regroup(world, await register(world, null), customerId), 200);
  });
});

describe("a suspension or a reactivation", () => {
  it("is refused in the status that it leads to", async () => {
    const customerId = await newCustomer(world);
    const refused = async (verb: string, status: string) => {
      const { body, ...reply } = await ofCustomer(world, customerId, verb);
      expect([reply.status, body.code, body.detail]).toEqual([409, "invalid_status", { status }]);
    };
    await refused("reactivate", "ACTIVE");
    expectStatus(await ofCustomer(world, customerId, "suspend"), 200);
    await refused("suspend", "SUSPENDED");
  });

  it("is refused with a faulty body in every status, and before that for an unknown customer", async () => {
    const customerId = await newCustomer(world);
    for (const verb of ["suspend", "reactivate"]) {
      const faulty = await ofCustomer(world, customerId, verb, { reason: "x".repeat(501), colour: "red" });
      expect(faulty.status).toBe(422);
      expect(faulty.body.field_errors.map(({ field }: Json) => field).sort()).toEqual(["colour", "reason"]);
      for (const reason of ["", 7, null]) {
        expect((await ofCustomer(world, customerId, verb, { reason })).status).toBe(422);
      }
      expect(outcome(await ofCustomer(world, "cus_none", verb, { colour: "red" }))).toEqual([404, "not_found"]);
    }
    expectStatus(await ofCustomer(world, customerId, "suspend", {}), 200);
  });

  it("leaves the principals of other customers as they are", async () => {
    const [mine, theirs] = [await newCustomer(world), await newCustomer(world)];
    const [one, two] = [await register(world, mine), await register(world, theirs)];
    expectStatus(await ofCustomer(world, mine, "suspend"), 200);
    expect([(await readPrincipal(world, one)).status, (await readPrincipal(world, two)).status]).toEqual([
      "SUSPENDED",
      "ACTIVE",
    ]);
  });
});

// ---- The set of a principal's stops ------------------------------------------------------------------------------------------

type Stop = "platform" | "customer" | "attestation" | "account";
type Subject = { readonly customerId: string; readonly agent: Agent };

const STOPS: readonly Stop[] = ["platform", "customer", "attestation", "account"];

/** The first stop in this order is shown. */
function shownBy(stops: ReadonlySet<Stop>): [status: string, reason: string | null] {
  if (stops.has("account")) return ["SUSPENDED", "operator"];
  if (stops.has("platform")) return ["SUSPENDED", "platform"];
  if (stops.has("customer")) return ["SUSPENDED", "customer"];
  return stops.has("attestation") ? ["ATTESTATION_EXPIRED", "attestation_expired"] : ["ACTIVE", null];
}

/** Ends the attestation, but keeps the certificate that states it, so that only the status refuses an intent. */
const endAt = (principalId: string, at: number) =>
  env.DB.prepare("update principals set attestation_expires_at = ? where principal_id = ?").bind(at, principalId).run();

async function impose(stop: Stop, { customerId, agent }: Subject): Promise<void> {
  if (stop === "platform") expectStatus(await ofPrincipal(world, agent.principalId, "suspend"), 200);
  if (stop === "customer") expectStatus(await ofCustomer(world, customerId, "suspend"), 200);
  if (stop === "account") expectStatus(await suspendAccount(world), 200);
  if (stop === "attestation") await endAt(agent.principalId, world.now() - 1);
  await world.run(endAttestations);
}

async function lift(stop: Stop, { customerId, agent }: Subject): Promise<void> {
  if (stop === "platform") expectStatus(await ofPrincipal(world, agent.principalId, "reactivate"), 200);
  if (stop === "customer") expectStatus(await ofCustomer(world, customerId, "reactivate"), 200);
  if (stop === "account") expectStatus(await reinstate(world), 200);
  await world.run(endAttestations);
}

/** Checks a principal with these stops, and its agent, on every surface. */
async function expectShown({ customerId, agent }: Subject, stops: ReadonlySet<Stop>, runs: boolean): Promise<void> {
  const [status, status_reason] = shownBy(stops);
  const agentStatus = runs ? "ACTIVE" : "SUSPENDED";
  const { did, principalId } = agent;
  expect((await publicly(world, `/v1/agents/${did}/status`)).status).toBe(agentStatus);
  const intent = await openIntent(world, agent, shop, "10.00");
  // An agent of a suspended account is refused like the account.
  expect(intent.status).toBe(runs ? 201 : stops.has("account") ? 403 : 409);
  // The keys of a suspended account cannot read.
  if (stops.has("account")) return;
  const shown = { principal_id: principalId, status, status_reason };
  expect(await readPrincipal(world, principalId)).toMatchObject(shown);
  const listed = async (query: string): Promise<Json[]> =>
    expectStatus(await world.call("GET", `/v1/principals?${query}`), 200).data;
  expect(await listed(`customer_id=${customerId}`)).toMatchObject([shown]);
  for (const asked of ["ACTIVE", "ATTESTATION_EXPIRED", "SUSPENDED"]) {
    const found = (await listed(`status=${asked}`)).map(({ principal_id }) => principal_id);
    expect([asked, found]).toEqual([asked, asked === status ? [principalId] : []]);
  }
  expect(expectStatus(await world.call("GET", `/v1/agents/${did}`), 200).status).toBe(agentStatus);
  const returning = await back(did);
  expect(returning.status).toBe(status === "ACTIVE" && !runs ? 200 : 409);
  if (returning.status === 200)
    expectStatus(await world.call("PATCH", `/v1/agents/${did}/status`, { body: { status: "SUSPENDED" } }), 200);
}

/** The keys of a suspended account cannot act. */
const imposable = (order: readonly Stop[]): Stop[] =>
  order.filter((stop, n) => stop === "attestation" || !order.slice(0, n).includes("account"));

const SETS = Array.from({ length: 16 }, (_, n) => STOPS.filter((_stop, bit) => ((n >> bit) & 1) === 1));

describe("the set of a principal's stops", () => {
  it.each(SETS.map((set) => [set.join(" × ") || "nothing", set] as const))("%s", async (_name, set) => {
    const orders = [set, ...(set.length === 2 || (isWhole() && set.length > 2) ? [[...set].reverse()] : [])];
    for (const order of orders) {
      world = await createWorld();
      const customerId = await newCustomer(world);
      const agent = await world.consumer({ principal_id: await register(world, customerId) });
      const subject = { customerId, agent };
      const stops = new Set<Stop>();
      const imposed = imposable(order);
      if (isWhole() || imposed.length === 0) await expectShown(subject, stops, true);
      for (const stop of imposed) {
        await impose(stop, subject);
        stops.add(stop);
        // With fewer stops it shows what a smaller set shows.
        if (isWhole() || stops.size === imposed.length) await expectShown(subject, stops, false);
      }
      // Reinstatement reactivates what the account's suspension took; every other stop leaves the agent SUSPENDED.
      let runs = false;
      if (stops.delete("account")) {
        await lift("account", subject);
        runs = order[0] === "account" && stops.size === 0;
        await expectShown(subject, stops, runs);
      }
      for (const stop of ["customer", "platform"] as const) {
        if (!stops.delete(stop)) continue;
        await lift(stop, subject);
        await expectShown(subject, stops, runs);
      }
    }
  });
});

describe("a principal that its platform and its customer stop", () => {
  it("is suspended and reactivated by each, with one event for each change of its status, and an entry each time", async () => {
    const customerId = await newCustomer(world);
    const principalId = await register(world, customerId);
    expectStatus(await ofPrincipal(world, principalId, "suspend", { reason: "Ours." }), 200);
    expectStatus(await ofCustomer(world, customerId, "suspend", { reason: "Theirs." }), 200);
    expect(await readPrincipal(world, principalId)).toMatchObject({
      status_reason: "platform",
      status_note: "Theirs.",
    });
    expectStatus(await ofPrincipal(world, principalId, "reactivate"), 200);
    expect((await readPrincipal(world, principalId)).status_reason).toBe("customer");
    expectStatus(await ofCustomer(world, customerId, "reactivate"), 200);
    expect((await readPrincipal(world, principalId)).status).toBe("ACTIVE");
    expect(await statesTold(world, principalId)).toEqual(["SUSPENDED", "ACTIVE"]);
    expect((await reportedPrincipals(world, "principal.suspended", "SUSPENDED")).log).toHaveLength(2);
    expect((await reportedPrincipals(world, "principal.reactivated", "ACTIVE")).log).toHaveLength(2);
  });
});
