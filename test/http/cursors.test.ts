// A cursor belongs to one listing, environment and set of filters (HTTP-28): the cursor of each listing is tried on the listings of its own path and
// on another one, and each with positions that it never issued. `npm run test:long` tries each on every other.
import { beforeAll, describe, expect, inject, it } from "vitest";
import { ROUTES } from "../../src/app.ts";
import { decodeBase64Url, decodeUtf8, encodeBase64Url, encodeUtf8 } from "../../src/core/encoding.ts";
import { commit } from "../../src/db/batch.ts";
import { ledgerDifferences } from "../../src/db/tables/chain.ts";
import { activityHeads } from "../../src/db/tables/journal.ts";

import { raiseAlert } from "../../src/journal/alerts.ts";
import { recordOperatorEntry } from "../../src/journal/operator-log.ts";
import { facilitated, pairOf } from "../facilitation/support.ts";
import { grantMarket } from "../payments/support.ts";
import { documentParts, formBytes, formHeaders, pdf } from "../support/form.ts";
import { isWhole } from "../support/scale.ts";
import { type Agent, createWorld, expectStatus, type World } from "../support/world.ts";
import { drawKey, registerVerifier } from "../verifiers/support.ts";
import { asleep, endpoint } from "../webhooks/support.ts";

let world: World;
let did: string;
let otherDid: string;
let trader: Agent;
let otherTrader: Agent;
let principalId: string;
let otherPrincipalId: string;
let session: string;
let webhook: string;
let otherWebhook: string;
beforeAll(async () => {
  world = await asleep();
  await createWorld();
  principalId = await world.principal();
  session = await world.session();
  const form = { rawBody: formBytes(documentParts("supporting", pdf(100))), headers: formHeaders() };
  for (let i = 0; i < 2; i++) expectStatus(await world.person("POST", "/v1/platform/documents", form), 201);
  const seller = () => world.agent("PROVIDER", { principal_id: principalId });
  [did, otherDid] = [(await seller()).did, (await seller()).did];
  for (const one of [did, otherDid]) {
    for (const market of ["DE-USDC", "EU-USDC"]) await grantMarket(world, one, market);
  }
  const pair = await pairOf(world);
  for (let i = 0; i < 2; i++) {
    await facilitated(world, pair);
    const { transaction_id } = (await facilitated(world, pair)).fac;
    const body = { transaction_id, reason: "other", disputed_amount: "0.10" };
    expectStatus(await world.call("POST", DISPUTES, { body }), 201);
  }
  [trader, otherTrader] = [pair.provider, pair.consumer];
  otherPrincipalId = await world.principal();
  for (const one of [principalId, otherPrincipalId]) {
    const renewal = { body: { placeholder: true } };
    expectStatus(await world.call("POST", `${PRINCIPALS}/${one}/attestations`, renewal), 201);
  }
  for (const name of ["One", "Two"]) expectStatus(await world.call("POST", CUSTOMERS, { body: { name } }), 201);
  const addressed = async () => {
    const { webhook_id } = await endpoint(world, "https://hooks.example.com/in", { event_types: ["webhook.test"] });
    for (let i = 0; i < 2; i++) expectStatus(await world.call("POST", `${WEBHOOKS}/${webhook_id}/test`), 200);
    return webhook_id;
  };
  [webhook, otherWebhook] = [await addressed(), await addressed()];
  const { db } = world.deps;
  const alert = { kind: "low_gas", message: "The account holds nothing." } as const;
  await commit(
    db,
    ["one", "another"].map((subject) => raiseAlert(db, { ...alert, subject })),
  );
  const difference = { network: "base-sepolia", did, contract: "0xc", expected: 3, blockNumber: 1, foundAt: 1 };
  await db.insert(ledgerDifferences).values([1, 2].map((held) => ({ ...difference, held })));
  const { platformId } = world;
  for (let i = 0; i < 2; i++) await registerVerifier(world, [(await drawKey()).jwk]);
  const head = { platformId, hash: "0".repeat(64), signedAt: 1, jws: "" };
  await db.insert(activityHeads).values([1, 2].map((seq) => ({ ...head, seq })));
  const actor = { type: "operator", id: "somebody" } as const;
  const act = { action: "platform.suspended", subject: { type: "platform", id: platformId }, platformId } as const;
  await commit(
    db,
    [1, 2].map((now) => recordOperatorEntry(db, actor, now, act)),
  );
});

type Listing = {
  readonly route: string;
  readonly filter?: () => string;
  readonly key?: "live" | "operator" | "session" | "none";
  /** The agent that calls. */
  readonly agent?: () => Agent;
};
const AGENTS = "/v1/agents";
const ACTIVITY = "/v1/platform/activity";
const PRINCIPALS = "/v1/principals";
const CUSTOMERS = "/v1/customers";
const DIRECTORY = "/v1/directory/agents";
const INTENTS = "/v1/payment-intents";
const TASKS = "/v1/agents/{trader}/tasks";
const DISPUTES = "/v1/disputes";
const ALL_DISPUTES = "/v1/operator/disputes";
const OWN_MARKETS = "/v1/agents/{did}/scope/authorized_markets";
const DIFFERENCES = "/v1/operator/reconciliation";
const WEBHOOKS = "/v1/webhooks";
const DELIVERIES = "/v1/webhooks/{webhook_id}/deliveries";
const ATTESTATIONS = "/v1/principals/{principal_id}/attestations";
const OTHERS_ATTESTATIONS = ATTESTATIONS.replace("{principal_id}", "{other_principal}");
/** The first group has more than one page. */
const CONTINUED: Record<string, Listing> = {
  agents: { route: AGENTS },
  "agents of a principal": { route: AGENTS, filter: () => `principal_id=${principalId}` },
  "ACTIVE agents": { route: AGENTS, filter: () => "status=ACTIVE" },
  providers: { route: AGENTS, filter: () => "economic_role=PROVIDER" },
  "ACTIVE providers": { route: AGENTS, filter: () => "economic_role=PROVIDER&status=ACTIVE" },
  principals: { route: PRINCIPALS },
  "ACTIVE principals": { route: PRINCIPALS, filter: () => "status=ACTIVE" },
  "attestations of a principal": { route: ATTESTATIONS },
  "attestations of another principal": { route: OTHERS_ATTESTATIONS },
  customers: { route: CUSTOMERS },
  "ACTIVE customers": { route: CUSTOMERS, filter: () => "status=ACTIVE" },
  Verifiers: { route: "/v1/operator/verifiers", key: "operator" },
  markets: { route: "/v1/markets", key: "none" },
  "an agent's markets": { route: OWN_MARKETS },
  "another agent's markets": { route: OWN_MARKETS.replace("{did}", "{other}") },
  "an agent's tasks": { route: TASKS },
  "another agent's tasks": { route: TASKS.replace("{trader}", "{other_trader}") },
  "an agent's open tasks": { route: TASKS, filter: () => "status=open" },
  "an agent's transactions": { route: "/v1/agents/{trader}/transactions" },
  "another agent's transactions": { route: "/v1/agents/{other_trader}/transactions" },
  transactions: { route: "/v1/transactions" },
  "transactions of an agent": { route: "/v1/transactions", filter: () => `did=${trader.did}` },
  "transactions as provider": { route: "/v1/transactions", filter: () => "role=provider" },
  disputes: { route: DISPUTES },
  "disputes of an agent": { route: DISPUTES, filter: () => `did=${trader.did}` },
  "open disputes": { route: DISPUTES, filter: () => "status=pre_arbitration" },
  "a seller's own disputes": { route: DISPUTES, agent: () => trader },
  "a buyer's own disputes": { route: DISPUTES, agent: () => otherTrader },
  "all disputes": { route: ALL_DISPUTES, key: "operator" },
  "all disputes of an account": {
    route: ALL_DISPUTES,
    key: "operator",
    filter: () => `platform_id=${world.platformId}&environment=sandbox`,
  },
  events: { route: "/v1/events" },
  "events of a type": { route: "/v1/events", filter: () => "type=agent.registered" },
  "events about an agent": { route: "/v1/events", filter: () => `subject=${trader.did}` },
  webhooks: { route: WEBHOOKS },
  "deliveries of a webhook": { route: DELIVERIES },
  "deliveries of another webhook": { route: DELIVERIES.replace("{webhook_id}", "{other_webhook}") },
  "pending deliveries": { route: DELIVERIES, filter: () => "status=pending" },
  "deliveries of a type": { route: DELIVERIES, filter: () => "event_type=webhook.test" },
  tasks: { route: "/v1/tasks" },
  "tasks of an agent": { route: "/v1/tasks", filter: () => `did=${trader.did}` },
  "open tasks": { route: "/v1/tasks", filter: () => "status=open" },
  "a seller's own tasks": { route: "/v1/tasks", agent: () => trader },
  "a buyer's own tasks": { route: "/v1/tasks", agent: () => otherTrader },
  "an agent's events": { route: "/v1/agents/{trader}/events" },
  "another agent's events": { route: "/v1/agents/{other_trader}/events" },
  "a seller's intents": { route: INTENTS, agent: () => trader },
  "a seller's settled intents": { route: INTENTS, agent: () => trader, filter: () => "status=SETTLED" },
  "a buyer's intents": { route: INTENTS, agent: () => otherTrader },
  platforms: { route: "/v1/operator/platforms", key: "operator" },
  "ACCREDITED platforms": { route: "/v1/operator/platforms", key: "operator", filter: () => "status=ACCREDITED" },
  documents: { route: "/v1/platform/documents", key: "session" },
  "an account's documents": { route: "/v1/operator/platforms/{platform_id}/documents", key: "operator" },
  alerts: { route: "/v1/operator/alerts", key: "operator" },
  differences: { route: DIFFERENCES, key: "operator" },
  "differences of a provider": { route: DIFFERENCES, key: "operator", filter: () => `did=${did}` },
  "the activity log": { route: ACTIVITY },
  "activity of an action": { route: ACTIVITY, filter: () => "action=agent.registered" },
  "activity in the sandbox": { route: ACTIVITY, filter: () => "environment=sandbox" },
  "heads of the activity log": { route: `${ACTIVITY}/heads` },
  networks: { route: "/v1/operator/networks", key: "operator" },
  "the directory": { route: DIRECTORY },
  "ACTIVE and other agents of the directory": { route: DIRECTORY, filter: () => "status=all" },
  "providers of the directory": { route: DIRECTORY, filter: () => "economic_role=PROVIDER" },
  "changes of the directory": { route: "/v1/directory/changes" },
  "the operators' log": { route: "/v1/operator/activity", key: "operator" },
  "the operators' log of an actor": { route: "/v1/operator/activity", key: "operator", filter: () => "actor=somebody" },
};
const OTHERS: Record<string, Listing> = {
  "agents in production": { route: AGENTS, key: "live" },
  consumers: { route: AGENTS, filter: () => "economic_role=CONSUMER" },
  "SUSPENDED agents": { route: AGENTS, filter: () => "status=SUSPENDED" },
  "an agent's tasks of an outcome": { route: TASKS, filter: () => "outcome=confirmed" },
  "principals in production": { route: PRINCIPALS, key: "live" },
  "principals of a customer": { route: PRINCIPALS, filter: () => "customer_id=cus_1" },
  "principals of a reference": { route: PRINCIPALS, filter: () => "external_ref=crm-1" },
  "customers in production": { route: CUSTOMERS, key: "live" },
  "customers of a reference": { route: CUSTOMERS, filter: () => "external_ref=crm-1" },
  "webhooks in production": { route: WEBHOOKS, key: "live" },
  "failed deliveries": { route: DELIVERIES, filter: () => "status=failed" },
  "deliveries of an event": { route: DELIVERIES, filter: () => "event_id=evt_1" },
  "the directory of production": { route: DIRECTORY, key: "live" },
  "changes of the directory of production": { route: "/v1/directory/changes", key: "live" },
  sessions: { route: "/v1/platform/sessions", key: "session" },
  "acknowledged alerts": { route: "/v1/operator/alerts", key: "operator", filter: () => "status=acknowledged" },
};
const LISTINGS: Record<string, Listing> = { ...CONTINUED, ...OTHERS };

/** Ids of no row: without the parts that a position has, with more, with other characters. */
const STRANGE_IDS = [
  "",
  " ",
  "x",
  "a b c d e f g",
  "\u0000",
  "'; --",
  "%",
  "\u{10ffff}",
  "base-sepolia x 0xc NaN 1e999",
];

function open({ route, key, filter, agent }: Listing, cursor = "") {
  const named: Record<string, string> = {
    did,
    other: otherDid,
    trader: trader.did,
    other_trader: otherTrader.did,
    principal_id: principalId,
    other_principal: otherPrincipalId,
    webhook_id: webhook,
    other_webhook: otherWebhook,
    platform_id: world.platformId,
  };
  const path = route.replace(/\{(\w+)\}/g, (_, name) => named[name] ?? "");
  const parts = ["limit=1", filter?.() ?? "", cursor === "" ? "" : `cursor=${encodeURIComponent(cursor)}`];
  const asked = `${path}?${parts.filter((part) => part !== "").join("&")}`;
  if (agent) return world.as(agent(), "GET", asked);
  const headers = { Authorization: `Bearer ${key === "session" ? session : inject("operatorKey")}` };
  return world.call("GET", asked, {
    key: key === "live" ? world.liveKey : key === undefined ? world.key : null,
    ...((key === "operator" || key === "session") && { headers }),
  });
}

/** The path as its route names it. */
const pathOf = ({ route }: Listing): string =>
  route
    .replace(/\{(other|trader|other_trader)\}/, "{did}")
    .replace("{other_principal}", "{principal_id}")
    .replace("{other_webhook}", "{webhook_id}");

it("covers every route that takes a cursor", () => {
  const paged = ROUTES.filter(({ query }) => query !== undefined && "cursor" in query.shape).map(({ path }) => path);
  const covered = Object.values(LISTINGS).map(pathOf);
  expect([...new Set(paged)].sort()).toEqual([...new Set(covered)].sort());
});

const isOfPath = (listing: Listing, name: string): boolean => {
  const named = LISTINGS[name];
  return named !== undefined && pathOf(listing) === pathOf(named);
};

/** The listings of the same path, and the next one in turn, so that each listing gets a cursor of another path. */
function othersThan(name: string): [string, Listing][] {
  const all = Object.entries(LISTINGS);
  const others = all.filter(([other]) => other !== name);
  if (isWhole()) return others;
  const at = all.findIndex(([other]) => other === name);
  const next = [1, 1 + Object.keys(OTHERS).length].map((step) => all[(at + step) % all.length]?.[0]);
  return others.filter(([other, listing]) => isOfPath(listing, name) || next.includes(other));
}

/** The first listing of each path is tried with every strange position, each other one with the last of either kind. */
function placesFor(name: string, at: number, id: string): (readonly [unknown, unknown])[] {
  const ids = STRANGE_IDS.map((strange) => [at, strange] as const);
  const instants = [0, -1, Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER].map((strange) => [strange, id] as const);
  const [first] = Object.entries(CONTINUED).find(([, listing]) => isOfPath(listing, name)) ?? [];
  return isWhole() || first === name ? [...ids, ...instants] : [...ids.slice(-1), ...instants.slice(-1)];
}

describe.each(Object.entries(CONTINUED))("a cursor of %s", (name, listing) => {
  it("continues there and nowhere else", async () => {
    const { next_cursor: cursor } = expectStatus(await open(listing), 200);
    expect(cursor).not.toBeNull();
    expectStatus(await open(listing, cursor), 200);
    for (const [other, elsewhere] of othersThan(name)) {
      const { status, body } = await open(elsewhere, cursor);
      const [fault] = body.field_errors ?? [];
      expect([other, status, body.code, fault?.field, fault?.code]).toEqual([
        other,
        422,
        "validation_failed",
        "cursor",
        "invalid_value",
      ]);
    }
  });

  it("with a position that was never issued is answered or refused, and never fails", async () => {
    const { next_cursor: cursor } = expectStatus(await open(listing), 200);
    const [owner, at, id] = JSON.parse(decodeUtf8(decodeBase64Url(cursor) ?? new Uint8Array()) ?? "");
    for (const place of placesFor(name, at, id)) {
      const strange = encodeBase64Url(encodeUtf8(JSON.stringify([owner, ...place])));
      const { status, body } = await open(listing, strange);
      expect([place, status === 410 ? body.code : status]).toEqual([place, status === 410 ? "cursor_expired" : 200]);
    }
  });
});
