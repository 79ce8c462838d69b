// Answers a retry from the stored outcome of its original, and stores refusals for retries (IDM-3, IDM-7).
import { type ErrorCode, type ErrorExtra, ServiceError } from "../core/errors.ts";
import { Conflict } from "../core/retry.ts";
import { commit } from "../db/batch.ts";
import type { Outcome } from "../db/outcomes.ts";
import { answer } from "./answer.ts";
import { type Idempotency, recordOutcome, replayOutcome } from "./idempotency.ts";
import type { Incoming } from "./incoming.ts";

type OutcomeContext = {
  readonly incoming: Incoming;
  readonly idempotency: Idempotency | null;
  readonly platformId: string | null;
};

export class Replay extends Error {
  readonly outcome: Outcome;
  constructor(outcome: Outcome) {
    super("answered before");
    this.outcome = outcome;
  }
}

type Refusal = { refused: { code: ErrorCode; extra: ErrorExtra } };
const isRefusal = (body: unknown): body is Refusal => typeof body === "object" && body !== null && "refused" in body;

export async function replayAnswer({ idempotency }: OutcomeContext, outcome: Outcome): Promise<unknown> {
  if (!idempotency) throw new Error("unreachable: a replay without a key");
  const { status, body } = await replayOutcome(idempotency, outcome);
  const mark = { "Idempotent-Replayed": "true" };
  if (isRefusal(body)) throw new ServiceError(body.refused.code, { ...body.refused.extra, headers: mark });
  return answer(status, { "Content-Type": "application/json", ...mark }, JSON.stringify(body));
}

const KEPT_STATUSES: ReadonlySet<number> = new Set([400, 403, 404, 409, 422]);
const UNKEPT_CODES: ReadonlySet<string> = new Set([
  "idempotency_key_processing",
  "idempotency_key_reused",
  "account_suspended",
  "payment_not_found",
]);

/** Stores a refusal of the handler: a 4xx after authentication and validation (IDM-7). */
export async function keepRefusal(run: OutcomeContext, refusal: ServiceError): Promise<void> {
  const { idempotency, platformId, incoming } = run;
  const { db, clock } = incoming.deps;
  if (!idempotency || platformId === null) return;
  if (!KEPT_STATUSES.has(refusal.status) || UNKEPT_CODES.has(refusal.code)) return;
  // Faulty values are not stored, because the corrected body may use the same key.
  if (refusal.extra.field_errors || refusal.extra.unkept) return;
  const { message, detail, type } = refusal.extra;
  const stored = { refused: { code: refusal.code, extra: { message, detail, type } } };
  try {
    await commit(
      db,
      await recordOutcome(db, idempotency, platformId, { status: refusal.status, view: stored }, clock.now()),
    );
  } catch (thrown) {
    // A racing call stored its outcome first, and that one counts.
    if (!(thrown instanceof Conflict)) throw thrown;
  }
}
