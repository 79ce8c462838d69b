// The webhooks of the public document: one entry and one schema for each event type (EVT-1, EVT-3).
import type { RouteConfig } from "@hono/zod-openapi";
import * as z from "zod";
import { keyView, platformView } from "../../src/accounts/responses.ts";
import { agentView, marketView } from "../../src/agents/schema.ts";
import { disputeView } from "../../src/disputes/schema.ts";
import { transactionView } from "../../src/facilitation/responses.ts";
import { agentStatus, did, escrowState, instant, principalStatus } from "../../src/http/schemas.ts";
import type { EventType } from "../../src/journal/events.ts";
import { eventView } from "../../src/journal/responses.ts";
import { intentView } from "../../src/payments/responses.ts";
import { principalView } from "../../src/principals/schema.ts";
import { taskView } from "../../src/tasks/responses.ts";
import { webhookView } from "../../src/webhooks/responses.ts";
import { EXAMPLES } from "./examples.ts";
import { WEBHOOK_PARAMETERS } from "./parts.ts";
import { shortened } from "./shorten.ts";
import type { Json } from "./types.ts";

const NOTICE_DAYS = 30;
const EVENT_ID = "evt_01JD3S2Q4N7W8X9Y0Z1A2B3C4D";

/** The schema of `data.object`, with a recorded answer as its example, and of `data.previous` if the event has it. */
type Told = { readonly schema: z.ZodObject; readonly example: () => Json; readonly previous?: Previous };
type Previous = { readonly schema: z.ZodObject; readonly example: Json };
const named = (id: string, schema: z.ZodObject): z.ZodObject => schema.register(z.globalRegistry, { id });
const answerOf = (operationId: string): Json => (EXAMPLES[operationId]?.response ?? {}) as Json;
const firstOf = (operationId: string): Json =>
  (answerOf(operationId)["data"] as readonly Json[] | undefined)?.[0] ?? {};

const AGENT: Told = { schema: agentView, example: () => answerOf("getAgent") };
const PRINCIPAL: Told = { schema: principalView, example: () => answerOf("getPrincipal") };
const INTENT: Told = { schema: intentView, example: () => answerOf("getPaymentIntent") };
const TRANSACTION: Told = { schema: transactionView, example: () => firstOf("listTransactions") };
const TASK: Told = { schema: taskView, example: () => answerOf("getTask") };
const DISPUTE: Told = { schema: disputeView, example: () => firstOf("listDisputes") };

const before = (told: Told, id: string, schema: z.ZodType, example: Json): Told => {
  const [name = ""] = Object.keys(example);
  return { ...told, previous: { schema: named(id, z.object({ [name]: schema })), example } };
};
const PREVIOUS_KEY = "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs";

const EVENTS: Readonly<Record<EventType, readonly [summary: string, told: Told]>> = {
  "platform.verification_decided": [
    "An operator decided on the account's verification",
    { schema: platformView, example: () => answerOf("getPlatform") },
  ],
  "platform.profile_decided": [
    "An operator decided on a change of the account's name, country or registration number",
    { schema: platformView, example: () => answerOf("getPlatform") },
  ],
  "transaction.settled": ["A payment was facilitated", TRANSACTION],
  "transaction.reversed": ["A settlement was reversed, because it is not on the chain", TRANSACTION],
  "dispute.filed": ["A dispute was filed", DISPUTE],
  "dispute.resolved": ["A dispute ended", DISPUTE],
  "dispute.updated": ["A dispute changed: an answer, evidence, a deadline or a payment", DISPUTE],
  "agent.status_changed": [
    "An agent's status changed",
    before(AGENT, "PreviousAgentStatus", agentStatus, { status: "FUNDING" }),
  ],
  "agent.registered": ["An agent was registered", AGENT],
  "agent.activated": ["An agent was activated and has its first certificate", AGENT],
  "agent.key_rotated": [
    "An agent's key was rotated",
    before(AGENT, "PreviousKey", z.string(), { key_id: PREVIOUS_KEY }),
  ],
  "agent.transferred": [
    "An agent was transferred to another principal",
    before(AGENT, "PreviousPrincipal", z.string(), { principal_id: "prn_01JD3S2Q4N7W8X9Y0Z1A2B3C4D" }),
  ],
  "agent.promoted": ["An agent was promoted to production", AGENT],
  "agent.escrow_state_changed": [
    "An agent's escrow state changed",
    before(AGENT, "PreviousEscrowState", escrowState, { escrow_state: "FUNDING" }),
  ],
  "principal.status_changed": [
    "A principal's status changed",
    before(PRINCIPAL, "PreviousPrincipalStatus", principalStatus, { status: "ATTESTATION_EXPIRED" }),
  ],
  "principal.attestation_expiring": [
    "A principal's attestation ends soon",
    {
      schema: named("ExpiringPrincipal", principalView.extend({ notice_days: z.number().int() })),
      example: () => ({ ...answerOf("getPrincipal"), notice_days: NOTICE_DAYS }),
    },
  ],
  "task.opened": ["A settlement opened a task", TASK],
  "task.closed": ["A task was closed", TASK],
  "intent.paid": ["An intent was paid on-chain and is not facilitated yet", INTENT],
  "intent.abandoned": ["An intent ended unpaid: its time passed, or a party cancelled it", INTENT],
  "market.provisioned": [
    "An agent's market was provisioned on-chain",
    {
      schema: named("ProvisionedMarket", marketView.extend({ did })),
      example: () => ({ did: answerOf("getAgent")["did"], ...firstOf("listAuthorizedMarkets") }),
    },
  ],
  "api_key.rotated": [
    "A management key was replaced",
    {
      schema: named("RotatedKey", keyView.extend({ platform_id: z.string(), previous_key_expires_at: instant })),
      example: () => ({
        platform_id: answerOf("getPlatform")["platform_id"],
        ...firstOf("listKeys"),
        previous_key_expires_at: answerOf("rotateKey")["previous_key_expires_at"],
      }),
    },
  ],
  "webhook.test": [
    "The platform requested a test of the endpoint",
    { schema: webhookView, example: () => answerOf("getWebhook") },
  ],
};

/** `transaction.settled` as `TransactionSettled`. */
const pascal = (type: string): string =>
  type.replace(/(?:^|[._])(\w)/g, (_all, letter: string) => letter.toUpperCase());

const nameOf = (schema: z.ZodType): string => z.globalRegistry.get(schema)?.id ?? "";
/** The schemas of `data`, by the schema of `previous` if there is one, else of the object. `of` names the object. */
const DATA = new Map<z.ZodObject, { readonly data: z.ZodObject; readonly of: string }>();
function dataWith({ schema: object, previous }: Told): z.ZodObject {
  const key = previous?.schema ?? object;
  const shape = { object, ...(previous && { previous: previous.schema.optional() }) };
  const known = DATA.get(key)?.data ?? named(`${nameOf(key)}EventData`, z.object(shape));
  DATA.set(key, { data: known, of: nameOf(object) });
  return known;
}

const SCHEMAS = new Map(
  Object.entries(EVENTS).map(([type, [, told]]) => [
    type,
    named(`${pascal(type)}Event`, eventView.extend({ type: z.literal(type), data: dataWith(told) })),
  ]),
);

/** The descriptions of the schemas, for fields.ts. */
export const EVENT_SENTENCES: Readonly<Record<string, string>> = Object.fromEntries([
  ...Object.entries(EVENTS).map(([type, [summary]]) => [`${pascal(type)}Event`, `${summary}.`]),
  ...[...DATA.values()].map(({ data, of }) => [
    nameOf(data),
    `The data of an event about ${/^[AEIOU]/.test(of) ? "an" : "a"} \`${of}\`.`,
  ]),
]);

/** Returns the webhooks of the document: the requests that the service sends to endpoints. */
export const webhooksOf = (print: (schema: z.ZodType) => Json): RouteConfig[] =>
  Object.entries(EVENTS).map(([type, [summary, { example, previous }]]) =>
    describe(type, summary, print(SCHEMAS.get(type) ?? eventView), {
      object: example(),
      ...(previous && { previous: previous.example }),
    }),
  );

const describe = (type: string, summary: string, schema: Json, data: Json): RouteConfig => ({
  method: "post",
  path: type,
  operationId: `on${pascal(type)}`,
  tags: ["Webhooks"],
  summary,
  description: `${summary}. Sent to each endpoint that selects \`${type}\`, at least once.`,
  security: [],
  parameters: Object.keys(WEBHOOK_PARAMETERS).map((name) => ({ $ref: `#/components/parameters/${name}` })),
  request: {
    body: {
      required: true,
      content: { "application/json": { schema, example: shortened(exampleOf(type, data)) } },
    },
  },
  responses: {
    "2XX": { description: "Received. After any other answer, or none within 15 seconds, the event is sent again." },
  },
});

const exampleOf = (type: string, data: Json): Json => ({
  id: EVENT_ID,
  type,
  occurred_at: "2026-11-24T09:30:00.000Z",
  environment: "sandbox",
  api_version: "v1",
  data,
});
