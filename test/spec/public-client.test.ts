// A purchase as the public AEA/P clients make it, all nine steps and nothing else (PAY-18, PAY-19, FAC-1): DIDs raw in
// the path, ISO timestamps, DER in padded base64, amounts as Python prints them, a transaction hash without 0x.
import { beforeAll, expect, it } from "vitest";
import { requestDigest, signProof } from "../../src/protocol/proof.ts";
import { payOnChain } from "../support/chain.ts";
import { type Agent, createWorld, expectStatus, type Json, type Reply, type World } from "../support/world.ts";

let world: World;
let provider: Agent;
let consumer: Agent;
beforeAll(async () => {
  world = await createWorld();
  provider = await world.provider();
  consumer = await world.consumer();
});

const timestampNow = (): string => new Date().toISOString().replace(/\.\d{3}Z$/, "Z");

/** Request-bound, as the clients sign it: over the decoded, sorted pairs or the raw body. */
async function as(agent: Agent, method: string, path: string, rawBody = ""): Promise<Reply> {
  const [pathname = "", query = ""] = path.split("?");
  const digest = await requestDigest({ method, query, body: rawBody });
  if (!digest.ok) throw new Error(digest.reason);
  const timestamp = timestampNow();
  const statement = {
    kind: "request",
    timestamp,
    agentDid: agent.did,
    method,
    path: pathname,
    digest: digest.digest,
  } as const;
  const { proof } = await signProof(statement, agent.privateKey, "der-base64");
  const headers = { "AEAP-Certificate": agent.certificate, "AEAP-Proof": proof, "AEAP-Timestamp": timestamp };
  return world.call(method, path, { key: null, headers, ...(rawBody !== "" && { rawBody }) });
}

const open = (method: string, path: string, body?: unknown) =>
  world.call(method, path, { key: null, ...(body !== undefined && { body }) });

/** Steps 1 to 3. */
async function challengeProvider() {
  const { nonce } = expectStatus(await open("GET", "/v1/verify/challenge"), 200);
  const certificate = expectStatus(
    await open("POST", "/v1/verify/certificate", { certificate: provider.certificate }),
    200,
  );
  expect(certificate).toMatchObject({ valid: true, agent_id: provider.did, economic_role: "PROVIDER" });
  const timestamp = timestampNow();
  const answered = await signProof(
    { kind: "challenge", timestamp, nonce, agentDid: provider.did },
    provider.privateKey,
  );
  const challenge = {
    proof_type: "challenge_response",
    certificate: provider.certificate,
    nonce,
    proof: answered.proof,
    timestamp,
  };
  expect(expectStatus(await open("POST", "/v1/verify/proof", challenge), 200).verified).toBe(true);
}

/** Step 5: where to be paid, without the parties and then with them. */
async function paymentAddress(): Promise<Json> {
  const base = expectStatus(await as(provider, "GET", "/v1/payment-address?market=US-USDC&network=base-sepolia"), 200);
  expect(base).toMatchObject({ chain_id: 84532, currency: "USDC", decimals: 6 });
  const query = new URLSearchParams({
    market: "US-USDC",
    network: "base-sepolia",
    consumer_did: consumer.did,
    provider_did: provider.did,
    amount: "1.0",
  });
  const address = expectStatus(await as(provider, "GET", `/v1/payment-address?${query}`), 200);
  expect(address).toMatchObject({ contract: base.contract, token: base.token, chain_id: 84532 });
  expect(address.intent_id).toMatch(/^pin_/);
  return address;
}

/** Step 7. */
async function checkBoundProof() {
  const boundAt = timestampNow();
  const bound = await signProof(
    { kind: "bound", timestamp: boundAt, callerDid: consumer.did, calleeDid: provider.did },
    consumer.privateKey,
  );
  const boundProof = {
    proof_type: "bound_proof",
    certificate: consumer.certificate,
    proof: bound.proof,
    timestamp: boundAt,
    callee_did: provider.did,
  };
  expect(expectStatus(await open("POST", "/v1/verify/proof", boundProof), 200).verified).toBe(true);
}

/** The members of the provider's document that the clients read. */
async function readDocument(escrowCredited: string) {
  const aid = expectStatus(await open("GET", `/v1/agents/${provider.did}/aid`), 200);
  const { total_balance, effective_threshold, escrow_state } = aid.escrow.liability_profile;
  expect(Number(total_balance)).toBeCloseTo(Number(escrowCredited), 6);
  expect(Number(effective_threshold)).toBeLessThanOrEqual(15);
  expect(escrow_state).toBe("FUNDING");
}

it("plays all nine steps of a purchase", async () => {
  // 1 to 3: the consumer challenges the provider.
  await challengeProvider();

  // 4: is it well right now?
  const status = expectStatus(await open("GET", `/v1/agents/${provider.did}/status`), 200);
  expect(status).toMatchObject({ status: "ACTIVE", environment: "sandbox", agent_rating: null, cert_tier: "TIER_2" });
  expect(status.escrow_state).toBe("FUNDING");

  // 5: the provider asks where to be paid, then with the parties.
  const address = await paymentAddress();

  // 6: the consumer pays on-chain, naming no intent.
  const tx = await payOnChain(consumer.did, provider.did, 1_000_000);

  // 7: the provider checks the consumer's bound proof.
  await checkBoundProof();
  expect(expectStatus(await open("GET", `/v1/agents/${consumer.did}/status`), 200).escrow_state).toBeNull();

  // 8: facilitation, as the provider, without 0x and without an intent.
  const claim = {
    provider_did: provider.did,
    consumer_did: consumer.did,
    tx_hash: tx.slice(2),
    network: "base-sepolia",
  };
  const settled = expectStatus(await as(provider, "POST", "/v1/facilitate", JSON.stringify(claim)), 200);
  expect(settled.facilitation_id).toMatch(/^fac_/);
  expect(settled).toMatchObject({ intent_id: address.intent_id, gross_amt: "1.00", escrow_state: "FUNDING" });
  expect(Number(settled.escrow_credited)).toBeGreaterThan(0);

  // 9: the consumer confirms.
  const confirmation = '{"outcome": "confirmed", "note": "Service delivered as expected."}';
  const closed = expectStatus(await as(consumer, "POST", `/v1/tasks/${settled.task_id}/confirm`, confirmation), 200);
  expect(closed).toMatchObject({ status: "confirmed", provider_r_i: 1, consumer_r_i: 1 });
  expect(closed.provider_ar).toBeGreaterThan(0.5);
  expect(closed.consumer_ar).toBeGreaterThan(0.5);

  await readDocument(settled.escrow_credited);
});

it("answers every refusal of an intent with 403, because the clients stop at nothing else and would pay", async () => {
  const other = await world.agent("PROVIDER");
  const query = new URLSearchParams({
    market: "US-USDC",
    network: "base-sepolia",
    consumer_did: consumer.did,
    provider_did: other.did,
    amount: "1e-06",
  });
  const reply = await as(other, "GET", `/v1/payment-address?${query}`);
  expect(reply.status).toBe(403);
  expect(reply.body).toMatchObject({
    code: "spend_policy_violation",
    error: "spend_policy_violation",
    detail: { failed_check: "market_not_authorized" },
  });
});
