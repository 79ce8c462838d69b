// Routes of facilitation.
import { route } from "../http/route.ts";
import { facilitate } from "./facilitate.ts";
import { precheckFacilitation } from "./parties.ts";
import { facilitationAct, facilitationFaults, facilitationInput, facilitationParams, partiesNamed } from "./schema.ts";
import { getStanding } from "./standing.ts";

export const facilitationRoutes = [
  route({
    method: "post",
    path: "/v1/facilitate",
    operationId: "facilitate",
    body: facilitationInput,
    rules: facilitationFaults,
    status: 200,
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
    params: facilitationParams,
    status: 200,
    errors: ["not_found"],
    cors: true,
    surfaces: ["public"],
    handle: (call, { params }) => getStanding(call, params.facilitation_id),
  }),
];
