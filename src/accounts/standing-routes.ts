// Routes of an account's standing: suspension and reinstatement by the operator, closing by its owner (ACC-27, ACC-25, ACC-26).
import { route } from "../http/route.ts";
import { closePlatform } from "./close.ts";
import { precheckAccount } from "./decide.ts";
import { platformAccount } from "./schema.ts";
import { reinstatePlatform, suspendPlatform } from "./standing.ts";
import { closingInput, closingView, standingInput, standingParams } from "./standing-schema.ts";

export const standingRoutes = [
  route({
    method: "post",
    path: "/v1/platform/close",
    operationId: "closePlatform",
    tag: "Platform",
    summary: "Close the account",
    description:
      "For good. The confirmation is the account's legal name, or its email address while it has no name. Keys, sessions, links and the " +
      "password end at once; every agent of both environments is REVOKED and every principal CLOSED. Refused while a dispute of either " +
      "environment is open, or an escrow holds funds in production; test money blocks nothing. The history stays readable for the other side of each purchase.",
    surfaces: ["session"],
    body: closingInput,
    status: 200,
    response: { schema: closingView, description: "The account is closed." },
    errors: [
      "confirmation_mismatch",
      "current_password_invalid",
      "close_blocked_open_disputes",
      "close_blocked_escrow",
    ],
    whenUsedUp: true,
    handle: (call, { body }) => closePlatform(call, body),
  }),
  route({
    method: "post",
    path: "/v1/operator/platforms/{platform_id}/suspend",
    operationId: "suspendPlatform",
    tag: "Operator",
    summary: "Suspend an account",
    description:
      "From the commit on its keys, sessions and agents are refused with 403 `account_suspended`, and its agents are SUSPENDED with the reason " +
      "`operator`. Payments that were made, tasks and auto-confirmation go on.",
    surfaces: ["operator"],
    params: standingParams,
    body: standingInput,
    status: 200,
    response: { schema: platformAccount, description: "The account." },
    errors: ["not_found", "invalid_status"],
    handle: (call, { params, body }) => suspendPlatform(call, params.platform_id, body),
    precheck: (call, { params }) => precheckAccount(call, params.platform_id),
  }),
  route({
    method: "post",
    path: "/v1/operator/platforms/{platform_id}/reinstate",
    operationId: "reinstatePlatform",
    tag: "Operator",
    summary: "Reinstate a suspended account",
    description:
      "Returns it to the state that it was suspended in, and gives back the agents that the suspension took; an agent that something else " +
      "stops meanwhile stays SUSPENDED with that reason.",
    surfaces: ["operator"],
    params: standingParams,
    body: standingInput,
    status: 200,
    response: { schema: platformAccount, description: "The account." },
    errors: ["not_found", "invalid_status"],
    handle: (call, { params, body }) => reinstatePlatform(call, params.platform_id, body),
    precheck: (call, { params }) => precheckAccount(call, params.platform_id),
  }),
];
