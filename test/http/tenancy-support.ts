// The sides of a walk over other tenants' objects: two platforms in both environments, their objects, their callers, and the forms that a request
// may have.
import examples from "../../scripts/openapi/examples.json" with { type: "json" };
import { createId } from "../../src/core/ids.ts";
import { encodeCursor } from "../../src/core/page.ts";
import type { Environment } from "../../src/core/vocabulary.ts";
import type { Route } from "../../src/http/route.ts";
import { must, operator } from "../consequences/plays/stage.ts";
import { account } from "../support/chain.ts";
import { FOLLOWING } from "../support/following.ts";
import { documentParts, formBytes, formHeaders, pdf } from "../support/form.ts";
import { deliverEvents, type Snapshot, takeSnapshot } from "../support/snapshot.ts";
import { type Agent, agentBody, type CallOptions, createWorld, type Reply, type World } from "../support/world.ts";
import { attestationBy, drawKey, registerVerifier } from "../verifiers/support.ts";
import {
  newConsumer,
  newCustomer,
  newDelivery,
  newDispute,
  newEvent,
  newestEntry,
  newPrincipal,
  newProvider,
  newPurchase,
  newWebhook,
  ofNew,
  onceFor,
  type Platform,
  personOf,
  type Side,
  webhookOf,
} from "./tenancy-makers.ts";

export const ENVIRONMENTS: readonly Environment[] = ["sandbox", "production"];
export const otherThan = (environment: Environment): Environment =>
  environment === "sandbox" ? "production" : "sandbox";

// ---- Two platforms ---------------------------------------------------------------------------------------------------------

/** The platforms of this file. */
const opened: World[] = [];

/** Delivers nothing: deliveries would write rows next to the watched calls. */
const WEBHOOKS = { idFromName: () => null, get: () => ({ wake: () => undefined }) } as never;

export async function openPlatform(): Promise<Platform> {
  const world = await createWorld({ WEBHOOKS });
  opened.push(world);
  const verifierId = (await registerVerifier(world, [(await drawKey()).jwk])).verifier_id;
  const side = async (environment: Environment, key: string, network: string): Promise<Side> => ({
    world: Object.assign(Object.create(world) as World, { key }),
    environment,
    network,
    session: await world.session(),
    verifierId,
  });
  return {
    sandbox: await side("sandbox", world.key, "base-sepolia"),
    production: await side("production", world.liveKey, "base"),
  };
}

// ---- Callers ---------------------------------------------------------------------------------------------------------------

export type Caller = {
  readonly name: string;
  readonly ask: (method: string, path: string, options: CallOptions) => Promise<Reply>;
};

export const byKey = ({ world, environment }: Side, whose: string): Caller => ({
  name: `${whose} ${environment} key`,
  ask: (method, path, options) => world.call(method, path, options),
});
export const bySession = ({ world, environment, session }: Side, whose: string): Caller => ({
  name: `${whose} session in ${environment}`,
  ask: (method, path, { headers, ...options }) =>
    world.call(method, path, {
      ...options,
      key: null,
      headers: { ...headers, Authorization: `Bearer ${session}`, "Service-Environment": environment },
    }),
});
export const byAgent = (world: World, agent: Agent, name: string): Caller => ({
  name,
  ask: async (method, path, { body, rawBody }) => {
    const raw = rawBody ?? (body === undefined ? "" : JSON.stringify(body));
    const headers = await world.prove(agent, method, path, String(raw));
    return world.call(method, path, { key: null, headers, ...(raw !== "" && { rawBody: raw }) });
  },
});
export const byOperator = ({ world }: Side): Caller => ({
  name: "an operator",
  ask: (method, path, options) => world.call(method, path, { ...options, ...operator() }),
});

// ---- Objects ---------------------------------------------------------------------------------------------------------------

export type Ids = Readonly<Record<string, string>>;

export async function newDocument(side: Side): Promise<string> {
  const form = { rawBody: formBytes(documentParts("supporting", pdf(100))), headers: formHeaders() };
  const submitted = bySession(side, "its").ask("POST", "/v1/platform/documents", form);
  return (await must(201, submitted)).document_id;
}

/** Another session of the account, as its list names it. */
async function newSession({ world }: Side): Promise<string> {
  const headers = { Authorization: `Bearer ${await world.session()}` };
  const { data } = await must(200, world.call("GET", "/v1/platform/sessions?limit=100", { key: null, headers }));
  return data.find(({ current }: { current: boolean }) => current).session_id;
}

const suspended = async ({ world }: Side, path: string): Promise<void> => {
  await must(200, world.call("POST", `${path}/suspend`));
};

/** An object in the state that the operation needs. */
const WANTED: Readonly<Record<string, (side: Side) => Promise<Ids>>> = {
  activateAgent: async (side) => ({ did: (await side.world.draft("CONSUMER", await ofNew(side))).did }),
  authorizeMarkets: async (side) => ({ did: (await side.world.agent("PROVIDER", await ofNew(side))).did }),
  removeAuthorizedMarket: async (side) => ({ did: (await newProvider(side)).did, market: "GLOBAL-USDC" }),
  reactivatePrincipal: async (side) => {
    const principal_id = await newPrincipal(side);
    await suspended(side, `/v1/principals/${principal_id}`);
    return { principal_id };
  },
  reactivateCustomer: async (side) => {
    const customer_id = await newCustomer(side);
    await suspended(side, `/v1/customers/${customer_id}`);
    return { customer_id };
  },
  redeliver: async (side) => {
    const webhook_id = await newWebhook(side);
    return { webhook_id, delivery_id: (await newDelivery(side, webhook_id)).delivery_id };
  },
};
/** An object by the member that names it. */
const OBJECTS: Readonly<Record<string, (side: Side) => Promise<string>>> = {
  did: async (side) => (await newConsumer(side)).did,
  principal_id: (side) => newPrincipal(side),
  customer_id: newCustomer,
  document_id: newDocument,
  session_id: newSession,
  dispute_id: newDispute,
  event_id: newEvent,
  webhook_id: newWebhook,
};

export async function objectOf(side: Side, { operationId, method }: Route, member: string): Promise<Ids> {
  const object = OBJECTS[member];
  if (!WANTED[operationId] && !object) throw new Error(`nobody makes a ${member} for ${operationId}`);
  const wanted = await WANTED[operationId]?.(side);
  if (wanted || !object) return wanted ?? {};
  // One is enough if it is only read.
  return { [member]: await (method === "get" ? onceFor(side, member, object) : object(side)) };
}

/** A good request that names an object in its body: the caller's own object, and the body with any id in its place. */
export type Naming = { readonly own: string; readonly body: (id: string) => Record<string, unknown> };
const newAgentOf = (principal_id: string) => ({ ...agentBody("CONSUMER"), principal_id });

const NAMINGS: Readonly<Record<string, (side: Side) => Promise<Naming>>> = {
  "registerPrincipal customer_id": async (side) => ({
    own: await newCustomer(side),
    body: (customer_id) => ({ ...personOf(side), customer_id }),
  }),
  "patchPrincipal customer_id": async (side) => ({
    own: await newCustomer(side),
    body: (customer_id) => ({ customer_id }),
  }),
  "transferAgent principal_id": async (side) => ({
    own: await newPrincipal(side),
    body: (principal_id) => ({ principal_id }),
  }),
  "registerAgent principal_id": async (side) => ({ own: await newPrincipal(side), body: newAgentOf }),
  "registerAgent delegated_by": async (side) => {
    const { did, principalId } = await newConsumer(side);
    return { own: did, body: (delegated_by) => ({ ...newAgentOf(principalId), delegated_by }) };
  },
  "replayEvents since": async (side) => ({ own: await newEvent(side), body: (since) => ({ since }) }),
};

export function namingOf(side: Side, { operationId }: Route, member: string): Promise<Naming> {
  const naming = NAMINGS[`${operationId} ${member}`];
  if (!naming) throw new Error(`no good body names a ${member} for ${operationId}`);
  return naming(side);
}

/** Values to filter a list of the side by, found by the member, or by the operation if the member may name several kinds. */
const FILTERS: Readonly<Record<string, (side: Side) => Promise<string>>> = {
  listPrincipals: async (side) => {
    const external_ref = crypto.randomUUID();
    await newPrincipal(side, { external_ref });
    return external_ref;
  },
  listAgents: async (side) => {
    const external_ref = crypto.randomUUID();
    const body = { ...newAgentOf(await newPrincipal(side)), external_ref };
    await must(201, side.world.call("POST", "/v1/agents", { body }));
    return external_ref;
  },
  listCustomers: async ({ world }) => {
    const body = { name: "Client", external_ref: crypto.randomUUID() };
    return (await must(201, world.call("POST", "/v1/customers", { body }))).external_ref;
  },
  customer_id: async (side) => {
    const customer_id = await newCustomer(side);
    await newPrincipal(side, { customer_id });
    return customer_id;
  },
  principal_id: async (side) => (await newConsumer(side)).principalId,
  subject_id: async (side) => (await newConsumer(side)).did,
  subject: async (side) => (await newConsumer(side)).did,
  did: async (side) => (await newPurchase(side)).consumer.did,
  from: newestEntry,
  to: newestEntry,
  event_id: async (side) => (await newDelivery(side, await webhookOf(side))).event_id,
};

/** The path of a list of the side that a query filters. */
export const listOf = async (side: Side, route: Route): Promise<string> =>
  pathOf(route, side, route.path.includes("{webhook_id}") ? { webhook_id: await webhookOf(side) } : {});

export function filterOf(side: Side, { operationId }: Route, member: string): Promise<string> {
  const object = FILTERS[member] ?? FILTERS[operationId];
  if (!object) throw new Error(`nobody makes what ${operationId} is filtered by: ${member}`);
  return onceFor(side, `filter ${member in FILTERS ? member : operationId}`, object);
}

/** The ids of objects of every kind that a platform reads. */
export async function idsOf(side: Side): Promise<string[]> {
  const { did, principalId } = await newConsumer(side);
  const others = [await newCustomer(side), await newDocument(side), await newWebhook(side)];
  return [did, principalId, ...others, side.world.platformId];
}

const PREFIXES = {
  principal_id: "prn",
  customer_id: "cus",
  from: "act",
  to: "act",
  document_id: "doc",
  session_id: "ses",
  intent_id: "pin",
  task_id: "tsk",
  dispute_id: "dsp",
  transaction_id: "fac",
  facilitation_id: "fac",
  platform_id: "plt",
  verifier_id: "ver",
  attestation_id: "att",
  alert_id: "alt",
  event_id: "evt",
  since: "evt",
  webhook_id: "whe",
  delivery_id: "dlv",
} as const;

/** A well-formed id without an object. */
export const nowhere = (member: string): string =>
  member in PREFIXES
    ? createId(PREFIXES[member as keyof typeof PREFIXES], Date.now())
    : `did:aeap:${crypto.randomUUID()}`;

// ---- Requests --------------------------------------------------------------------------------------------------------------

/** Good bodies where the recorded one does not fit, because it is for the sandbox or for another day. */
const BODIES: Readonly<Record<string, (side: Side) => unknown>> = {
  authorizeMarkets: ({ network }) => ({
    markets: [{ market: "GLOBAL-USDC", network, operational_wallet: account(8) }],
  }),
  recordAttestation: ({ verifierId }) => attestationBy(verifierId),
  transferAgent: ({ world }) => ({ principal_id: world.tenantPrincipalId }),
  promoteAgent: () => ({ environment: "production" }),
  respondToDispute: () => ({ message: "It was delivered." }),
  resolveDispute: () => ({ resolution: "rejected", reason: "So it is." }),
  // It continues to select no event.
  patchWebhook: () => ({ description: "The ledger." }),
  replayEvents: () => ({ since: new Date(Date.now() - 1_000).toISOString() }),
};
const QUERIES: Readonly<Record<string, (side: Side) => string>> = {
  removeAuthorizedMarket: ({ network }) => `?network=${network}`,
};

/** The body that the documents show, or a better one. */
export function goodBody(side: Side, { operationId, body }: Route): unknown {
  if (!body) return undefined;
  const recorded = (examples as Record<string, { request?: unknown }>)[operationId]?.request;
  const good = BODIES[operationId]?.(side) ?? recorded;
  if (good === undefined) throw new Error(`no good body is known for ${operationId}`);
  return good;
}

export const pathOf = ({ path, operationId }: Route, side: Side, ids: Ids): string =>
  path.replace(/\{(\w+)\}/g, (_all: string, name: string) => ids[name] ?? "") + (QUERIES[operationId]?.(side) ?? "");

/** The forms of a request: the good one first, then those with a fault that a schema finds. */
export type Form = readonly [name: string, suffix: string, options: CallOptions];
const CURSOR = encodeCursor("elsewhere", { at: 0, id: "x" });

export function formsOf(route: Route, side: Side): readonly [good: Form, faulty: Form, ...Form[]] {
  const body = goodBody(side, route);
  const good = body === undefined ? {} : { body };
  const pages = route.query && "cursor" in route.query.shape;
  return [
    ["as it should be", "", good],
    ["with an unknown parameter", "nonsense=1", good],
    ...(pages ? ([["with a cursor of another list", `cursor=${CURSOR}`, good]] as const) : []),
    ...(route.method === "get"
      ? []
      : ([
          ["with a faulty body", "", { body: { nonsense: true } }],
          ["with an unreadable body", "", { rawBody: "{" }],
        ] as const)),
  ];
}

const joined = (path: string, suffix: string): string =>
  suffix === "" ? path : `${path}${path.includes("?") ? "&" : "?"}${suffix}`;

export const ask = (caller: Caller, route: Route, path: string, [, suffix, options]: Form): Promise<Reply> =>
  caller.ask(route.method.toUpperCase(), joined(path, suffix), options);

// ---- Answers and writes ----------------------------------------------------------------------------------------------------

/** Headers that differ from call to call, whatever is requested. */
const OWN_HEADERS = ["request-id", "ratelimit"];

/** All of an answer except the request's id and the rest of the quota. */
export function told({ status, headers, text }: Reply): string {
  const shown = [...headers].filter(([name]) => !OWN_HEADERS.includes(name));
  return JSON.stringify([status, shown, text.replace(/"request_id":"req_\w+"/, "")]);
}

/** How many messages and mails were sent. */
const sentSoFar = (): string => opened.map(({ sent, mails }) => `${sent.length} ${mails.length}`).join();
const textOf = (snapshot: Snapshot): string =>
  JSON.stringify([...snapshot].filter(([name]) => !FOLLOWING.has(name)).map(([name, rows]) => [name, [...rows]]));

/** Returns a check that no row has been written and nothing sent since. All waiting events are delivered first. */
export async function watchRows(side: Side): Promise<() => Promise<boolean>> {
  await deliverEvents(side.world);
  const [sent, before] = [sentSoFar(), await takeSnapshot()];
  return async () => {
    const after = await takeSnapshot();
    // An identical object means that SQLite has counted no change since.
    return sentSoFar() === sent && (after === before || textOf(after) === textOf(before));
  };
}
