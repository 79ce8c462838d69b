// A list names its next page in a header, as RFC 8288 defines it (HTTP-34).
import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { beforeAll, describe, expect, inject, it } from "vitest";
import { ROUTES } from "../../src/app.ts";
import { facilitated, pairOf } from "../facilitation/support.ts";
import { documentParts, formBytes, formHeaders, pdf } from "../support/form.ts";
import { type Agent, createWorld, env, expectStatus, ISSUER, type Reply, type World } from "../support/world.ts";
import { drawKey, registerVerifier } from "../verifiers/support.ts";
import { asleep, endpoint } from "../webhooks/support.ts";

let world: World;
let provider: string;
let seller: Agent;
let attested: string;
let session: string;
let webhook: string;
beforeAll(async () => {
  world = await asleep();
  session = await world.session();
  const form = { rawBody: formBytes(documentParts("supporting", pdf(100))), headers: formHeaders() };
  for (let i = 0; i < 2; i++) expectStatus(await world.person("POST", "/v1/platform/documents", form), 201);
  const agent = await world.provider();
  provider = agent.did;
  seller = agent;
  const markets = ["EU-USDC", "DE-USDC"].map((market) => ({
    market,
    network: "base-sepolia",
    operational_wallet: inject("accounts")[8],
  }));
  expectStatus(await world.call("POST", `/v1/agents/${provider}/scope/authorized_markets`, { body: { markets } }), 200);
  const pair = await pairOf(world, agent);
  for (let i = 0; i < 2; i++) {
    // Leaves as many tasks open; the vault covers the disputed amounts.
    await facilitated(world, pair);
    const { transaction_id } = (await facilitated(world, pair)).fac;
    const body = { transaction_id, reason: "other", disputed_amount: "0.10" };
    expectStatus(await world.call("POST", "/v1/disputes", { body }), 201);
  }
  for (let i = 0; i < 2; i++) await world.draft("CONSUMER", { principal_id: agent.principalId });
  attested = await world.principal();
  const renewal = { body: { placeholder: true } };
  expectStatus(await world.call("POST", `/v1/principals/${attested}/attestations`, renewal), 201);
  for (const name of ["One", "Two"]) expectStatus(await world.call("POST", "/v1/customers", { body: { name } }), 201);
  const selected = { event_types: ["webhook.test"] };
  for (let i = 0; i < 2; i++) webhook = (await endpoint(world, "https://hooks.example.com/in", selected)).webhook_id;
  for (let i = 0; i < 2; i++) expectStatus(await world.call("POST", `/v1/webhooks/${webhook}/test`), 200);
  // Each world has its own platform.
  for (let i = 0; i < 2; i++) await createWorld();
  const alert = env.DB.prepare(
    "insert into alerts (alert_id, kind, subject, message, raised_at, last_seen_at) values (?, 'job_lag', ?, 'late', ?, ?)",
  );
  await env.DB.batch([1, 2, 3].map((n) => alert.bind(`alr_${n}`, `job ${n}`, n, n)));
  const difference =
    env.DB.prepare(`insert into ledger_differences (network, did, contract, held, expected, block_number, found_at)
    values ('base-sepolia', ?, '0xc', ?, 9, 1, 1)`);
  await env.DB.batch([1, 2, 3].map((n) => difference.bind(provider, n)));
  const head = env.DB.prepare(
    "insert into activity_heads (platform_id, seq, hash, signed_at, jws) values (?, ?, ?, 1, '')",
  );
  await env.DB.batch([1, 2, 3].map((n) => head.bind(world.platformId, n, "0".repeat(64))));
  for (let i = 0; i < 2; i++) await registerVerifier(world, [(await drawKey()).jwk]);
  const act = env.DB.prepare(`insert into operator_entries (occurred_at, operator_id, action, subject_type, subject_id)
    values (?, 'somebody', 'document.read', 'document', 'doc_1')`);
  await env.DB.batch([1, 2, 3].map((n) => act.bind(n)));
});

/** A page of one row, under a filter if the list has one. */
const LISTS: Readonly<
  Record<string, { path: () => string; headers?: () => Record<string, string>; agent?: () => Agent }>
> = {
  "/v1/principals": { path: () => "/v1/principals?status=ACTIVE&limit=1" },
  "/v1/principals/{principal_id}/attestations": { path: () => `/v1/principals/${attested}/attestations?limit=1` },
  "/v1/customers": { path: () => "/v1/customers?status=ACTIVE&limit=1" },
  "/v1/agents": { path: () => "/v1/agents?status=DRAFT&economic_role=CONSUMER&limit=1" },
  "/v1/agents/{did}/scope/authorized_markets": {
    path: () => `/v1/agents/${encodeURIComponent(provider)}/scope/authorized_markets?limit=1`,
  },
  "/v1/agents/{did}/tasks": { path: () => `/v1/agents/${provider}/tasks?status=open&limit=1` },
  "/v1/agents/{did}/transactions": { path: () => `/v1/agents/${provider}/transactions?limit=1` },
  "/v1/agents/{did}/events": { path: () => `/v1/agents/${provider}/events?limit=2` },
  "/v1/events": { path: () => "/v1/events?type=agent.registered&limit=1" },
  "/v1/webhooks": { path: () => "/v1/webhooks?limit=1" },
  "/v1/webhooks/{webhook_id}/deliveries": {
    path: () => `/v1/webhooks/${webhook}/deliveries?status=pending&event_type=webhook.test&limit=1`,
  },
  "/v1/transactions": { path: () => "/v1/transactions?role=provider&limit=1" },
  "/v1/disputes": { path: () => "/v1/disputes?status=pre_arbitration&limit=1" },
  "/v1/operator/disputes": {
    path: () => "/v1/operator/disputes?status=pre_arbitration&limit=1",
    headers: () => ({ Authorization: `Bearer ${inject("operatorKey")}` }),
  },
  "/v1/tasks": { path: () => "/v1/tasks?status=open&limit=1" },
  "/v1/payment-intents": { path: () => "/v1/payment-intents?status=SETTLED&limit=1", agent: () => seller },
  "/v1/directory/agents": { path: () => "/v1/directory/agents?status=all&limit=1" },
  "/v1/directory/changes": { path: () => "/v1/directory/changes?limit=1" },
  "/v1/markets": { path: () => "/v1/markets?limit=1" },
  "/v1/operator/platforms": {
    path: () => "/v1/operator/platforms?status=ACCREDITED&limit=1",
    headers: () => ({ Authorization: `Bearer ${inject("operatorKey")}` }),
  },
  "/v1/platform/activity": { path: () => "/v1/platform/activity?subject_type=agent&limit=1" },
  "/v1/platform/activity/heads": { path: () => "/v1/platform/activity/heads?limit=1" },
  "/v1/operator/activity": {
    path: () => "/v1/operator/activity?actor=somebody&limit=1",
    headers: () => ({ Authorization: `Bearer ${inject("operatorKey")}` }),
  },
  "/v1/platform/sessions": {
    path: () => "/v1/platform/sessions?limit=1",
    headers: () => ({ Authorization: `Bearer ${session}` }),
  },
  "/v1/platform/documents": {
    path: () => "/v1/platform/documents?limit=1",
    headers: () => ({ Authorization: `Bearer ${session}` }),
  },
  "/v1/operator/platforms/{platform_id}/documents": {
    path: () => `/v1/operator/platforms/${world.platformId}/documents?limit=1`,
    headers: () => ({ Authorization: `Bearer ${inject("operatorKey")}` }),
  },
  "/v1/operator/verifiers": {
    path: () => "/v1/operator/verifiers?limit=1",
    headers: () => ({ Authorization: `Bearer ${inject("operatorKey")}` }),
  },
  "/v1/operator/reconciliation": {
    path: () => `/v1/operator/reconciliation?did=${provider}&limit=1`,
    headers: () => ({ Authorization: `Bearer ${inject("operatorKey")}` }),
  },
  "/v1/operator/networks": {
    path: () => "/v1/operator/networks?limit=1",
    headers: () => ({ Authorization: `Bearer ${inject("operatorKey")}` }),
  },
  "/v1/operator/alerts": {
    path: () => "/v1/operator/alerts?limit=1",
    headers: () => ({ Authorization: `Bearer ${inject("operatorKey")}` }),
  },
};
const lists = ROUTES.filter(({ query }) => query !== undefined && "cursor" in query.shape).map(({ path }) => path);

const read = (name: string, path: string): Promise<Reply> => {
  const agent = LISTS[name]?.agent?.();
  if (agent) return world.as(agent, "GET", path);
  const headers = LISTS[name]?.headers?.();
  return world.call("GET", path, headers ? { key: null, headers } : {});
};
const linkOf = ({ headers }: Reply): string | undefined =>
  /^<([^<>]+)>; rel="next"$/.exec(headers.get("link") ?? "")?.[1];

describe.each(lists)("GET %s", (name) => {
  it("names the next page, at the issuer and under the same filters, until there is none", async () => {
    const first = LISTS[name]?.path() ?? "";
    const asked = new URL(first, ISSUER);
    let page = await read(name, first);
    const rows: unknown[] = [];
    for (let pages = 0; pages < 3; pages++) {
      const { data, has_more, next_cursor } = expectStatus(page, 200);
      rows.push(...data);
      const link = linkOf(page);
      expect(link !== undefined).toBe(has_more);
      if (link === undefined) break;
      const next = new URL(link);
      expect([next.origin, next.pathname]).toEqual([ISSUER, asked.pathname]);
      expect(Object.fromEntries(next.searchParams)).toEqual({
        ...Object.fromEntries(asked.searchParams),
        cursor: next_cursor,
      });
      page = await read(name, `${next.pathname}${next.search}`);
    }
    expect(rows.length).toBeGreaterThan(1);
    expect(new Set(rows.map((row) => JSON.stringify(row))).size).toBe(rows.length);
  });
});

describe("the link", () => {
  it("is at the issuer, whatever Host was requested", async () => {
    const context = createExecutionContext();
    const request = new Request("https://evil.example/v1/agents?limit=1", {
      headers: { "Service-Api-Key": world.key },
    });
    const { headers } = await world.app.fetch(request, { ...env, DB: world.meter.d1 }, context);
    await waitOnExecutionContext(context);
    expect(headers.get("link")).toMatch(new RegExp(`^<${ISSUER}/v1/agents\\?limit=1&cursor=[\\w-]+>; rel="next"$`));
  });

  it("replaces the cursor of the request", async () => {
    const first = linkOf(await read("/v1/agents", "/v1/agents?limit=1")) ?? "";
    const { pathname, search } = new URL(first);
    const second = linkOf(await read("/v1/agents", `${pathname}${search}`)) ?? "";
    expect(new URL(second).searchParams.getAll("cursor")).toHaveLength(1);
    expect(second).not.toBe(first);
  });

  it("is not sent with an answer that is not a list", async () => {
    expect((await world.call("GET", `/v1/agents/${provider}`)).headers.get("link")).toBeNull();
  });
});
