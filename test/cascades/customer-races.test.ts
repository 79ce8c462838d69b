// Suspensions and reactivations of a customer at the same time as other acts on it, its principals and their agents (PRN-24): no agent is ever ACTIVE
// under a principal that is not.
import { and, eq } from "drizzle-orm";
import { beforeEach, describe, expect, it } from "vitest";
import { finishCascades } from "../../src/cascades/cascades.ts";
import { agents } from "../../src/db/tables/agents.ts";
import { principals } from "../../src/db/tables/principals.ts";
import { walks } from "../../src/db/tables/walks.ts";
import { isWhole } from "../support/scale.ts";
import { agentBody, createWorld, env, expectStatus, type Json, type World } from "../support/world.ts";
import { entriesOf, outcome, suspensions } from "./account-support.ts";
import {
  cascadesLeft,
  historyOf,
  newCustomer,
  ofCustomer,
  ofPrincipal,
  readPrincipal,
  register,
  regroup,
  statesTold,
  stored,
} from "./customer-support.ts";

const RACES = isWhole() ? 50 : 12;

let world: World;
beforeEach(async () => {
  world = await createWorld();
  await world.deps.db.delete(walks);
});

describe("between the reading and the commit of a suspension", () => {
  it("a principal that joins is suspended with the others", async () => {
    const customerId = await newCustomer(world);
    await register(world, customerId);
    let joined = "";
    world.meter.beforeBatch(2, async () => {
      joined = (await world.consumer({ principal_id: await register(world, customerId) })).principalId;
    });
    expectStatus(await ofCustomer(world, customerId, "suspend"), 200);
    expect((await readPrincipal(world, joined)).status_reason).toBe("customer");
    await world.run(finishCascades);
    expect((await stored(world)).agents).toEqual({ SUSPENDED: 1 });
    expect(await historyOf(world, joined)).toEqual(["principal.suspended: ACTIVE → SUSPENDED"]);
  });

  it("a principal that leaves, or is suspended itself, makes the suspension be decided again", async () => {
    for (const [act, shown, entries] of [
      [(id: string) => regroup(world, id, null), "ACTIVE", ["principal.updated"]],
      [
        (id: string) => ofPrincipal(world, id, "suspend"),
        "SUSPENDED",
        ["principal.suspended: ACTIVE → SUSPENDED", "principal.suspended: SUSPENDED → SUSPENDED"],
      ],
    ] as const) {
      const customerId = await newCustomer(world);
      const principalId = await register(world, customerId);
      world.meter.beforeBatch(2, async () => void expectStatus(await act(principalId), 200));
      expectStatus(await ofCustomer(world, customerId, "suspend"), 200);
      expect((await readPrincipal(world, principalId)).status).toBe(shown);
      // The cascade reports a principal that was changed meanwhile.
      await world.run(finishCascades);
      expect(await historyOf(world, principalId)).toEqual(entries);
    }
  });

  it("another suspension makes this one be refused", async () => {
    const customerId = await newCustomer(world);
    world.meter.beforeBatch(2, async () => void expectStatus(await ofCustomer(world, customerId, "suspend"), 200));
    expect(outcome(await ofCustomer(world, customerId, "suspend"))).toEqual([409, "invalid_status"]);
    expect(await entriesOf(world, "customer.suspended")).toHaveLength(1);
  });
});

/** Agents that are stored as active under a principal that is not ACTIVE, and principals whose stop by the customer does not match its status. */
async function untrue(of: World): Promise<Json[]> {
  const running = env.DB.prepare(
    `select a.did, p.status from agents a join principals p on p.principal_id = a.principal_id
     where a.platform_id = ? and a.status in ('ACTIVE', 'FUNDING') and p.status <> 'ACTIVE'`,
  );
  const unstopped = env.DB.prepare(
    `select p.principal_id, c.status from principals p left join customers c on c.customer_id = p.customer_id
     where p.platform_id = ? and p.customer_stopped <> (coalesce(c.status, 'ACTIVE') = 'SUSPENDED')`,
  );
  const found = await env.DB.batch([running.bind(of.platformId), unstopped.bind(of.platformId)]);
  return found.flatMap(({ results }) => results);
}

describe(`at the same moment, ${RACES} times`, () => {
  it("a customer is suspended while a principal joins it: the principal is stopped or refused", async () => {
    const rounds = await Promise.all(
      Array.from({ length: RACES }, async (_, i) => {
        const customerId = await newCustomer(world);
        return { customerId, moved: i % 2 === 0 ? (await world.consumer()).principalId : null };
      }),
    );
    const replies = await Promise.all(
      rounds.map(async ({ customerId, moved }, i) => {
        const join = () =>
          moved === null
            ? register(world, customerId).then(
                () => 201,
                () => 409,
              )
            : regroup(world, moved, customerId).then(({ status }) => status);
        const suspend = () => ofCustomer(world, customerId, "suspend").then(({ status }) => status);
        const sent = i % 4 < 2 ? [join(), suspend()] : [suspend(), join()];
        const [one, two] = await Promise.all(sent);
        return i % 4 < 2 ? { joined: one, suspended: two } : { joined: two, suspended: one };
      }),
    );
    for (const { joined, suspended } of replies) {
      expect(suspended).toBe(200);
      expect([200, 201, 409]).toContain(joined);
    }
    await world.run(finishCascades);
    expect(await untrue(world)).toEqual([]);
    expect(await cascadesLeft(world)).toEqual([]);
  });

  it("a customer is suspended while its agents are activated: none stays active", async () => {
    const customerId = await newCustomer(world);
    const ids = [await register(world, customerId), await register(world, customerId)];
    const drafts = await Promise.all(
      Array.from({ length: RACES }, async (_, i) => {
        const body = { ...agentBody("CONSUMER"), principal_id: ids[i % 2] };
        return expectStatus(await world.call("POST", "/v1/agents", { body }), 201).did as string;
      }),
    );
    const verbs = Array.from({ length: isWhole() ? 20 : 6 }, (_, n) => (n % 2 === 0 ? "suspend" : "reactivate"));
    const replies = await Promise.all([
      ...drafts.map((did) => world.call("POST", `/v1/agents/${did}/activate`)),
      ...verbs.map((verb) => ofCustomer(world, customerId, verb)),
    ]);
    expect(replies.filter(({ status }) => ![200, 409].includes(status))).toEqual([]);
    await world.run(finishCascades);
    expect(await untrue(world)).toEqual([]);
    const { status } = expectStatus(await world.call("GET", `/v1/customers/${customerId}`), 200);
    if (status === "ACTIVE") expectStatus(await ofCustomer(world, customerId, "suspend"), 200);
    await world.run(finishCascades);
    const runs = and(eq(agents.platformId, world.platformId), eq(agents.status, "ACTIVE"));
    expect(await world.deps.db.select().from(agents).where(runs)).toEqual([]);
    // Each agent that was activated before is reported once.
    const { log, outbox } = await suspensions(world);
    expect(log).toEqual(outbox);
    expect(new Set(log).size).toBe(log.length);
  });

  it("principals are suspended, reactivated and moved while their customer is: the stops of each are right", async () => {
    const customerId = await newCustomer(world);
    const ids = await Promise.all(Array.from({ length: 5 }, () => register(world, customerId)));
    const acts = Array.from({ length: RACES }, (_, n) => async () => {
      const id = ids[n % ids.length] ?? "";
      if (n % 5 === 0) return ofCustomer(world, customerId, n % 2 === 0 ? "suspend" : "reactivate");
      if (n % 5 === 1) return ofPrincipal(world, id, n % 2 === 0 ? "suspend" : "reactivate");
      return regroup(world, id, n % 5 === 2 ? null : customerId);
    });
    const replies = await Promise.all(acts.map((act) => act()));
    expect(replies.filter(({ status }) => ![200, 400, 409].includes(status))).toEqual([]);
    await world.run(finishCascades);
    expect(await untrue(world)).toEqual([]);
    const rows = await world.deps.db.select().from(principals).where(eq(principals.platformId, world.platformId));
    for (const { status, platformStopped, customerStopped } of rows) {
      expect(status).toBe(platformStopped || customerStopped ? "SUSPENDED" : "ACTIVE");
    }
    const count = rows.filter((row) => row.customerId === customerId).length;
    expect(expectStatus(await world.call("GET", `/v1/customers/${customerId}`), 200).principal_count).toBe(count);
    // Every change of a status has one event.
    for (const id of ids) {
      const told = (await historyOf(world, id)).flatMap((entry) => {
        const [, from, to] = /: (\w+) → (\w+)$/.exec(entry) ?? [];
        return from === to ? [] : [to];
      });
      expect(await statesTold(world, id)).toEqual(told);
    }
  });
});
