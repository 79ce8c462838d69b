// Takes evidence of either party until the dispute has ended (DSP-8): links, which are never fetched, and digests. Each side has its own limit, so
// that neither uses up the other's.
import { ServiceError, toFieldError, toValidationError } from "../core/errors.ts";
import { DISPUTE_EVIDENCE_MAX } from "../core/limits.ts";
import { move, tryMove } from "../core/machine.ts";
import type { Side } from "../core/vocabulary.ts";
import { recordEventForParties } from "../journal/events.ts";
import { retryUnderLocks } from "../objects/locks.ts";
import { CONSUMER_CLOCK, computeCallerNow, noteAct, type PartyCall, readAs, refuseStranger } from "./parties.ts";
import type { EvidenceView } from "./responses.ts";
import type { EvidenceInput } from "./schema.ts";
import { disputeMachine } from "./states.ts";
import { findDispute, insertEvidence, moveDispute } from "./store.ts";
import { toDisputeView, toEvidenceView } from "./views.ts";

export const addEvidence = (call: PartyCall, disputeId: string, input: EvidenceInput): Promise<EvidenceView> =>
  retryUnderLocks(call.deps.env, (touches) => addEvidenceOnce(call, disputeId, input, touches));

async function addEvidenceOnce(
  call: PartyCall,
  disputeId: string,
  input: EvidenceInput,
  touches: (dids: readonly string[]) => void,
): Promise<EvidenceView> {
  const { db, deps, now } = call;
  const { caller, found } = await readAs(call, { found: findDispute(db, disputeId) }, CONSUMER_CLOCK);
  if (!found) throw new ServiceError("not_found");
  const before = found.dispute;
  touches([before.providerDid, before.consumerDid]);
  const submittedBy = chooseSubmitter(refuseStranger(call, caller, before), input);
  if (!tryMove(disputeMachine, before.status, "submit_evidence").ok)
    throw new ServiceError("invalid_status", { message: "The dispute has ended.", detail: { status: before.status } });
  const { evidence, consumerEvidence } = before;
  const byConsumer = submittedBy === "consumer";
  if ((byConsumer ? consumerEvidence : evidence - consumerEvidence) >= DISPUTE_EVIDENCE_MAX)
    throw new ServiceError("invalid_status", {
      message: `A side can submit at most ${DISPUTE_EVIDENCE_MAX} pieces of evidence.`,
    });
  const row = {
    disputeId,
    number: evidence + 1,
    submittedBy,
    description: input.description,
    uri: input.uri ?? null,
    sha256: input.sha256?.toLowerCase() ?? null,
    mediaType: input.media_type ?? null,
    submittedAt: now,
  };
  const set = { evidence: row.number, consumerEvidence: consumerEvidence + Number(byConsumer) };
  const view = toEvidenceView(row);
  const object = toDisputeView(deps.config, before, now);
  await call.commit(
    [
      ...moveDispute(db, before, move(disputeMachine, before.status, "submit_evidence"), set),
      insertEvidence(db, row),
      ...recordEventForParties(db, before, now, { type: "dispute.updated", object }),
      ...noteAct(call, caller, computeCallerNow(call, caller, found), { action: "dispute.evidence_added", disputeId }),
    ],
    view,
  );
  return view;
}

/** A platform that stands for both sides has to name the side of the evidence. */
function chooseSubmitter(sides: readonly Side[], { submitted_by: named }: EvidenceInput): Side {
  const [only, other] = sides;
  if (named !== undefined && !sides.includes(named)) {
    throw toValidationError([
      toFieldError("submitted_by", "invalid_value", "The caller does not represent this side."),
    ]);
  }
  const side = named ?? (other === undefined ? only : undefined);
  if (side !== undefined) return side;
  throw toValidationError([
    toFieldError("submitted_by", "required", "Both agents belong to the account: name the side."),
  ]);
}
