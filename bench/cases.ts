// The path through the service as a table: each case is one call, made anew every time it is asked, so that it can be
// repeated. What it needs beforehand it arranges itself, past the meter.

import { proofTimestamp, signProof } from "../src/protocol/proof.ts";
import {
  agentBody,
  agentPath,
  anyone,
  as,
  asBound,
  draft,
  facilitated,
  json,
  manage,
  marketBody,
  must,
  openIntent,
  orderBody,
  type Play,
  pay,
  principalBody,
} from "./play.ts";
import type { Ask } from "./wire.ts";

export type Case = {
  /** The operation as the OpenAPI document has it; one that the service does not have yet is skipped. */
  readonly route: string;
  /** Which of the route's cases, where it has several. */
  readonly variant?: string;
  readonly status: number;
  readonly ask: (play: Play) => Ask | Promise<Ask>;
  /** Timed against the baselines: `read` in full slices, `effect` less often, since each call needs an arrangement. */
  readonly timed?: "read" | "effect";
};

export const nameOf = ({ route, variant }: Case): string => (variant ? `${route} (${variant})` : route);

const keyed = (play: Play, ask: Ask): Ask => ({
  ...ask,
  headers: { ...ask.headers, "Idempotency-Key": `bench-${play.next()}` },
});

const aidOf = (play: Play) => `${agentPath(play.provider.did)}/aid`;
const addressPath = ({ network }: Play) => `/v1/payment-address?market=GLOBAL-USDC&network=${network.network}`;

/** A page of what few rows match: it may not read the many that do not. */
const FILTERS: readonly (readonly [path: string, filter: string])[] = [
  ["/v1/principals", "external_ref=crm-1"],
  ["/v1/principals", "status=SUSPENDED"],
  ["/v1/agents", "status=DRAFT"],
  ["/v1/agents", "status=SUSPENDED"],
  ["/v1/agents", "economic_role=CONSUMER"],
];

const MANAGEMENT: readonly Case[] = [
  {
    route: "POST /v1/principals",
    status: 201,
    timed: "effect",
    ask: ({ stage, next }) => manage(stage, "POST", "/v1/principals", principalBody(next())),
  },
  {
    route: "POST /v1/principals",
    variant: "Idempotency-Key",
    status: 201,
    ask: (play) => keyed(play, manage(play.stage, "POST", "/v1/principals", principalBody(play.next()))),
  },
  {
    route: "GET /v1/principals",
    status: 200,
    timed: "read",
    ask: ({ stage }) => manage(stage, "GET", "/v1/principals?limit=20"),
  },
  {
    route: "GET /v1/principals/{principal_id}",
    status: 200,
    timed: "read",
    ask: ({ stage, principalId }) => manage(stage, "GET", `/v1/principals/${principalId}`),
  },
  {
    route: "POST /v1/agents",
    status: 201,
    timed: "effect",
    ask: ({ stage, principalId }) => manage(stage, "POST", "/v1/agents", agentBody("PROVIDER", principalId)),
  },
  {
    route: "POST /v1/agents",
    variant: "422",
    status: 422,
    timed: "read",
    ask: ({ stage }) => manage(stage, "POST", "/v1/agents", { economic_role: "PROVIDER" }),
  },
  {
    route: "GET /v1/agents",
    status: 200,
    timed: "read",
    ask: ({ stage }) => manage(stage, "GET", "/v1/agents?limit=20"),
  },
  {
    route: "GET /v1/agents/{did}",
    status: 200,
    timed: "read",
    ask: ({ stage, provider }) => manage(stage, "GET", agentPath(provider.did)),
  },
  {
    route: "POST /v1/agents/{did}/activate",
    status: 200,
    timed: "effect",
    ask: async (play) => {
      const did = await draft(play.stage, "PROVIDER", play.principalId);
      return keyed(play, manage(play.stage, "POST", `${agentPath(did)}/activate`));
    },
  },
  {
    route: "PATCH /v1/agents/{did}/scope",
    status: 200,
    timed: "effect",
    ask: ({ stage, provider, next }) =>
      manage(stage, "PATCH", `${agentPath(provider.did)}/scope`, { dispute_window_days: 1 + (next() % 300) }),
  },
  {
    route: "PATCH /v1/agents/{did}/status",
    status: 200,
    ask: async ({ stage, principalId }) => {
      const did = await draft(stage, "PROVIDER", principalId);
      await must(stage, manage(stage, "POST", `${agentPath(did)}/activate`), 200);
      return manage(stage, "PATCH", `${agentPath(did)}/status`, { status: "SUSPENDED" });
    },
  },
  {
    route: "POST /v1/agents/{did}/scope/authorized_markets",
    status: 200,
    ask: async ({ stage, principalId, network }) => {
      const did = await draft(stage, "PROVIDER", principalId);
      await must(stage, manage(stage, "POST", `${agentPath(did)}/activate`), 200);
      return manage(stage, "POST", `${agentPath(did)}/scope/authorized_markets`, marketBody(network));
    },
  },
  {
    route: "GET /v1/agents/{did}/scope/authorized_markets",
    status: 200,
    ask: ({ stage, provider }) => manage(stage, "GET", `${agentPath(provider.did)}/scope/authorized_markets`),
  },
  ...FILTERS.map(
    ([path, filter]): Case => ({
      route: `GET ${path}`,
      variant: filter,
      status: 200,
      ask: ({ stage }) => manage(stage, "GET", `${path}?${filter}`),
    }),
  ),
  { route: "GET /v1/platform", status: 200, timed: "read", ask: ({ stage }) => manage(stage, "GET", "/v1/platform") },
];

const IDENTITY: readonly Case[] = [
  {
    route: "GET /v1/agents/{did}/aid",
    status: 200,
    timed: "read",
    ask: (play) => anyone("GET", aidOf(play)),
  },
  {
    route: "GET /v1/agents/{did}/aid",
    variant: "304",
    status: 304,
    ask: async (play) => {
      const reply = await must(play.stage, anyone("GET", aidOf(play)), 200);
      return anyone("GET", aidOf(play), undefined, { "If-None-Match": String(reply.headers["etag"]) });
    },
  },
  {
    route: "GET /v1/agents/{did}/aid",
    variant: "application/jwt",
    status: 200,
    ask: (play) => anyone("GET", aidOf(play), undefined, { Accept: "application/jwt" }),
  },
  {
    route: "GET /v1/agents/{did}/aid",
    variant: "earlier version",
    status: 200,
    ask: (play) => anyone("GET", `${aidOf(play)}?version=2`),
  },
  ...(["status", "certificate", "rating", "did.json"] as const).map(
    (part): Case => ({
      route: `GET /v1/agents/{did}/${part}`,
      status: 200,
      ...(part === "status" && { timed: "read" as const }),
      ask: ({ provider }) => anyone("GET", `${agentPath(provider.did)}/${part}`),
    }),
  ),
  ...["/v1/markets", "/.well-known/aeap-ca-jwks", "/.well-known/aeap", "/v1/verify/challenge", "/v1/rating-method"].map(
    (path): Case => ({ route: `GET ${path}`, status: 200, ask: () => anyone("GET", path) }),
  ),
  {
    route: "POST /v1/verify/certificate",
    status: 200,
    timed: "read",
    ask: ({ consumer }) => anyone("POST", "/v1/verify/certificate", { certificate: consumer.certificate }),
  },
  {
    route: "POST /v1/verify/proof",
    variant: "challenge",
    status: 200,
    ask: async ({ stage, consumer }) => {
      const { certificate, did: agentDid, privateKey } = consumer;
      const challenge = json(await must(stage, anyone("GET", "/v1/verify/challenge"), 200));
      const nonce = String(challenge["nonce"]);
      const timestamp = proofTimestamp(Date.now());
      const { proof } = await signProof({ kind: "challenge", timestamp, nonce, agentDid }, privateKey);
      const body = { proof_type: "challenge_response", certificate, nonce, proof, timestamp };
      return anyone("POST", "/v1/verify/proof", body);
    },
  },
  {
    route: "POST /v1/verify/proof",
    variant: "bound",
    status: 200,
    ask: async ({ consumer, provider }) => {
      const { certificate, did: callerDid, privateKey } = consumer;
      const timestamp = proofTimestamp(Date.now());
      const { proof } = await signProof({ kind: "bound", timestamp, callerDid, calleeDid: provider.did }, privateKey);
      const body = { proof_type: "bound_proof", certificate, proof, timestamp, callee_did: provider.did };
      return anyone("POST", "/v1/verify/proof", body);
    },
  },
  {
    route: "POST /v1/verify/aid",
    status: 200,
    ask: async (play) => {
      const aid = json(await must(play.stage, anyone("GET", aidOf(play)), 200));
      return anyone("POST", "/v1/verify/aid", { aid });
    },
  },
  { route: "GET /openapi.json", status: 200, ask: () => anyone("GET", "/openapi.json") },
  { route: "GET /healthz", status: 200, timed: "read", ask: () => anyone("GET", "/healthz") },
];

const PAYMENTS: readonly Case[] = [
  {
    route: "POST /v1/payment-intents",
    status: 201,
    timed: "effect",
    ask: (play) => as(play.consumer, "POST", "/v1/payment-intents", orderBody(play)),
  },
  {
    route: "POST /v1/payment-intents",
    variant: "Idempotency-Key",
    status: 201,
    ask: async (play) => keyed(play, await as(play.consumer, "POST", "/v1/payment-intents", orderBody(play))),
  },
  {
    route: "GET /v1/payment-intents/{intent_id}",
    status: 200,
    ask: async (play) => as(play.consumer, "GET", `/v1/payment-intents/${await openIntent(play)}`),
  },
  {
    route: "GET /v1/payment-address",
    status: 200,
    ask: (play) => as(play.provider, "GET", addressPath(play)),
  },
  {
    route: "GET /v1/payment-address",
    variant: "intent",
    status: 200,
    ask: (play) => {
      const { consumer_did, provider_did, amount } = orderBody(play) as Record<string, string>;
      const query = new URLSearchParams({
        consumer_did: `${consumer_did}`,
        provider_did: `${provider_did}`,
        amount: `${amount}`,
      });
      return as(play.provider, "GET", `${addressPath(play)}&${query}`);
    },
  },
  {
    route: "POST /v1/facilitate",
    variant: "intent",
    status: 200,
    timed: "effect",
    ask: async (play) => {
      const intentId = await openIntent(play);
      const body = JSON.stringify({ intent_id: intentId, payment_tx: await pay(play, intentId) });
      return asBound(play.consumer, play.provider.did, { method: "POST", path: "/v1/facilitate", body });
    },
  },
  {
    route: "POST /v1/facilitate",
    variant: "client form",
    status: 200,
    ask: async (play) => {
      const tx_hash = await pay(play, await openIntent(play));
      const { consumer, provider, network } = play;
      const body = { provider_did: provider.did, consumer_did: consumer.did, tx_hash, network: network.network };
      return as(provider, "POST", "/v1/facilitate", body);
    },
  },
  {
    route: "POST /v1/facilitate",
    variant: "retry",
    status: 200,
    ask: async (play) => {
      const { intentId, txHash } = await facilitated(play);
      return as(play.consumer, "POST", "/v1/facilitate", { intent_id: intentId, payment_tx: txHash });
    },
  },
  {
    route: "GET /v1/tasks/{task_id}",
    status: 200,
    ask: async (play) => as(play.consumer, "GET", `/v1/tasks/${(await facilitated(play)).taskId}`),
  },
  {
    route: "POST /v1/tasks/{task_id}/confirm",
    status: 200,
    ask: async (play) => {
      const { taskId } = await facilitated(play);
      return as(play.consumer, "POST", `/v1/tasks/${taskId}/confirm`, { outcome: "confirmed" });
    },
  },
];

export const CASES: readonly Case[] = [...MANAGEMENT, ...IDENTITY, ...PAYMENTS];
