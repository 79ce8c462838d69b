// Measures a busy seller: many consumers facilitate at once, then confirm at once. One run alternates between a single provider and many.
import { sumOf } from "./meter.ts";
import { LARGE_AMOUNT, payFor } from "./payer.ts";
import {
  agent,
  agentPath,
  anyone,
  as,
  buyAndFacilitate,
  facilitation,
  json,
  must,
  openIntent,
  openMarket,
  type Paid,
  type Pair,
  type Play,
  type PlayedAgent,
  principal,
} from "./play.ts";
import { median } from "./rounds.ts";
import { type Ask, send } from "./wire.ts";

export type Burst = { readonly perSecond: number; readonly refused: number; readonly failed: number };
export type Compared = {
  readonly act: "facilitations" | "confirmations";
  readonly hot: Burst;
  readonly spread: Burst;
  /** The throughput with one provider, divided by that with many. */
  readonly ratio: number;
};
export type Busy = {
  readonly atOnce: number;
  readonly sellers: number;
  readonly purchases: number;
  readonly compared: readonly Compared[];
};

const AT_ONCE = 50;
const SELLERS = 100;
const BUYERS = 100;
const ROUNDS = 3;
/** Rounds before the measured ones. Their confirmations bring the single provider's rating to a level that one more no longer changes. */
const ROUNDS_BEFORE = 2;
/** The number of purchases that are prepared at the same time. One wallet pays them, one after another. */
const LANES = 8;

export async function measureBusy(play: Play): Promise<Busy> {
  const { stage, next } = play;
  const register = async (role: "CONSUMER" | "PROVIDER") =>
    readAgentDocument(play, await agent(stage, stage.platform, role, await principal(stage, stage.platform, next())));
  const buyers = await inLanes(Array.from({ length: BUYERS }), () => register("CONSUMER"));
  const closed = await inLanes(Array.from({ length: SELLERS }), () => register("PROVIDER"));
  const sellers = await inLanes(closed, async (seller) => readAgentDocument(play, await openMarket(stage, seller)));
  // The vaults reach their thresholds first, or one of the facilitations would also change the escrow's state.
  for (const provider of sellers) await buyAndFacilitate(play, { consumer: play.consumer, provider }, LARGE_AMOUNT);
  const round = async (sellerOf: (i: number) => PlayedAgent | undefined): Promise<[Burst, Burst]> => {
    const pairs = buyers.map((consumer, i) => ({ consumer, provider: sellerOf(i) ?? play.provider }));
    const [facilitations, tasks] = await facilitateAll(play, pairs);
    const confirmations = await sendBurst(play, tasks, ({ consumer, taskId }) =>
      as(consumer, "POST", `/v1/tasks/${taskId}/confirm`, { outcome: "confirmed" }),
    );
    return [facilitations, confirmations];
  };
  const [hot, spread]: [[Burst, Burst][], [Burst, Burst][]] = [[], []];
  for (let n = 0; n < ROUNDS_BEFORE + ROUNDS; n++) {
    hot.push(await round(() => sellers[0]));
    spread.push(await round((i) => sellers[i % SELLERS]));
  }
  return {
    atOnce: AT_ONCE,
    sellers: SELLERS,
    purchases: BUYERS * ROUNDS,
    compared: [
      compare("facilitations", hot.map(pickFacilitations), spread.map(pickFacilitations)),
      compare("confirmations", hot.map(pickConfirmations), spread.map(pickConfirmations)),
    ],
  };
}

/** Reads the agent's document, so that it is signed and stored. */
async function readAgentDocument({ stage }: Play, one: PlayedAgent): Promise<PlayedAgent> {
  await must(stage, anyone("GET", `${agentPath(one.did)}/aid`), 200);
  return one;
}

type Confirmable = { readonly consumer: PlayedAgent; readonly taskId: string };

/** Pays for all pairs first; then all of them facilitate. */
async function facilitateAll(play: Play, pairs: readonly Pair[]): Promise<[Burst, Confirmable[]]> {
  const opened = await inLanes(pairs, async (pair) => ({ ...pair, intentId: await openIntent(play, pair) }));
  const waiting: (Pair & Paid)[] = [];
  for (const one of opened) {
    const parties = { consumerDid: one.consumer.did, providerDid: one.provider.did };
    waiting.push({ ...one, txHash: await payFor(play.network, parties, one.intentId) });
  }
  const tasks: Confirmable[] = [];
  const facilitations = await sendBurst(
    play,
    waiting,
    ({ consumer, ...purchase }) => as(consumer, "POST", "/v1/facilitate", facilitation(purchase)),
    ({ consumer }, answer) => tasks.push({ consumer, taskId: String(answer["task_id"]) }),
  );
  return [facilitations, tasks];
}

/** Sends a call for each item, AT_ONCE at a time. Each call is signed at the last moment, because a proof is valid for seconds. */
async function sendBurst<T>(
  play: Play,
  items: readonly T[],
  callOf: (item: T) => Promise<Ask>,
  onAnswer?: (item: T, answer: Record<string, unknown>) => void,
): Promise<Burst> {
  await countRefusals(play);
  const started = performance.now();
  let failed = 0;
  await inLanes(
    items,
    async (item) => {
      const reply = await send(play.stage.origin, await callOf(item));
      if (reply.status === 200) onAnswer?.(item, json(reply));
      else failed += 1;
    },
    AT_ONCE,
  );
  const seconds = (performance.now() - started) / 1_000;
  return { perSecond: items.length / seconds, refused: await countRefusals(play), failed };
}

/** The number of batches that the database has refused since the last call. */
async function countRefusals({ stage }: Play): Promise<number> {
  const reply = await send(stage.origin, { method: "POST", path: "/__bench/refused" });
  return Number(json(reply)["refused"]);
}

const pickFacilitations = ([facilitations]: readonly [Burst, Burst]): Burst => facilitations;
const pickConfirmations = ([, confirmations]: readonly [Burst, Burst]): Burst => confirmations;

function compare(act: Compared["act"], allHot: readonly Burst[], allSpread: readonly Burst[]): Compared {
  const [hot, spread] = [allHot.slice(ROUNDS_BEFORE), allSpread.slice(ROUNDS_BEFORE)];
  const ratio = median(hot.map(({ perSecond }, i) => perSecond / (spread[i]?.perSecond ?? Number.NaN)));
  return { act, hot: inAll(hot), spread: inAll(spread), ratio };
}

const inAll = (bursts: readonly Burst[]): Burst => ({
  perSecond: median(bursts.map(({ perSecond }) => perSecond)),
  refused: sumOf(bursts, ({ refused }) => refused),
  failed: sumOf(bursts, ({ failed }) => failed),
});

async function inLanes<T, R>(items: readonly T[], work: (item: T) => Promise<R>, lanes = LANES): Promise<R[]> {
  const results: R[] = [];
  const waiting = items.entries();
  const lane = async () => {
    for (const [i, item] of waiting) results[i] = await work(item);
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  return results;
}
