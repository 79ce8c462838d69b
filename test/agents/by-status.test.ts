// Lists of agents by status (AGT-11, AGT-19, PRN-14): they show the effective status at the instant, whatever the job has recorded, on every page.
import { and, eq } from "drizzle-orm";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { finishCascades } from "../../src/cascades/cascades.ts";
import { endAttestations } from "../../src/cascades/expire.ts";
import { finishRestatements } from "../../src/cascades/restate-agents.ts";
import { toIso } from "../../src/core/clock.ts";
import { HOUR_MS } from "../../src/core/limits.ts";
import { AGENT_STATUSES, type AgentStatus } from "../../src/core/vocabulary.ts";
import { commit } from "../../src/db/batch.ts";
import { SCAN_LIMIT } from "../../src/db/pages.ts";
import { type AgentRow, agents } from "../../src/db/tables/agents.ts";
import { SLICE } from "../../src/jobs/walk.ts";
import { operate } from "../accounts/review-support.ts";
import { copyDid } from "../support/copies.ts";
import { withDeps } from "../support/variants.ts";
import { createWorld, env, expectStatus, type Json, type World } from "../support/world.ts";
import { registerAgent, registrationOf } from "./support.ts";

vi.spyOn(console, "error").mockImplementation(() => undefined);

let world: World;
let begun: number;
beforeEach(async () => {
  world = await createWorld();
  begun = world.now();
});

const endOf = (hours: number) => begun + hours * HOUR_MS;
/** Stops the world's clock at an instant. */
const at = (instant: number) => {
  world = withDeps(world, { ...world.deps, clock: { now: () => instant } });
};

/** A principal whose attestation ends this many hours after the start of the test. */
const ending = (hours: number): Promise<string> =>
  world.principal({
    verification_attestation: {
      attestation_id: `att_${hours}`,
      verifier_id: "ver_1",
      model: "kyb",
      issued_at: toIso(begun - HOUR_MS),
      expires_at: toIso(endOf(hours)),
    },
  });
const running = async (principal_id: string, role: "CONSUMER" | "PROVIDER" = "CONSUMER"): Promise<string> =>
  (await world.agent(role, { principal_id })).did;
const store = async (did: string, status: AgentStatus) =>
  env.DB.prepare("update agents set status = ? where did = ?").bind(status, did).run();

const list = async (query: string): Promise<Json> => expectStatus(await world.call("GET", `/v1/agents?${query}`), 200);
const didsOf = ({ data }: Json): string[] => data.map(({ did }: Json) => did);
const listed = async (status: AgentStatus, more = ""): Promise<string[]> => {
  const page = await list(`status=${status}${more}`);
  for (const agent of page.data) expect(agent.status).toBe(status);
  return didsOf(page);
};
const listedByStatus = async (more = ""): Promise<Record<string, string[]>> =>
  Object.fromEntries(
    await Promise.all(AGENT_STATUSES.map(async (status) => [status, await listed(status, more)] as const)),
  );
const NONE = { DRAFT: [], ACTIVE: [], SUSPENDED: [], REVOKED: [], TERMINATED: [], FUNDING: [] };

/** Reads all pages of a list. */
async function walk(query: string, between: (page: number) => Promise<unknown> = async () => undefined) {
  const seen: string[] = [];
  let cursor: string | null = null;
  let pages = 0;
  do {
    const page: Json = await list(`${query}${cursor === null ? "" : `&cursor=${cursor}`}`);
    expect(page.has_more).toBe(page.next_cursor !== null);
    seen.push(...didsOf(page));
    cursor = page.next_cursor;
    await between(++pages);
  } while (cursor !== null);
  return seen;
}

/** Copies the row of an agent until there are `count` agents in all. */
async function copied(did: string, count: number, vary: Partial<AgentRow> = {}): Promise<string[]> {
  const { db } = world.deps;
  const [row] = await db.select().from(agents).where(eq(agents.did, did));
  if (!row) throw new Error("no agent");
  const copies = Array.from({ length: count - 1 }, (_, i) => ({
    ...row,
    ...vary,
    did: copyDid(did, i),
  }));
  for (let from = 0; from < copies.length; from += SLICE) {
    await commit(
      db,
      copies.slice(from, from + SLICE).map((copy) => db.insert(agents).values(copy)),
    );
  }
  return [did, ...copies.map((copy) => copy.did)].sort();
}

describe("a list by status", () => {
  it("shows agents as suspended from the millisecond at which the attestation ends, before and after the job", async () => {
    const [soon, later] = [await ending(1), await ending(2)];
    const [active, funding, paused] = [await running(soon), await running(soon, "PROVIDER"), await running(soon)];
    await store(funding, "FUNDING");
    expectStatus(await world.call("PATCH", `/v1/agents/${paused}/status`, { body: { status: "SUSPENDED" } }), 200);
    const { did: draft } = await world.draft("CONSUMER", { principal_id: soon });
    const other = await running(later);
    at(endOf(1) - 1);
    expect(await listedByStatus()).toEqual({
      ...NONE,
      ACTIVE: [other, active],
      FUNDING: [funding],
      SUSPENDED: [paused],
      DRAFT: [draft],
    });
    at(endOf(1));
    const stopped = [active, funding, paused].sort().reverse();
    const ended = { ...NONE, ACTIVE: [other], SUSPENDED: stopped, DRAFT: [draft] };
    expect(await listedByStatus()).toEqual(ended);
    const reasons = async () =>
      Object.fromEntries((await list("status=SUSPENDED")).data.map((one: Json) => [one.did, one.suspension_reason]));
    const expected = { [active]: "attestation", [funding]: "attestation", [paused]: "platform" };
    expect(await reasons()).toEqual(expected);
    await world.run(endAttestations);
    expect(await listedByStatus()).toEqual(ended);
    expect(await reasons()).toEqual(expected);
    at(endOf(2));
    expect(await listedByStatus()).toEqual({ ...ended, ACTIVE: [], SUSPENDED: [other, ...stopped] });
  });

  it("shows agents as revoked with their principal, and leaves those that had ended before as they were", async () => {
    const principal = await ending(1);
    const [one, terminated] = [await running(principal), await running(principal)];
    const { did: draft } = await world.draft("CONSUMER", { principal_id: principal });
    expectStatus(await world.call("PATCH", `/v1/agents/${terminated}/status`, { body: { status: "TERMINATED" } }), 200);
    for (const verb of ["suspend", "close"])
      expectStatus(await world.call("POST", `/v1/principals/${principal}/${verb}`), 200);
    const expected = { ...NONE, REVOKED: [one, draft].sort().reverse(), TERMINATED: [terminated] };
    expect(await listedByStatus()).toEqual(expected);
    at(endOf(2));
    expect(await listedByStatus()).toEqual(expected);
  });

  it("shows no agent in a status that its principal has ended, while a cascade still has to write the agents' rows", async () => {
    const principal = await ending(1);
    const dids = await copied(await running(principal), SLICE + 30);
    const { did: draft } = await world.draft("CONSUMER", { principal_id: principal });
    const other = await running(await ending(2));
    const dying = () => world.meter.beforeBatch(3, () => Promise.reject(new Error("the isolate died")));
    const do_ = async (verb: string) =>
      expectStatus(await world.call("POST", `/v1/principals/${principal}/${verb}`), 200);
    dying();
    await do_("suspend");
    expect(await walk("status=ACTIVE")).toEqual([other]);
    expect(await walk("status=SUSPENDED")).toHaveLength(SLICE);
    // A filter by principal also considers the principal's status.
    expect((await walk(`status=SUSPENDED&principal_id=${principal}`)).sort()).toEqual(dids);
    expect(await listed("ACTIVE", `&principal_id=${principal}`)).toEqual([]);
    await world.run(finishCascades);
    expect((await walk("status=SUSPENDED")).sort()).toEqual(dids);

    dying();
    await do_("close");
    for (const query of ["status=SUSPENDED", "status=DRAFT", `status=SUSPENDED&principal_id=${principal}`])
      expect(await walk(query)).toEqual([]);
    expect((await walk(`status=REVOKED&principal_id=${principal}`)).sort()).toEqual([draft, ...dids].sort());
    expect(await walk("status=REVOKED")).toHaveLength(SLICE);
    await world.run(finishCascades);
    expect((await walk("status=REVOKED")).sort()).toEqual([draft, ...dids].sort());
  });
});

describe("after a renewal", () => {
  it("lists each agent by the end of the attestation that counts, also agents of later slices", async () => {
    const renew = async (hours: number) =>
      expectStatus(
        await operate(world, "POST", `/v1/operator/platforms/${world.platformId}/attestation`, {
          expires_at: toIso(endOf(hours)),
        }),
        201,
      );
    await renew(1);
    const dids = await copied(await running(world.tenantPrincipalId), SLICE + 30);
    world.meter.beforeBatch(3, () => Promise.reject(new Error("the isolate died")));
    await renew(5);
    const ends = async () => {
      const rows = await world.deps.db.select().from(agents).where(eq(agents.principalId, world.tenantPrincipalId));
      return [...Map.groupBy(rows, ({ endsAt }) => endsAt)].map(([end, each]) => [end, each.length]).sort();
    };
    expect(await ends()).toEqual([
      [endOf(1), 30],
      [endOf(5), SLICE],
    ]);
    // An agent that begins to run again gets the new end at once.
    const late = await world.deps.db
      .select()
      .from(agents)
      .where(and(eq(agents.principalId, world.tenantPrincipalId), eq(agents.endsAt, endOf(1))));
    const { did = "" } = late[0] ?? {};
    await store(did, "SUSPENDED");
    expectStatus(await world.call("PATCH", `/v1/agents/${did}/status`, { body: { status: "ACTIVE" } }), 200);
    expect(await ends()).toEqual([
      [endOf(1), 29],
      [endOf(5), SLICE + 1],
    ]);
    // Agents whose rows are not written yet run past the old end and are listed so; another principal's agent, whose attestation ends then, is not.
    const ended = await running(await ending(1));
    at(endOf(2));
    expect((await walk("status=ACTIVE&limit=100")).sort()).toEqual(dids);
    expect(await walk("status=SUSPENDED&limit=100")).toEqual([ended]);
    at(begun);
    expectStatus(await world.call("POST", `/v1/agents/${ended}/revoke`, { body: { reason: "Done." } }), 200);
    await world.run(finishRestatements);
    expect(await ends()).toEqual([[endOf(5), SLICE + 30]]);
    at(endOf(2));
    expect((await walk("status=ACTIVE&limit=100")).sort()).toEqual(dids);
    expect(await listed("SUSPENDED")).toEqual([]);
    at(endOf(5));
    expect(await listed("ACTIVE")).toEqual([]);
    expect((await walk("status=SUSPENDED&limit=100")).sort()).toEqual(dids);
  });

  it("decides a reactivation or an activation again if the renewal comes before its commit", async () => {
    const { did } = await world.draft("CONSUMER", { principal_id: world.tenantPrincipalId });
    const renew = async () =>
      expectStatus(
        await operate(world, "POST", `/v1/operator/platforms/${world.platformId}/attestation`, {
          expires_at: toIso(endOf(9)),
        }),
        201,
      );
    world.meter.beforeBatch(2, renew);
    expectStatus(await world.call("POST", `/v1/agents/${did}/activate`), 200);
    const [row] = await world.deps.db.select().from(agents).where(eq(agents.did, did));
    expect(row?.endsAt).toBe(endOf(9));
  });
});

describe("pages by status", () => {
  it("cross the ranges of recorded and unrecorded statuses, while more attestations end and the job runs between them", async () => {
    const dids: string[] = [];
    for (let hours = 1; hours <= 12; hours++) {
      const did = await running(await ending(hours), hours % 3 === 0 ? "PROVIDER" : "CONSUMER");
      if (hours % 3 === 0) await store(did, "FUNDING");
      if (hours === 1 || hours === 4) await store(did, "SUSPENDED");
      dids.push(did);
    }
    at(endOf(8));
    const seen = await walk("status=SUSPENDED&limit=3", async (page) => {
      at(endOf(8 + page));
      if (page === 2) await world.run(endAttestations);
    });
    expect(seen).toEqual(dids.slice(0, 8).reverse());
    expect(await walk("status=SUSPENDED&limit=2")).toEqual(dids.slice(0, 11).reverse());
    expect(await walk("status=ACTIVE&limit=2")).toEqual([]);
    expect(await walk("status=FUNDING&limit=2")).toEqual(dids.slice(11));
  });

  it("show each running agent once if it stays", async () => {
    const dids: string[] = [];
    for (let hours = 1; hours <= 9; hours++) dids.push(await running(await ending(hours)));
    const seen = await walk("status=ACTIVE&limit=2", async (page) => {
      at(endOf(page));
      if (page === 2) await world.run(endAttestations);
    });
    expect(seen).toEqual(dids.slice(3).reverse());
  });
});

describe("a list by status and another filter", () => {
  it("narrows to a principal and to a role", async () => {
    const [soon, later] = [await ending(1), await ending(2)];
    const [buyer, seller] = [await running(soon), await running(soon, "PROVIDER")];
    const [late, lateSeller] = [await running(later), await running(later, "PROVIDER")];
    const newest = [buyer, seller].sort().reverse();
    expect((await listed("ACTIVE", `&principal_id=${soon}`)).sort().reverse()).toEqual(newest);
    expect(await listed("ACTIVE", "&economic_role=PROVIDER")).toEqual([lateSeller, seller]);
    expect(await listed("ACTIVE", `&principal_id=${soon}&economic_role=PROVIDER`)).toEqual([seller]);
    at(endOf(1));
    for (const job of [false, true]) {
      if (job) await world.run(endAttestations);
      expect(await listedByStatus(`&principal_id=${later}&economic_role=CONSUMER`)).toEqual({
        ...NONE,
        ACTIVE: [late],
      });
      expect(await listedByStatus(`&principal_id=${soon}&economic_role=CONSUMER`)).toEqual({
        ...NONE,
        SUSPENDED: [buyer],
      });
      expect(await listedByStatus("&economic_role=PROVIDER")).toEqual({
        ...NONE,
        ACTIVE: [lateSeller],
        SUSPENDED: [seller],
      });
    }
  });

  it("shows only the tenant principal's agents in the key's environment", async () => {
    const principal_id = world.tenantPrincipalId;
    const own = await running(principal_id);
    const { did: live } = expectStatus(
      await registerAgent(world, registrationOf(principal_id, "CONSUMER"), world.liveKey),
      201,
    );
    expect(didsOf(await list(`principal_id=${principal_id}`))).toEqual([own]);
    expect(await listedByStatus(`&principal_id=${principal_id}`)).toEqual({ ...NONE, ACTIVE: [own] });
    const reply = await world.call("GET", `/v1/agents?principal_id=${principal_id}`, { key: world.liveKey });
    expect(didsOf(expectStatus(reply, 200))).toEqual([live]);
  });

  it("reads 1,000 agents a page, and continues after them", async () => {
    const principal = await ending(1);
    const seller = await running(principal, "PROVIDER");
    await store(seller, "SUSPENDED");
    const model = await running(principal);
    // The copies are newer than the seller and end later.
    await copied(model, SCAN_LIMIT + 50, { createdAt: begun + HOUR_MS, endsAt: endOf(1) + 1 });
    for (const query of [
      `principal_id=${principal}&economic_role=PROVIDER`,
      `principal_id=${principal}&status=SUSPENDED`,
      `principal_id=${principal}&status=SUSPENDED&economic_role=PROVIDER`,
    ]) {
      world.meter.reset();
      const first = await list(query);
      expect([first.data, first.has_more]).toEqual([[], true]);
      expect(world.meter.reading.rowsRead).toBeLessThan(3 * SCAN_LIMIT + 10);
      expect(await walk(query)).toEqual([seller]);
    }
    await env.DB.prepare("update agents set status = 'SUSPENDED' where principal_id = ?").bind(principal).run();
    world.meter.reset();
    const first = await list("status=SUSPENDED&economic_role=PROVIDER");
    expect([first.data, first.has_more]).toEqual([[], true]);
    expect(world.meter.reading.rowsRead).toBeLessThan(3 * SCAN_LIMIT + 10);
    expect(await walk("status=SUSPENDED&economic_role=PROVIDER")).toEqual([seller]);
  });
});
