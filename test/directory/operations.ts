// Random operations of every kind that change what the directory shows, played through the service.

import { sql } from "drizzle-orm";
import { publishRatings, rateAgent } from "../../src/agents/ratings.ts";
import { finishCascades } from "../../src/cascades/cascades.ts";
import { endAttestations } from "../../src/cascades/expire.ts";
import { commitAll } from "../../src/commit.ts";
import { readBatch } from "../../src/db/batch.ts";
import { indexDirectory } from "../../src/directory/changes.ts";
import { signDirectoryHeads } from "../../src/directory/heads.ts";
import { findEscrows, findMarkets, findPublicAgent } from "../../src/identity/store.ts";
import { findCounterparty, findHeaviestOf } from "../../src/ratings/store.ts";
import { close, givePassword, reinstate, suspend } from "../cascades/account-support.ts";
import { credential, revoke } from "../cascades/revocation-support.ts";
import { byOperator, PATH as DISPUTES, filing, OPERATOR_PATH, act as onDispute } from "../disputes/support.ts";
import { confirm, facilitated, type Pair } from "../facilitation/support.ts";
import { market, marketsPath } from "../markets/support.ts";
import { livePrincipal, promote } from "../promotion/support.ts";
import { attested } from "../support/clock.ts";
import { type Agent, env, expectStatus, type World } from "../support/world.ts";
import { attestationBy, drawKey, registerVerifier, type VerifierPair } from "../verifiers/support.ts";

const HOUR = 3_600_000;

export type Draw = { readonly below: (count: number) => number; readonly of: <T>(list: readonly T[]) => T };

/** Repeatable random draws from a seed. */
export function drawFrom(seed: number): Draw {
  let state = seed >>> 0;
  const below = (count: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * count);
  };
  return { below, of: (list) => list[below(list.length)] as never };
}

type Act = (stage: Stage) => Promise<unknown>;

/** The objects from which the operations choose. */
export type Stage = {
  readonly world: World;
  /** An account that is suspended, reinstated and finally closed. */
  readonly other: World;
  readonly shop: Shop;
  readonly draw: Draw;
  readonly dids: string[];
  readonly sellers: string[];
  readonly principals: string[];
  readonly customers: string[];
  /** A Verifier that has attested principals and may revoke that. */
  readonly verifier: { readonly id: string; readonly pair: VerifierPair };
  /** An agent in production. */
  live: string;
};

/** An account whose agents trade, with its own sandbox clock. */
type Shop = {
  readonly world: World;
  readonly consumers: Agent[];
  readonly providers: Agent[];
  readonly disputes: { readonly id: string; readonly consumer: Agent; readonly provider: Agent }[];
  /** How often each outcome occurred; refusals by code. */
  readonly outcomes: Map<string, number>;
};

const WORDS = ["translation", "summarization", "search", "vision", "planning"];
const wordsOf = ({ draw }: Stage): string[] => WORDS.filter(() => draw.below(2) === 0);

const PEOPLE = 12;
export async function prepare(world: World, other: World, trading: World, seed: number): Promise<Stage> {
  const pair = await drawKey();
  const { verifier_id: id } = await registerVerifier(world, [pair.jwk]);
  const stage: Stage = {
    world,
    other,
    shop: { world: trading, consumers: [], providers: [], disputes: [], outcomes: new Map() },
    draw: drawFrom(seed),
    customers: [],
    verifier: { id, pair },
    dids: [],
    sellers: [],
    principals: [],
    live: await livePrincipal(world),
  };
  for (let n = 0; n < 3; n++) {
    const body = { name: `Group ${n}` };
    stage.customers.push(expectStatus(await world.call("POST", "/v1/customers", { body }), 201).customer_id);
  }
  for (let n = 0; n < PEOPLE; n++) {
    const customer_id = stage.customers[n];
    stage.principals.push(await world.principal(customer_id === undefined ? {} : { customer_id }));
  }
  const { tenant_principal_id } = expectStatus(await world.call("GET", "/v1/platform"), 200);
  stage.principals.push(tenant_principal_id);
  stage.dids.push((await world.consumer({ principal_id: tenant_principal_id })).did);
  for (let n = 0; n < 3; n++) stage.shop.consumers.push(await trading.consumer());
  for (let n = 0; n < 2; n++) stage.shop.providers.push(await trading.provider());
  await givePassword(other);
  for (let n = 0; n < 3; n++) await other.consumer();
  for (let n = 0; n < 2; n++) stage.sellers.push((await world.provider()).did);
  return stage;
}

// ---- Acts. A refusal is an outcome too: it changes nothing. -------------------------------------------------------------------

const agentPath = (did: string, rest = ""): string => `/v1/agents/${did}${rest}`;
const some = ({ draw, dids, sellers }: Stage): string => draw.of([...dids, ...sellers]);
/** The agent may have been promoted. */
const onAgent =
  (method: string, rest: string, body: (stage: Stage) => unknown): Act =>
  async (stage) => {
    const did = some(stage);
    const sent = { body: body(stage) };
    const reply = await stage.world.call(method, agentPath(did, rest), sent);
    if (reply.status === 404)
      await stage.world.call(method, agentPath(did, rest), { ...sent, key: stage.world.liveKey });
  };
const onPrincipal =
  (verb: string): Act =>
  ({ world, draw, principals }) =>
    world.call("POST", `/v1/principals/${draw.of(principals)}/${verb}`);

const register: Act = async (stage) => {
  const { world, draw, principals, dids } = stage;
  const scope = { authorized_actions: ["purchase"], capabilities: wordsOf(stage) };
  try {
    dids.push((await world.agent("CONSUMER", { principal_id: draw.of(principals), scope })).did);
  } catch {
    // The principal is suspended or has ended.
  }
};

const rate: Act = async (stage) => {
  const { deps } = stage.world;
  const did = some(stage);
  const { found } = await readBatch(deps.db, { found: findPublicAgent(deps.db, did) });
  if (!found?.agent.certificateJti) return;
  const { agent, principal } = found;
  const counterpartyPrincipalId = stage.draw.of(["prn_a", "prn_b", "prn_c"]);
  const { heaviest, counterparty, ...own } = await readBatch(deps.db, {
    heaviest: findHeaviestOf(deps.db, sql`(${did}, ${agent.environment})`),
    counterparty: findCounterparty(deps.db, agent, counterpartyPrincipalId),
    markets: findMarkets(deps.db, did, agent.environment),
    escrows: findEscrows(deps.db, did, agent.environment),
  });
  const now = deps.clock.now();
  const add = { r: stage.draw.below(11) / 10, weight: 1 + stage.draw.below(3) };
  const change = { add, at: now, now, counterpartyPrincipalId, counterparty, heaviest };
  await commitAll(deps, rateAgent(deps, { agent, principal, ...own }, change).statements).catch(() => undefined);
};

/** Makes attestations end within the hour, records them, and continues from there. */
const expire: Act = async ({ world, draw, principals, dids }) => {
  const principal_id = await world.principal(attested(1 + (world.offset + HOUR) / HOUR));
  principals.push(principal_id);
  for (let n = draw.below(3); n >= 0; n--) dids.push((await world.consumer({ principal_id })).did);
  world.advance(HOUR + 1_000);
  if (draw.below(2) === 0) return;
  await world.run(endAttestations);
  if (draw.below(2) === 0)
    await world.call("POST", `/v1/principals/${principal_id}/attestations`, {
      body: { placeholder: true, reactivate_agents: true },
    });
};

const transfer: Act = async (stage) => {
  const { world, draw, principals } = stage;
  await world.call("POST", agentPath(some(stage), "/transfer"), { body: { principal_id: draw.of(principals) } });
};

const promotion: Act = async ({ world, dids, draw, live }) => {
  if (dids.length > 0) await promote(world, draw.of(dids), { principal_id: live });
};

const openOrLeave: Act = async ({ world, draw, sellers }) => {
  const did = draw.of(sellers);
  const one = market({ market: "GLOBAL-USDC" });
  if (draw.below(2) === 0) await world.call("DELETE", `${marketsPath(did)}/GLOBAL-USDC?network=${one.network}`);
  else await world.call("POST", marketsPath(did), { body: { markets: [one] } });
};

const account: Act = async ({ other, draw }) => {
  await (draw.below(2) === 0 ? suspend(other) : reinstate(other));
};

/** An attestation that its Verifier revokes. */
const takeBack: Act = async ({ world, draw, principals, dids, verifier }) => {
  const attestation = attestationBy(verifier.id, world.now());
  const principal_id = await world.principal({ verification_attestation: attestation });
  principals.push(principal_id);
  for (let n = draw.below(2); n >= 0; n--) dids.push((await world.consumer({ principal_id })).did);
  await revoke(world, attestation.attestation_id, await credential(verifier.pair, attestation));
};

const group =
  (verb: string): Act =>
  ({ world, draw, customers }) =>
    world.call("POST", `/v1/customers/${draw.of(customers)}/${verb}`, { body: {} });

/** Renames the account, whose tenant principal has agents. */
const rename: Act = async ({ world, draw }) => {
  const { platformId } = world;
  const set = (status: string) =>
    env.DB.prepare("update platforms set status = ? where platform_id = ?").bind(status, platformId).run();
  // An account can change its name itself only before its submission.
  await set("KYB_PENDING");
  await world.call("PATCH", "/v1/platform", { body: { legal_name: `Renamed ${draw.below(1_000)} GmbH` } });
  await set("ACCREDITED");
};

/** A purchase, which is then confirmed, disputed, or left to the clock. */
const trade: Act = async ({ shop, draw }) => {
  const { world, disputes } = shop;
  const pair: Pair = { consumer: draw.of(shop.consumers), provider: draw.of(shop.providers) };
  const bought = await facilitated(world, pair).catch(() => null);
  note(shop, bought ? "bought" : "not bought");
  if (!bought) return;
  const next = draw.below(3);
  if (next === 0) note(shop, `confirmed ${(await confirm(world, bought.consumer, bought.task)).status}`);
  if (next !== 1) return;
  const { status, body } = await world.as(bought.consumer, "POST", DISPUTES, filing(bought));
  note(shop, `filed ${status}`);
  if (status === 201) disputes.push({ ...pair, id: body.dispute_id });
};

const note = ({ outcomes }: Shop, outcome: string): unknown => outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);

const decide: Act = async ({ shop, draw }) => {
  const { world, disputes } = shop;
  const one = disputes.pop();
  if (!one) return;
  const { id, consumer, provider } = one;
  if (draw.below(2) === 0) return note(shop, `withdrawn ${(await onDispute(world, consumer, id, "withdraw")).status}`);
  await onDispute(world, provider, id, "respond", { message: "It was delivered." });
  await onDispute(world, consumer, id, "escalate");
  const body = { resolution: draw.of(["upheld", "rejected"]), reason: "As the file shows." };
  note(shop, `decided ${(await byOperator(world, "POST", `${OPERATOR_PATH}/${id}/resolve`, body)).status}`);
};

const goForward: Act = async ({ shop, draw }) => {
  const body = { seconds: 3_600 * (1 + draw.below(40)) };
  note(shop, `advanced ${(await shop.world.call("POST", "/v1/sandbox/clock/advance", { body })).status}`);
};

const status = (stage: Stage) => ({
  status: stage.draw.of(["ACTIVE", "SUSPENDED", "SUSPENDED", "ACTIVE", "TERMINATED"]),
});

/** Each act is as likely as often as it is listed. */
const ACTS: readonly Act[] = [
  ...Array.from({ length: 6 }, () => register),
  ...Array.from({ length: 10 }, () => rate),
  ...Array.from({ length: 6 }, () =>
    onAgent("PATCH", "", ({ draw }) => ({ profile: { description: `No. ${draw.below(1_000)}` } })),
  ),
  ...Array.from({ length: 6 }, () => onAgent("PATCH", "/scope", (stage) => ({ capabilities: wordsOf(stage) }))),
  ...Array.from({ length: 8 }, () => onAgent("PATCH", "/status", status)),
  onAgent("POST", "/revoke", () => ({ reason: "Gone." })),
  onAgent("POST", "/rotate-key", () => ({})),
  transfer,
  transfer,
  onPrincipal("suspend"),
  onPrincipal("reactivate"),
  onPrincipal("reactivate"),
  onPrincipal("close"),
  ...Array.from({ length: 5 }, () => promotion),
  expire,
  takeBack,
  group("suspend"),
  group("reactivate"),
  group("reactivate"),
  rename,
  trade,
  trade,
  decide,
  goForward,
  openOrLeave,
  account,
  ({ world }) => world.run(finishCascades),
  ({ world }) => world.run(indexDirectory),
  ({ world }) => world.run(signDirectoryHeads),
  ({ world }) => world.run(publishRatings),
];

export const playOne = (stage: Stage): Promise<unknown> => stage.draw.of(ACTS)(stage);

/** Records everything that is due, and closes the second account. */
export async function settle({ world, other }: Stage): Promise<void> {
  other.offset = world.offset;
  await reinstate(other);
  await close(other);
  for (const job of [endAttestations, finishCascades, publishRatings, indexDirectory, signDirectoryHeads])
    await world.run(job);
}
