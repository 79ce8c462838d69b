// Reads do not grow with the stored history: the same calls run over a thousand and over several thousand rows, twenty thousand in `npm run
// test:long`.
import { beforeAll, describe, expect, it } from "vitest";
import { stopped } from "../support/clock.ts";
import { checkPlans, traffic } from "../support/plans.ts";
import { isWhole } from "../support/scale.ts";
import { createWorld, env, expectStatus, type World } from "../support/world.ts";

const SMALL = 1_000;
const LARGE = isWhole() ? 20_000 : 4_000;
let small: World;
let large: World;
const principalOf = new Map<World, string>();

/**
 * Copies one principal, one agent and one customer of the world, numbered, straight into the tables. Half the principals and their agents have ended
 * by date, and no job has recorded it.
 */
async function fill(world: World, rows: number): Promise<void> {
  const { did, principalId } = await world.consumer();
  const customer = await world.call("POST", "/v1/customers", { body: { name: "Client" } });
  const { customer_id } = expectStatus(customer, 201);
  principalOf.set(world, principalId);
  const columnsOf = async (table: string) =>
    (await env.DB.prepare(`select name from pragma_table_info('${table}')`).all<{ name: string }>()).results.map(
      ({ name }) => name,
    );
  const copy = async (table: string, key: string, id: string, values: Record<string, string>) => {
    const columns = await columnsOf(table);
    const picked = columns.map((name) => values[name] ?? `t."${name}"`);
    await env.DB.prepare(
      `insert into ${table} (${columns.join(", ")}) select ${picked.join(", ")} from ${table} t, json_each(?) n where t.${key} = ?`,
    )
      .bind(JSON.stringify(Array.from({ length: rows - 1 }, (_, i) => i)), id)
      .run();
  };
  const tag = world.platformId;
  const endOf = (column: string) => `case when n.value % 2 = 0 then ${world.now()} - n.value else ${column} end`;
  await copy("principals", "principal_id", principalId, {
    principal_id: `'${principalId.slice(0, 14)}' || printf('%016d', n.value)`,
    external_ref: `'${tag}' || n.value`,
    name_folded: `'${tag}' || n.value`,
    customer_id: "case when n.value % 4 < 2 then 'cus_even' end",
    attestation_expires_at: endOf("t.attestation_expires_at"),
  });
  await copy("customers", "customer_id", customer_id, { customer_id: `'cus_${tag.slice(4)}' || n.value` });
  await copy("agents", "did", did, {
    did: "'did:aeap:' || printf('%08x', n.value) || substr(t.did, 18)",
    created_at: "t.created_at + n.value / 3",
    economic_role: "case when n.value % 4 < 2 then 'PROVIDER' else 'CONSUMER' end",
    principal_id: `case when n.value % 2 = 0 then '${principalId.slice(0, 14)}' || printf('%016d', n.value) else t.principal_id end`,
    status: "case when n.value % 6 = 0 then 'FUNDING' else t.status end",
    ends_at: endOf("t.ends_at"),
  });
}

beforeAll(async () => {
  // The clock stands still, so that no call writes the use of its key.
  [small, large] = [stopped(await createWorld()), stopped(await createWorld())];
  await fill(small, SMALL);
  await fill(large, LARGE);
});

type Call = readonly [name: string, path: (world: World, cursor: string) => string, list: string];
const CALLS: Call[] = [
  ["the first page of agents", () => "/v1/agents?limit=100", ""],
  [
    "a page of agents in the middle",
    (_world, cursor) => `/v1/agents?limit=20&cursor=${cursor}`,
    "/v1/agents?limit=100",
  ],
  ["agents of a role", () => "/v1/agents?economic_role=PROVIDER", ""],
  ["ACTIVE agents", () => "/v1/agents?status=ACTIVE", ""],
  ["agents of a principal", (world) => `/v1/agents?principal_id=${principalOf.get(world)}`, ""],
  ["the first page of principals", () => "/v1/principals?limit=100", ""],
  [
    "a page of principals in the middle",
    (_world, cursor) => `/v1/principals?cursor=${cursor}`,
    "/v1/principals?limit=100",
  ],
  ["principals of a customer", () => "/v1/principals?customer_id=cus_even", ""],
  ["principals of none", () => "/v1/principals?customer_id=none", ""],
  ["a principal by its reference", (world) => `/v1/principals?external_ref=${world.platformId}5`, ""],
  ["ACTIVE principals", () => "/v1/principals?status=ACTIVE", ""],
  ["principals that have ended and are not recorded", () => "/v1/principals?status=ATTESTATION_EXPIRED", ""],
  ...["ACTIVE", "ATTESTATION_EXPIRED"].map(
    (status): Call => [
      `a page of ${status} principals in the middle`,
      (_world, cursor) => `/v1/principals?status=${status}&cursor=${cursor}`,
      `/v1/principals?status=${status}&limit=100`,
    ],
  ),
  ["ACTIVE principals of a customer", () => "/v1/principals?status=ACTIVE&customer_id=cus_even&limit=100", ""],
  ["ended principals of none", () => "/v1/principals?status=ATTESTATION_EXPIRED&customer_id=none&limit=100", ""],
  ["agents that have ended and are not recorded", () => "/v1/agents?status=SUSPENDED", ""],
  ...["ACTIVE", "SUSPENDED"].map(
    (status): Call => [
      `a page of ${status} agents in the middle`,
      (_world, cursor) => `/v1/agents?status=${status}&cursor=${cursor}`,
      `/v1/agents?status=${status}&limit=100`,
    ],
  ),
  ["ACTIVE agents of a principal", (world) => `/v1/agents?status=ACTIVE&principal_id=${principalOf.get(world)}`, ""],
  ["SUSPENDED agents of a role", () => "/v1/agents?status=SUSPENDED&economic_role=PROVIDER&limit=100", ""],
  ["the first page of customers", () => "/v1/customers?limit=100", ""],
  ["ACTIVE customers", () => "/v1/customers?status=ACTIVE", ""],
  // Filters that match few or none of the many rows.
  ["REVOKED agents, of which there are none", () => "/v1/agents?status=REVOKED", ""],
  ["DRAFT agents, of which there are none", () => "/v1/agents?status=DRAFT", ""],
  ["SUSPENDED principals, of which there are none", () => "/v1/principals?status=SUSPENDED", ""],
  ["principals of a customer that has none", () => "/v1/principals?customer_id=cus_nobody", ""],
  ["SUSPENDED customers, of which there are none", () => "/v1/customers?status=SUSPENDED", ""],
];

async function cost(world: World, [, path, list]: Call): Promise<{ rows: number; shown: number }> {
  const cursor = list === "" ? "" : expectStatus(await world.call("GET", list), 200).next_cursor;
  world.meter.reset();
  const page = expectStatus(await world.call("GET", path(world, cursor)), 200);
  expect(world.meter.reading.trips).toBe(1);
  return { rows: world.meter.reading.rowsRead, shown: page.data.length };
}

describe("the rows read", () => {
  it.each(CALLS)("by %s are as many among many as among 1,000", async (...call) => {
    const [few, many] = [await cost(small, call), await cost(large, call)];
    expect(few.shown === 0).toBe(/(there are|that has) none$/.test(call[0]));
    expect(many).toEqual(few);
    // A page and its extra row, each with its principal, its index and the caller: never more than a few for each shown row.
    expect(many.rows).toBeLessThan(6 * (many.shown + 2));
    if (call[0].includes("principals")) expect(many.rows).toBeLessThanOrEqual(2 * many.shown + 6);
  });

  it("by a registration and an activation are as many among many as among 1,000", async () => {
    const rows = async (world: World) => {
      world.meter.reset();
      const { did } = await world.consumer();
      expectStatus(await world.call("PATCH", `/v1/agents/${did}/scope`, { body: { dispute_window_days: 1 } }), 200);
      return world.meter.reading.rowsRead;
    };
    expect(await rows(large)).toBe(await rows(small));
  });
});

describe("the plan of every statement", () => {
  it("searches an index, scans no table that grows, and sorts nothing", async () => {
    const world = large;
    world.meter.reset();
    const consumer = await world.consumer();
    const delegate = await world.consumer({ principal_id: consumer.principalId, delegated_by: consumer.did });
    const provider = await world.provider();
    for (const call of CALLS) {
      const cursor = call[2] === "" ? "" : (await world.call("GET", call[2])).body.next_cursor;
      expectStatus(await world.call("GET", call[1](world, cursor)), 200);
    }
    await world.call("GET", "/v1/agents?principal_id=x");
    for (const status of ["FUNDING", "REVOKED", "TERMINATED"]) await world.call("GET", `/v1/agents?status=${status}`);
    await world.call("GET", "/v1/principals?status=CLOSED");
    for (const { did } of [consumer, delegate, provider]) {
      for (const part of ["aid", "aid?version=2", "status", "rating", "certificate", "did.json"]) {
        await world.call("GET", `/v1/agents/${did}/${part}`, { key: null });
      }
      await world.call("GET", `/v1/agents/${did}`);
      await world.call("GET", `/v1/principals/${consumer.principalId}`);
      const headers = { "Idempotency-Key": crypto.randomUUID() };
      await world.call("POST", `/v1/agents/${did}/activate`, { headers });
      await world.call("POST", `/v1/agents/${did}/activate`, { headers });
      await world.call("PATCH", `/v1/agents/${did}/scope`, { body: { dispute_window_days: 2 } });
      await world.call("PATCH", `/v1/agents/${did}/status`, { body: { status: "SUSPENDED" } });
    }
    await world.intent(consumer, provider).catch(() => undefined);

    const statements = new Set(world.meter.reading.sql);
    expect(statements.size).toBeGreaterThan(20);
    await checkPlans(env.DB, { ...traffic, statements });
  });
});
