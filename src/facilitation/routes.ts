// Route of facilitation.
import { route } from "../http/route.ts";
import { facilitate } from "./facilitate.ts";
import { precheckFacilitation } from "./parties.ts";
import {
  facilitationAct,
  facilitationFaults,
  facilitationInput,
  facilitationParams,
  facilitationView,
  partiesNamed,
  standingView,
} from "./schema.ts";
import { getStanding } from "./standing.ts";

export const facilitationRoutes = [
  route({
    method: "post",
    path: "/v1/facilitate",
    operationId: "facilitate",
    tag: "Facilitation",
    summary: "Verify a payment and open its task",
    description:
      "Checks the proof, reads the settlement on-chain, matches it with its intent, credits the escrow and opens the " +
      "performance task, all or nothing. With the consumer's headers (its proof bound to the provider) or as either agent " +
      "itself. The same intent and transaction again answer the same.",
    body: facilitationInput,
    rules: facilitationFaults,
    status: 200,
    response: { schema: facilitationView, description: "The settled transaction." },
    errors: [
      "proof_invalid",
      "forbidden",
      "not_found",
      "environment_mismatch",
      "settlement_verification_failed",
      "payment_not_found",
      "amount_mismatch",
      "intent_expired",
      "chain_unavailable",
    ],
    act: (body, { networks }) => facilitationAct(body, networks),
    boundProofs: true,
    surfaces: ["agent"],
    handle: (call, { body }) => facilitate(call, body),
    precheck: (call, { body }) => precheckFacilitation(call, partiesNamed(body)),
  }),
  route({
    method: "get",
    path: "/v1/facilitations/{facilitation_id}",
    operationId: "getFacilitationStanding",
    tag: "Facilitation",
    summary: "Ask whether a settlement still stands",
    description:
      "For whoever holds a receipt, which states facts and never expires: a settlement that the chain does not have any more, or never had so, " +
      "is `reversed`, and its receipt counts no longer.",
    params: facilitationParams,
    status: 200,
    response: { schema: standingView, description: "Whether it stands." },
    errors: ["not_found"],
    cors: true,
    surfaces: ["public"],
    handle: (call, { params }) => getStanding(call, params.facilitation_id),
  }),
];
