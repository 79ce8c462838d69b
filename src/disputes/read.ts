// Reads one dispute with all that belongs to it, for its parties and their platforms (DSP-9).
import { ServiceError } from "../core/errors.ts";
import { type Caller, type PartyCall, refuseStranger } from "./parties.ts";
import type { DisputeFile } from "./schema.ts";
import { findDispute, findEvidence, findMessages } from "./store.ts";
import { toDisputeFile } from "./views.ts";

const reads = ({ db }: PartyCall, disputeId: string) => ({
  found: findDispute(db, disputeId),
  messages: findMessages(db, disputeId),
  evidence: findEvidence(db, disputeId),
});

export async function getDispute(call: PartyCall, disputeId: string): Promise<DisputeFile> {
  const asked = reads(call, disputeId);
  const clock = { clock: ({ found }: { found: { clockOffsetMs: number } | null }) => found?.clockOffsetMs };
  const { caller, found, ...rest } = await (call.surface === "agent"
    ? call.read(asked, clock)
    : call.read(asked, clock));
  if (!found) throw new ServiceError("not_found");
  refuseStranger(call, caller satisfies Caller, found.dispute);
  return toDisputeFile(call.deps.config, { dispute: found.dispute, award: found.award, ...rest }, call.now);
}
