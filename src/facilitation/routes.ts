// Routes of facilitation.
import { defineRoute } from "../http/route.ts";
import { facilitate } from "./facilitate.ts";
import { precheckFacilitation } from "./parties.ts";
import {
  facilitationInput,
  facilitationParams,
  findFacilitationFaults,
  parseNamedParties,
  toFacilitationAct,
} from "./schema.ts";
import { getFacilitationStatus } from "./views.ts";

export const facilitationRoutes = [
  defineRoute({
    method: "post",
    path: "/v1/facilitate",
    operationId: "facilitate",
    body: facilitationInput,
    rules: findFacilitationFaults,
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
    act: (body, { networks }) => toFacilitationAct(body, networks),
    boundProofs: true,
    surfaces: ["agent"],
    handle: (call, { body }) => facilitate(call, body),
    precheck: (call, { body }) => precheckFacilitation(call, parseNamedParties(body)),
  }),
  defineRoute({
    method: "get",
    path: "/v1/facilitations/{facilitation_id}",
    operationId: "getFacilitationStanding",
    params: facilitationParams,
    status: 200,
    errors: ["not_found"],
    cors: true,
    surfaces: ["public"],
    handle: (call, { params }) => getFacilitationStatus(call, params.facilitation_id),
  }),
];
