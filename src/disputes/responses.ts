// Responses about disputes, for their parties and for operators.
import * as z from "zod";
import { transactionView } from "../facilitation/responses.ts";
import { buildListSchema, jws } from "../http/response-parts.ts";
import { amount, fraction, instant, registeredUrl, side } from "../http/schemas.ts";
import { intentView } from "../payments/responses.ts";
import { taskView } from "../tasks/responses.ts";
import { disputeView, refundStatus } from "./schema.ts";

const disputeMessage = z
  .object({ message: z.string(), offer_amount: amount.nullable(), sent_at: instant })
  .register(z.globalRegistry, { id: "DisputeMessage" });

export const evidenceView = z
  .object({
    number: z.number().int(),
    submitted_by: side,
    description: z.string(),
    uri: registeredUrl.nullable(),
    sha256: z.string().nullable(),
    media_type: z.string().nullable(),
    submitted_at: instant,
  })
  .register(z.globalRegistry, { id: "DisputeEvidence" });
export type EvidenceView = z.infer<typeof evidenceView>;

export const disputeFile = z
  .object({
    ...disputeView.shape,
    messages: z.array(disputeMessage),
    evidence: z.array(evidenceView),
    finding: z.string().nullable(),
    award: jws.nullable(),
  })
  .register(z.globalRegistry, { id: "DisputeFile" });
export type DisputeFile = z.infer<typeof disputeFile>;

export const disputeList = buildListSchema(disputeView).register(z.globalRegistry, { id: "DisputeList" });

// ---- For operators (DSP-16) ----------------------------------------------------------------------------------------------

/** The outcome of a request to repeat a cancelled payout. */
export const payoutView = z
  .object({
    dispute_id: z.string(),
    payout: z.enum(["begun", "waits_for_second_operator"]),
    amount,
    currency: z.string(),
    requested_by: z.string(),
    confirmed_by: z.string().nullable(),
    refund_status: refundStatus,
  })
  .register(z.globalRegistry, { id: "RepeatedPayout" });
export type PayoutView = z.infer<typeof payoutView>;
const walletView = z
  .object({ address: z.string(), of_provider: z.boolean(), of_provider_since: instant.nullable() })
  .register(z.globalRegistry, { id: "PartyWallet" });

export const disputeCase = z
  .object({
    ...disputeFile.shape,
    transaction: transactionView,
    receipt: jws.nullable(),
    intent: intentView,
    task: taskView,
    payer: walletView,
    refund_to: walletView,
    ratings: z
      .object({ provider: fraction.nullable(), consumer: fraction.nullable() })
      .register(z.globalRegistry, { id: "PartyRatings" }),
  })
  .register(z.globalRegistry, { id: "DisputeCase" });
export type DisputeCase = z.infer<typeof disputeCase>;
