// A refused call writes nothing (AGT-29), and neither does a read: every table stays as it was.
import { beforeAll, describe, expect, it } from "vitest";
import { ROUTES } from "../../src/app.ts";
import { signDirectoryHeads } from "../../src/directory/heads.ts";
import type { Route } from "../../src/http/route.ts";
import { raiseAlert } from "../../src/journal/alerts.ts";
import { marketsOf, marketWith, must, NETWORK, operator, store } from "../consequences/plays/stage.ts";
import { OPERATION_CONSEQUENCES, READING_POSTS } from "../consequences/table.ts";
import type { Table } from "../consequences/words.ts";
import { confirm, facilitated } from "../facilitation/support.ts";
import { rows } from "../promotion/support.ts";
import { documentParts, formBytes, formHeaders, pdf } from "../support/form.ts";
import { differenceMadeBy, tablesChangedBy } from "../support/snapshot.ts";
import { type Agent, createWorld, type Json, principalBody, type Reply, type World } from "../support/world.ts";
import { drawKey, registerVerifier } from "../verifiers/support.ts";
import { asleep } from "../webhooks/support.ts";
import { accountRefusals, type Refusal } from "./account-refusals.ts";
import { disputeRefusals, disputesOf } from "./dispute-refusals.ts";
import { principalRefusals } from "./principal-refusals.ts";
import { vaultRefusals } from "./vault-refusals.ts";
import { type Webhooks, webhookRefusals, webhooksOf } from "./webhook-refusals.ts";

/**
 * Tables that a refusal may write, with the reason. A late confirmation closes its task, which is a case of its own in the consequences. The memory
 * of objects (a used proof, a key in flight) is in no table.
 */
const WRITTEN_BY_REFUSALS: Readonly<Partial<Record<Table, string>>> = {
  idempotency_outcomes: "a refusal of the service itself is the outcome of its Idempotency-Key, and is answered again",
};

let world: World;
let provider: Agent;
let consumer: Agent;
let stranger: Agent;
let [draft, suspended, terminated, task, closedTask, voidTask] = ["", "", "", "", "", ""];
let [principalRef, principalId, customerId, intentId] = ["", "", "", ""];
let [alertId, documentId, verifierId, eventId] = ["", "", "", ""];
let webhooks: Webhooks;
let disputes: Awaited<ReturnType<typeof disputesOf>>;

beforeAll(async () => {
  world = await asleep();
  webhooks = await webhooksOf(world);
  const client = { name: "Client", external_ref: "client-1" };
  customerId = (await must(201, world.call("POST", "/v1/customers", { body: client }))).customer_id;
  const principal = principalBody({ customer_id: customerId });
  principalRef = String(principal["external_ref"]);
  principalId = (await must(201, world.call("POST", "/v1/principals", { body: principal }))).principal_id;
  provider = await world.provider({ principal_id: principalId });
  consumer = await world.consumer();
  stranger = await (await createWorld()).consumer();
  ({ did: draft } = await world.draft("CONSUMER"));
  suspended = await agentWith("SUSPENDED");
  terminated = await agentWith("TERMINATED");
  closedTask = (await facilitated(world, { provider, consumer })).task;
  await must(200, confirm(world, consumer, closedTask));
  voidTask = (await facilitated(world, { provider, consumer })).task;
  await rows("update tasks set status = 'void', answer = 'void' where task_id = ?", voidTask);
  const form = { rawBody: formBytes(documentParts("supporting", pdf(100))), headers: formHeaders() };
  documentId = (await must(201, world.person("POST", "/v1/platform/documents", form))).document_id;
  eventId = (await must(200, world.call("GET", "/v1/events?limit=1"))).data[0].id;
  task = (await facilitated(world, { provider, consumer })).task;
  intentId = (await world.intent(consumer, provider)).intent_id;
  await store(world, (db) => raiseAlert(db, { kind: "low_gas", subject: crypto.randomUUID(), message: "Low." }));
  await world.run(signDirectoryHeads);
  alertId = (await must(200, world.call("GET", "/v1/operator/alerts", operator()))).data[0].alert_id;
  disputes = await disputesOf(world, { provider, consumer });
  verifierId = (await registerVerifier(world, [(await drawKey()).jwk])).verifier_id;
  // A settlement has made the documents stale. They are signed here, so that no read has to sign them.
  for (const { did } of [provider, consumer])
    await must(200, world.call("GET", `/v1/agents/${did}/aid`, { key: null }));
});

async function agentWith(status: string): Promise<string> {
  const { did } = await world.consumer();
  await must(200, world.call("PATCH", `/v1/agents/${did}/status`, { body: { status } }));
  return did;
}

const changedTables = (act: () => Promise<Reply>) => tablesChangedBy(world, act);

const post = (path: string, body?: unknown) => world.call("POST", path, { ...(body !== undefined && { body }) });
const patch = (path: string, body: unknown) => world.call("PATCH", path, { body });
const agentAt = (did: string, path = "") => `/v1/agents/${did}${path}`;
const order = (overrides: Record<string, unknown> = {}) => ({
  consumer_did: consumer.did,
  provider_did: provider.did,
  amount: "1.00",
  currency: "USDC",
  ...overrides,
});
const UNKNOWN_TX = `0x${"ab".repeat(32)}`;
const wallet = "0x00000000000000000000000000000000000000aa";

const TO_PRODUCTION = { environment: "production" };
const toProduction = (did: string) =>
  world.call("POST", agentAt(did, "/environment"), { key: world.liveKey, body: TO_PRODUCTION });

/** For each operation, besides a missing credential: a body, a state, an object or a caller that it refuses. */
const REFUSALS: Readonly<Record<string, readonly Refusal[]>> = {
  ...accountRefusals(() => world),
  ...principalRefusals(() => ({ world, principalId, principalRef, customerId })),
  ...disputeRefusals(() => ({ world, ...disputes })),
  ...vaultRefusals(() => ({ world, provider: provider.did, consumer: consumer.did })),
  ...webhookRefusals(() => ({ world, webhooks })),
  patchPlatform: [
    ["an empty patch", "no_changes_requested", () => patch("/v1/platform", {})],
    ["another name, by a key", "forbidden", () => patch("/v1/platform", { legal_name: "Other" })],
    ["an unknown field", "validation_failed", () => patch("/v1/platform", { trading_name: "X", colour: "red" })],
  ],
  registerAgent: [["a body without its fields", "validation_failed", () => post("/v1/agents", {})]],
  activateAgent: [["an agent that is ACTIVE", "invalid_status", () => post(agentAt(provider.did, "/activate"))]],
  reissueAgentCertificate: [["a DRAFT", "invalid_status", () => post(agentAt(draft, "/certificate"))]],
  rotateAgentKey: [
    ["a longer grace", "validation_failed", () => post(agentAt(consumer.did, "/rotate-key"), { grace_hours: 25 })],
    ["a DRAFT", "invalid_status", () => post(agentAt(draft, "/rotate-key"))],
    ["a TERMINATED agent", "invalid_status", () => post(agentAt(terminated, "/rotate-key"))],
  ],
  transferAgent: [
    ["no principal", "validation_failed", () => post(agentAt(consumer.did, "/transfer"), {})],
    [
      "an unknown principal",
      "validation_failed",
      () => post(agentAt(consumer.did, "/transfer"), { principal_id: "prn_none" }),
    ],
    [
      "its own principal",
      "no_changes_requested",
      () => post(agentAt(provider.did, "/transfer"), { principal_id: principalId }),
    ],
    [
      "a TERMINATED agent",
      "agent_status_not_mutable",
      () => post(agentAt(terminated, "/transfer"), { principal_id: principalId }),
    ],
  ],
  promoteAgent: [
    ["no environment", "validation_failed", () => post(agentAt(consumer.did, "/environment"), {})],
    ["the sandbox key", "environment_mismatch", () => post(agentAt(consumer.did, "/environment"), TO_PRODUCTION)],
    ["a TERMINATED agent", "invalid_status", () => toProduction(terminated)],
    ["an agent with open tasks", "invalid_status", () => toProduction(provider.did)],
  ],
  revokeAgent: [
    ["no reason", "validation_failed", () => post(agentAt(consumer.did, "/revoke"), {})],
    ["a TERMINATED agent", "invalid_status", () => post(agentAt(terminated, "/revoke"), { reason: "Again." })],
  ],
  patchAgent: [
    ["an unknown field", "validation_failed", () => patch(agentAt(consumer.did), { colour: "red" })],
    [
      "a field that registration fixes",
      "validation_failed",
      () => patch(agentAt(consumer.did), { economic_role: "PROVIDER" }),
    ],
    ["an empty patch", "no_changes_requested", () => patch(agentAt(consumer.did), {})],
    [
      "a catalogue for a consumer",
      "catalog_url_not_permitted",
      () => patch(agentAt(consumer.did), { profile: { catalog_url: "https://agent.example/catalog" } }),
    ],
    [
      "a TERMINATED agent",
      "agent_status_not_mutable",
      () => patch(agentAt(terminated), { endpoint_url: "https://moved.example" }),
    ],
  ],
  patchAgentScope: [
    ["an unknown field", "validation_failed", () => patch(agentAt(consumer.did, "/scope"), { colour: "red" })],
    ["an empty patch", "no_changes_requested", () => patch(agentAt(consumer.did, "/scope"), {})],
    [
      "a TERMINATED agent",
      "agent_status_not_mutable",
      () => patch(agentAt(terminated, "/scope"), { capabilities: ["x"] }),
    ],
  ],
  patchAgentStatus: [
    ["an unknown status", "validation_failed", () => patch(agentAt(consumer.did, "/status"), { status: "AWAY" })],
    ["a DRAFT", "use_activate_endpoint", () => patch(agentAt(draft, "/status"), { status: "ACTIVE" })],
    ["a TERMINATED agent", "invalid_status", () => patch(agentAt(terminated, "/status"), { status: "ACTIVE" })],
  ],
  authorizeMarkets: [
    ["no market", "validation_failed", () => post(marketsOf(provider.did), {})],
    ["a consumer", "role_not_permitted", () => post(marketsOf(consumer.did), marketWith(wallet))],
  ],
  removeAuthorizedMarket: [
    [
      "a market that the agent does not have",
      "not_found",
      () => world.call("DELETE", `${marketsOf(provider.did)}/DE-USDC?network=${NETWORK}`),
    ],
  ],
  createPaymentIntent: [
    [
      "an amount that is not a number",
      "validation_failed",
      () => world.as(consumer, "POST", "/v1/payment-intents", order({ amount: "x" })),
    ],
    ["a stranger", "forbidden", () => world.as(stranger, "POST", "/v1/payment-intents", order())],
    [
      "a market that the provider does not have",
      "market_not_authorized",
      () => world.as(consumer, "POST", "/v1/payment-intents", order({ network: "base" })),
    ],
    [
      "a counterparty that is SUSPENDED",
      "agent_not_active",
      () => world.as(provider, "POST", "/v1/payment-intents", order({ consumer_did: suspended })),
    ],
  ],
  cancelPaymentIntent: [
    ["an unknown intent", "not_found", () => cancelled(consumer, "pin_none")],
    ["a stranger", "forbidden", () => cancelled(stranger, intentId)],
  ],
  getPaymentAddress: [
    ["a stranger's order", "spend_policy_violation", () => world.as(stranger, "GET", addressOf({ amount: "1.00" }))],
    ["an order without its amount", "spend_policy_violation", () => world.as(consumer, "GET", addressOf({}))],
  ],
  facilitate: [
    ["no payment", "validation_failed", () => world.as(provider, "POST", "/v1/facilitate", { intent_id: intentId })],
    ["an unknown intent", "not_found", () => facilitate(provider, "pin_none")],
    ["a payment that the chain does not know", "payment_not_found", () => facilitate(provider, intentId)],
    ["a stranger", "forbidden", () => facilitate(stranger, intentId)],
  ],
  confirmTask: [
    ["an unknown outcome", "validation_failed", () => confirm(world, consumer, task, { outcome: "lovely" })],
    ["the provider", "forbidden", () => confirm(world, provider, task)],
    ["a task that is closed", "task_already_closed", () => confirm(world, consumer, closedTask)],
    ["a task that is void", "invalid_status", () => confirm(world, consumer, voidTask)],
  ],
  verifyProof: [["a body without its fields", "validation_failed", () => post("/v1/verify/proof", {})]],
  getAgentAid: [["an unknown agent", "not_found", () => world.call("GET", agentAt("did:aeap:none", "/aid"))]],
  getStatusList: [
    ["a list that does not exist", "not_found", () => world.call("GET", "/.well-known/aeap-status-lists/99")],
  ],
  acknowledgeAlert: [
    ["an unknown alert", "not_found", () => world.call("POST", acknowledgement("alt_none"), operator())],
  ],
};

const facilitate = (agent: Agent, intent_id: string) =>
  world.as(agent, "POST", "/v1/facilitate", { intent_id, payment_tx: UNKNOWN_TX });
const cancelled = (agent: Agent, intent_id: string) =>
  world.as(agent, "POST", `/v1/payment-intents/${intent_id}/cancel`);
const acknowledgement = (id: string) => `/v1/operator/alerts/${id}/acknowledge`;
function addressOf(query: Record<string, string>): string {
  const { consumer_did, provider_did } = order();
  return `/v1/payment-address?${new URLSearchParams({ market: "GLOBAL-USDC", network: NETWORK, consumer_did, provider_did, ...query })}`;
}

const ROWS = Object.keys(OPERATION_CONSEQUENCES);

describe("a refused call", () => {
  it("is tested for every operation that writes", () => {
    expect(Object.keys(REFUSALS).sort()).toEqual([...ROWS].sort());
  });

  it.each(
    Object.entries(REFUSALS).flatMap(([name, list]) =>
      list.map(([why, code, act]) => [`${name}: ${why}`, code, act] as const),
    ),
  )("answers %s with %s, and writes nothing", async (_title, code, act) => {
    const { reply, tables } = await changedTables(act);
    expect(reply.body.code).toBe(code);
    expect(tables).toEqual([]);
  });

  it("writes nothing without a credential, for any operation", async () => {
    const routes = ROUTES.filter(isCredentialed);
    const statuses: (readonly [string, number])[] = [];
    const difference = await differenceMadeBy(world, async () => {
      for (const route of routes) {
        const body = route.body ? { body: {} } : {};
        const { status } = await world.call(route.method.toUpperCase(), pathOf(route), { key: null, ...body });
        statuses.push([route.operationId, status]);
      }
    });
    expect(statuses).toEqual(routes.map(({ operationId }) => [operationId, 401]));
    expect([...difference.keys()]).toEqual([]);
  });

  it("writes only its outcome under an Idempotency-Key, which is replayed", async () => {
    const headers = { "Idempotency-Key": crypto.randomUUID() };
    const activate = () => world.call("POST", agentAt(provider.did, "/activate"), { headers });
    const first = await changedTables(activate);
    expect(first.reply.body.code).toBe("invalid_status");
    expect(first.tables).toEqual(Object.keys(WRITTEN_BY_REFUSALS));
    const again = await changedTables(activate);
    expect(again.reply.headers.get("Idempotent-Replayed")).toBe("true");
    expect(again.tables).toEqual([]);
  });

  it("stores nothing for invalid values under an Idempotency-Key, so that the body may be corrected", async () => {
    const headers = { "Idempotency-Key": crypto.randomUUID() };
    const { reply, tables } = await changedTables(() => world.call("POST", "/v1/principals", { headers, body: {} }));
    expect(reply.body.code).toBe("validation_failed");
    expect(tables).toEqual([]);
  });
});

function isCredentialed({ operationId, surfaces }: Route): boolean {
  return ROWS.includes(operationId) && !surfaces.some((surface: string) => surface === "public");
}

// ---- Readings ------------------------------------------------------------------------------------------------------------

const IDS: Readonly<Record<string, () => string>> = {
  identifier: () => consumer.did,
  verifier_id: () => verifierId,
  did: () => provider.did,
  principal_id: () => principalId,
  customer_id: () => customerId,
  task_id: () => task,
  facilitation_id: () => task.replace(/^tsk_/, "fac_"),
  dispute_id: () => disputes.disputeId,
  intent_id: () => intentId,
  alert_id: () => alertId,
  market: () => "GLOBAL-USDC",
  n: () => "1",
  platform_id: () => world.platformId,
  document_id: () => documentId,
  event_id: () => eventId,
  webhook_id: () => webhooks.enabled,
};
function pathOf({ path, operationId }: Route): string {
  const filled = path.replace(/\{(\w+)\}/g, (_all: string, name: string) => IDS[name]?.() ?? "none");
  return operationId === "removeAuthorizedMarket" ? `${filled}?network=${NETWORK}` : filled;
}

const BODIES: Readonly<Record<string, () => Promise<Json>>> = {
  verifyCertificate: async () => ({ certificate: consumer.certificate }),
  evaluateSpendPolicy: async () => ({ provider_did: consumer.did, amount: "1.00", currency: "USDC" }),
  verifyAid: async () => ({ aid: await must(200, world.call("GET", agentAt(consumer.did, "/aid"))) }),
};

async function callAsAllowed(route: Route): Promise<Reply> {
  const [method, path] = [route.method.toUpperCase(), pathOf(route)];
  const surfaces: readonly string[] = route.surfaces;
  if (surfaces.includes("agent") && !surfaces.includes("management")) return world.as(consumer, method, path);
  if (surfaces.includes("session")) return world.person(method, path);
  if (surfaces.includes("operator")) return world.call(method, path, operator());
  const body = await BODIES[route.operationId]?.();
  return world.call(method, path, { ...(body !== undefined && { body }) });
}

const reads = ({ method, operationId }: Route): boolean =>
  (method === "get" && !ROWS.includes(operationId)) || READING_POSTS.includes(operationId);

describe("an operation without a row only reads:", () => {
  it.each(ROUTES.filter(reads).map((route) => [route.operationId, route] as const))("%s", async (_name, route) => {
    const { reply, tables } = await changedTables(() => callAsAllowed(route));
    expect(reply.status).toBe(200);
    expect(tables).toEqual([]);
  });
});
