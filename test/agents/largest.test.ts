// The largest agent that can be registered has a certificate and a document that every check accepts (AGT-9, IDN-25).
import { beforeAll, describe, expect, it } from "vitest";
import { encodeUtf8 } from "../../src/core/encoding.ts";
import {
  AID_MAX_CHARS,
  CAPABILITIES_MAX,
  CERTIFICATE_MAX_CHARS,
  DAY_MS,
  DELEGATION_DEPTH_MAX,
  MARKETS_PER_CALL_MAX,
  SCOPE_WORDS_MAX_BYTES,
} from "../../src/core/limits.ts";
import { formatProofTimestamp, signProof } from "../../src/protocol/proof.ts";
import { market, openMarkets } from "../markets/support.ts";
import { type Agent, agentBody, createWorld, expectStatus, type Json, type World } from "../support/world.ts";

/** A Euro sign takes three bytes, so no text with as many characters is longer. */
const filled = (start: string, length: number): string => start.padEnd(length, "€");
const bytesOf = (scope: Json): number =>
  encodeUtf8(JSON.stringify([scope.authorized_actions, scope.capabilities])).length;

/** As many words as fit, each as long as possible. */
function largestScope(action: string): Json {
  const wide = Array.from({ length: CAPABILITIES_MAX }, () => 0);
  const scope = () => ({
    authorized_actions: [action],
    capabilities: wide.map((euros, n) => `${n}`.padStart(2, "0") + "€".repeat(euros).padEnd(98, "x")),
  });
  for (let n = 0; SCOPE_WORDS_MAX_BYTES - bytesOf(scope()) >= 2; n = (n + 1) % wide.length)
    wide[n] = (wide[n] ?? 0) + 1;
  return scope();
}
const SCOPE = largestScope("sell");
const LARGEST = {
  profile: {
    display_name: filled("Provider", 200),
    description: filled("Sells", 2_000),
    catalog_url: "https://catalog.example/".padEnd(2_048, "a"),
  },
  endpoint_url: "https://agent.example/".padEnd(2_048, "a"),
  scope: SCOPE,
};

let world: World;
let agent: Agent;
let consumers: readonly Agent[];
beforeAll(async () => {
  world = await createWorld();
  const verification_attestation = {
    attestation_id: filled("attestation", 200),
    verifier_id: filled("verifier", 200),
    model: "kyb",
    issued_at: new Date(world.now() - DAY_MS).toISOString(),
    expires_at: new Date(world.now() + 300 * DAY_MS).toISOString(),
  };
  const principal_id = await world.principal({ legal_name: filled("Company", 300), verification_attestation });
  agent = await world.agent("PROVIDER", { ...LARGEST, principal_id });
  for (const network of ["base-sepolia", "base"]) {
    const markets = await marketsOf(world, network);
    for (let from = 0; from < markets.length; from += MARKETS_PER_CALL_MAX)
      expectStatus(await openMarkets(world, agent.did, markets.slice(from, from + MARKETS_PER_CALL_MAX)), 200);
  }
  consumers = await delegation(principal_id);
});

/** Opens every market of a network. */
async function marketsOf(by: World, network: string): Promise<Json[]> {
  const { data } = expectStatus(await by.call("GET", "/v1/markets?limit=100", { key: null }), 200);
  const codes = data.filter(({ networks }: Json) => networks.some((one: Json) => one.network === network));
  return codes.map(({ market: code }: Json) => market({ market: code, network }));
}

const MOST = `${"9".repeat(40)}.${"9".repeat(40)}`;

/** A consumer with every limit, and a chain of delegates of the maximum depth. */
async function delegation(principal_id: string): Promise<Agent[]> {
  const limits = {
    max_transaction_value: MOST,
    spending_limit: { amount: MOST, currency: "USDC", window_days: 365 },
    minimum_counterparty_cert_tier: "TIER_3",
    minimum_counterparty_ar: 0.99,
    intents_from: "self",
  };
  const { catalog_url: _none, ...profile } = LARGEST.profile;
  const scope = { ...largestScope("purchase"), ...limits };
  const chain: Agent[] = [];
  for (let depth = 0; depth <= DELEGATION_DEPTH_MAX; depth++) {
    const delegator = chain.at(-1);
    const delegated = delegator && { delegated_by: delegator.did };
    chain.push(await world.agent("CONSUMER", { ...LARGEST, profile, principal_id, scope, ...delegated }));
  }
  return chain;
}

const open = async (path: string, body?: Json): Promise<Json> =>
  expectStatus(await world.call(body ? "POST" : "GET", path, { key: null, ...(body && { body }) }), 200);
const valid = { valid: true, reason: null };

describe("the largest agent", () => {
  it("has a certificate that every check and every call accepts", async () => {
    const { certificate, did, privateKey } = agent;
    expect(certificate.length).toBeGreaterThan(CERTIFICATE_MAX_CHARS * 0.8);
    expect(certificate.length).toBeLessThanOrEqual(CERTIFICATE_MAX_CHARS);
    expect(await open("/v1/verify/certificate", { certificate })).toMatchObject(valid);
    const { nonce } = await open("/v1/verify/challenge");
    const timestamp = formatProofTimestamp(Date.now());
    const { proof } = await signProof({ kind: "challenge", timestamp, nonce, agentDid: did }, privateKey);
    const presented = { proof_type: "challenge_response", certificate, nonce, proof, timestamp };
    expect(await open("/v1/verify/proof", presented)).toMatchObject({ verified: true });
    expect((await world.as(agent, "GET", "/v1/payment-intents?limit=1")).status).toBe(200);
  });

  it("has a document that its check accepts in both forms", async () => {
    const path = `/v1/agents/${agent.did}/aid`;
    const aid = await open(path);
    expect(await open("/v1/verify/aid", { aid })).toMatchObject(valid);
    const { text } = await world.call("GET", path, { key: null, headers: { Accept: "application/jwt" } });
    expect(text.length).toBeLessThanOrEqual(AID_MAX_CHARS);
    expect(await open("/v1/verify/aid", { aid: text })).toMatchObject(valid);
  });

  it("sells in every market, and its document still passes its check", async () => {
    const aid = await open(`/v1/agents/${agent.did}/aid`);
    const { data } = await open("/v1/markets?limit=100");
    expect(aid.identity.authorized_markets.toSorted()).toEqual(data.map(({ market: code }: Json) => code).toSorted());
    expect(aid.escrow.wallets.length).toBe(2 * data.length);
  });

  it("has the maximum number of delegators, and its certificate and document pass their checks", async () => {
    const last = consumers.at(-1);
    if (!last) throw new Error("unreachable: a delegate");
    const path = `/v1/agents/${last.did}/aid`;
    const aid = await open(path);
    expect(JSON.stringify(aid.identity.delegation)).toContain(consumers[0]?.did ?? "");
    expect(await open("/v1/verify/aid", { aid })).toMatchObject(valid);
    const { text } = await world.call("GET", path, { key: null, headers: { Accept: "application/jwt" } });
    expect(text.length).toBeLessThanOrEqual(AID_MAX_CHARS);
    expect(await open("/v1/verify/aid", { aid: text })).toMatchObject(valid);
    expect(last.certificate.length).toBeLessThanOrEqual(CERTIFICATE_MAX_CHARS);
    expect(await open("/v1/verify/certificate", { certificate: last.certificate })).toMatchObject(valid);
    expect((await world.as(last, "GET", "/v1/payment-intents?limit=1")).status).toBe(200);
  });

  it("accepts no further word, at registration and in a patch", async () => {
    const { capabilities } = SCOPE;
    const larger = { ...SCOPE, capabilities: [`${capabilities[0].slice(0, -1)}€`, ...capabilities.slice(1)] };
    const { principalId: principal_id } = agent;
    const registered = await world.call("POST", "/v1/agents", {
      body: { ...agentBody("PROVIDER"), ...LARGEST, principal_id, scope: larger },
    });
    const [field, code] = ["scope", "too_long"];
    expect([registered.status, registered.body.field_errors]).toMatchObject([422, [{ field, code }]]);
    const patch = (body: Json) => world.call("PATCH", `/v1/agents/${agent.did}/scope`, { body });
    for (const [name, body] of [
      ["capabilities", { capabilities: larger.capabilities }],
      ["authorized_actions", { authorized_actions: ["sell", "return"] }],
    ] as const) {
      const patched = await patch(body);
      expect([patched.status, patched.body.field_errors]).toMatchObject([422, [{ field: name, code }]]);
    }
    expect((await patch({ dispute_window_days: 7 })).status).toBe(200);
  });
});
