// Plays the steps of a random history of chains in the service and in the model (delegation-model.ts).

import { measureAhead } from "../../src/core/clock.ts";
import { followers } from "../../src/db/tables/chain.ts";
import { BLOCK_CLOCK_SKEW_MS } from "../../src/intents/states.ts";
import { abandonIntents } from "../../src/payments/abandon.ts";
import { importPrivateKeyPem } from "../../src/protocol/ecdsa.ts";
import { pickRatingMethod } from "../../src/ratings/method.ts";
import { forwardScale } from "../../src/ratings/rating.ts";
import { follow } from "../follower/support.ts";
import { grantMarket, orderOf, setAgent, settle } from "../payments/support.ts";
import { promote } from "../promotion/support.ts";
import { stopped } from "../support/clock.ts";
import { type Agent, createWorld, expectStatus, type Json, type Reply, type World } from "../support/world.ts";
import {
  type Answer,
  type Consumer,
  chainOf,
  DAY,
  type Environment,
  MINUTE,
  Model,
  money,
  type Scope,
  type Seller,
  type Spending,
  unitsOf,
} from "./delegation-model.ts";
import { faultsOf, type Role, registerAgent, registrationOf } from "./support.ts";

/** One step: the act, numbers that choose its subjects, and a change of a scope. */
export type Step = { readonly act: Act; readonly a: number; readonly b: number; readonly change: Partial<Scope> };
/** `met`: the kind of outcome, for the list of outcomes that a run has to meet. */
type Answers = readonly [answered: Answer, expected: Answer, met?: string];

const WIDEST: Scope = {
  authorized_actions: ["purchase", "negotiate", "sign"],
  capabilities: ["a", "b", "c"],
  max_transaction_value: "50",
  spending_limit: { amount: "100", currency: "USDC", window_days: 7 },
  minimum_counterparty_cert_tier: null,
  minimum_counterparty_ar: null,
  intents_from: "anyone",
};
const AMOUNTS = ["0.000001", "1", "2.50", "4.999999", "5", "5.000001", "9.99", "20", "20.000001", "60"];
const WAITS_MS = [MINUTE, 6 * MINUTE, 60 * MINUTE, DAY - 1, DAY];
/** A payment that was mined in time settles its intent up to this long after the intent's end (PAY-14). */
const LATE_MS = DAY;

const pick = <T>(from: readonly T[], n: number): T | undefined => from[n % Math.max(1, from.length)];

/** The two keys of a platform, and its principal in each environment. */
type Side = { readonly key: string; readonly principalId: string };
type Sides = Readonly<Record<Environment, Side>>;
type Shared = { readonly world: World; readonly sides: Sides; readonly sellers: readonly Seller[] };

/** By DID. */
const credentials = new Map<string, Agent>();

async function activate(world: World, { key, principalId }: Side, did: string): Promise<void> {
  const reply = await world.call("POST", `/v1/agents/${did}/activate`, { key });
  const { private_key: pem, certificate } = expectStatus(reply, 200);
  credentials.set(did, { did, pem, certificate, principalId, privateKey: await importPrivateKeyPem(pem) });
}

async function register(world: World, side: Side, role: Role, overrides: Record<string, unknown>): Promise<Reply> {
  const reply = await registerAgent(world, registrationOf(side.principalId, role, overrides), side.key);
  if (reply.status === 201) await activate(world, side, reply.body.did);
  return reply;
}

type Kind = { readonly environment?: Environment; readonly tier?: string; readonly rating?: number };

async function sell(world: World, sides: Sides, delegator: Seller | null, kind: Kind = {}): Promise<Seller> {
  const { environment = "sandbox", tier = "TIER_2", rating = null } = kind;
  const overrides = { cert_tier: tier, delegated_by: delegator?.did ?? null };
  const { did } = expectStatus(await register(world, sides[environment], "PROVIDER", overrides), 201);
  await grantMarket(world, did, "GLOBAL-USDC", "base-sepolia", { environment });
  if (rating !== null) {
    // The history is so heavy that time does not change the rating.
    const weight = 1e9 * forwardScale(pickRatingMethod(world.deps.env, environment), world.now());
    const sums = { ratingWeight: weight, ratingWeighted: rating * weight };
    await setAgent(world, did, { ...sums, ratingInteractions: 99, ratingCounterparties: 99 });
  }
  return { did, delegator, status: "ACTIVE", environment, tier, rating };
}

async function createShared(): Promise<Shared> {
  const world = await createWorld();
  const sides = {
    sandbox: { key: world.key, principalId: await world.principal() },
    production: { key: world.liveKey, principalId: world.tenantPrincipalId },
  };
  await follow(world);
  const sellers = [
    await sell(world, sides, null),
    await sell(world, sides, null, { tier: "TIER_3", rating: 0.6 }),
    await sell(world, sides, null, { environment: "production", tier: "TIER_3", rating: 0.6 }),
  ];
  return { world, sides, sellers };
}
let shared: Promise<Shared> | undefined;

/** Pretends that the network was read to this millisecond, so that unpaid holds are free at their end. */
const readChainTo = ({ deps, now }: World): Promise<unknown> =>
  deps.db.update(followers).set({ readThrough: now() - measureAhead(deps.clock) + BLOCK_CLOCK_SKEW_MS });

export class Chains {
  readonly world: World;
  readonly model: Model;
  readonly sides: Sides;
  readonly sellers: readonly Seller[];
  /** Keyed by the spending in the model. */
  readonly intents = new Map<Spending, string>();

  private constructor(world: World, sides: Sides, sellers: readonly Seller[]) {
    this.world = world;
    this.model = new Model(world.now());
    this.sides = sides;
    this.sellers = sellers;
  }

  /** Each history has its own consumers and its own chain of sellers. */
  static async begin(): Promise<Chains> {
    shared ??= createShared();
    const { world, sides, sellers } = await shared;
    const own = stopped(world);
    await readChainTo(own);
    const top = await sell(own, sides, null);
    const delegate = await sell(own, sides, top);
    const chains = new Chains(own, sides, [...sellers, delegate]);
    const { did } = expectStatus(await register(own, sides.sandbox, "CONSUMER", { scope: WIDEST }), 201);
    chains.model.consumers.push({ did, delegator: null, status: "ACTIVE", environment: "sandbox", scope: WIDEST });
    return chains;
  }

  step(step: Step): Promise<Answers | null> {
    return ACTS[step.act](this, step);
  }

  advance(ms: number): void {
    this.world.advance(ms);
    this.model.now += ms;
  }

  manage({ did, environment }: Consumer | Seller, method: string, path: string, body?: unknown): Promise<Reply> {
    return this.world.call(method, `/v1/agents/${did}${path}`, { key: this.sides[environment].key, body });
  }

  /** Picks an agent that may have delegates. The newest are picked often, so that chains grow long. */
  delegator(n: number): Consumer | undefined {
    const { consumers } = this.model;
    return pick(n % 3 === 0 ? consumers : consumers.slice(-2), n);
  }
}

const ofIntent = ({ status, body }: Reply): Answer =>
  status === 201 ? [201] : status === 401 ? [401, body.code] : [status, body.code, body.detail];
const ofManagement = (reply: Reply): Answer => {
  const { status, body } = reply;
  if (status < 300) return [status];
  return status === 422 ? [status, body.code, faultsOf(reply)] : [status, body.code];
};

type Play = (chains: Chains, step: Step) => Promise<Answers | null>;

const ofConsumer =
  (act: (chains: Chains, agent: Consumer, step: Step) => Promise<readonly [Reply, () => Answer]>): Play =>
  async (chains, step) => {
    const agent = pick(chains.model.consumers, step.a);
    if (!agent) return null;
    const [reply, expected] = await act(chains, agent, step);
    return [ofManagement(reply), expected()];
  };

const setStatus = (chains: Chains, agent: Consumer | Seller, status: string): Promise<Reply> =>
  chains.manage(agent, "PATCH", "/status", { status });

/** Half of the amounts are all that is left, to the last unit, and half of those are one unit more. */
function amountOf({ model }: Chains, consumer: Consumer, b: number): bigint {
  const room = b % 2 === 0 ? model.room(consumer) : null;
  if (room === null) return unitsOf(pick(AMOUNTS, b >> 1) ?? "1");
  const more = b % 4 === 0 ? 1n : 0n;
  return room + more > 0n ? room + more : 1n;
}

async function openIntent(chains: Chains, { a, b }: Step): Promise<Answers | null> {
  const { model, world } = chains;
  // Consumers whose whole chain runs are picked often: otherwise most are stopped by an agent above them.
  const consumer = pick(a % 3 === 0 ? model.consumers : model.running(), a);
  const seller = pick(
    chains.sellers.filter(({ environment }) => environment === consumer?.environment),
    b,
  );
  const other = pick(chains.sellers, b);
  const by = a % 4 === 0 ? ("seller" as const) : ("consumer" as const);
  // Now and then the seller is in the other environment.
  const chosen = b % 16 === 15 ? other : seller;
  if (!consumer || !chosen) return null;
  const units = amountOf(chains, consumer, b);
  const caller = credentials.get((by === "consumer" ? consumer : chosen).did);
  if (!caller) throw new Error("no credentials");
  const body = orderOf(consumer, chosen, { amount: money(units) });
  const reply = await world.as(caller, "POST", "/v1/payment-intents", body);
  const expected = model.open({ consumer, seller: chosen, by, units });
  const spending = model.spendings.at(-1);
  if (reply.status === 201 && expected[0] === 201 && spending) chains.intents.set(spending, reply.body.intent_id);
  return [ofIntent(reply), expected, metBy(expected, consumer, chosen)];
}

/** The check that refused, or the agent that was stopped, and how far above the consumer it is. */
function metBy([status, code, told]: Answer, consumer: Consumer, seller: Seller): string {
  const { failed_check: check, did, delegator, environment }: Json = told ?? {};
  const named = chainOf(consumer).findIndex((one) => one.did === (delegator ?? did ?? consumer.did));
  const above = named < 0 ? `seller ${chainOf(seller).findIndex((one) => one.did === did)}` : `${named}`;
  return [check ?? code ?? status, environment, above].filter((part) => part !== undefined).join(" ");
}

const ACTS = {
  delegate: async (chains, { a, change }) => {
    const { model, world, sides } = chains;
    const delegator = chains.delegator(a);
    if (!delegator) return null;
    const scope = { ...delegator.scope, ...change };
    const { environment } = delegator;
    const reply = await register(world, sides[environment], "CONSUMER", { scope, delegated_by: delegator.did });
    const expected = model.register(delegator, scope);
    if (reply.status === 201) {
      model.consumers.push({ did: reply.body.did, delegator, status: "ACTIVE", environment, scope });
    }
    return [ofManagement(reply), expected, `delegate ${expected[0]} depth ${chainOf(delegator).length}`];
  },
  patch: ofConsumer(async (chains, agent, { change }) => [
    await chains.manage(agent, "PATCH", "/scope", change),
    () => chains.model.patch(agent, change),
  ]),
  suspend: ofConsumer(async (chains, agent) => [
    await setStatus(chains, agent, "SUSPENDED"),
    () => chains.model.suspend(agent),
  ]),
  reinstate: async (chains, { a, b }) => {
    const { consumers } = chains.model;
    const suspended = consumers.filter(({ status }) => status === "SUSPENDED");
    const agent = pick(b % 8 === 0 ? consumers : suspended, a);
    if (!agent) return null;
    return [ofManagement(await setStatus(chains, agent, "ACTIVE")), chains.model.reinstate(agent)];
  },
  /** Prefers consumers with an open intent. */
  end: async (chains, { a, b }) => {
    const { consumers, spendings } = chains.model;
    const open = spendings.filter((one) => chains.model.isOpen(one)).map(({ consumer }) => consumer);
    const agent = pick(open.length > 0 ? open : consumers, a);
    if (!agent) return null;
    const revoked = b % 2 === 0;
    const reply = await (revoked
      ? chains.manage(agent, "POST", "/revoke", { reason: "It is not needed any more." })
      : setStatus(chains, agent, "TERMINATED"));
    return [ofManagement(reply), chains.model.end(agent, revoked ? "REVOKED" : "TERMINATED")];
  },
  /** Prefers consumers that may follow their delegator. */
  promote: async (chains, { a, b }) => {
    const { consumers } = chains.model;
    const next = consumers.filter((one) => one.environment === "sandbox" && one.delegator?.environment !== "sandbox");
    const agent = pick(b % 3 === 0 || next.length === 0 ? consumers : next, a);
    if (!agent) return null;
    const reply = await promote(chains.world, agent.did);
    const held = credentials.get(agent.did);
    if (reply.status === 200 && held) credentials.set(agent.did, { ...held, certificate: reply.body.certificate });
    return [ofManagement(reply), chains.model.promote(agent)];
  },
  /** Suspends or reactivates the seller that has a delegator, or that delegator. */
  seller: async (chains, { a }) => {
    const delegate = chains.sellers.at(-1);
    const agent = a % 2 === 0 ? delegate : delegate?.delegator;
    if (!agent) return null;
    const { model } = chains;
    const back = agent.status === "SUSPENDED";
    const reply = await setStatus(chains, agent, back ? "ACTIVE" : "SUSPENDED");
    return [ofManagement(reply), back ? model.reinstate(agent) : model.suspend(agent)];
  },
  open: openIntent,
  settle: async (chains, { a }) => {
    const { model, world, intents } = chains;
    const payable = model.spendings.filter(
      ({ settledAt, endsAt }) => settledAt === null && endsAt > model.now - LATE_MS,
    );
    const spending = pick(payable, a);
    const intentId = spending && intents.get(spending);
    if (!spending || !intentId) return null;
    // Each settlement has its own instant.
    chains.advance(1);
    await settle(world, intentId);
    model.settle(spending);
    return null;
  },
  wait: async (chains, { a, b }) => {
    const { model } = chains;
    const edge = b % 2 === 0 ? pick(model.edges().slice(0, 3), a) : undefined;
    // Moves to the millisecond at which something ends, or to the one before.
    const to = edge === undefined ? model.now + (pick(WAITS_MS, a) ?? 0) : edge - ((b >> 1) % 2);
    chains.advance(to - model.now);
    return null;
  },
  jobs: async ({ world }) => {
    await world.run(abandonIntents);
    return null;
  },
} satisfies Record<string, Play>;
export type Act = keyof typeof ACTS;
