// A purchase as the public AEA/P clients make it, all nine steps and nothing else (PAY-18, PAY-19, FAC-1, DSP-1, DSP-2): raw DIDs in the path, ISO
// timestamps, DER in padded base64, amounts and JSON as Python prints them, a transaction hash without 0x.
import { beforeAll, describe, expect, it } from "vitest";
import { digestRequest, signProof } from "../../src/protocol/proof.ts";
import { payOnChain } from "../support/chain.ts";
import { type Agent, createWorld, expectStatus, type Json, type Reply, type World } from "../support/world.ts";

type Parties = { readonly provider: Agent; readonly consumer: Agent };

let world: World;
let provider: Agent;
let consumer: Agent;
beforeAll(async () => {
  world = await createWorld();
  provider = await world.provider();
  consumer = await world.consumer();
});

const timestampNow = (): string => new Date().toISOString().replace(/\.\d{3}Z$/, "Z");

/** Calls with a request-bound proof, as the clients sign it: over the decoded, sorted pairs or the raw body. */
async function as(agent: Agent, method: string, path: string, rawBody = ""): Promise<Reply> {
  const [pathname = "", query = ""] = path.split("?");
  const digest = await digestRequest({ method, query, body: rawBody });
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

/** The path that asks where to pay, with the parties and the amount. */
const orderPath = (parties: Parties, amount = "1.0"): string => {
  const query = new URLSearchParams({
    market: "US-USDC",
    network: "base-sepolia",
    consumer_did: parties.consumer.did,
    provider_did: parties.provider.did,
    amount,
  });
  return `/v1/payment-address?${query}`;
};

/** Step 5: asks where to pay, without the parties and then with them. */
async function paymentAddress(parties: Parties): Promise<Json> {
  const base = expectStatus(
    await as(parties.provider, "GET", "/v1/payment-address?market=US-USDC&network=base-sepolia"),
    200,
  );
  expect(base).toMatchObject({ chain_id: 84532, currency: "USDC", decimals: 6 });
  const address = expectStatus(await as(parties.provider, "GET", orderPath(parties)), 200);
  expect(address).toMatchObject({ contract: base.contract, token: base.token, chain_id: 84532 });
  expect(address.intent_id).toMatch(/^pin_/);
  return address;
}

/** Step 6: pays on-chain, naming no intent. */
const pay = (parties: Parties): Promise<string> => payOnChain(parties.consumer.did, parties.provider.did, 1_000_000);

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

/** Step 8: facilitates as the provider, without 0x and without an intent. */
async function facilitate(parties: Parties, tx: string): Promise<Json> {
  const claim = {
    provider_did: parties.provider.did,
    consumer_did: parties.consumer.did,
    tx_hash: tx.slice(2),
    network: "base-sepolia",
  };
  const settled = expectStatus(await as(parties.provider, "POST", "/v1/facilitate", JSON.stringify(claim)), 200);
  expect(settled.facilitation_id).toMatch(/^fac_/);
  return settled;
}

const CONFIRMATION = '{"outcome": "confirmed", "note": "Service delivered as expected."}';

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

  // 4: the consumer checks the provider's live status.
  const status = expectStatus(await open("GET", `/v1/agents/${provider.did}/status`), 200);
  expect(status).toMatchObject({ status: "ACTIVE", environment: "sandbox", agent_rating: null, cert_tier: "TIER_2" });
  expect(status.escrow_state).toBe("FUNDING");

  // 5: the provider asks where to pay, then asks with the parties.
  const address = await paymentAddress({ provider, consumer });

  // 6: the consumer pays.
  const tx = await pay({ provider, consumer });

  // 7: the provider checks the consumer's bound proof.
  await checkBoundProof();
  expect(expectStatus(await open("GET", `/v1/agents/${consumer.did}/status`), 200).escrow_state).toBeNull();

  // 8: the provider facilitates.
  const settled = await facilitate({ provider, consumer }, tx);
  expect(settled).toMatchObject({ intent_id: address.intent_id, gross_amt: "1.00", escrow_state: "FUNDING" });
  expect(Number(settled.escrow_credited)).toBeGreaterThan(0);

  // 9: the consumer confirms.
  const closed = expectStatus(await as(consumer, "POST", `/v1/tasks/${settled.task_id}/confirm`, CONFIRMATION), 200);
  expect(closed).toMatchObject({ status: "confirmed", provider_r_i: 1, consumer_r_i: 1 });
  expect(closed.provider_ar).toBeGreaterThan(0.5);
  expect(closed.consumer_ar).toBeGreaterThan(0.5);

  await readDocument(settled.escrow_credited);
});

describe("a dispute instead of the confirmation, with the management key of the consumer's platform", () => {
  /** The consumer's platform, which differs from the provider's. */
  let buying: World;
  let parties: Parties;
  const settled: Json[] = [];
  beforeAll(async () => {
    buying = await createWorld();
    parties = { provider: await world.provider(), consumer: await buying.consumer() };
    // Makes all purchases first, because an escrow that a dispute has made CONSTRAINED takes no further order.
    for (let n = 0; n < 6; n++) {
      await paymentAddress(parties);
      settled.push(await facilitate(parties, await pay(parties)));
    }
  });

  /** Prints an object of texts as Python's `json.dumps` does. */
  const printed = (body: Record<string, string>): string =>
    `{${Object.entries(body)
      .map(([name, value]) => `${JSON.stringify(name)}: ${JSON.stringify(value)}`)
      .join(", ")}}`;

  /** Sends no other headers than the key and the body's type. */
  const dispute = (of: World, facilitationId: string, reason: string) =>
    of.call("POST", "/v1/disputes", {
      rawBody: printed({
        facilitation_id: facilitationId,
        reason,
        description: "Service was not delivered as described in the task.",
        resolution_sought: "REFUND",
        disputed_amount: "1.000000",
        currency: "USDC",
      }),
    });
  const taskOf = async ({ task_id }: Json): Promise<Json> =>
    expectStatus(await as(parties.consumer, "GET", `/v1/tasks/${task_id}`), 200);

  /** Expects the fields that the clients read. */
  function expectFiled(filed: Json, before: number): void {
    expect(filed.dispute_id).toMatch(/^dsp_/);
    expect([filed.status, filed.bounty_amount]).toEqual(["pre_arbitration", "1.00"]);
    const filedAt = Date.parse(filed.pre_arb_deadline) - 7 * 86_400_000;
    expect(filedAt).toBeGreaterThanOrEqual(before);
    expect(filedAt).toBeLessThanOrEqual(Date.now());
  }

  it.each([
    [0, "NON_DELIVERY", "not_delivered"],
    [1, "PARTIAL_DELIVERY", "not_as_described"],
    [2, "QUALITY", "not_as_described"],
    [3, "FRAUD", "unauthorized"],
    [4, "OTHER", "other"],
  ])("purchase %i: %s is filed as %s, and holds the task", async (nth, theirs, ours) => {
    const before = Date.now();
    const filed = expectStatus(await dispute(buying, settled[nth].facilitation_id, theirs), 201);
    expectFiled(filed, before);
    expect(filed).toMatchObject({
      reason: ours,
      facilitation_id: settled[nth].facilitation_id,
      task_id: settled[nth].task_id,
      disputed_amount: "1.00",
      currency: "USDC",
      description: "Service was not delivered as described in the task.",
      resolution_sought: "REFUND",
    });
    expect((await taskOf(settled[nth])).status).toBe("disputed");
  });

  it("can be filed about a task that was confirmed before, which stays confirmed", async () => {
    const bought = settled[5];
    const path = `/v1/tasks/${bought.task_id}/confirm`;
    expect(expectStatus(await as(parties.consumer, "POST", path, CONFIRMATION), 200).status).toBe("confirmed");
    const before = Date.now();
    expectFiled(expectStatus(await dispute(buying, bought.facilitation_id, "QUALITY"), 201), before);
    expect(await taskOf(bought)).toMatchObject({ status: "confirmed", outcome: "confirmed" });
  });

  it("is refused with the message and the error that the clients print", async () => {
    const id = settled[0].facilitation_id;
    const refusals = [
      [await dispute(buying, id, "NON_DELIVERY"), 409, "dispute_exists"],
      [await dispute(buying, id, "non_delivery"), 422, "invalid_reason"],
      [await dispute(buying, `${id}0`, "NON_DELIVERY"), 404, "facilitation_not_found"],
      [await dispute(world, id, "NON_DELIVERY"), 403, "forbidden"],
    ] as const;
    for (const [{ status, body }, expected, error] of refusals) {
      expect([status, body.error]).toEqual([expected, error]);
      expect(body.message).toMatch(/^[A-Z].*\.$/);
    }
  });

  it("stops the next purchase, because the escrow no longer covers the disputed amount", async () => {
    const shown = expectStatus(await open("GET", `/v1/agents/${parties.provider.did}/status`), 200);
    expect(shown).toMatchObject({ status: "ACTIVE", escrow_state: "CONSTRAINED" });
    const reply = await as(parties.provider, "GET", orderPath(parties));
    expect([reply.status, reply.body.detail.failed_check]).toEqual([403, "escrow_constrained"]);
  });
});

it("answers every refusal of an intent with 403, because the clients stop at no other status and would pay", async () => {
  const other = await world.agent("PROVIDER");
  const reply = await as(other, "GET", orderPath({ provider: other, consumer }, "1e-06"));
  expect(reply.status).toBe(403);
  expect(reply.body).toMatchObject({
    code: "spend_policy_violation",
    error: "spend_policy_violation",
    detail: { failed_check: "market_not_authorized" },
  });
});
