// Every accepted spelling of a ceiling is stored in plain decimals that every later call can parse (AGT-9, PAY-4).
import { describe, expect, it } from "vitest";
import { type Agent, expectStatus, type Json, type World } from "../support/world.ts";
import { buyer, delegateOf, orderOf, setAgent, useSeller } from "./support.ts";

let world: World;
let provider: Agent;
useSeller((made, seller) => {
  world = made;
  provider = seller;
});

const NINES = "9".repeat(40);
/** Each pair is the spelling of the request and the stored form. */
const ACCEPTED = [
  ["1e39", `1${"0".repeat(39)}.00`],
  [NINES, `${NINES}.00`],
  [`${NINES}.${NINES}`, `${NINES}.${NINES}`],
  ["5000000000000e-40", `0.${"0".repeat(27)}5`],
] as const;
const REFUSED = ["1e40", "12e39", `${NINES}e5`, "1.1e-40", `${NINES}.${NINES}e1`];
const FIELDS = ["max_transaction_value", "spending_limit"] as const;

const scopeOf = (field: (typeof FIELDS)[number], amount: string): Json =>
  field === "spending_limit" ? { [field]: { amount, currency: "USDC", window_days: 30 } } : { [field]: amount };
const storedIn = (scope: Json, field: string): string =>
  field === "spending_limit" ? scope.spending_limit.amount : scope.max_transaction_value;

describe.each(FIELDS)("%s", (field) => {
  it.each(ACCEPTED)("%s is parsed by every call that uses it", async (amount, stored) => {
    const consumer = await buyer(world, scopeOf(field, amount));
    const path = `/v1/agents/${consumer.did}`;
    const { identity } = expectStatus(await world.call("GET", `${path}/aid`, { key: null }), 200);
    expect(storedIn(identity.scope, field)).toBe(stored);
    const same = await world.call("PATCH", `${path}/scope`, { body: scopeOf(field, stored) });
    expect([same.status, same.body.code]).toEqual([400, "no_changes_requested"]);
    const allowed = Number(stored) >= 10;
    const order = orderOf(consumer, provider);
    const { consumer_did: _self, ...dryRun } = order;
    const { currency: _token, ...asClients } = order;
    const { body: tried } = await world.call("POST", `${path}/spend-policy/evaluate`, { body: dryRun });
    expect(tried.allowed).toBe(allowed);
    const opened = await world.as(consumer, "POST", "/v1/payment-intents", order);
    expect([opened.status, opened.body.code]).toEqual(allowed ? [201, undefined] : [403, "spend_policy_violation"]);
    const query = new URLSearchParams({ market: "GLOBAL-USDC", network: "base-sepolia", ...asClients });
    const asked = await world.as(provider, "GET", `/v1/payment-address?${query}`);
    expect([asked.status, asked.body.detail?.failed_check]).toEqual(allowed ? [200, undefined] : [403, field]);
    const delegate = await delegateOf(world, consumer, scopeOf(field, stored));
    expect(delegate.did).toMatch(/^did:/);
    expect((await world.call("PATCH", `${path}/scope`, { body: { capabilities: [] } })).status).toBe(200);
  });

  it.each(REFUSED)("%s is rejected at registration and in a patch", async (amount) => {
    const consumer = await buyer(world);
    const { principalId: principal_id } = consumer;
    const scope = { authorized_actions: ["purchase"], capabilities: [], ...scopeOf(field, amount) };
    const body = { principal_id, economic_role: "CONSUMER", profile: { display_name: "Buyer" }, scope };
    const replies = [
      await world.call("POST", "/v1/agents", { body: { ...body, endpoint_url: "https://agent.example" } }),
      await world.call("PATCH", `/v1/agents/${consumer.did}/scope`, { body: scopeOf(field, amount) }),
    ];
    const name = field === "spending_limit" ? "spending_limit.amount" : field;
    expect(replies.map(({ status, body: { field_errors } }) => [status, field_errors?.[0]])).toEqual(
      [`scope.${name}`, name].map((at) => [422, expect.objectContaining({ field: at })]),
    );
  });
});

describe("a ceiling with more digits than are accepted now, stored by an earlier version", () => {
  it.each(FIELDS)("in %s is read by every call that uses it", async (field) => {
    const stored = `1${"0".repeat(60)}.00`;
    const consumer = await buyer(world, scopeOf(field, "100"));
    const spendingLimit = { amount: stored, currency: "USDC", window_days: 30 };
    const set = field === "spending_limit" ? { spendingLimit } : { maxTransactionValue: stored };
    await setAgent(world, consumer.did, set);
    const order = orderOf(consumer, provider);
    const { consumer_did: _self, currency, ...asked } = order;
    const path = `/v1/agents/${consumer.did}`;
    const tried = await world.call("POST", `${path}/spend-policy/evaluate`, { body: { ...asked, currency } });
    expect(expectStatus(tried, 200).allowed).toBe(true);
    expectStatus(await world.as(consumer, "POST", "/v1/payment-intents", order), 201);
    const query = { market: "GLOBAL-USDC", network: "base-sepolia", consumer_did: consumer.did, ...asked };
    expectStatus(await world.as(provider, "GET", `/v1/payment-address?${new URLSearchParams(query)}`), 200);
    await delegateOf(world, consumer, scopeOf(field, "50"));
    expectStatus(await world.call("PATCH", `${path}/scope`, { body: { capabilities: [] } }), 200);
  });
});
