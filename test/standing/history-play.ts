// Plays the steps of a history in the service and in the model (history-model.ts), and compares what both say.
import { expect } from "vitest";
import { HOUR_MS, MINUTE_MS } from "../../src/core/limits.ts";
import { importPrivateKeyPem } from "../../src/protocol/ecdsa.ts";
import { finishCascades } from "../../src/standing/cascades.ts";
import { endAttestations } from "../../src/standing/expire.ts";
import { finishRestatements } from "../../src/standing/restate-agents.ts";
import { buyer, grantMarket, openIntent, seller } from "../payments/support.ts";
import {
  agentBody,
  type Agent as Credentials,
  createWorld,
  expectStatus,
  type Json,
  principalBody,
  type Reply,
  type World,
} from "../support/world.ts";
import { operator, outcome } from "./account-support.ts";
import {
  type Agent,
  type Attestation,
  type Customer,
  INVALID,
  Model,
  type Outcome,
  type Principal,
  type Role,
} from "./history-model.ts";
import { revokeAs } from "./revocation-support.ts";

/** Attestations end in the middle between two instants that a history reaches, so that the time that its calls take decides nothing. */
const TICK_MS = 10 * MINUTE_MS;
const LENGTHS_MS = [TICK_MS, 6 * TICK_MS, 24 * HOUR_MS, 300 * 24 * HOUR_MS];
const ADVANCES_MS = [TICK_MS, 3 * TICK_MS, 7 * TICK_MS, 25 * HOUR_MS];
const VERIFIER = "acme-verification";

/** One step: what is done, and numbers that choose with what. */
export type Step = { readonly act: Act; readonly a: number; readonly b: number };

const pick = <T>(from: readonly T[], n: number): T | undefined => from[n % Math.max(1, from.length)];

export class Play {
  readonly model: Model;
  readonly #credentials = new Map<string, Credentials>();

  readonly world: World;
  // The other sides of the intents; nothing happens to them.
  readonly shop: Credentials;
  readonly client: Credentials;

  private constructor(world: World, shop: Credentials, client: Credentials) {
    [this.world, this.shop, this.client] = [world, shop, client];
    this.model = new Model(world.now());
  }

  static async begin(): Promise<Play> {
    const world = await createWorld();
    return new Play(world, await seller(world), await buyer(world));
  }

  /** Returns what the service and the model have answered. */
  async step({ act, a, b }: Step): Promise<readonly [answered: Outcome, expected: Outcome] | null> {
    return ACTS[act](this, a, b);
  }

  call(method: string, path: string, body?: unknown): Promise<Reply> {
    return this.world.call(method, path, body === undefined ? {} : { body });
  }

  draw(length: number): Attestation {
    const end = this.model.now + (pick(LENGTHS_MS, length) ?? TICK_MS) + TICK_MS / 2;
    return { id: `att_${crypto.randomUUID()}`, end, revoked: false };
  }

  /** The attestation on the wire. */
  given({ id, end }: Attestation): Json {
    return {
      attestation_id: id,
      verifier_id: VERIFIER,
      model: "kyb",
      issued_at: new Date(this.model.now - HOUR_MS).toISOString(),
      expires_at: new Date(end).toISOString(),
    };
  }

  async registerPrincipal(customer: Customer | null, attestation: Attestation): Promise<readonly [Outcome, Outcome]> {
    const body = principalBody({
      verification_attestation: this.given(attestation),
      ...(customer && { customer_id: customer.id }),
    });
    const reply = await this.call("POST", "/v1/principals", body);
    const expected: Outcome = customer?.suspended ? INVALID : [201];
    if (reply.status === 201) {
      const id = reply.body.principal_id;
      this.model.principals.push({ id, customer, stops: new Set(), attestation, earlier: [], closed: false });
    }
    return [answer(reply), expected];
  }

  async registerAgent(principal: Principal, role: Role): Promise<readonly [Outcome, Outcome]> {
    const reply = await this.call("POST", "/v1/agents", { ...agentBody(role), principal_id: principal.id });
    const expected: Outcome = this.model.stands(principal) ? [201] : INVALID;
    if (reply.status === 201) {
      const { did } = reply.body;
      this.model.agents.push({ did, role, principal, own: "DRAFT", reason: null });
      if (role === "PROVIDER") await grantMarket(this.world, did);
    }
    return [answer(reply), expected];
  }

  async activate(agent: Agent): Promise<readonly [Outcome, Outcome]> {
    const reply = await this.call("POST", `/v1/agents/${agent.did}/activate`);
    if (reply.status === 200) {
      const { private_key: pem, certificate } = reply.body;
      const privateKey = await importPrivateKeyPem(pem);
      const { did, principal } = agent;
      this.#credentials.set(did, { did, privateKey, pem, certificate, principalId: principal.id });
    }
    return [answer(reply), this.model.activate(agent)];
  }

  // ---- What is compared ----------------------------------------------------------------------------------------------------

  /** Every surface of one principal and one agent, and all lists. */
  async compare(n: number): Promise<void> {
    await this.#compareLists();
    const principal = pick(this.model.principals, n);
    if (principal) await this.#comparePrincipal(principal);
    const agent = pick(this.model.agents, n);
    if (agent) await this.#compareAgent(agent);
    const customer = pick(this.#customers(), n);
    if (customer) await this.#compareCustomer(customer);
  }

  #customers(): Customer[] {
    return this.model.customers.filter(({ deleted }) => !deleted);
  }

  /** Each under its one status and under no other. */
  async #compareLists(): Promise<void> {
    const principals = Object.fromEntries(
      this.model.principals.map((principal) => [principal.id, this.model.principalState(principal)]),
    );
    const states = ["ACTIVE", "ATTESTATION_EXPIRED", "SUSPENDED", "CLOSED"];
    expect(await this.#listed("principals", "principal_id", states)).toEqual(principals);
    // Of the two that stand beside the history, only the running ones are seen.
    const agents = Object.fromEntries(this.model.agents.map((agent) => [agent.did, this.model.agentState(agent)]));
    const listed = await this.#listed("agents", "did", ["DRAFT", "ACTIVE", "SUSPENDED", "REVOKED", "TERMINATED"]);
    expect(listed).toEqual({ ...agents, [this.shop.did]: "ACTIVE", [this.client.did]: "ACTIVE" });
  }

  async #listed(kind: string, id: string, states: readonly string[]): Promise<Record<string, string>> {
    const found: Record<string, string> = {};
    for (const status of states) {
      const { data } = await this.#ok(`/v1/${kind}?status=${status}&limit=100`);
      for (const one of data) {
        // The principals of the two that stand beside the history are in no history.
        if (kind === "principals" && this.#isBeside(one.principal_id)) continue;
        expect([one[id], found[one[id]], one.status]).toEqual([one[id], undefined, status]);
        found[one[id]] = status;
      }
    }
    return found;
  }

  #isBeside(principalId: string): boolean {
    return principalId === this.shop.principalId || principalId === this.client.principalId;
  }

  async #comparePrincipal(principal: Principal): Promise<void> {
    const { status } = await this.#ok(`/v1/principals/${principal.id}`);
    expect([principal.id, status]).toEqual([principal.id, this.model.principalState(principal)]);
  }

  async #compareCustomer(customer: Customer): Promise<void> {
    const { status, principal_count } = await this.#ok(`/v1/customers/${customer.id}`);
    expect([customer.id, status, principal_count]).toEqual([
      customer.id,
      customer.suspended ? "SUSPENDED" : "ACTIVE",
      this.model.membersOf(customer).length,
    ]);
  }

  async #compareAgent(agent: Agent): Promise<void> {
    const state = this.model.agentState(agent);
    const { status } = await this.#ok(`/v1/agents/${agent.did}`);
    const publicly = await this.#ok(`/v1/agents/${agent.did}/status`, null);
    expect([agent.did, status, publicly.status, publicly.principal_status]).toEqual([
      agent.did,
      state,
      state,
      this.model.principalState(agent.principal),
    ]);
    const credentials = this.#credentials.get(agent.did);
    if (!credentials) return;
    expect([agent.did, state, await this.#trades(agent, credentials)]).toEqual([
      agent.did,
      state,
      tradingOf(agent.role, state),
    ]);
  }

  /** What an intent of it, or with it, is answered. */
  async #trades({ did, role }: Agent, held: Credentials): Promise<Outcome> {
    if (role === "PROVIDER") return answer(await openIntent(this.world, this.client, held, "1.00"));
    const { status, body } = await this.world.call("GET", `/v1/agents/${did}/certificate`, { key: null });
    const certificate = status === 200 ? body.certificate : held.certificate;
    return answer(await openIntent(this.world, { ...held, certificate }, this.shop, "1.00"));
  }

  async #ok(path: string, key: string | null = this.world.key): Promise<Json> {
    return expectStatus(await this.world.call("GET", path, { key }), 200);
  }
}

const answer = (reply: Reply): Outcome => {
  const [status, code] = outcome(reply);
  return code === undefined ? [status] : [status, code];
};

function tradingOf(role: Role, state: string): Outcome {
  if (state === "ACTIVE") return [201];
  const ended = state === "REVOKED" || state === "TERMINATED";
  return role === "CONSUMER" && ended ? [401, "aeap_verification_failed"] : [409, "agent_not_active"];
}

// ---- The acts --------------------------------------------------------------------------------------------------------------

type Played = Promise<readonly [Outcome, Outcome] | null>;

const ofPrincipal =
  (act: (play: Play, principal: Principal, b: number) => Played) =>
  async (play: Play, a: number, b: number): Played => {
    const principal = pick(play.model.principals, a);
    return principal ? act(play, principal, b) : null;
  };
const ofCustomer =
  (act: (play: Play, customer: Customer) => Played) =>
  async (play: Play, a: number): Played => {
    const customer = pick(
      play.model.customers.filter(({ deleted }) => !deleted),
      a,
    );
    return customer ? act(play, customer) : null;
  };
const ofAgent =
  (act: (play: Play, agent: Agent) => Played) =>
  async (play: Play, a: number): Played => {
    const agent = pick(play.model.agents, a);
    return agent ? act(play, agent) : null;
  };

const standing = (verb: "suspend" | "reactivate" | "close") =>
  ofPrincipal(async (play, principal) => [
    answer(await play.call("POST", `/v1/principals/${principal.id}/${verb}`)),
    play.model[verb](principal),
  ]);
const becoming = (status: string, move: "suspendAgent" | "returnAgent" | "terminate") =>
  ofAgent(async (play, agent) => [
    answer(await play.call("PATCH", `/v1/agents/${agent.did}/status`, { status })),
    play.model[move](agent),
  ]);

const ACTS = {
  customer: async (play: Play): Played => {
    const reply = await play.call("POST", "/v1/customers", { name: "Client" });
    play.model.customers.push({ id: expectStatus(reply, 201).customer_id, suspended: false, deleted: false });
    return null;
  },
  principal: async (play: Play, a: number, b: number): Played => {
    const customers = play.model.customers.filter(({ deleted }) => !deleted);
    // Now and then under an attestation that backs another one already.
    const shared = a % 4 === 0 ? pick(play.model.principals, b)?.attestation : undefined;
    const usable = shared && !shared.revoked && shared.end > play.model.now;
    return play.registerPrincipal(a % 3 === 0 ? (pick(customers, b) ?? null) : null, usable ? shared : play.draw(b));
  },
  agent: ofPrincipal((play, principal, b) => play.registerAgent(principal, b % 2 === 0 ? "CONSUMER" : "PROVIDER")),
  activate: ofAgent((play, agent) => play.activate(agent)),
  suspendAgent: becoming("SUSPENDED", "suspendAgent"),
  returnAgent: becoming("ACTIVE", "returnAgent"),
  terminate: becoming("TERMINATED", "terminate"),
  suspend: standing("suspend"),
  reactivate: standing("reactivate"),
  close: standing("close"),
  group: ofPrincipal(async (play, principal, b) => {
    const customers = play.model.customers.filter(({ deleted }) => !deleted);
    const customer = b % 3 === 0 ? null : (pick(customers, b) ?? null);
    const body = { customer_id: customer?.id ?? null };
    return [
      answer(await play.call("PATCH", `/v1/principals/${principal.id}`, body)),
      play.model.group(principal, customer),
    ];
  }),
  suspendCustomer: ofCustomer(async (play, customer) => [
    answer(await play.call("POST", `/v1/customers/${customer.id}/suspend`)),
    play.model.suspendCustomer(customer),
  ]),
  reactivateCustomer: ofCustomer(async (play, customer) => [
    answer(await play.call("POST", `/v1/customers/${customer.id}/reactivate`)),
    play.model.reactivateCustomer(customer),
  ]),
  deleteCustomer: ofCustomer(async (play, customer) => [
    answer(await play.call("DELETE", `/v1/customers/${customer.id}`)),
    play.model.deleteCustomer(customer),
  ]),
  attest: ofPrincipal(async (play, principal, b) => {
    const attestation = play.draw(b);
    const returning = b % 2 === 0;
    const body = { ...play.given(attestation), reactivate_agents: returning };
    const reply = await play.call("POST", `/v1/principals/${principal.id}/attestations`, body);
    return [answer(reply), play.model.attest(principal, attestation, returning)];
  }),
  revoke: ofPrincipal(async (play, principal, b) => {
    const attestation = (b % 4 === 0 && pick(principal.earlier, b)) || principal.attestation;
    const reply = await revokeAs(play.world, attestation.id, operator(), { verifier_id: VERIFIER });
    return [answer(reply), play.model.revoke(attestation)];
  }),
  wait: async (play: Play, a: number): Played => {
    const by = pick(ADVANCES_MS, a) ?? TICK_MS;
    play.world.advance(by);
    play.model.now += by;
    return null;
  },
  jobs: async (play: Play): Played => {
    for (const job of [endAttestations, finishCascades, finishRestatements]) await play.world.run(job);
    play.model.runJobs();
    return null;
  },
} as const;
export type Act = keyof typeof ACTS;
export const ACT_NAMES = Object.keys(ACTS) as Act[];
