// Lists of principals by status (PRN-5, PRN-14) show the status at the instant of the reading, whatever the job has recorded, page by page, at the
// cost of a page.
import { beforeEach, describe, expect, it } from "vitest";
import { endAttestations } from "../../src/cascades/expire.ts";
import { toIso } from "../../src/core/clock.ts";
import { HOUR_MS } from "../../src/core/limits.ts";
import { PRINCIPAL_STATUSES, type PrincipalStatus } from "../../src/core/vocabulary.ts";
import { SCAN_LIMIT } from "../../src/db/pages.ts";
import { withDeps } from "../support/variants.ts";
import { createWorld, env, expectStatus, type Json, type World } from "../support/world.ts";

let world: World;
let begun: number;
beforeEach(async () => {
  world = await createWorld();
  begun = world.now();
});

/** An attestation that ends `hours` after the beginning of the test. */
const attestation = (hours: number) => ({
  attestation_id: crypto.randomUUID(),
  verifier_id: "ver_1",
  model: "kyb",
  issued_at: toIso(begun - HOUR_MS),
  expires_at: toIso(endOf(hours)),
});
const ending = (hours: number, more: Record<string, unknown> = {}): Promise<string> =>
  world.principal({ verification_attestation: attestation(hours), ...more });
const endOf = (hours: number) => begun + hours * HOUR_MS;
/** Stops the clock of the world at an instant. */
const at = (instant: number) => {
  world = withDeps(world, { ...world.deps, clock: { now: () => instant } });
};

const list = async (query: string): Promise<Json> =>
  expectStatus(await world.call("GET", `/v1/principals?${query}`), 200);
const idsOf = ({ data }: Json): string[] => data.map((principal: Json) => principal.principal_id);
const listed = async (status: PrincipalStatus, more = ""): Promise<string[]> => {
  const page = await list(`status=${status}${more}`);
  for (const principal of page.data) expect(principal.status).toBe(status);
  return idsOf(page);
};
const listedByStatus = async () =>
  Object.fromEntries(
    await Promise.all(PRINCIPAL_STATUSES.map(async (status) => [status, await listed(status)] as const)),
  );
const act = async (id: string, verb: string) =>
  expectStatus(await world.call("POST", `/v1/principals/${id}/${verb}`), 200);

/** Reads all pages of a list, one after the other. */
async function walk(query: string, between: (page: number) => Promise<unknown> = async () => undefined) {
  const seen: string[] = [];
  let cursor: string | null = null;
  let pages = 0;
  do {
    const page: Json = await list(`${query}${cursor === null ? "" : `&cursor=${cursor}`}`);
    expect(page.has_more).toBe(page.next_cursor !== null);
    seen.push(...idsOf(page));
    cursor = page.next_cursor;
    await between(++pages);
  } while (cursor !== null);
  return seen;
}

const renew = async (id: string, hours: number) =>
  expectStatus(await world.call("POST", `/v1/principals/${id}/attestations`, { body: attestation(hours) }), 201);

describe("a list by status", () => {
  it("shows ended attestations from their very millisecond, before and after the job, latest end first", async () => {
    const [first, third, second] = [await ending(1), await ending(3), await ending(2)];
    at(endOf(2) - 1);
    expect(await listed("ACTIVE")).toEqual([third, second]);
    expect(await listed("ATTESTATION_EXPIRED")).toEqual([first]);
    at(endOf(2));
    const ended = { ACTIVE: [third], ATTESTATION_EXPIRED: [second, first], SUSPENDED: [], CLOSED: [] };
    expect(await listedByStatus()).toEqual(ended);
    expect(await world.run(endAttestations)).toBeGreaterThanOrEqual(2);
    expect(await listedByStatus()).toEqual(ended);
    at(endOf(3));
    expect(await listedByStatus()).toEqual({ ...ended, ACTIVE: [], ATTESTATION_EXPIRED: [third, second, first] });
  });

  it("shows a principal with several stops under the highest of them alone", async () => {
    const [stays, suspended, closed] = [await ending(3), await ending(1), await ending(1)];
    for (const id of [suspended, closed]) await act(id, "suspend");
    await act(closed, "close");
    const expected = { ACTIVE: [stays], SUSPENDED: [suspended], CLOSED: [closed], ATTESTATION_EXPIRED: [] };
    expect(await listedByStatus()).toEqual(expected);
    at(endOf(2));
    expect(await listedByStatus()).toEqual(expected);
    await act(suspended, "reactivate");
    expect(await listedByStatus()).toEqual({ ...expected, SUSPENDED: [], ATTESTATION_EXPIRED: [suspended] });
    await world.run(endAttestations);
    expect(await listedByStatus()).toEqual({ ...expected, SUSPENDED: [], ATTESTATION_EXPIRED: [suspended] });
  });

  it("shows a renewed principal as ACTIVE again, whether or not its end was recorded", async () => {
    const [recorded, unrecorded] = [await ending(1), await ending(2)];
    at(endOf(1));
    await world.run(endAttestations);
    at(endOf(2));
    expect(await listed("ATTESTATION_EXPIRED")).toEqual([unrecorded, recorded]);
    await renew(recorded, 10);
    await renew(unrecorded, 11);
    expect(await listed("ACTIVE")).toEqual([unrecorded, recorded]);
    expect(await listed("ATTESTATION_EXPIRED")).toEqual([]);
  });

  it("goes by the clock of the platform's sandbox", async () => {
    const [early, late] = [await ending(1), await ending(3)];
    await env.DB.prepare("update platforms set clock_offset_ms = ? where platform_id = ?")
      .bind(2 * HOUR_MS, world.platformId)
      .run();
    expect(await listed("ACTIVE")).toEqual([late]);
    expect(await listed("ATTESTATION_EXPIRED")).toEqual([early]);
  });
});

describe("pages by status", () => {
  const HOURS = Array.from({ length: 14 }, (_, i) => i + 1);

  it("merge recorded and unrecorded ends, while more attestations end and the job runs between them", async () => {
    const ids: string[] = [];
    for (const hours of HOURS) ids.push(await ending(hours));
    // 1 to 3 and 6 are recorded. 4, 5, 7 and 8 have ended by their date alone.
    at(endOf(8));
    const recorded = [1, 2, 3, 6].map((hours) => ids[hours - 1] ?? "");
    const marked = `update principals set status = 'ATTESTATION_EXPIRED', attestation_stop = 'attestation_expired'
      where principal_id in (select value from json_each(?))`;
    await env.DB.prepare(marked).bind(JSON.stringify(recorded)).run();
    const seen = await walk("status=ATTESTATION_EXPIRED&limit=3", async (page) => {
      at(endOf(8 + page));
      if (page === 2) await world.run(endAttestations);
    });
    // An attestation that ends while the pages are read comes before the first page, so nothing is shown twice or left out.
    expect(seen).toEqual(ids.slice(0, 8).reverse());
    expect(await walk("status=ATTESTATION_EXPIRED&limit=3")).toEqual(ids.slice(0, 11).reverse());
  });

  it("show each principal that stays ACTIVE once, while others end and the job runs between them", async () => {
    const ids: string[] = [];
    for (const hours of HOURS) ids.push(await ending(hours));
    at(endOf(2));
    const seen = await walk("status=ACTIVE&limit=3", async (page) => {
      at(endOf(2 + page));
      if (page === 2) await world.run(endAttestations);
    });
    // 14 to 6 come in three pages. By the fourth page, 5 has ended too.
    expect(seen).toEqual(ids.slice(5).reverse());
  });

  it("show each of many principals with the same end once", async () => {
    const ids: string[] = [];
    for (let n = 0; n < 7; n++) ids.push(await ending(1));
    at(endOf(1));
    for (const part of [ids.slice(0, 3), ids.slice(3, 5)])
      await env.DB.prepare(
        "update principals set status = 'ATTESTATION_EXPIRED' where principal_id in (select value from json_each(?))",
      )
        .bind(JSON.stringify(part.filter((_, i) => i % 2 === 0)))
        .run();
    expect(await walk("status=ATTESTATION_EXPIRED&limit=2")).toEqual([...ids].sort().reverse());
  });
});

describe("a list by status and another filter", () => {
  const customer = async (name: string): Promise<string> =>
    expectStatus(await world.call("POST", "/v1/customers", { body: { name } }), 201).customer_id;

  it("narrows to a customer, newest first, and to principals without one", async () => {
    const customer_id = await customer("A");
    const [early, late] = [await ending(9, { customer_id }), await ending(1, { customer_id })];
    const [open, over] = [await ending(8), await ending(2)];
    await act(over, "suspend");
    expect(await listed("ACTIVE", `&customer_id=${customer_id}`)).toEqual([late, early]);
    expect(await listed("ACTIVE", "&customer_id=none")).toEqual([open]);
    expect(await listed("SUSPENDED", "&customer_id=none")).toEqual([over]);
    expect(await listed("SUSPENDED", `&customer_id=${customer_id}`)).toEqual([]);
    at(endOf(1));
    for (const job of [false, true]) {
      if (job) await world.run(endAttestations);
      expect(await listed("ACTIVE", `&customer_id=${customer_id}`)).toEqual([early]);
      expect(await listed("ATTESTATION_EXPIRED", `&customer_id=${customer_id}`)).toEqual([late]);
      expect(await listed("ATTESTATION_EXPIRED", "&customer_id=none")).toEqual([]);
    }
  });

  it("narrows to a reference", async () => {
    const customer_id = await customer("A");
    const id = await ending(1, { external_ref: "the one", customer_id });
    const of = (status: PrincipalStatus, more = "") => listed(status, `&external_ref=the%20one${more}`);
    expect(await of("ACTIVE")).toEqual([id]);
    expect(await of("ACTIVE", `&customer_id=${customer_id}`)).toEqual([id]);
    expect(await of("ACTIVE", "&customer_id=none")).toEqual([]);
    expect(await of("ATTESTATION_EXPIRED")).toEqual([]);
    at(endOf(1));
    expect(await of("ACTIVE")).toEqual([]);
    expect(await of("ATTESTATION_EXPIRED")).toEqual([id]);
  });

  it("reads at most 1,000 principals a page, and continues after them", async () => {
    const customer_id = await customer("A");
    const [last, model] = [await ending(1), await ending(2, { customer_id })];
    const last_grouped = await ending(3, { customer_id });
    await act(last_grouped, "suspend");
    const columns = (
      await env.DB.prepare("select name from pragma_table_info('principals')").all<{ name: string }>()
    ).results.map(({ name }) => name);
    const vary: Record<string, string> = {
      principal_id: "'prn_zz' || printf('%024d', n.value)",
      external_ref: "'copy ' || n.value",
      name_folded: "'copy ' || n.value",
    };
    await env.DB.prepare(
      `insert into principals (${columns.join(", ")}) select ${columns.map((name) => vary[name] ?? `p.${name}`).join(", ")}
       from principals p, json_each(?) n where p.principal_id = ?`,
    )
      .bind(JSON.stringify(Array.from({ length: SCAN_LIMIT + 50 }, (_, i) => i)), model)
      .run();
    for (const [query, expected] of [
      ["status=ACTIVE&customer_id=none", last],
      [`status=SUSPENDED&customer_id=${customer_id}`, last_grouped],
    ] as const) {
      world.meter.reset();
      const first = await list(query);
      expect([first.data, first.has_more]).toEqual([[], true]);
      expect(world.meter.reading.rowsRead).toBeLessThan(2 * SCAN_LIMIT + 10);
      expect(await walk(query)).toEqual([expected]);
    }
    // A page that is full earlier reads no more than its rows.
    world.meter.reset();
    expect(idsOf(await list(`status=ACTIVE&customer_id=${customer_id}`))).toHaveLength(20);
    expect(world.meter.reading.rowsRead).toBeLessThan(30);
  });
});
