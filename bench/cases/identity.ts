// The public operations, which need no credential.
import { answerChallenge, boundHeaders } from "../../scripts/client.ts";
import type { Case } from "../case.ts";
import { agentPath, anyone, json, must, type Play } from "../play.ts";
import { promoteConsumer } from "./promotion.ts";

const aidOf = (play: Play) => `${agentPath(play.provider.did)}/aid`;

const LIST = "/.well-known/aeap-status-lists/1";
/** An old list that no certificate of another case enters, so that the length of its text does not depend on other cases. */
const OLD = "/.well-known/aeap-status-lists/2";
const OLD_AND_NEWEST =
  "insert or ignore into status_lists (list_id, size, created_at, counted_at) values (2, 65536, 0, ?), (3, 65536, 0, ?)";
/** Each exception of a list costs one row, however many certificates the list has. */
const EXCEPTIONS = `select count(*) as exceptions from certificates
  where list_id = 1 and (listed_status <> 0 or replaced_at is not null) and expires_at > ?`;

/** A request with a credential bypasses the data centre's cache, which an earlier case has filled. */
const pastCache = (path: string) => anyone("GET", path, undefined, { Authorization: "Bearer none" });

export const IDENTITY: readonly Case[] = [
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
    ask: (play) => pastCache(`${aidOf(play)}?version=2`),
  },
  {
    route: "GET /v1/agents/{did}/aid",
    variant: "revision",
    status: 200,
    ask: async (play) => {
      const status = json(await must(play.stage, anyone("GET", `${agentPath(play.provider.did)}/status`), 200));
      return pastCache(`${aidOf(play)}?revision=${status["aid_revision"]}`);
    },
  },
  {
    route: "GET /v1/agents/{did}/aid",
    variant: "stale: signed anew",
    status: 200,
    ask: async (play) => {
      const { did } = play.provider;
      await play.stage.sql([{ sql: "update agents set revision = revision + 1 where did = ?", params: [did] }]);
      return anyone("GET", aidOf(play));
    },
  },
  {
    route: "GET /.well-known/aeap-status-lists/{n}",
    status: 200,
    ask: async ({ stage }) => {
      await stage.sql([{ sql: OLD_AND_NEWEST, params: [Date.now(), Date.now()] }]);
      await must(stage, pastCache(OLD), 200);
      return pastCache(OLD);
    },
  },
  {
    route: "GET /.well-known/aeap-status-lists/{n}",
    variant: "signed anew",
    status: 200,
    ask: async ({ stage }) => {
      await stage.sql([{ sql: "update status_lists set signed_at = null, signed = null" }]);
      return pastCache(LIST);
    },
    moreRows: async ({ stage }) => {
      const [rows = []] = await stage.sql([{ sql: EXCEPTIONS, params: [Date.now()] }]);
      return Number(rows[0]?.["exceptions"]);
    },
  },
  ...["certificate", "did.json", "did-web/did.json"].map(
    (part): Case => ({
      route: `GET /v1/agents/{did}/${part}`,
      status: 200,
      ask: ({ provider }) => anyone("GET", `${agentPath(provider.did)}/${part}`),
    }),
  ),
  ...["status", "rating"].flatMap((part): Case[] => [
    {
      route: `GET /v1/agents/{did}/${part}`,
      status: 200,
      ask: async (play) => anyone("GET", `${agentPath(await promoteConsumer(play))}/${part}`),
    },
    {
      route: `GET /v1/agents/{did}/${part}`,
      variant: "in a sandbox",
      status: 200,
      ...(part === "status" && { timed: "read" as const }),
      ask: ({ provider }) => anyone("GET", `${agentPath(provider.did)}/${part}`),
    },
  ]),
  ...[
    ["", "application/did-resolution"],
    ["#aid", "application/did-url-dereferencing"],
  ].map(
    ([part = "", Accept = ""]): Case => ({
      route: "GET /1.0/identifiers/{identifier}",
      ...(part !== "" && { variant: "a part" }),
      status: 200,
      ask: ({ provider }) =>
        anyone("GET", `/1.0/identifiers/${encodeURIComponent(`${provider.did}${part}`)}`, undefined, { Accept }),
    }),
  ),
  ...[
    "/contexts/aeap/v1",
    "/v1/markets",
    "/.well-known/aeap-ca-jwks",
    "/.well-known/aeap-ca-jwks.json",
    "/.well-known/aeap",
    "/v1/verify/challenge",
    "/v1/rating-method",
  ].map((path): Case => ({ route: `GET ${path}`, status: 200, ask: () => anyone("GET", path) })),
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
      const challenge = json(await must(stage, anyone("GET", "/v1/verify/challenge"), 200));
      return anyone("POST", "/v1/verify/proof", await answerChallenge(consumer, String(challenge["nonce"])));
    },
  },
  {
    route: "POST /v1/verify/proof",
    variant: "bound",
    status: 200,
    ask: async ({ consumer, provider }) => {
      const headers = await boundHeaders(consumer, provider);
      return anyone("POST", "/v1/verify/proof", {
        proof_type: "bound_proof",
        certificate: headers["AEAP-Certificate"],
        proof: headers["AEAP-Proof"],
        timestamp: headers["AEAP-Timestamp"],
        callee_did: provider.did,
      });
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
