// An account with many agents, and what its suspension, reinstatement and closing report. The tests of all three share it.

import { and, eq, sql } from "drizzle-orm";
import { inject } from "vitest";
import { insertPassword } from "../../src/accounts/credential-store.ts";
import { hashPassword } from "../../src/accounts/derivations.ts";
import type { AgentStatus, ChangeType, Environment } from "../../src/core/vocabulary.ts";
import { commit } from "../../src/db/batch.ts";
import { notices, platforms } from "../../src/db/tables/accounts.ts";
import { agents } from "../../src/db/tables/agents.ts";
import { directoryChanges } from "../../src/db/tables/directory.ts";
import { activityEntries, events } from "../../src/db/tables/journal.ts";
import { escrows } from "../../src/db/tables/money.ts";
import { principals } from "../../src/db/tables/principals.ts";
import { walks } from "../../src/db/tables/walks.ts";
import { setEscrow } from "../payments/support.ts";
import { rows } from "../promotion/support.ts";
import { type Agent, type Json, PASSWORD_COST, type Reply, type World } from "../support/world.ts";

export const PASSWORD = "correct horse battery staple";
export const operator = () => ({ Authorization: `Bearer ${inject("operatorKey")}` });

const decide =
  (decision: "suspend" | "reinstate") =>
  (world: World, reason = "Chargebacks."): Promise<Reply> =>
    world.call("POST", `/v1/operator/platforms/${world.platformId}/${decision}`, {
      key: null,
      headers: operator(),
      body: { reason },
    });
export const suspend = decide("suspend");
export const reinstate = decide("reinstate");

/** The legal name of the world's account. */
export const nameOf = (world: World): string => `Platform ${world.platformId}`;

let hash: Promise<string> | undefined;
export async function givePassword(world: World): Promise<void> {
  hash ??= hashPassword(PASSWORD, PASSWORD_COST);
  await commit(world.deps.db, [insertPassword(world.deps.db, world.platformId, await hash, world.now())]);
}

export const close = (world: World, body: Record<string, unknown> = {}): Promise<Reply> =>
  world.person("POST", "/v1/platform/close", {
    body: { confirmation: nameOf(world), current_password: PASSWORD, ...body },
  });

/** Closes the account with a new session, after the world's own has ended. */
export async function closeLater(world: World): Promise<Reply> {
  const headers = { Authorization: `Bearer ${await world.session()}` };
  const body = { confirmation: nameOf(world), current_password: PASSWORD };
  return world.person("POST", "/v1/platform/close", { headers, body });
}

/** The isolate dies before its n-th trip from now: a call has two, and each later slice two more. */
export const dieBefore = (world: World, trip: number): void =>
  world.meter.beforeBatch(trip, () => Promise.reject(new Error("the isolate died")));

/** A provider whose escrow holds an amount. */
export async function holdsMoney(world: World, environment: Environment, balance: number): Promise<string> {
  const { did } = await world.agent("PROVIDER");
  await setEscrow(world, did, "FUNDING");
  await world.deps.db.update(escrows).set({ environment, balance }).where(eq(escrows.did, did));
  return did;
}

// ---- Many agents ---------------------------------------------------------------------------------------------------------

export type Crowd = { readonly first: Agent; readonly dids: readonly string[] };

/**
 * Makes `count` active agents: one that was activated, and copies of its row, with copies of its certificate if `certified`. Every fifth copy is
 * FUNDING, and every third is in production.
 */
export async function crowd(world: World, count: number, { certified = false } = {}): Promise<Crowd> {
  const { db } = world.deps;
  const first = await world.consumer();
  const [row] = await db.select().from(agents).where(eq(agents.did, first.did));
  if (!row) throw new Error("no agent");
  const copies = Array.from({ length: count - 1 }, (_, i) => ({
    ...row,
    did: `did:aeap:${crypto.randomUUID()}`,
    environment: (i % 3 === 0 ? "production" : "sandbox") as Environment,
    status: (i % 5 === 0 ? "FUNDING" : "ACTIVE") as AgentStatus,
    // Later than the activated agent, which therefore comes first in the order of creation.
    createdAt: row.createdAt + 1 + i,
  }));
  for (let at = 0; at < copies.length; at += 100) {
    await commit(
      db,
      copies.slice(at, at + 100).map((copy) => db.insert(agents).values(copy)),
    );
  }
  if (certified) await certify(world, first.did);
  return { first, dids: [first.did, ...copies.map(({ did }) => did)].sort() };
}

/** Copies the certificate for each copy of the agent. Each copy is alone in its status list, with a negative number, which the service never uses. */
const certify = ({ deps: { db }, platformId }: World, did: string) =>
  db.run(sql`insert into certificates (did, jti, key_id, ca_kid, list_id, idx, listed_status, issued_at, expires_at)
    select a.did, c.jti, c.key_id, c.ca_kid,
      (select min(0, coalesce(min(list_id), 0)) from certificates) - row_number() over (order by a.did), 1, 0, c.issued_at, c.expires_at
    from agents a join certificates c on c.did = ${did} where a.platform_id = ${platformId} and a.did <> ${did}`);

export const storedAgent = async (world: World, did: string) =>
  (await world.deps.db.select().from(agents).where(eq(agents.did, did)))[0];

export const inStatus = async ({ platformId }: World, ...statuses: AgentStatus[]): Promise<string[]> => {
  const query =
    "select did from agents where platform_id = ? and status in (select value from json_each(?)) order by did";
  return (await rows(query, platformId, JSON.stringify(statuses))).map(({ did }) => did);
};

export const cascadesLeft = (world: World) =>
  world.deps.db.select().from(walks).where(eq(walks.subject, world.platformId));

export const accountOf = async (world: World) =>
  (await world.deps.db.select().from(platforms).where(eq(platforms.platformId, world.platformId)))[0];

export const principalsOf = (world: World) =>
  world.deps.db.select().from(principals).where(eq(principals.platformId, world.platformId));

export const noticesOf = (world: World) =>
  world.deps.db.select().from(notices).where(eq(notices.platformId, world.platformId));

// ---- Reports -------------------------------------------------------------------------------------------------------------

export type Reported = { log: string[]; outbox: string[]; feed: string[] };

/** The agents that the log, the outbox and the feed report with this status, once for each report. */
export async function reported(world: World, action: string, change: ChangeType, status: string): Promise<Reported> {
  const { db } = world.deps;
  const own = and(eq(activityEntries.platformId, world.platformId), eq(activityEntries.action, action));
  const entries = await db.select({ did: activityEntries.subjectId }).from(activityEntries).where(own);
  const changed = and(eq(events.platformId, world.platformId), eq(events.type, "agent.status_changed"));
  const sent = await db.select({ object: events.object }).from(events).where(changed);
  const listed = await db
    .select({ did: directoryChanges.did })
    .from(directoryChanges)
    .where(eq(directoryChanges.changeType, change));
  const known = await db.select({ did: agents.did }).from(agents).where(eq(agents.platformId, world.platformId));
  const dids = new Set(known.map(({ did }) => did));
  return {
    log: entries.map(({ did }) => did).sort(),
    outbox: sent.flatMap(({ object }) => (object["status"] === status ? String(object["did"]) : [])).sort(),
    feed: listed.flatMap(({ did }) => (dids.has(did) ? did : [])).sort(),
  };
}

export const suspensions = (world: World) => reported(world, "agent.suspended", "status_changed", "SUSPENDED");
export const revocations = (world: World) => reported(world, "agent.revoked", "revoked", "REVOKED");
/** Reads the log alone: the feed and the outbox do not tell a reactivation from other changes. */
export const returns = async (world: World): Promise<string[]> =>
  (await reported(world, "agent.reactivated", "status_changed", "ACTIVE")).log;
export const each = (dids: readonly string[]): Reported => ({ log: [...dids], outbox: [...dids], feed: [...dids] });

export const entriesOf = (world: World, action: string) =>
  world.deps.db
    .select()
    .from(activityEntries)
    .where(and(eq(activityEntries.platformId, world.platformId), eq(activityEntries.action, action)));

export const outcome = ({ status, body }: Reply): [number, string | undefined] => [status, body?.code];

export const publicly = async (world: World, path: string): Promise<Json> =>
  (await world.call("GET", path, { key: null })).body;
