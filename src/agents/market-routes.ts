// Specification 4, Agents: a provider's markets, each a settlement split and an escrow wallet on-chain.
import { z } from "@hono/zod-openapi";
import { createManagementRouter } from "../auth/management.ts";
import { authorizeMarkets, examineMarkets, listMarkets, removeMarket } from "../flows/authorize-markets.ts";
import { marketInput, marketList, marketRules, marketsQuery, marketsView, proposedMarkets } from "./market-schema.ts";
import { agentParams } from "./schema.ts";
import { examineOwnAgent } from "./service.ts";

export const marketRoutes = createManagementRouter();

marketRoutes.route(
  {
    method: "post",
    path: "/v1/agents/{did}/scope/authorized_markets",
    operationId: "authorizeMarkets",
    tag: "Agents",
    summary: "Open markets for a provider",
    description:
      "Provisions the escrow wallet and registers the settlement split on-chain. Waits for the chain up to 20 seconds; what is not done by then is PROVISIONING and finishes in the background.",
    params: agentParams,
    body: marketInput,
    rules: marketRules,
    status: 200,
    response: { schema: marketsView, description: "Every market of the agent in the key's environment." },
    errors: [
      "not_found",
      "role_not_permitted",
      "agent_status_not_mutable",
      "market_not_authorized",
      "environment_mismatch",
      "invalid_market_format",
    ],
    turn: ({ did }) => did,
  },
  (call, { params, body }) => authorizeMarkets(call, params.did, body()),
  (call, { params, body }) => examineMarkets(call, params.did, proposedMarkets(body)),
);

marketRoutes.route(
  {
    method: "get",
    path: "/v1/agents/{did}/scope/authorized_markets",
    operationId: "listAuthorizedMarkets",
    tag: "Agents",
    summary: "List a provider's markets",
    description: "In the order of their codes.",
    params: agentParams,
    query: marketsQuery,
    status: 200,
    response: { schema: marketList, description: "A page of markets." },
    errors: ["not_found"],
  },
  (call, { params, query }) => listMarkets(call, params.did, query),
  (call, { params }) => examineOwnAgent(call, params.did),
);

marketRoutes.route(
  {
    method: "delete",
    path: "/v1/agents/{did}/scope/authorized_markets/{market}",
    operationId: "removeAuthorizedMarket",
    tag: "Agents",
    summary: "Take a market away",
    description: "The vault and what it holds stay the provider's.",
    params: agentParams.extend({ market: z.string() }),
    query: z.strictObject({ network: z.string().min(1).max(50) }),
    status: 204,
    response: { schema: z.null(), description: "Taken away." },
    errors: ["not_found", "agent_status_not_mutable"],
    turn: ({ did }) => did,
  },
  (call, { params, query }) => removeMarket(call, params.did, params.market, query.network),
);
