// Delivers what is due for one endpoint (EVT-25 to EVT-28): leases deliveries by compare-and-set, POSTs a few at a time, and records the outcomes.
// After a crash the lease expires and the same deliveries are tried again: a receiver may get one twice, but misses none. An endpoint that is gone, or
// has failed for five days, is disabled.
import { commitAll } from "../commit.ts";
import type { Deps } from "../context.ts";
import { DAY_MS, SECOND_MS, WEBHOOK_FAILING_DAYS_MAX } from "../core/limits.ts";
import { Conflict, runConcurrently } from "../core/retry.ts";
import type { DisabledCause } from "../core/vocabulary.ts";
import { commit, type PlainStatement, type Read, type Reads, readBatch, toWriteRead } from "../db/batch.ts";
import type { Attempt, EndpointRow, QueuedRow } from "../db/tables/webhooks.ts";
import { recordActivity } from "../journal/activity.ts";
import { findAddressee } from "../journal/alert-store.ts";
import { type Notice, recordNotice } from "../journal/alerts.ts";
import { toBody } from "./fan-out.ts";
import { logOutcomes, type Outcome } from "./log-store.ts";
import {
  type AttemptError,
  CLAIM_SIZE,
  CLAIM_SIZE_WHILE_FAILING,
  computeNextAttempt,
  isAccepted,
  judgeReceiver,
  postDelivery,
  SENT_AT_ONCE,
  type StartTimer,
  startTimer,
  toUnsentAttempt,
} from "./post.ts";
import {
  claimDue,
  claimFound,
  deleteQueued,
  deleteQueuedOfEndpoint,
  findNextAt,
  findUnleased,
  postponeQueued,
  releaseLease,
  type SentRow,
} from "./queue-store.ts";
import { openSecrets } from "./secrets.ts";
import { deleteReplay, findById, recordFailingSince, updateEndpoint } from "./store.ts";

/** The timer of an attempt, and the jitter of the next one, from 0 to 1. */
export type Chance = { readonly startTimer: StartTimer; readonly random: () => number };
const CHANCE: Chance = { startTimer, random: Math.random };

type Round = { readonly taken: number; readonly tried: number };

/** Delivers in rounds until nothing is due or `goesOn` returns false. Returns when to continue, or null if no delivery waits. */
export async function deliverDue(
  deps: Deps,
  webhookId: string,
  goesOn: (round: Round) => boolean,
  chance = CHANCE,
): Promise<number | null> {
  let failing = true;
  let before: PreviousClaim = {};
  for (;;) {
    const { endpoint, claimed, found, nextAt }: Claim = await retryOnce(() =>
      claimDeliveries(deps, webhookId, failing, before),
    );
    const guessed = before.found !== undefined;
    before = {};
    if (endpoint === null) {
      await dropRemaining(deps, webhookId);
      return null;
    }
    // Deliveries of a disabled endpoint wait until its owner enables it, which wakes this object.
    if (endpoint.status !== "enabled") {
      await commit(
        deps.db,
        claimed.map((held) => releaseLease(deps.db, held)),
      );
      return null;
    }
    if (claimed.length === 0) {
      if (!guessed) return nextAt;
      // Other callers were faster, so the next round searches again.
      continue;
    }
    const outcomes = await attemptAll(deps, endpoint, claimed, chance);
    const sent = outcomes.filter(wasSent);
    const taken = sent.filter(({ attempt }) => isAccepted(attempt)).length;
    const { statements, disable } = judgeOutcomes(deps, endpoint, outcomes, { taken, tried: sent.length });
    failing = taken === 0;
    if (disable !== null || !goesOn({ taken, tried: sent.length })) {
      await retryOnce(() => commit(deps.db, statements));
      if (disable !== null && (await disableFailing(deps, endpoint, disable))) return null;
      return (await readBatch(deps.db, { at: findNextAt(deps.db, webhookId) })).at;
    }
    before = found.length === 0 ? { statements } : { statements, found };
  }
}

/** Sends a batch again, because its answer may have been lost. Outcomes count only while the lease is held, so this causes no second POST. */
const retryOnce = <T>(batch: () => Promise<T>): Promise<T> => batch().catch(() => batch());

const DROPPED_AT_ONCE = 500;

async function dropRemaining({ db }: Deps, webhookId: string): Promise<void> {
  for (let dropped = DROPPED_AT_ONCE; dropped === DROPPED_AT_ONCE; ) {
    const { count } = await readBatch(db, {
      count: deleteQueuedOfEndpoint(db, webhookId, DROPPED_AT_ONCE),
      replay: toWriteRead(deleteReplay(db, webhookId)),
    });
    dropped = count;
  }
}

// ---- Claims --------------------------------------------------------------------------------------------------------------

/** Longer than the slowest claim: three times six at once, each with fifteen seconds after five of the resolver. */
export const LEASE_MS = 75 * SECOND_MS;

export type Claim = {
  readonly endpoint: EndpointRow | null;
  readonly claimed: readonly SentRow[];
  readonly found: readonly SentRow[];
  readonly nextAt: number | null;
};

type PreviousClaim = {
  /** The outcomes of the previous claim, recorded in the same trip. */
  readonly statements?: readonly PlainStatement[];
  /** Further due deliveries that the previous claim found. If empty, one statement finds and claims what is due. */
  readonly found?: readonly SentRow[];
};

export async function claimDeliveries(
  deps: Deps,
  webhookId: string,
  failing: boolean,
  before: PreviousClaim = {},
): Promise<Claim> {
  const { db } = deps;
  const { statements = [], found: candidates = [] } = before;
  const now = deps.clock.now();
  const until = now + LEASE_MS;
  const limit = failing ? CLAIM_SIZE_WHILE_FAILING : CLAIM_SIZE;
  const wanted = candidates.slice(0, limit);
  const {
    endpoint,
    due,
    nextAt = null,
    found,
    ...rest
  } = await readBatch(db, {
    ...nameReads("before", statements.map(toWriteRead)),
    endpoint: findById(db, webhookId),
    ...nameReads(
      "claim",
      wanted.map((one) => claimFound(db, one, now, until)),
    ),
    ...(wanted.length === 0 && {
      due: claimDue(db, webhookId, { now, until, limit }),
      nextAt: findNextAt(db, webhookId),
    }),
    found: findUnleased(db, webhookId, { now, limit: CLAIM_SIZE, after: wanted.at(-1) }),
  });
  const own = wanted.filter((_, n) => (rest as Record<string, unknown>)[`claim ${n}`] === true);
  // SQLite returns changed rows in no order.
  const claimed = [...(due ?? []), ...own.map((one) => ({ ...one, leaseUntil: until }))].sort(
    (a, b) => a.nextAt - b.nextAt || (a.deliveryId < b.deliveryId ? -1 : 1),
  );
  return { endpoint, claimed, found, nextAt };
}

const nameReads = (name: string, reads: readonly Read<unknown>[]): Reads =>
  Object.fromEntries(reads.map((one, n) => [`${name} ${n}`, one]));

async function attemptAll(
  deps: Deps,
  endpoint: EndpointRow,
  claimed: readonly SentRow[],
  chance: Chance,
): Promise<Outcome[]> {
  const { env, clock } = deps;
  const secrets = await openSecrets(env, endpoint, clock.now());
  const judged = cacheJudgement(env, endpoint.url);
  const outcomes: Outcome[] = [];
  let unjudged: unknown = null;
  await runConcurrently(
    claimed,
    async (one) => {
      const { eventId, event } = one;
      if (event === null) {
        outcomes.push({ claimed: one, attempt: toUnsentAttempt("event_expired"), status: "failed", nextAt: null });
        return;
      }
      let refusal: AttemptError | null;
      try {
        refusal = await judged();
      } catch (thrown) {
        // The resolver failed, not the receiver: the delivery is retried after the lease, and no attempt is counted.
        unjudged = thrown;
        return;
      }
      const posted = { url: endpoint.url, secrets, eventId, body: toBody(event) };
      const attempt = refusal === null ? await postDelivery(posted, chance.startTimer) : toUnsentAttempt(refusal);
      outcomes.push(toOutcome(one, attempt, clock.now(), chance.random()));
    },
    SENT_AT_ONCE,
  );
  if (outcomes.length === 0) throw unjudged;
  return outcomes;
}

/** How long a judgement of an address is valid: names change, but the resolver must not be asked for each of many deliveries. */
const JUDGED_MS = 5 * SECOND_MS;

function cacheJudgement(env: Deps["env"], url: string): () => ReturnType<typeof judgeReceiver> {
  let [at, judgement] = [0, null as ReturnType<typeof judgeReceiver> | null];
  return () => {
    if (judgement === null || Date.now() > at + JUDGED_MS) [at, judgement] = [Date.now(), judgeReceiver(env, url)];
    return judgement;
  };
}

function toOutcome(claimed: QueuedRow, attempt: Attempt, now: number, random: number): Outcome {
  if (isAccepted(attempt)) return { claimed, attempt, status: "delivered", nextAt: null };
  const nextAt = computeNextAttempt(claimed.tries + 1, now, random);
  return { claimed, attempt, status: nextAt === null ? "failed" : "pending", nextAt };
}

/** A delivery whose event is no longer kept says nothing about its receiver. */
const wasSent = ({ attempt }: Outcome): boolean => attempt.error !== "event_expired";

const GONE = 410;

/** The statements that record the outcomes, and why they disable the endpoint, if they do. */
function judgeOutcomes(
  { db, clock }: Deps,
  endpoint: EndpointRow,
  outcomes: readonly Outcome[],
  { taken, tried }: Round,
) {
  const { webhookId, failingSince } = endpoint;
  const statements = [
    ...logOutcomes(db, outcomes),
    ...outcomes.map(({ claimed, nextAt }) =>
      nextAt === null ? deleteQueued(db, claimed) : postponeQueued(db, claimed, nextAt),
    ),
  ];
  if (outcomes.some(({ attempt }) => attempt.status === GONE)) return { statements, disable: "gone" as const };
  if (taken > 0) {
    const over = failingSince === null ? [] : [recordFailingSince(db, webhookId, null)];
    return { statements: [...statements, ...over], disable: null };
  }
  if (tried === 0) return { statements, disable: null };
  if (failingSince === null)
    return { statements: [...statements, recordFailingSince(db, webhookId, clock.now())], disable: null };
  const failedFor = clock.now() - failingSince;
  return { statements, disable: failedFor >= WEBHOOK_FAILING_DAYS_MAX * DAY_MS ? ("failing" as const) : null };
}

// ---- Disabling (EVT-28) --------------------------------------------------------------------------------------------------

/** For an endpoint that answered 410 or has failed for days. False if the owner has changed it meanwhile: the next failure decides again. */
async function disableFailing(
  deps: Deps,
  endpoint: EndpointRow,
  cause: Exclude<DisabledCause, "owner">,
): Promise<boolean> {
  const { db, clock } = deps;
  const { webhookId, platformId, updatedAt } = endpoint;
  const now = clock.now();
  const { platform } = await readBatch(db, { platform: findAddressee(db, platformId) });
  if (platform === null) return false;
  try {
    await commitAll(deps, [
      ...updateEndpoint(db, endpoint, {
        status: "disabled",
        disabledCause: cause,
        failingSince: null,
        updatedAt: Math.max(now, updatedAt + 1),
      }),
      recordActivity(db, endpoint, now, {
        action: "webhook.disabled",
        actor: { type: "system", id: "deliver_webhooks" },
        subject: { type: "webhook_endpoint", id: webhookId },
        changes: { status: { from: "enabled", to: "disabled" }, disabled_cause: { from: null, to: cause } },
      }),
      recordNotice(db, platform, now, toDisabledNotice(endpoint, cause)),
    ]);
    return true;
  } catch (thrown) {
    if (thrown instanceof Conflict) return false;
    throw thrown;
  }
}

/** The notice that an endpoint gets no events any longer. It names only the id and the host, because the path may hold a secret. */
export const toDisabledNotice = (
  { environment, webhookId, url }: EndpointRow,
  cause: DisabledCause | "deleted",
): Notice<"customer.webhook_disabled"> => ({
  kind: "customer.webhook_disabled",
  data: { environment, webhookId, host: new URL(url).host, cause },
});
