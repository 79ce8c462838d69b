// Routes of disputes: for the agents of a purchase and their platforms (DSP-1 to DSP-9), and for operators (DSP-16, DSP-19).
import type { ErrorCode } from "../core/errors.ts";
import type { Side } from "../core/vocabulary.ts";
import { defineRoute, type RouteOf } from "../http/route.ts";
import { pickValidFields } from "../http/schemas.ts";
import { accept, concede, escalate, precheckAct, respond, withdraw } from "./answer.ts";
import { getDispute, getDisputeCase, type PartyCall } from "./case.ts";
import { addEvidence } from "./evidence.ts";
import { fileDispute, precheckFiling } from "./file.ts";
import { repeatPayout } from "./repeat-payout.ts";
import { findNamedDispute, findNamedRefunded, getAllDisputes, resolveDispute } from "./resolve.ts";
import {
  type DisputeView,
  disputeInput,
  disputeParams,
  evidenceInput,
  findDisputeFaults,
  findVerdictFaults,
  operatorDisputeQuery,
  payoutInput,
  responseInput,
  verdictInput,
} from "./schema.ts";

const PARTIES = ["agent", "management"] as const;

type Act = {
  readonly act: string;
  readonly operationId: string;
  readonly side: Side | null;
  readonly handle: (call: PartyCall, disputeId: string) => Promise<DisputeView>;
};

const REFUSALS: readonly ErrorCode[] = ["not_found", "forbidden", "invalid_status"];

/** The routes of the parties' acts that take no body. */
const defineActRoute = ({ act, operationId, side, handle }: Act) =>
  defineRoute({
    method: "post",
    path: `/v1/disputes/{dispute_id}/${act}`,
    operationId,
    params: disputeParams,
    status: 200,
    errors: REFUSALS,
    idempotency: "plain",
    surfaces: PARTIES,
    handle: (call, { params }) => handle(call, params.dispute_id),
    precheck: (call, { params }) => precheckAct(call, params.dispute_id, side),
  } satisfies RouteOf<(typeof PARTIES)[number], { dispute_id: string }, undefined, undefined, unknown>);

export const disputeRoutes = [
  defineRoute({
    method: "post",
    path: "/v1/disputes",
    operationId: "fileDispute",
    body: disputeInput,
    rules: findDisputeFaults,
    status: 201,
    errors: [
      "facilitation_not_found",
      "forbidden",
      "environment_mismatch",
      "invalid_reason",
      "invalid_disputed_amount",
      "final_sale",
      "dispute_exists",
      "dispute_window_expired",
    ],
    idempotency: "plain",
    surfaces: PARTIES,
    handle: (call, { body }) => fileDispute(call, body),
    precheck: (call, { body }) => precheckFiling(call, pickValidFields(disputeInput, body)),
  }),
  defineRoute({
    method: "get",
    path: "/v1/disputes/{dispute_id}",
    operationId: "getDispute",
    params: disputeParams,
    status: 200,
    errors: ["not_found", "forbidden"],
    surfaces: PARTIES,
    handle: (call, { params }) => getDispute(call, params.dispute_id),
    precheck: (call, { params }) => precheckAct(call, params.dispute_id, null),
  }),
  defineRoute({
    method: "post",
    path: "/v1/disputes/{dispute_id}/respond",
    operationId: "respondToDispute",
    params: disputeParams,
    body: responseInput,
    status: 200,
    errors: REFUSALS,
    idempotency: "plain",
    surfaces: PARTIES,
    handle: (call, { params, body }) => respond(call, params.dispute_id, body),
    precheck: (call, { params }) => precheckAct(call, params.dispute_id, "provider"),
  }),
  defineActRoute({
    act: "accept",
    operationId: "acceptOffer",
    side: "consumer",
    handle: accept,
  }),
  defineActRoute({
    act: "concede",
    operationId: "concedeDispute",
    side: "provider",
    handle: concede,
  }),
  defineActRoute({
    act: "withdraw",
    operationId: "withdrawDispute",
    side: "consumer",
    handle: withdraw,
  }),
  defineActRoute({
    act: "escalate",
    operationId: "escalateDispute",
    side: null,
    handle: escalate,
  }),
  defineRoute({
    method: "post",
    path: "/v1/disputes/{dispute_id}/evidence",
    operationId: "addDisputeEvidence",
    params: disputeParams,
    body: evidenceInput,
    status: 201,
    errors: REFUSALS,
    idempotency: "plain",
    surfaces: PARTIES,
    handle: (call, { params, body }) => addEvidence(call, params.dispute_id, body),
    precheck: (call, { params }) => precheckAct(call, params.dispute_id, null),
  }),
];

// ---- For operators ---------------------------------------------------------------------------------------------------------

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
