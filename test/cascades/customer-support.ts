// A customer with many principals and agents, and what its suspension and reactivation report. The tests of both share it.
import { and, asc, eq, isNotNull } from "drizzle-orm";
import { finishCascades } from "../../src/cascades/cascades.ts";
import type { JobMessage } from "../../src/context.ts";
import { commit, type Statement } from "../../src/db/batch.ts";
import { agents } from "../../src/db/tables/agents.ts";
import { activityEntries, events } from "../../src/db/tables/journal.ts";
import { customers, principals } from "../../src/db/tables/principals.ts";
import { walks } from "../../src/db/tables/walks.ts";
import { runMessage } from "../../src/jobs/run.ts";
import { failingBatches, withDatabase, withVars } from "../support/variants.ts";
import { type Agent, env, expectStatus, type Json, type Reply, type World } from "../support/world.ts";

export const newCustomer = async (world: World): Promise<string> =>
  expectStatus(await world.call("POST", "/v1/customers", { body: { name: "Client" } }), 201).customer_id;

export const register = async (world: World, customerId: string | null): Promise<string> =>
  world.principal({ customer_id: customerId });

const acting =
  (kind: "customers" | "principals") =>
  (world: World, id: string, verb: string, body?: unknown): Promise<Reply> =>
    world.call("POST", `/v1/${kind}/${id}/${verb}`, body === undefined ? {} : { body });
export const ofCustomer = acting("customers");
export const ofPrincipal = acting("principals");

export const readPrincipal = async (world: World, principalId: string): Promise<Json> =>
  expectStatus(await world.call("GET", `/v1/principals/${principalId}`), 200);
export const regroup = (world: World, principalId: string, customer_id: string | null): Promise<Reply> =>
  world.call("PATCH", `/v1/principals/${principalId}`, { body: { customer_id } });

export type Grouped = {
  readonly customerId: string;
  /** In the order of their ids. */
  readonly principalIds: readonly string[];
  readonly dids: readonly string[];
  /** The agent that can sign. */
  readonly first: Agent;
};

const numbered = (n: number, digits = 5) => String(n).padStart(digits, "0");

/** Makes a customer with `count` principals and their active agents: one of each through the API, and copies of their rows. */
export async function grouped(world: World, count: number, agentsOfEach: number): Promise<Grouped> {
  const { db } = world.deps;
  const customerId = await newCustomer(world);
  const first = await world.consumer({ principal_id: await register(world, customerId) });
  const [principal] = await db.select().from(principals).where(eq(principals.principalId, first.principalId));
  const [agent] = await db.select().from(agents).where(eq(agents.did, first.did));
  if (!principal || !agent) throw new Error("nothing to copy");
  const others = Array.from({ length: count - 1 }, (_, n) => ({
    ...principal,
    principalId: `${first.principalId}-${numbered(n)}`,
    externalRef: `${principal.externalRef}-${n}`,
    nameFolded: `${principal.nameFolded} ${n}`,
  }));
  const node = crypto.randomUUID().slice(-12);
  const principalIds = [first.principalId, ...others.map(({ principalId }) => principalId)];
  const all = principalIds.flatMap((principalId, p) =>
    Array.from({ length: agentsOfEach }, (_, a) => ({
      ...agent,
      principalId,
      did: `did:aeap:${numbered(p, 8)}-${numbered(a, 4)}-4000-8000-${node}`,
      createdAt: agent.createdAt + 1 + a,
    })),
  );
  const copies = all.slice(1);
  const statements: Statement[] = [
    ...others.map((row) => db.insert(principals).values(row)),
    ...copies.map((row) => db.insert(agents).values(row)),
    db.update(customers).set({ principalCount: count }).where(eq(customers.customerId, customerId)),
  ];
  for (let at = 0; at < statements.length; at += 200) await commit(db, statements.slice(at, at + 200));
  return { customerId, principalIds, dids: [first.did, ...copies.map(({ did }) => did)].sort(), first };
}

// ---- Rows and reports ------------------------------------------------------------------------------------------------------

/** The stored statuses of the world's principals and agents, with their numbers. */
export async function stored(world: World): Promise<{ principals: Json; agents: Json }> {
  const { db } = world.deps;
  const own = (table: typeof agents | typeof principals) => eq(table.platformId, world.platformId);
  const count = (rows: { status: string }[]) =>
    Object.fromEntries([...Map.groupBy(rows, ({ status }) => status)].map(([status, each]) => [status, each.length]));
  const ofPrincipals = await db
    .select({ status: principals.status })
    .from(principals)
    .where(and(own(principals), eq(principals.tenant, false)));
  const ofAgents = await db.select({ status: agents.status }).from(agents).where(own(agents));
  return { principals: count(ofPrincipals), agents: count(ofAgents) };
}

/** The principals that the log and the outbox report with this action and this status, once for each report. */
export async function reportedPrincipals(world: World, action: string, status: string) {
  const { db } = world.deps;
  const entries = await db
    .select({ id: activityEntries.subjectId })
    .from(activityEntries)
    .where(and(eq(activityEntries.platformId, world.platformId), eq(activityEntries.action, action)));
  const changed = and(eq(events.platformId, world.platformId), eq(events.type, "principal.status_changed"));
  const sent = await db.select({ object: events.object }).from(events).where(changed);
  return {
    log: entries.map(({ id }) => id).sort(),
    outbox: sent.flatMap(({ object }) => (object["status"] === status ? String(object["principal_id"]) : [])).sort(),
  };
}

/** The entries of one principal in their order, each with its action and its status before and after. */
export async function historyOf(world: World, principalId: string): Promise<string[]> {
  const entries = await world.deps.db
    .select()
    .from(activityEntries)
    .where(and(eq(activityEntries.platformId, world.platformId), eq(activityEntries.subjectId, principalId)))
    .orderBy(asc(activityEntries.seq));
  return entries.flatMap(({ action, changes }) => {
    if (action === "principal.registered") return [];
    const status = changes?.["status"] as { from: string; to: string } | undefined;
    return status ? `${action}: ${status.from} → ${status.to}` : action;
  });
}

/** The statuses that the events of one principal report, in their order. */
export async function statesTold(world: World, principalId: string): Promise<unknown[]> {
  const changed = and(eq(events.platformId, world.platformId), eq(events.type, "principal.status_changed"));
  const sent = await world.deps.db
    .select({ object: events.object })
    .from(events)
    .where(changed)
    .orderBy(asc(events.seq));
  return sent.flatMap(({ object }) => (object["principal_id"] === principalId ? [object["status"]] : []));
}

/** All cascades that are left. */
export const cascadesLeft = (world: World) => world.deps.db.select().from(walks);
export const unreported = async (world: World): Promise<string[]> =>
  (await world.deps.db.select().from(walks).where(isNotNull(walks.report))).map(({ subject }) => subject);

// ---- Crashes, and the queue ------------------------------------------------------------------------------------------------

/** The world whose isolate dies in its n-th trip. `done`: whether the database has done that trip. */
export const dyingAt = (world: World, trip: number, done: boolean): World =>
  withDatabase(
    world,
    failingBatches(env.DB, (batch) => (batch < trip ? "never" : batch === trip && done ? "after" : "before")),
  );

/** The world with a queue that keeps its messages, until `drain` runs them and the messages that they send. */
export function withQueue(world: World) {
  const sent: JobMessage[] = [];
  const queue = {
    send: async (message: JobMessage) => void sent.push(message),
    sendBatch: async (messages: Iterable<{ body: JobMessage }>) => {
      for (const { body } of messages) sent.push(body);
    },
  };
  const held = withVars(world, { JOB_QUEUE: queue as never });
  const drain = async () => {
    for (let message = sent.shift(); message; message = sent.shift()) {
      const worked = message;
      await world.serve(() => runMessage(held.deps, [finishCascades], worked));
    }
  };
  return { held, sent, drain };
}
