// Plays the steps of a history in the service and in the model (history-model.ts). history-surfaces.ts compares what they show.

import { finishCascades } from "../../src/cascades/cascades.ts";
import { endAttestations } from "../../src/cascades/expire.ts";
import { finishRestatements } from "../../src/cascades/restate-agents.ts";
import { HOUR_MS, MINUTE_MS } from "../../src/core/limits.ts";
import { importPrivateKeyPem } from "../../src/protocol/ecdsa.ts";
import { buyer, grantMarket, seller } from "../payments/support.ts";
import {
  agentBody,
  type Agent as Credentials,
  createWorld,
  type Json,
  principalBody,
  type Reply,
  type World,
} from "../support/world.ts";
import * as account from "./account-support.ts";
import {
  ACCOUNT_SUSPENDED,
  type Agent,
  type Attestation,
  type Customer,
  INVALID,
  Model,
  type Outcome,
  type Principal,
  type Role,
} from "./history-model.ts";
import { answer, type Beside, type Played, pick } from "./history-surfaces.ts";
import { revokeAs } from "./revocation-support.ts";

/** Attestations end midway between two instants that a history reaches, so that the duration of its calls makes no difference. */
const TICK_MS = 10 * MINUTE_MS;
const LENGTHS_MS = [TICK_MS, 6 * TICK_MS, 24 * HOUR_MS, 300 * 24 * HOUR_MS];
const ADVANCES_MS = [TICK_MS, 3 * TICK_MS, 7 * TICK_MS, 25 * HOUR_MS];
const VERIFIER = "acme-verification";

/** One step: an act, and numbers that choose its subjects. */
export type Step = { readonly act: Act; readonly a: number; readonly b: number };

let beside: Promise<Beside> | undefined;
const createBeside = async (): Promise<Beside> => {
  const world = await createWorld();
  return { shop: await seller(world), client: await buyer(world) };
};

export class Play implements Played {
  readonly model: Model;
  readonly world: World;
  readonly beside: Beside;
  readonly credentials = new Map<string, Credentials>();

  private constructor(world: World, others: Beside) {
    this.world = world;
    this.beside = others;
    this.model = new Model(world.now());
  }

  /** All histories trade with the same two agents. */
  static async begin(): Promise<Play> {
    beside ??= createBeside();
    return new Play(await createWorld(), await beside);
  }

  /** Returns the answers of the service and of the model. */
  async step({ act, a, b }: Step): Promise<readonly [answered: Outcome, expected: Outcome] | null> {
    // A suspension of the account ends soon, because it makes most steps of a history fail.
    const ends = this.model.accountSuspended && b % 4 === 0;
    return ACTS[ends ? "reinstateAccount" : act](this, a, b);
  }

  /** The expected answer to a call of the platform: a suspended account is refused, and nothing changes. */
  own(moved: () => Outcome): Outcome {
    return this.model.accountSuspended ? ACCOUNT_SUSPENDED : moved();
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
    const expected = this.own(() => (customer?.suspended ? INVALID : [201]));
    if (reply.status === 201) {
      const id = reply.body.principal_id;
      this.model.principals.push({ id, customer, stops: new Set(), attestation, earlier: [], closed: false });
    }
    return [answer(reply), expected];
  }

  async registerAgent(principal: Principal, role: Role): Promise<readonly [Outcome, Outcome]> {
    const reply = await this.call("POST", "/v1/agents", { ...agentBody(role), principal_id: principal.id });
    const expected = this.own(() => (this.model.stands(principal) ? [201] : INVALID));
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
      this.credentials.set(did, { did, privateKey, pem, certificate, principalId: principal.id });
    }
    return [answer(reply), this.own(() => this.model.activate(agent))];
  }
}

// ---- Acts -----------------------------------------------------------------------------------------------------------------

type Answered = Promise<readonly [Outcome, Outcome] | null>;

const ofPrincipal =
  (act: (play: Play, principal: Principal, b: number) => Answered) =>
  async (play: Play, a: number, b: number): Answered => {
    const principal = pick(play.model.principals, a);
    return principal ? act(play, principal, b) : null;
  };
const ofCustomer =
  (act: (play: Play, customer: Customer, b: number) => Answered) =>
  async (play: Play, a: number, b: number): Answered => {
    const customer = pick(play.model.clients(), a);
    return customer ? act(play, customer, b) : null;
  };
const ofAgent =
  (act: (play: Play, agent: Agent) => Answered) =>
  async (play: Play, a: number): Answered => {
    const agent = pick(play.model.agents, a);
    return agent ? act(play, agent) : null;
  };

const standing = (verb: "suspend" | "close") =>
  ofPrincipal(async (play, principal) => [
    answer(await play.call("POST", `/v1/principals/${principal.id}/${verb}`)),
    play.own(() => play.model[verb](principal)),
  ]);
const becoming = (status: string, move: "suspendAgent" | "returnAgent" | "terminate") =>
  ofAgent(async (play, agent) => [
    answer(await play.call("PATCH", `/v1/agents/${agent.did}/status`, { status })),
    play.own(() => play.model[move](agent)),
  ]);

const ACTS = {
  customer: async (play: Play): Answered => {
    const reply = await play.call("POST", "/v1/customers", { name: "Client" });
    if (reply.status === 201) {
      play.model.customers.push({ id: reply.body.customer_id, suspended: false, deleted: false });
    }
    return [answer(reply), play.own(() => [201])];
  },
  principal: async (play: Play, a: number, b: number): Answered => {
    const customers = play.model.clients();
    // Sometimes under an attestation that already backs another principal.
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
  reactivate: ofPrincipal(async (play, principal, b) => {
    const returning = b % 2 === 0;
    const reply = await play.call("POST", `/v1/principals/${principal.id}/reactivate`, {
      reactivate_agents: returning,
    });
    return [answer(reply), play.own(() => play.model.reactivate(principal, returning))];
  }),
  close: standing("close"),
  group: ofPrincipal(async (play, principal, b) => {
    const customers = play.model.clients();
    const customer = b % 3 === 0 ? null : (pick(customers, b) ?? null);
    const body = { customer_id: customer?.id ?? null };
    return [
      answer(await play.call("PATCH", `/v1/principals/${principal.id}`, body)),
      play.own(() => play.model.group(principal, customer)),
    ];
  }),
  suspendCustomer: ofCustomer(async (play, customer) => [
    answer(await play.call("POST", `/v1/customers/${customer.id}/suspend`)),
    play.own(() => play.model.suspendCustomer(customer)),
  ]),
  reactivateCustomer: ofCustomer(async (play, customer, b) => {
    const returning = b % 2 === 0;
    const reply = await play.call("POST", `/v1/customers/${customer.id}/reactivate`, { reactivate_agents: returning });
    return [answer(reply), play.own(() => play.model.reactivateCustomer(customer, returning))];
  }),
  deleteCustomer: ofCustomer(async (play, customer) => [
    answer(await play.call("DELETE", `/v1/customers/${customer.id}`)),
    play.own(() => play.model.deleteCustomer(customer)),
  ]),
  attest: ofPrincipal(async (play, principal, b) => {
    // Sometimes an attestation that another principal has, or this one itself.
    const known = pick(play.model.principals, b)?.attestation;
    const attestation = b % 4 === 3 && known && known.end > play.model.now ? known : play.draw(b);
    const returning = b % 2 === 0;
    const body = { ...play.given(attestation), reactivate_agents: returning };
    const reply = await play.call("POST", `/v1/principals/${principal.id}/attestations`, body);
    return [answer(reply), play.own(() => play.model.attest(principal, attestation, returning))];
  }),
  revoke: ofPrincipal(async (play, principal, b) => {
    const attestation = (b % 4 === 0 && pick(principal.earlier, b)) || principal.attestation;
    const reply = await revokeAs(play.world, attestation.id, account.operator(), { verifier_id: VERIFIER });
    return [answer(reply), play.model.revoke(attestation)];
  }),
  suspendAccount: async (play: Play): Answered => [
    answer(await account.suspend(play.world)),
    play.model.suspendAccount(),
  ],
  reinstateAccount: async (play: Play): Answered => [
    answer(await account.reinstate(play.world)),
    play.model.reinstateAccount(),
  ],
  wait: async (play: Play, a: number): Answered => {
    const by = pick(ADVANCES_MS, a) ?? TICK_MS;
    play.world.advance(by);
    play.model.now += by;
    return null;
  },
  jobs: async (play: Play): Answered => {
    for (const job of [endAttestations, finishCascades, finishRestatements]) await play.world.run(job);
    play.model.runJobs();
    return null;
  },
} as const;
export type Act = keyof typeof ACTS;
export const ACT_NAMES = Object.keys(ACTS) as Act[];
