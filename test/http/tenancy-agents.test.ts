// Agents' own routes, called by agents that have no part in the named objects: of another platform, and of the platform's other environment. Such a
// caller gets 403, the same for every object, and nothing is written. All strangers and forms are tried on one route of each kind of refusal, every
// other one by two; `npm run test:long` tries all of them.
import { beforeAll, describe, expect, it } from "vitest";
import type { Environment } from "../../src/core/vocabulary.ts";
import type { Route } from "../../src/http/route.ts";
import type { Agent, Json, Reply } from "../support/world.ts";
import { newConsumer, type Platform, type Side } from "./tenancy-makers.ts";
import { namedIn, OF_AGENTS } from "./tenancy-names.ts";
import { placesOf, portions } from "./tenancy-portions.ts";
import { DISPUTED, type Purchases, purchases } from "./tenancy-purchases.ts";
import {
  ask,
  byAgent,
  type Caller,
  ENVIRONMENTS,
  type Form,
  formsOf,
  nowhere,
  openPlatform,
  otherThan,
  pathOf,
  told,
  watchRows,
} from "./tenancy-support.ts";

let owner: Platform;
let other: Platform;
let bought: Record<Environment, Purchases>;
const consumers = new Map<Side, Agent>();
beforeAll(async () => {
  owner = await openPlatform();
  other = await openPlatform();
  bought = { sandbox: await purchases(owner.sandbox), production: await purchases(owner.production) };
  for (const side of [...Object.values(owner), ...Object.values(other)]) consumers.set(side, await newConsumer(side));
});

const byConsumerOf = (side: Side, name: string): Caller => {
  const agent = consumers.get(side);
  if (!agent) throw new Error("unreachable: every side has a consumer");
  return byAgent(side.world, agent, name);
};

// ---- Requests --------------------------------------------------------------------------------------------------------------

/** The objects of the purchases that a request names. */
type Named = Pick<Purchases, "task" | "intent" | "open" | "settled" | "disputes"> & {
  readonly consumerDid: string;
  readonly providerDid: string;
};
const namedOf = ({ consumer, provider, task, intent, open, settled, disputes }: Purchases): Named => ({
  task,
  intent,
  open,
  settled,
  disputes,
  consumerDid: consumer.did,
  providerDid: provider.did,
});
const nothing = (): Named => ({
  task: nowhere("task_id"),
  intent: nowhere("intent_id"),
  open: nowhere("intent_id"),
  settled: nowhere("transaction_id"),
  disputes: Array.from({ length: DISPUTED }, () => nowhere("dispute_id")),
  consumerDid: nowhere("did"),
  providerDid: nowhere("did"),
});

type Request = { readonly path: string; readonly body?: Json };
type Case = {
  readonly names: readonly string[];
  readonly request: (route: Route, side: Side, named: Named) => Request;
  /** The code for a stranger of an object that exists, and of one that does not. */
  readonly told: readonly [there: string, none: string];
  /** The code for a form with faults, which is refused before the object is read. */
  readonly faulty?: Readonly<Record<string, string>>;
  readonly why: string;
  /** The agent that has a part in it. */
  readonly by: (of: Purchases) => Agent;
};

const ordered = ({ network }: Side, { consumerDid, providerDid }: Named) => ({
  consumer_did: consumerDid,
  provider_did: providerDid,
  amount: "1.00",
  network,
});
const txOf = ({ environment }: Side) => bought[environment].tx;

const UNREADABLE = { "with an unreadable body": "invalid_request" };
const FAULTY = { "with an unknown parameter": "validation_failed", "with a faulty body": "validation_failed" };

const ofDispute = (at: number, by: "consumer" | "provider", body?: Json): readonly Case[] => [
  {
    names: ["dispute_id"],
    request: (route, side, { disputes }) => ({
      path: pathOf(route, side, { dispute_id: disputes[at] ?? "" }),
      ...(body && { body }),
    }),
    told: ["forbidden", "not_found"],
    why: "DSP-8, DSP-9: anyone but its two agents gets 403",
    by: (of) => of[by],
  },
];
const filingOf: Case = {
  names: ["facilitation_id", "transaction_id"],
  request: ({ path }, _side, { settled }) => ({
    path,
    body: { transaction_id: settled, facilitation_id: settled, reason: "other", disputed_amount: "0.01" },
  }),
  told: ["forbidden", "facilitation_not_found"],
  // The form with a faulty query has the recorded body.
  faulty: { "with an unknown parameter": "facilitation_not_found", ...UNREADABLE },
  why: "DSP-1: everybody but the consumer gets 403",
  by: ({ consumer }) => consumer,
};

const CASES: Readonly<Record<string, readonly Case[]>> = {
  getDispute: ofDispute(0, "provider"),
  respondToDispute: ofDispute(0, "provider", { message: "It was delivered." }),
  acceptOffer: ofDispute(0, "consumer"),
  concedeDispute: ofDispute(1, "provider"),
  withdrawDispute: ofDispute(2, "consumer"),
  escalateDispute: ofDispute(3, "consumer"),
  addDisputeEvidence: ofDispute(3, "provider", { description: "The note." }),
  fileDispute: [filingOf],
  listDisputes: [
    {
      names: ["did"],
      request: (route, side, { consumerDid }) => ({
        path: `${pathOf(route, side, {})}?did=${encodeURIComponent(consumerDid)}`,
      }),
      told: ["validation_failed", "validation_failed"],
      why: "DSP-9: an agent lists its own",
      by: ({ consumer }) => consumer,
    },
  ],
  getPaymentIntent: [
    {
      names: ["intent_id"],
      request: (route, side, { intent }) => ({ path: pathOf(route, side, { intent_id: intent }) }),
      told: ["forbidden", "not_found"],
      why: "PAY-17: anyone but its two agents gets 403",
      by: ({ provider }) => provider,
    },
  ],
  cancelPaymentIntent: [
    {
      names: ["intent_id"],
      request: (route, side, { open }) => ({ path: pathOf(route, side, { intent_id: open }) }),
      told: ["forbidden", "not_found"],
      why: "PAY-23: anyone but its two agents gets 403",
      by: ({ provider }) => provider,
    },
  ],
  getTask: [
    {
      names: ["task_id"],
      request: (route, side, { task }) => ({ path: pathOf(route, side, { task_id: task }) }),
      told: ["forbidden", "not_found"],
      why: "TSK-1: anyone but its two agents gets 403",
      by: ({ provider }) => provider,
    },
  ],
  confirmTask: [
    {
      names: ["task_id"],
      request: (route, side, { task }) => ({
        path: pathOf(route, side, { task_id: task }),
        body: { outcome: "confirmed" },
      }),
      told: ["forbidden", "not_found"],
      why: "TSK-2: everybody but the consumer gets 403",
      by: ({ consumer }) => consumer,
    },
  ],
  createPaymentIntent: [
    {
      names: ["consumer_did", "provider_did"],
      request: ({ path }, side, named) => ({ path, body: { ...ordered(side, named), currency: "USDC" } }),
      told: ["forbidden", "forbidden"],
      faulty: UNREADABLE,
      why: "PAY-1: an agent opens its own intents alone; whether the parties exist is not told",
      by: ({ consumer }) => consumer,
    },
  ],
  getPaymentAddress: [
    {
      names: ["consumer_did", "provider_did"],
      request: ({ path }, side, named) => ({
        path: `${path}?${new URLSearchParams({ market: "GLOBAL-USDC", ...ordered(side, named) })}`,
      }),
      told: ["spend_policy_violation", "spend_policy_violation"],
      why: "PAY-19: every refusal of an intent is a 403 at which those clients stop",
      by: ({ consumer }) => consumer,
    },
  ],
  listTasks: [
    {
      names: ["did"],
      request: (route, side, { consumerDid }) => ({
        path: `${pathOf(route, side, {})}?did=${encodeURIComponent(consumerDid)}`,
      }),
      told: ["validation_failed", "validation_failed"],
      why: "TSK-20: an agent lists its own",
      by: ({ consumer }) => consumer,
    },
  ],
  evaluateSpendPolicy: [
    {
      names: ["did"],
      request: (route, side, { consumerDid }) => ({
        path: pathOf(route, side, { did: consumerDid }),
        body: { provider_did: bought[side.environment].provider.did, amount: "1.00", currency: "USDC" },
      }),
      told: ["forbidden", "forbidden"],
      why: "PAY-20: an agent asks for itself",
      by: ({ consumer }) => consumer,
    },
  ],
  facilitate: [
    {
      names: ["intent_id"],
      request: ({ path }, side, { intent }) => ({ path, body: { intent_id: intent, payment_tx: txOf(side) } }),
      told: ["forbidden", "not_found"],
      faulty: { ...FAULTY, ...UNREADABLE },
      why: "FAC-2: neither agent of the pair; spec 7: forbidden, the caller is not a party to the object",
      by: ({ provider }) => provider,
    },
    {
      names: ["consumer_did", "provider_did"],
      request: ({ path }, side, { consumerDid, providerDid }) => ({
        path,
        body: { consumer_did: consumerDid, provider_did: providerDid, tx_hash: txOf(side), network: side.network },
      }),
      told: ["aeap_verification_failed", "aeap_verification_failed"],
      faulty: { ...FAULTY, ...UNREADABLE },
      why: "FAC-3: a caller that the body does not name is not proven",
      by: ({ provider }) => provider,
    },
  ],
};

it("walks every member that names an object of an agent", () => {
  const named = OF_AGENTS.map((route) => [
    route.operationId,
    [...new Set((["path", "query", "body"] as const).flatMap((place) => namedIn(route, place)))].sort(),
  ]);
  const walked = Object.entries(CASES).map(([id, cases]) => [id, cases.flatMap(({ names }) => names).sort()]);
  expect(walked.sort()).toEqual(named.sort());
});

// ---- The walk --------------------------------------------------------------------------------------------------------------

/** The request as it should be, and with faults: the first is good. */
function forms(route: Route, side: Side, { body }: Request): readonly [good: Form, ...Form[]] {
  const good = body === undefined ? {} : { body };
  const faulty = ([name, suffix, options]: Form): Form =>
    body !== undefined && name === "with a faulty body"
      ? [name, suffix, { body: { ...body, nonsense: true } }]
      : [name, suffix, options];
  const [, ...others] = formsOf(route, side);
  return [["as it should be", "", good], ...others.map(faulty)];
}

/** In the sandbox a 401 repeats the text that the caller itself signed (PRF-12). */
const toldOf = (reply: Reply): string =>
  told(
    reply.status === 401 ? { ...reply, text: JSON.stringify({ ...reply.body, detail: "", request_id: "" }) } : reply,
  );

const cases = OF_AGENTS.flatMap((route) =>
  (CASES[route.operationId] ?? []).map(
    (one) => [`${route.operationId} ${one.names.join(" and ")}`, route, one] as const,
  ),
);

const { whole } = portions(cases, ([, , one]) => `${one.told}`);

describe.each(ENVIRONMENTS)("a purchase in the %s", (environment) => {
  it.each(placesOf(cases, environment))("%s", async (...walked) => {
    const [, route, one] = walked;
    const side = owner[environment];
    const elsewhere = otherThan(environment);
    const some = [
      byConsumerOf(owner[elsewhere], "its own platform's elsewhere"),
      byConsumerOf(other[environment], "another platform's"),
    ];
    const more = () => [
      byConsumerOf(side, "its own platform's"),
      byConsumerOf(other[elsewhere], "another platform's elsewhere"),
    ];
    const strangers = whole(walked) ? [...some, ...more()] : some;
    const requestOf = (named: Named) => one.request(route, side, named);
    const there = requestOf(namedOf(bought[environment]));
    const [another, none] = [requestOf(namedOf(bought[elsewhere])), requestOf(nothing())];
    const isUnchanged = await watchRows(side);
    for (const [at, form] of forms(route, side, there).entries()) {
      if (at > 1 && !whole(walked)) break;
      const fault = one.faulty?.[form[0]];
      const expected = fault === undefined ? one.told : [fault, fault];
      const answers = new Set<string>();
      for (const caller of strangers) {
        const send = (request: Request) => ask(caller, route, request.path, forms(route, side, request)[at] ?? form);
        const [known, unknown] = [await send(there), await send(none)];
        const codes = [known, unknown].map(({ body }) => body.code);
        expect([form[0], caller.name, ...codes]).toEqual([form[0], caller.name, ...expected]);
        answers.add(toldOf(known)).add(toldOf(await send(another)));
        if (expected[0] === expected[1]) answers.add(toldOf(unknown));
      }
      // The answer reveals nothing about the object: every stranger gets the same for every object, and, if the codes are equal, the same as for an
      // unknown id.
      expect(answers.size, [...answers].join("\n")).toBe(1);
      expect([form[0], await isUnchanged()]).toEqual([form[0], true]);
    }
    const party = byAgent(side.world, one.by(bought[environment]), "the party");
    const [good] = forms(route, side, there);
    const { status, text } = await ask(party, route, there.path, good);
    expect(status, text).toBe(route.status);
  });
});

// ---- Counterparties --------------------------------------------------------------------------------------------------------

/** Agents are public, so a counterparty of the other environment is named for what it is (PAY-3, ACC-8). */
describe.each(ENVIRONMENTS)("a consumer of the %s", (environment) => {
  const order = async (operationId: string, providerDid: string): Promise<Reply> => {
    const side = other[environment];
    const [, route, one] = cases.find(([, candidate]) => candidate.operationId === operationId) ?? [];
    if (!route || !one) throw new Error(`no order is walked as ${operationId}`);
    const named = { ...nothing(), consumerDid: consumers.get(side)?.did ?? "", providerDid };
    const request = one.request(route, side, named);
    const [good] = forms(route, side, request);
    return ask(byConsumerOf(side, "the consumer"), route, request.path, good);
  };
  const codeOf = ({ body }: Reply) => body.detail?.failed_check ?? body.code;

  it.each([
    ["createPaymentIntent", 201],
    ["getPaymentAddress", 200],
  ])("%s: buys from another platform only in its environment", async (id, status) => {
    const isUnchanged = await watchRows(owner.sandbox);
    expect(codeOf(await order(id, bought[otherThan(environment)].provider.did))).toBe("environment_mismatch");
    expect(codeOf(await order(id, nowhere("did")))).toBe("validation_failed");
    expect(await isUnchanged()).toBe(true);
    expect((await order(id, bought[environment].provider.did)).status).toBe(status);
  });
});
