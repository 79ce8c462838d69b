// The surfaces of a history: the answers and lists for its platform, the public status, and intents of its agents with those of another platform.
// Each agrees with the model.
import { expect } from "vitest";
import { openIntent } from "../payments/support.ts";
import { type Agent as Credentials, expectStatus, type Json, type Reply, type World } from "../support/world.ts";
import { outcome } from "./account-support.ts";
import {
  ACCOUNT_SUSPENDED,
  type Agent,
  type Customer,
  type Model,
  type Outcome,
  type Principal,
} from "./history-model.ts";

/** Agents of another platform, which no step affects. */
export type Beside = { readonly shop: Credentials; readonly client: Credentials };

export type Played = {
  readonly world: World;
  readonly model: Model;
  readonly beside: Beside;
  /** By DID, for the agents that were activated. */
  readonly credentials: ReadonlyMap<string, Credentials>;
};

export const pick = <T>(from: readonly T[], n: number): T | undefined => from[n % Math.max(1, from.length)];

export const answer = (reply: Reply): Outcome => {
  const [status, code] = outcome(reply);
  return code === undefined ? [status] : [status, code];
};

const PRINCIPAL_STATES = ["ACTIVE", "ATTESTATION_EXPIRED", "SUSPENDED", "CLOSED"];
const AGENT_STATES = ["DRAFT", "ACTIVE", "SUSPENDED", "REVOKED", "TERMINATED"];
const CUSTOMER_STATES = ["ACTIVE", "SUSPENDED"];

/** Compares all lists, and every surface of one principal, one agent and one customer. */
export async function compareSome(played: Played, n: number): Promise<void> {
  const { principals, agents } = played.model;
  const one = <T>(from: readonly T[]): T[] => [pick(from, n)].filter((found) => found !== undefined);
  await compareLists(played);
  await compareEach(played, one(principals), one(agents), one(played.model.clients()), n);
}

export async function compareAll(played: Played): Promise<void> {
  const { principals, agents } = played.model;
  await compareLists(played);
  await compareEach(played, principals, agents, played.model.clients(), principals.length);
}

async function compareEach(
  played: Played,
  principals: readonly Principal[],
  agents: readonly Agent[],
  customers: readonly Customer[],
  n: number,
): Promise<void> {
  if (!played.model.accountSuspended) {
    for (const principal of principals) await comparePrincipal(played, principal, n);
    for (const agent of agents) await compareManaged(played, agent);
    for (const customer of customers) await compareCustomer(played, customer, n);
  }
  for (const agent of agents) await comparePublic(played, agent);
}

const ok = async ({ world }: Played, path: string, key: string | null = world.key): Promise<Json> =>
  expectStatus(await world.call("GET", path, { key }), 200);

// ---- Lists -----------------------------------------------------------------------------------------------------------------

type Shown = Record<string, readonly [status: string, reason?: string | null]>;

const principalsShown = ({ model }: Played, of: readonly Principal[]): Shown =>
  Object.fromEntries(of.map((one) => [one.id, [model.principalState(one), model.statusReason(one)]]));
const agentsShown = ({ model }: Played, of: readonly Agent[]): Shown =>
  Object.fromEntries(of.map((one) => [one.did, [model.agentState(one), model.suspensionReason(one)]]));
const customersShown = (of: readonly Customer[]): Shown =>
  Object.fromEntries(of.map((one) => [one.id, [one.suspended ? "SUSPENDED" : "ACTIVE"]]));

const ofPrincipal = (one: Json) => [one.principal_id, [one.status, one.status_reason]] as const;
const ofAgent = (one: Json) => [one.did, [one.status, one.suspension_reason]] as const;
const ofCustomer = (one: Json) => [one.customer_id, [one.status]] as const;
type Reading = (one: Json) => readonly [id: string, shown: readonly [string, (string | null)?]];

/** Each row is listed under its own status and under no other. */
async function compareLists(played: Played): Promise<void> {
  const { world, model } = played;
  if (model.accountSuspended) {
    expect(answer(await world.call("GET", "/v1/agents"))).toEqual(ACCOUNT_SUSPENDED);
    return;
  }
  const { principals, agents } = model;
  expect(await listed(played, "principals", ofPrincipal, PRINCIPAL_STATES)).toEqual(
    principalsShown(played, principals),
  );
  expect(await listed(played, "agents", ofAgent, AGENT_STATES)).toEqual(agentsShown(played, agents));
  expect(await listed(played, "customers", ofCustomer, CUSTOMER_STATES)).toEqual(customersShown(model.clients()));
}

async function listed(played: Played, kind: string, read: Reading, states: readonly string[]): Promise<Shown> {
  const found: Shown = {};
  for (const state of states) Object.assign(found, await page(played, `${kind}?status=${state}`, read, state, found));
  return found;
}

/** Reads a list, and checks that it holds each row once and no row of an earlier list. */
async function page(played: Played, list: string, read: Reading, state?: string, earlier: Shown = {}): Promise<Shown> {
  const { data } = await ok(played, `/v1/${list}&limit=100`);
  const rows: ReturnType<Reading>[] = data.map(read);
  const found: Shown = Object.fromEntries(rows);
  expect([list, Object.keys(found).length]).toEqual([list, rows.length]);
  expect([list, Object.keys(found).filter((id) => id in earlier)]).toEqual([list, []]);
  if (state) expect([list, rows.filter(([, [status]]) => status !== state)]).toEqual([list, []]);
  return found;
}

// ---- One row -----------------------------------------------------------------------------------------------------------------

async function comparePrincipal(played: Played, principal: Principal, n: number): Promise<void> {
  const { id, customer } = principal;
  const read = await ok(played, `/v1/principals/${id}`);
  expect({ ...Object.fromEntries([ofPrincipal(read)]), of: read.customer_id }).toEqual({
    ...principalsShown(played, [principal]),
    of: customer?.id ?? null,
  });
  const agents = agentsShown(played, played.model.agentsOf(principal));
  expect(await page(played, `agents?principal_id=${id}`, ofAgent)).toEqual(agents);
  await compareWithin(played, `agents?principal_id=${id}`, ofAgent, agents, pick(AGENT_STATES, n));
}

async function compareCustomer(played: Played, customer: Customer, n: number): Promise<void> {
  const members = played.model.membersOf(customer);
  const read = await ok(played, `/v1/customers/${customer.id}`);
  expect({ ...Object.fromEntries([ofCustomer(read)]), count: read.principal_count }).toEqual({
    ...customersShown([customer]),
    count: members.length,
  });
  const grouped = principalsShown(played, members);
  expect(await page(played, `principals?customer_id=${customer.id}`, ofPrincipal)).toEqual(grouped);
  await compareWithin(played, `principals?customer_id=${customer.id}`, ofPrincipal, grouped, pick(PRINCIPAL_STATES, n));
}

/** Compares the rows of a list in one status. The service finds these in another way than those of all lists. */
async function compareWithin(played: Played, list: string, read: Reading, shown: Shown, state = ""): Promise<void> {
  const expected = Object.fromEntries(Object.entries(shown).filter(([, [status]]) => status === state));
  expect(await page(played, `${list}&status=${state}`, read, state)).toEqual(expected);
}

async function compareManaged(played: Played, agent: Agent): Promise<void> {
  const read = await ok(played, `/v1/agents/${agent.did}`);
  expect(Object.fromEntries([ofAgent(read)])).toEqual(agentsShown(played, [agent]));
}

async function comparePublic(played: Played, agent: Agent): Promise<void> {
  const { model, credentials } = played;
  const { did, principal } = agent;
  const state = model.agentState(agent);
  const { status, principal_status } = await ok(played, `/v1/agents/${did}/status`, null);
  expect([did, status, principal_status]).toEqual([did, state, model.principalState(principal)]);
  const held = credentials.get(did);
  if (held) expect([did, state, await trades(played, agent, held)]).toEqual([did, state, tradingOf(agent, model)]);
}

/** The answer to an intent of the agent, or with it. */
async function trades({ world, beside }: Played, { did, role }: Agent, held: Credentials): Promise<Outcome> {
  if (role === "PROVIDER") return answer(await openIntent(world, beside.client, held, "1.00"));
  const { status, body } = await world.call("GET", `/v1/agents/${did}/certificate`, { key: null });
  const certificate = status === 200 ? body.certificate : held.certificate;
  return answer(await openIntent(world, { ...held, certificate }, beside.shop, "1.00"));
}

function tradingOf(agent: Agent, model: Model): Outcome {
  const state = model.agentState(agent);
  if (state === "ACTIVE") return [201];
  if (agent.role === "PROVIDER") return [409, "agent_not_active"];
  if (state === "REVOKED" || state === "TERMINATED") return [401, "aeap_verification_failed"];
  return model.accountSuspended ? ACCOUNT_SUSPENDED : [409, "agent_not_active"];
}
