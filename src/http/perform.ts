// How every call that writes is run: the idempotency key's turn, the agent's turn, and again when a commit met a change.
import type { Env } from "../context.ts";
import { type ErrorCode, type ErrorExtra, ServiceError } from "../core/errors.ts";
import { Conflict, commit, type Database, type Statement } from "../db/batch.ts";
import { beginInFlight, type Idempotency, outcomeStatements, Replay, replayed } from "./idempotency.ts";
import { answer } from "./responses.ts";

const ATTEMPTS = 6;

/** What a surface lends to its calls, for the whole of one request. */
export type Performance = {
  readonly env: Env;
  readonly db: Database;
  readonly now: number;
  readonly idempotency: Idempotency | null;
  readonly successStatus: number;
  readonly background: (work: Promise<unknown>) => void;
  /** Known after the first trip: whose idempotency space the outcome belongs to. */
  owner: string | null;
  /** Resolves when the key's turn is ours; the first trip waits for it. */
  turn: Promise<unknown>;
  /** Gives the agent's turn back before the answer. */
  endTurn: () => void;
};

export async function perform(
  performance: Performance,
  turnOf: string | null,
  attempt: () => Promise<unknown>,
): Promise<unknown> {
  const { env, idempotency } = performance;
  const inFlight = idempotency ? beginInFlight(env, idempotency) : null;
  performance.turn = inFlight ?? Promise.resolve();
  // The first trip runs beside this; whoever fails first is heard there.
  performance.turn.catch(() => undefined);
  try {
    return await attemptInTurn(performance, turnOf, attempt);
  } finally {
    if (inFlight) performance.background(inFlight.then((end) => end()).catch(() => undefined));
  }
}

async function attemptInTurn(
  performance: Performance,
  turnOf: string | null,
  attempt: () => Promise<unknown>,
): Promise<unknown> {
  using agentsTurn = new DisposableStack();
  if (turnOf !== null) agentsTurn.use(await takeTurn(performance.env, turnOf));
  performance.endTurn = () => agentsTurn.dispose();
  for (let tries = 1; ; tries++) {
    try {
      return await attempt();
    } catch (thrown) {
      if (thrown instanceof Replay) return await replayAnswer(performance, thrown);
      if (thrown instanceof Conflict && tries < ATTEMPTS) continue;
      if (thrown instanceof ServiceError) await keepRefusal(performance, thrown);
      throw thrown;
    }
  }
}

const takeTurn = (env: Env, did: string) => env.AGENTS.get(env.AGENTS.idFromName(did)).turn();

/** The commit of a call: the effect, and the outcome that a retry is answered with, in one batch. */
export async function commitWithOutcome(
  performance: Performance,
  statements: readonly Statement[],
  view: unknown,
): Promise<void> {
  const { idempotency, owner, db, now, successStatus } = performance;
  const kept =
    idempotency && owner !== null ? await outcomeStatements(db, idempotency, owner, successStatus, view, now) : [];
  await commit(db, [...statements, ...kept]);
}

async function replayAnswer(performance: Performance, replay: Replay): Promise<unknown> {
  if (!performance.idempotency) throw new Error("unreachable: a replay without a key");
  const { status, body } = await replayed(performance.idempotency, replay.outcome);
  const mark = { "Idempotent-Replayed": "true" };
  if (isRefusal(body)) throw new ServiceError(body.refused.code, { ...body.refused.extra, headers: mark });
  return answer(status, { "Content-Type": "application/json", ...mark }, JSON.stringify(body));
}

type Refusal = { refused: { code: ErrorCode; extra: ErrorExtra } };
const isRefusal = (body: unknown): body is Refusal => typeof body === "object" && body !== null && "refused" in body;

/** A refusal of the handler is an outcome too (contract 9): 4xx that came after validation and authentication. */
async function keepRefusal(performance: Performance, refusal: ServiceError): Promise<void> {
  const { idempotency, owner, db, now } = performance;
  if (!idempotency || owner === null || !KEPT_STATUSES.has(refusal.status) || NOT_KEPT.has(refusal.code)) return;
  // Faulty values are no outcome: the body put right may come under the same key.
  if (refusal.extra.field_errors || refusal.extra.unkept) return;
  const { message, detail, type } = refusal.extra;
  const stored = { refused: { code: refusal.code, extra: { message, detail, type } } };
  try {
    await commit(db, await outcomeStatements(db, idempotency, owner, refusal.status, stored, now));
  } catch (thrown) {
    // A racing call kept its own outcome first: that one stands.
    if (!(thrown instanceof Conflict)) throw thrown;
  }
}

const KEPT_STATUSES: ReadonlySet<number> = new Set([400, 403, 404, 409, 422]);
const NOT_KEPT: ReadonlySet<string> = new Set([
  "idempotency_key_processing",
  "idempotency_key_reused",
  "account_suspended",
  "payment_not_found",
]);
