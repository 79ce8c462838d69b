// Operations of every kind that change what the directory shows, drawn at random and played through the service.

import { sql } from "drizzle-orm";
import { publishRatings } from "../../src/agents/publish-ratings.ts";
import { rateAgent } from "../../src/agents/rate.ts";
import { commitAll } from "../../src/commit.ts";
import { readBatch } from "../../src/db/batch.ts";
import { signDirectoryHeads } from "../../src/directory/heads.ts";
import { indexDirectory } from "../../src/directory/tend.ts";
import { findEscrows, findMarkets, findPublicAgent } from "../../src/identity/store.ts";
import { findCounterparty, findHeaviestOf } from "../../src/ratings/store.ts";
import { finishCascades } from "../../src/standing/cascades.ts";
import { endAttestations } from "../../src/standing/expire.ts";
import { market, marketsPath } from "../markets/support.ts";
import { livePrincipal, promote } from "../promotion/support.ts";
import { close, givePassword, reinstate, suspend } from "../standing/account-support.ts";
import { attested } from "../support/clock.ts";
import type { World } from "../support/world.ts";

const HOUR = 3_600_000;

export type Draw = { readonly below: (count: number) => number; readonly of: <T>(list: readonly T[]) => T };

/** Draws that repeat, from a seed. */
export function drawFrom(seed: number): Draw {
  let state = seed >>> 0;
  const below = (count: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * count);
  };
  return { below, of: (list) => list[below(list.length)] as never };
}

type Act = (stage: Stage) => Promise<unknown>;

/** What the operations choose from. */
export type Stage = {
  readonly world: World;
  /** An account that is suspended, reinstated and in the end closed. */
  readonly other: World;
  readonly draw: Draw;
  readonly dids: string[];
  readonly sellers: string[];
  readonly principals: string[];
  /** In production. */
  live: string;
};

const WORDS = ["translation", "summarization", "search", "vision", "planning"];
const wordsOf = ({ draw }: Stage): string[] => WORDS.filter(() => draw.below(2) === 0);

const PEOPLE = 12;
export async function prepare(world: World, other: World, seed: number): Promise<Stage> {
  const stage: Stage = {
    world,
    other,
    draw: drawFrom(seed),
    dids: [],
    sellers: [],
    principals: [],
    live: await livePrincipal(world),
  };
  for (let n = 0; n < PEOPLE; n++) stage.principals.push(await world.principal());
  await givePassword(other);
  for (let n = 0; n < 3; n++) await other.consumer();
  for (let n = 0; n < 2; n++) stage.sellers.push((await world.provider()).did);
  return stage;
}

// ---- Acts. A refusal is an outcome too: what is refused changes nothing. ------------------------------------------------------

const agentPath = (did: string, rest = ""): string => `/v1/agents/${did}${rest}`;
const some = ({ draw, dids, sellers }: Stage): string => draw.of([...dids, ...sellers]);
/** An agent may have come to production. */
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
    // The principal is stopped.
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
  await commitAll(deps, rateAgent(deps.db, deps, { agent, principal, ...own }, change).statements).catch(
    () => undefined,
  );
};

/** Attestations that end within the hour, their recording, and what comes after. */
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

const status = (stage: Stage) => ({
  status: stage.draw.of(["ACTIVE", "SUSPENDED", "SUSPENDED", "ACTIVE", "TERMINATED"]),
});

/** Each as often as it is named. */
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
  openOrLeave,
  account,
  ({ world }) => world.run(finishCascades),
  ({ world }) => world.run(indexDirectory),
  ({ world }) => world.run(signDirectoryHeads),
  ({ world }) => world.run(publishRatings),
];

export const playOne = (stage: Stage): Promise<unknown> => stage.draw.of(ACTS)(stage);

/** All that fell due is recorded, and the second account is closed. */
export async function settle({ world, other }: Stage): Promise<void> {
  other.offset = world.offset;
  await reinstate(other);
  await close(other);
  for (const job of [endAttestations, finishCascades, publishRatings, indexDirectory, signDirectoryHeads])
    await world.run(job);
}
