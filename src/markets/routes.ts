// Routes of the public list of markets and of a provider's own markets (MKT-2, MKT-5, MKT-13).
import * as z from "zod";
import { findNamedOwnAgent } from "../agents/read.ts";
import { defineRoute } from "../http/route.ts";
import { networkInput } from "../http/schemas.ts";
import { agentParams } from "../identity/schema.ts";
import { authorizeMarkets, precheckMarkets } from "./authorize.ts";
import { getMarkets, listMarkets, precheckRemoval, removeMarket } from "./own.ts";
import { findMarketFormatFaults, marketInput, marketQuery, toProposedMarkets } from "./schema.ts";

export const marketRoutes = [
  defineRoute({
    method: "get",
    path: "/v1/markets",
    operationId: "listMarkets",
    query: marketQuery,
    status: 200,
    errors: [],
    cors: true,
    surfaces: ["public"],
    handle: async (call, { query }) => getMarkets(call, query),
  }),
  defineRoute({
    method: "post",
    path: "/v1/agents/{did}/scope/authorized_markets",
    operationId: "authorizeMarkets",
    params: agentParams,
    body: marketInput,
    rules: findMarketFormatFaults,
    status: 200,
    errors: [
      "not_found",
      "forbidden",
      "role_not_permitted",
      "agent_status_not_mutable",
      "market_not_authorized",
      "environment_mismatch",
      "invalid_market_format",
    ],
    lock: ({ did }) => did,
    surfaces: ["management"],
    object: findNamedOwnAgent,
    handle: (call, { params, body }) => authorizeMarkets(call, params.did, body),
    precheck: (call, { params, body }) => precheckMarkets(call, params.did, toProposedMarkets(body)),
  }),
  defineRoute({
    method: "get",
    path: "/v1/agents/{did}/scope/authorized_markets",
    operationId: "listAuthorizedMarkets",
    params: agentParams,
    query: marketQuery,
    status: 200,
    errors: ["not_found"],
    surfaces: ["management"],
    object: findNamedOwnAgent,
    handle: (call, { params, query }) => listMarkets(call, params.did, query),
  }),
  defineRoute({
    method: "delete",
    path: "/v1/agents/{did}/scope/authorized_markets/{market}",
    operationId: "removeAuthorizedMarket",
    params: agentParams.extend({ market: z.string() }),
    query: z.strictObject({ network: networkInput }),
    status: 204,
    errors: ["not_found", "forbidden", "agent_status_not_mutable"],
    lock: ({ did }) => did,
    surfaces: ["management"],
    object: findNamedOwnAgent,
    handle: (call, { params, query }) => removeMarket(call, params.did, params.market, query.network),
    precheck: precheckRemoval,
  }),
];
