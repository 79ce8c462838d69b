// The dry run of the spend policy (PAY-20): answers every check with its outcome, the remaining amount and until when, to the agent itself or its
// platform. Its refusals are tested together with those of an intent (intent-refusals.test.ts).
import { beforeAll, describe, expect, it } from "vitest";
import { type Agent, createWorld, expectStatus, type Json, type World } from "../support/world.ts";
import { buyer, dailyLimit, delegateOf, openIntent, seller, settle, spendState } from "./support.ts";

const DAY = 86_400_000;

let world: World;
let provider: Agent;
beforeAll(async () => {
  world = await createWorld();
  provider = await seller(world);
});

const pathOf = ({ did }: Pick<Agent, "did">) => `/v1/agents/${did}/spend-policy/evaluate`;
const order = (extra: Json = {}) => ({ provider_did: provider.did, amount: "10.00", currency: "USDC", ...extra });
const byKey = (consumer: Agent, body: Json = order()) => world.call("POST", pathOf(consumer), { body });
const tried = async (consumer: Agent, extra: Json = {}): Promise<Json> =>
  expectStatus(await byKey(consumer, order(extra)), 200);

it("answers every check in the order of an intent's refusals, and no other fields", async () => {
  const consumer = await buyer(world, { ...dailyLimit("25.00"), max_transaction_value: "12.00" });
  expect(await tried(consumer)).toEqual({
    did: consumer.did,
    provider_did: provider.did,
    amount: "10.00",
    currency: "USDC",
    network: "base-sepolia",
    market: "GLOBAL-USDC",
    allowed: true,
    checks: [
      ...["environment", "consumer", "provider", "delegators", "escrow", "actions", "market"].map((check) => ({
        check,
        passed: true,
      })),
      { check: "max_transaction_value", passed: true, detail: { limit: "12.00", attempted: "10.00" } },
      {
        check: "spending_limit",
        passed: true,
        detail: { limit: "25.00", attempted: "10.00", remaining: "25.00" },
      },
      { check: "minimum_counterparty_cert_tier", passed: true },
      { check: "minimum_counterparty_ar", passed: true },
      { check: "network", passed: true },
    ],
    remaining: "25.00",
    window_resets_at: null,
  });
});

it("answers what remains of the narrowest window, and when its first settlement leaves it", async () => {
  const top = await buyer(world, dailyLimit("30.00", 7));
  const consumer = await delegateOf(world, top, dailyLimit("28.00", 7));
  const first = await openIntent(world, consumer, provider, "5.00");
  const settledAt = world.now();
  await settle(world, first.body.intent_id, settledAt);
  const second = await openIntent(world, consumer, provider, "3.00");
  await settle(world, second.body.intent_id, settledAt + 60_000);
  await openIntent(world, consumer, provider, "1.00");
  const resets = new Date(settledAt + 7 * DAY).toISOString();
  expect(await tried(consumer)).toMatchObject({ allowed: true, remaining: "19.00", window_resets_at: resets });
  // A delegate's spending counts in the delegator's window, which is now the narrower one.
  await openIntent(world, top, provider, "10.00");
  const { checks, ...rest } = await tried(consumer, { amount: "11.01" });
  expect(rest).toMatchObject({ allowed: false, remaining: "11.00", window_resets_at: resets });
  const { detail, ...limit } = checks.find(({ check }: Json) => check === "spending_limit");
  expect(limit).toEqual({ check: "spending_limit", passed: false, code: "spend_policy_violation" });
  expect(detail).toEqual({ limit: "30.00", attempted: "11.01", remaining: "11.00", delegator: top.did });
});

it("holds nothing and writes nothing, in one trip", async () => {
  const consumer = await buyer(world, dailyLimit("15.00"));
  const before = await spendState(world, consumer.did);
  await tried(consumer);
  world.meter.reset();
  for (let n = 0; n < 3; n++) expect((await tried(consumer)).allowed).toBe(true);
  const { trips, rowsWritten } = world.meter.reading;
  expect([trips, rowsWritten]).toEqual([3, 0]);
  expect(await spendState(world, consumer.did)).toEqual(before);
});

it("compares the policy even if the provider has no market for the buyer", async () => {
  const closed = await seller(world, { market: null });
  const consumer = await buyer(world, { max_transaction_value: "9.00" });
  const answer = await tried(consumer, { provider_did: closed.did });
  expect(answer).toMatchObject({ network: null, market: null, allowed: false });
  const failed = answer.checks.filter(({ passed }: Json) => !passed).map(({ check, code }: Json) => [check, code]);
  expect(failed).toEqual([
    ["market", "market_not_authorized"],
    ["max_transaction_value", "spend_policy_violation"],
  ]);
});

describe("the dry run", () => {
  it("answers the agent itself as it answers its platform", async () => {
    const consumer = await buyer(world, dailyLimit("15.00"));
    const reply = await world.as(consumer, "POST", pathOf(consumer), order());
    expect(expectStatus(reply, 200)).toEqual(await tried(consumer));
  });

  it("refuses another agent with 403 forbidden, even with a faulty body", async () => {
    const [consumer, other] = [await buyer(world), await buyer(world)];
    for (const body of [order(), order({ amount: "-1" }), {}]) {
      expectStatus(await world.as(other, "POST", pathOf(consumer), body), 403);
    }
  });

  it("refuses another platform with 404, even with a faulty body", async () => {
    const stranger = await buyer(await createWorld());
    for (const body of [order(), {}]) expectStatus(await byKey(stranger, body), 404);
  });

  it("goes by the certificate if a call has a certificate and a key", async () => {
    const [consumer, other] = [await buyer(world), await buyer(world)];
    const body = JSON.stringify(order());
    const headers = await world.prove(other, "POST", pathOf(consumer), body);
    const reply = await world.call("POST", pathOf(consumer), { rawBody: body, headers });
    expectStatus(reply, 403);
  });
});

it("faults of the order are 422, all of them at once", async () => {
  const consumer = await buyer(world);
  const unknown = "did:aeap:00000000-0000-4000-8000-000000000000";
  const faults: [Json, string[]][] = [
    [{}, ["provider_did required", "amount required", "currency required"]],
    [order({ amount: "0" }), ["amount too_small"]],
    [order({ amount: "0.0000001" }), ["amount invalid_format"]],
    [order({ provider_did: unknown, network: "atlantis" }), ["network invalid_value", "provider_did not_found"]],
    [order({ provider_did: consumer.did }), ["provider_did invalid_value"]],
    [order({ consumer_did: consumer.did }), ["consumer_did unknown_field"]],
  ];
  for (const [body, expected] of faults) {
    const { field_errors } = expectStatus(await byKey(consumer, body), 422);
    expect(field_errors.map(({ field, code }: Json) => `${field} ${code}`)).toEqual(expected);
  }
});
