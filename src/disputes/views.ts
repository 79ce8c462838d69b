// Maps rows to the responses of schema.ts and responses.ts at an instant.
import { formatTokenUnits, requireNetwork } from "../chain/networks.ts";
import type { Config } from "../context.ts";
import { toIso, toIsoOrNull } from "../core/clock.ts";
import { type FoundRows, type Listing, type Page, toPage } from "../core/page.ts";
import type { DisputeEvidenceRow, DisputeMessageRow, DisputeRow } from "../db/tables/disputes.ts";
import { type ListedDispute, toDisputePosition } from "./list-store.ts";
import type { DisputeFile, EvidenceView } from "./responses.ts";
import type { DisputeView } from "./schema.ts";
import { computeArbitrationDue, computeRefundDue, toEffectiveDispute } from "./states.ts";

export function toDisputeView(config: Config, row: DisputeRow, now: number): DisputeView {
  const network = requireNetwork(config.networks, row.network);
  const amount = (units: number) => formatTokenUnits(network, units);
  const { status, arbitrationAt } = toEffectiveDispute(row, now);
  const ended = status === "resolved";
  const awaited = row.refundFrom === "provider" && row.resolvedAt !== null && row.refundStatus === "owed";
  return {
    dispute_id: row.disputeId,
    environment: row.environment,
    status,
    transaction_id: row.transactionId,
    facilitation_id: row.transactionId,
    task_id: row.taskId,
    consumer_did: row.consumerDid,
    provider_did: row.providerDid,
    network: row.network,
    currency: row.currency,
    gross_amt: amount(row.gross),
    reason: row.reason,
    description: row.description,
    resolution_sought: row.resolutionSought,
    disputed_amount: amount(row.disputed),
    bounty_amount: amount(row.bounty),
    offer_amount: row.offer === null ? null : amount(row.offer),
    pre_arb_deadline: toIso(row.answersUntil),
    arbitration_due: toIsoOrNull(computeArbitrationDue({ arbitrationAt })),
    resolution: row.resolution,
    refund_amount: ended ? amount(row.refund) : null,
    refund_status: row.refundStatus,
    refund_from: row.refundFrom,
    refund_due: awaited && row.resolvedAt !== null ? toIso(computeRefundDue(row.resolvedAt)) : null,
    paid_from_vault: amount(row.paidOut),
    refunded_before: amount(row.refundedBefore),
    bounty_owed_by: row.bountyBy,
    bounty_paid: amount(row.bountyBy === null ? 0 : row.bountyPaid),
    bounty_outstanding: amount(row.bountyBy === null ? 0 : row.bounty - row.bountyPaid),
    filed_at: toIso(row.filedAt),
    responded_at: toIsoOrNull(row.respondedAt),
    escalated_at: toIsoOrNull(arbitrationAt),
    resolved_at: toIsoOrNull(row.resolvedAt),
  };
}

/** Shows each row on its own clock. `real`: the instant of the reading, in real time. */
export const toDisputePage = (
  config: Config,
  found: FoundRows<ListedDispute>,
  page: { readonly limit: number; readonly listing: Listing },
  real: number,
): Page<DisputeView> =>
  toPage(found, page, toDisputePosition, (row) => toDisputeView(config, row, real + row.clockOffsetMs));

export type FileRows = {
  readonly dispute: DisputeRow;
  readonly award: string | null;
  readonly messages: readonly DisputeMessageRow[];
  readonly evidence: readonly DisputeEvidenceRow[];
};

export function toDisputeFile(
  config: Config,
  { dispute, award, messages, evidence }: FileRows,
  now: number,
): DisputeFile {
  const network = requireNetwork(config.networks, dispute.network);
  return {
    ...toDisputeView(config, dispute, now),
    messages: messages.map(({ message, offer, sentAt }) => ({
      message,
      offer_amount: offer === null ? null : formatTokenUnits(network, offer),
      sent_at: toIso(sentAt),
    })),
    evidence: evidence.map(toEvidenceView),
    finding: dispute.finding,
    award,
  };
}

export const toEvidenceView = (row: DisputeEvidenceRow): EvidenceView => ({
  number: row.number,
  submitted_by: row.submittedBy,
  description: row.description,
  uri: row.uri,
  sha256: row.sha256,
  media_type: row.mediaType,
  submitted_at: toIso(row.submittedAt),
});
