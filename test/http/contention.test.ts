// 40 simultaneous calls on one object are answered as if they had come one after the other (HTTP-42): none is 5xx, each has its effect, and each is
// one entry of the activity log. Each case has its own world.
import { and, eq } from "drizzle-orm";
import { beforeEach, describe, expect, it } from "vitest";
import { DAY_MS } from "../../src/core/limits.ts";
import type { ActivityAction } from "../../src/core/vocabulary.ts";
import { activityEntries } from "../../src/db/tables/journal.ts";
import { webhookEndpoints } from "../../src/db/tables/webhooks.ts";
import { openSecrets } from "../../src/webhooks/secrets.ts";
import { byOperator } from "../disputes/support.ts";
import { withDatabase } from "../support/variants.ts";
import { createWorld, env, expectStatus, type Json, type Reply, type World } from "../support/world.ts";

const AT_ONCE = 40;

let world: World;
beforeEach(async () => {
  world = await createWorld();
});

const made = async (path: string, body: Json): Promise<Json> =>
  expectStatus(await world.call("POST", path, { body }), 201);
const newWebhook = async (): Promise<string> =>
  (await made("/v1/webhooks", { url: "https://hooks.example.com/x", event_types: ["*"] })).webhook_id;
const newCustomer = async (): Promise<string> => (await made("/v1/customers", { name: "Client" })).customer_id;
const newAgent = async (): Promise<string> => (await world.draft("CONSUMER")).did;
const get = async (path: string): Promise<Json> => expectStatus(await world.call("GET", path), 200);
const attestation = (n: number): Json => ({
  attestation_id: `att-${crypto.randomUUID()}`,
  verifier_id: "acme-verification",
  model: "kyb",
  issued_at: new Date(world.now() - DAY_MS).toISOString(),
  expires_at: new Date(world.now() + (100 + n) * DAY_MS).toISOString(),
});

const distinct = (of: (n: number) => string) => Array.from({ length: AT_ONCE }, (_, n) => of(n));

type Case = {
  readonly object: () => Promise<string>;
  readonly call: (id: string, n: number) => Promise<Reply>;
  readonly action: ActivityAction;
  /** The value that the object shows afterwards, which is the value of one of the calls. */
  readonly shown: (id: string, replies: readonly Reply[]) => Promise<[unknown, readonly unknown[]]>;
};

const patching = (object: () => Promise<string>, path: string, field: string, action: ActivityAction): Case => ({
  object,
  call: (id, n) => world.call("PATCH", `${path}${id}`, { body: { [field]: `value ${n}` } }),
  action,
  shown: async (id) => [(await get(`${path}${id}`))[field], distinct((n) => `value ${n}`)],
});

const CASES: Record<string, Case> = {
  "a management key, rotated by a session": {
    object: async () => "",
    call: () => world.person("POST", "/v1/platform/keys/rotate", { body: {} }),
    action: "api_key.rotated",
    shown: async (_id, replies) => {
      const { data } = expectStatus(await world.person("GET", "/v1/platform/keys"), 200);
      const [current] = data.filter(({ environment, expires_at }: Json) => environment === "sandbox" && !expires_at);
      const keys: readonly Json[] = replies.map(({ body }) => body.api_key);
      const accepted: string[] = [];
      for (const { raw_key: key, key_prefix } of keys)
        if ((await world.call("GET", "/v1/platform", { key })).status === 200) accepted.push(key_prefix);
      expect(accepted).toEqual([current.key_prefix]);
      return [current.key_prefix, keys.map(({ key_prefix }) => key_prefix)];
    },
  },
  "a webhook's secret": {
    object: newWebhook,
    call: (id) => world.call("POST", `/v1/webhooks/${id}/rotate-secret`, { body: { grace_hours: 0 } }),
    action: "webhook.secret_rotated",
    shown: async (id, replies) => {
      const secrets = replies.map(({ body }) => body.secret);
      expect(new Set(secrets).size).toBe(AT_ONCE);
      const [endpoint] = await world.deps.db.select().from(webhookEndpoints).where(eq(webhookEndpoints.webhookId, id));
      if (!endpoint) throw new Error("unreachable: the endpoint");
      const [signing, ...others] = await openSecrets(env, endpoint, world.now());
      expect(others).toEqual([]);
      return [signing, secrets];
    },
  },
  "an agent": patching(newAgent, "/v1/agents/", "external_ref", "agent.updated"),
  "an agent's scope": {
    object: newAgent,
    call: (did, n) => world.call("PATCH", `/v1/agents/${did}/scope`, { body: { dispute_window_days: n + 15 } }),
    action: "agent.scope_changed",
    shown: async (did) => {
      const { scope, version } = await get(`/v1/agents/${did}`);
      expect(version).toBe(1 + AT_ONCE);
      return [scope.dispute_window_days, Array.from({ length: AT_ONCE }, (_, n) => n + 15)];
    },
  },
  "a principal": patching(() => world.principal(), "/v1/principals/", "external_ref", "principal.updated"),
  "a customer": patching(newCustomer, "/v1/customers/", "name", "customer.updated"),
  "a webhook": patching(newWebhook, "/v1/webhooks/", "description", "webhook.description_changed"),
  "the platform": patching(async () => "", "/v1/platform", "trading_name", "account.profile_changed"),
  "a principal's attestation": {
    object: () => world.principal(),
    call: (id, n) => world.call("POST", `/v1/principals/${id}/attestations`, { body: attestation(n) }),
    action: "principal.attestation_recorded",
    shown: async (id, replies) => {
      const { data } = await get(`/v1/principals/${id}/attestations?limit=100`);
      expect(data).toHaveLength(AT_ONCE + 1);
      expect(data.filter(({ status }: Json) => status === "current")).toHaveLength(1);
      const { verification_attestation } = await get(`/v1/principals/${id}`);
      return [verification_attestation.attestation_id, replies.map(({ body }) => body.attestation_id)];
    },
  },
  "the attestation of the account's own company": {
    object: async () => world.platformId,
    call: (id) => byOperator(world, "POST", `/v1/operator/platforms/${id}/attestation`, {}),
    action: "principal.attestation_recorded",
    shown: async (_id, replies) => {
      const { tenant_principal_id } = await get("/v1/platform");
      const { verification_attestation } = await get(`/v1/principals/${tenant_principal_id}`);
      const given = replies.map(({ body }) => body.verification_attestation.attestation_id);
      return [verification_attestation.attestation_id, given];
    },
  },
};

const entriesOf = (action: ActivityAction) =>
  world.deps.db
    .select()
    .from(activityEntries)
    .where(and(eq(activityEntries.platformId, world.platformId), eq(activityEntries.action, action)));

describe("40 simultaneous changes", () => {
  it.each(Object.entries(CASES))(
    "of %s all succeed, and one of them is the last",
    async (_name, { object, call, action, shown }) => {
      const id = await object();
      const replies = await Promise.all(Array.from({ length: AT_ONCE }, (_, n) => call(id, n)));
      expect(replies.map(({ status }) => Math.floor(status / 100))).toEqual(replies.map(() => 2));
      expect(await entriesOf(action)).toHaveLength(AT_ONCE);
      const [last, given] = await shown(id, replies);
      expect(given).toContain(last);
    },
  );

  it("of a webhook's replays succeed up to the limit, and the others are refused by it", async () => {
    const id = await newWebhook();
    const since = new Date(world.now() - DAY_MS).toISOString();
    const replies = await Promise.all(
      Array.from({ length: AT_ONCE }, () => world.call("POST", `/v1/webhooks/${id}/replay`, { body: { since } })),
    );
    const statuses = replies.map(({ status }) => status).sort();
    const allowed = statuses.filter((status) => status === 200).length;
    expect(allowed).toBeGreaterThan(0);
    expect(statuses).toEqual([...Array(allowed).fill(200), ...Array(AT_ONCE - allowed).fill(429)]);
    const next = await world.call("POST", `/v1/webhooks/${id}/replay`, { body: { since } });
    expect(next.status).toBe(429);
  });
});

/** A copy of the world in which each attempt of a call reads, and loses its commit. */
function losingWorld(): World {
  let batches = 0;
  return withDatabase(world, {
    prepare: (sql: string) => env.DB.prepare(sql),
    batch: (statements: D1PreparedStatement[]) => {
      batches += 1;
      if (batches % 2 === 0) throw new Error("D1_ERROR: UNIQUE constraint failed: customers.name: SQLITE_CONSTRAINT");
      return env.DB.batch(statements);
    },
  } as D1Database);
}

it("refuses an order of a public client that never wins with 403, because such a client would pay after any other refusal", async () => {
  const [consumer, provider] = [await world.consumer(), await world.provider()];
  const order = { market: "GLOBAL-USDC", network: "base-sepolia", amount: "1.00" };
  const parties = { consumer_did: consumer.did, provider_did: provider.did };
  const path = `/v1/payment-address?${new URLSearchParams({ ...order, ...parties })}`;
  const lost = await losingWorld().as(consumer, "GET", path);
  expect([lost.status, lost.body.code, lost.body.detail]).toEqual([
    403,
    "spend_policy_violation",
    { failed_check: "service_busy" },
  ]);
});

it("answers a call that never wins with 503 service_busy, and leaves its Idempotency-Key free", async () => {
  const key = crypto.randomUUID();
  const body = { name: "Client" };
  const headers = { "Idempotency-Key": key };
  const lost = await losingWorld().call("POST", "/v1/customers", { body, headers });
  expect([lost.status, lost.body.code, lost.headers.get("retry-after")]).toEqual([503, "service_busy", "1"]);
  expect((await world.call("POST", "/v1/customers", { body, headers })).status).toBe(201);
});
