// Answers whether a facilitated settlement stands, to any caller that has its receipt (FAC-23). A receipt never expires, and a reorg may have removed
// its settlement.
import type { PublicCall } from "../call.ts";
import { toIsoOrNull } from "../core/clock.ts";
import { ServiceError } from "../core/errors.ts";
import type { FacilitationStatusView } from "./responses.ts";
import { findTransaction } from "./store.ts";
import { toTransactionStatus } from "./views.ts";

export async function getFacilitationStatus(call: PublicCall, facilitationId: string): Promise<FacilitationStatusView> {
  const { found } = await call.read({ found: findTransaction(call.db, facilitationId) });
  if (!found) throw new ServiceError("not_found");
  return {
    facilitation_id: found.transactionId,
    status: toTransactionStatus(found),
    reversed_at: toIsoOrNull(found.reversedAt),
  };
}
