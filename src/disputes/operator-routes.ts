// Routes of disputes for operators (DSP-16).
import { defineRoute } from "../http/route.ts";
import { getDisputeCase } from "./case.ts";
import { findVerdictFaults, operatorDisputeQuery, payoutInput, verdictInput } from "./operator-schema.ts";
import { repeatPayout } from "./repeat-payout.ts";
import { findNamedDispute, findNamedRefunded, getAllDisputes, resolveDispute } from "./resolve.ts";
import { disputeParams } from "./schema.ts";

export const operatorDisputeRoutes = [
  defineRoute({
    method: "get",
    path: "/v1/operator/disputes",
    operationId: "listAllDisputes",
    surfaces: ["operator"],
    query: operatorDisputeQuery,
    status: 200,
    errors: [],
    handle: (call, { query }) => getAllDisputes(call, query),
  }),
  defineRoute({
    method: "get",
    path: "/v1/operator/disputes/{dispute_id}",
    operationId: "getDisputeCase",
    surfaces: ["operator"],
    params: disputeParams,
    status: 200,
    errors: ["not_found"],
    object: findNamedDispute,
    handle: (call, { params }) => getDisputeCase(call, params.dispute_id),
  }),
  defineRoute({
    method: "post",
    path: "/v1/operator/disputes/{dispute_id}/resolve",
    operationId: "resolveDispute",
    surfaces: ["operator"],
    params: disputeParams,
    body: verdictInput,
    rules: findVerdictFaults,
    status: 200,
    errors: ["not_found", "invalid_status"],
    idempotency: "plain",
    object: findNamedRefunded,
    handle: (call, { params, body }) => resolveDispute(call, params.dispute_id, body),
  }),
  defineRoute({
    method: "post",
    path: "/v1/operator/disputes/{dispute_id}/payout",
    operationId: "repeatPayout",
    surfaces: ["operator"],
    params: disputeParams,
    body: payoutInput,
    status: 200,
    errors: ["not_found", "invalid_status"],
    idempotency: "plain",
    object: findNamedRefunded,
    handle: (call, { params, body }) => repeatPayout(call, params.dispute_id, body),
  }),
];
