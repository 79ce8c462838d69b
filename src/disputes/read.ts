// Reads one dispute with its messages, evidence and award, for its parties and their platforms (DSP-9).
import { ServiceError } from "../core/errors.ts";
import { CONSUMER_CLOCK, type PartyCall, readAs, refuseStranger } from "./parties.ts";
import type { DisputeFile } from "./responses.ts";
import { findDispute, findEvidence, findMessages } from "./store.ts";
import { toDisputeFile } from "./views.ts";

const buildDisputeReads = ({ db }: PartyCall, disputeId: string) => ({
  found: findDispute(db, disputeId),
  messages: findMessages(db, disputeId),
  evidence: findEvidence(db, disputeId),
});

export async function getDispute(call: PartyCall, disputeId: string): Promise<DisputeFile> {
  const { caller, found, ...rest } = await readAs(call, buildDisputeReads(call, disputeId), CONSUMER_CLOCK);
  if (!found) throw new ServiceError("not_found");
  refuseStranger(call, caller, found.dispute);
  return toDisputeFile(call.deps.config, { dispute: found.dispute, award: found.award, ...rest }, call.now);
}
