// The names in the requests of all operations: objects of one tenant, or words. The walks over other tenants' objects (tenancy.test.ts,
// tenancy-agents.test.ts, tenancy-operators.test.ts) are made from it.
import { ROUTES } from "../../src/app.ts";
import type { Surface } from "../../src/call.ts";
import type { Route } from "../../src/http/route.ts";
import { requestMembers } from "../support/openapi.ts";

type Place = "path" | "query" | "body";

/** Members that name an object of a tenant or of the operator. */
const OBJECTS: Readonly<Record<Place, readonly string[]>> = {
  path: [
    ...["did", "principal_id", "customer_id", "document_id", "intent_id", "task_id", "facilitation_id"],
    ...["dispute_id", "platform_id", "verifier_id", "attestation_id", "alert_id", "event_id"],
    ...["webhook_id", "delivery_id", "session_id"],
  ],
  query: [
    "customer_id",
    "principal_id",
    "external_ref",
    "subject_id",
    "subject",
    "from",
    "to",
    "did",
    "consumer_did",
    "provider_did",
    "event_id",
  ],
  body: [
    ...["customer_id", "principal_id", "delegated_by", "consumer_did", "provider_did", "intent_id"],
    ...["transaction_id", "facilitation_id", "since"],
  ],
};

/** Members that name no object of a tenant, though they look like it in a body. */
const WORDS: Readonly<Record<Place, Readonly<Record<string, string>>>> = {
  path: {
    market: "a code out of the public list; the market is its agent's",
    n: "the number of a public status list",
    identifier: "a DID of the public registry, or any other text",
  },
  query: {
    contact: "which page is shown",
    ...words("a page, and what is filtered by a word", ["limit", "cursor", "status", "outcome", "economic_role"]),
    role: "which side of a payment the agent is on",
    ...words("what the log is filtered by", ["subject_type", "actor_type", "actor", "action", "environment"]),
    ...words("instants", ["occurred_after", "occurred_before", "since", "until"]),
    ...words("the type of events", ["type", "event_type"]),
    ...words("of a public document", ["version", "revision"]),
    ...words("of a public resolution", ["accept", "service", "serviceType", "relativeRef", "versionId", "versionTime"]),
    ...words("of a public resolution too", ["expandRelativeUrls", "noCache"]),
    ...words("of an order", ["market", "network", "amount", "payer"]),
    ...words("what the directory is filtered by", [
      "capabilities",
      "markets",
      "cert_tier",
      "min_agent_rating",
      "updated_since",
    ]),
    seq: "a number of the directory's feed",
    token: "of a page that reads nothing",
    others: "a word: all sessions but the calling one",
    platform_id: "the operator filters all accounts' entries",
  },
  body: {
    promotion_by: "whose credential promotes the account",
    external_ref: "the platform's own word, free at every other platform and in the other environment",
    verifier_id: "Verifiers are registered by the operator, for all platforms",
    attestation_id: "named by its Verifier; one may back principals of several platforms (PRN-25)",
    callee_did: "of a public check of a proof",
    submitted_by: "the side that hands in evidence",
  },
};

function words(why: string, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name, why]));
}

const looksLikeObject = ({ name, schema }: { name: string; schema?: string | undefined }): boolean =>
  /(^|_)(id|did|ref|by)s?$/.test(name) || schema === "IdInput" || schema === "DidInput";

type Member = { readonly place: Place; readonly name: string; readonly schema?: string | undefined };

function membersOf({ path, operationId }: Route): Member[] {
  const { query, body } = requestMembers(operationId);
  return [
    ...[...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]): Member => ({ place: "path", name })),
    ...query.map((name): Member => ({ place: "query", name })),
    ...body.map(({ path: at, schema }): Member => ({ place: "body", name: at.split(".").at(-1) ?? "", schema })),
  ];
}

/** Members that are in neither list: every parameter, and each member of a body that looks like an id. */
export const unjudged = (route: Route): string[] =>
  membersOf(route)
    .filter((member) => member.place !== "body" || looksLikeObject(member))
    .filter(({ place, name }) => !OBJECTS[place].includes(name) && !(name in WORDS[place]))
    .map(({ place, name }) => `${place} ${name}`);

/**
 * Members that name an object of any tenant: a buyer names the sellers of all platforms, an operator the vaults of all providers, and the directory
 * has the agents of all platforms.
 */
const ANYBODYS: Readonly<Record<string, readonly string[]>> = {
  evaluateSpendPolicy: ["provider_did"],
  listDifferences: ["did"],
  getDirectoryEntry: ["did"],
  getFacilitationStanding: ["facilitation_id"],
};

/** The members of a place that name an object of a tenant. */
export const namedIn = (route: Route, place: Place): string[] => [
  ...new Set(
    membersOf(route)
      .filter((member) => member.place === place && OBJECTS[place].includes(member.name))
      .filter(({ name }) => !ANYBODYS[route.operationId]?.includes(name))
      .map(({ name }) => name),
  ),
];

export const takes = ({ surfaces }: Route, ...some: Surface[]): boolean =>
  some.some((surface) => (surfaces as readonly Surface[]).includes(surface));

/** Operations that show every platform the certified agents of all platforms, in the environment of its key. */
export const DIRECTORY: readonly string[] = [
  ...["listDirectory", "getDirectoryEntry", "listDirectoryChanges", "getDirectoryHead"],
];

/** Operations that need a credential and name no object of a tenant, as they were judged one by one. */
export const NAMING_NOTHING: readonly string[] = [
  ...["getPlatform", "patchPlatform", "promotePlatform", "closePlatform", "listKeys", "rotateKey"],
  ...["listSessions", "endOtherSessions", "confirmSession", "setUpTotp", "confirmTotp", "removeTotp"],
  ...["logOut", "changePassword", "changeEmail", "submitDocument", "listDocuments", "submitVerification"],
  ...["listActivityHeads", "createCustomer", "listPlatforms", "announceToAll", "registerVerifier", "listVerifiers"],
  ...["listJobs", "listAlerts", "listOperatorActivity", "listDifferences", "getAuthority", "listPaymentIntents"],
  ...["createWebhook", "listWebhooks"],
  ...[...DIRECTORY, "listNetworks", "getSandboxClock", "advanceSandboxClock", "listAllDisputes"],
];

const namesObject = (route: Route): boolean =>
  (["path", "query", "body"] as const).some((place) => namedIn(route, place).length > 0);

/** Operations that any client may call: they show the same to every caller. */
export const PUBLIC = ROUTES.filter((route) => takes(route, "public"));
const CREDENTIALED = ROUTES.filter((route) => !takes(route, "public"));
export const NAMELESS = CREDENTIALED.filter((route) => !namesObject(route));
const walked = CREDENTIALED.filter(namesObject);
export const OF_PLATFORMS = walked.filter((route) => takes(route, "management", "session"));
export const OF_AGENTS = walked.filter((route) => takes(route, "agent"));
export const OF_OPERATORS = walked.filter((route) => takes(route, "operator", "verifier"));
