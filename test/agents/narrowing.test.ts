// A certificate that states a wider scope than the agent's ends 24 hours after the scope was narrowed (AGT-22).
import { eq } from "drizzle-orm";
import { decodeJwt } from "jose";
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { finishCascades } from "../../src/cascades/cascades.ts";
import { certificates } from "../../src/db/tables/agents.ts";
import type { CertificateClaims } from "../../src/protocol/certificate.ts";
import { type Agent, createWorld, expectStatus, type World } from "../support/world.ts";

const DAY_MS = 86_400_000;

let world: World;
beforeAll(async () => {
  world = await createWorld();
});

/** Certificates are checked against real time: the clock stands still here, and moves a little before each certificate. */
beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"] });
});
afterEach(() => {
  vi.useRealTimers();
});
const moveClock = () => vi.setSystemTime(Date.now() + 1);

const patch = async (did: string, body: unknown) => {
  moveClock();
  return expectStatus(await world.call("PATCH", `/v1/agents/${did}/scope`, { body }), 200);
};

/** The end of each certificate of the agent, in the order in which they were issued. */
async function endsOf({ did }: Agent): Promise<(number | null)[]> {
  const rows = await world.deps.db.select().from(certificates).where(eq(certificates.did, did));
  return rows.sort((a, b) => a.issuedAt - b.issuedAt).map(({ replacedAt }) => replacedAt);
}

const wide = () =>
  world.consumer({
    scope: {
      authorized_actions: ["purchase"],
      capabilities: ["summary", "translation"],
      max_transaction_value: "50",
      spending_limit: { amount: "100", currency: "USDC", window_days: 7 },
      minimum_counterparty_cert_tier: "TIER_2",
      minimum_counterparty_ar: 0.5,
    },
  });

describe("earlier certificates", () => {
  it.each<[string, Record<string, unknown>]>([
    ["a capability was taken away", { capabilities: ["translation"] }],
    ["the ceiling was lowered", { max_transaction_value: "49" }],
    ["the spending limit was lowered", { spending_limit: { amount: "99", currency: "USDC", window_days: 7 } }],
    ["the floor of tiers was raised", { minimum_counterparty_cert_tier: "TIER_3" }],
    ["the floor of ratings was raised", { minimum_counterparty_ar: 0.6 }],
  ])("stay valid for 24 hours after %s, and the new one stays valid", async (_name, body) => {
    const agent = await wide();
    await patch(agent.did, body);
    expect(await endsOf(agent)).toEqual([Date.now() + DAY_MS, null]);
  });

  it.each<[string, Record<string, unknown>]>([
    ["a capability was added", { capabilities: ["summary", "translation", "proofreading"] }],
    ["the ceiling was raised", { max_transaction_value: "51" }],
    ["the dispute window was changed", { dispute_window_days: 3 }],
  ])("stay valid after %s", async (_name, body) => {
    const agent = await wide();
    await patch(agent.did, body);
    expect(await endsOf(agent)).toEqual([null, null]);
  });

  it("end 24 hours after the first narrowing, however the scope is narrowed later", async () => {
    const agent = await wide();
    await patch(agent.did, { max_transaction_value: "40" });
    const [first] = await endsOf(agent);
    await patch(agent.did, { max_transaction_value: "30" });
    const [still, second, present] = await endsOf(agent);
    expect([still, second, present]).toEqual([first, Date.now() + DAY_MS, null]);
    expect(second).toBeGreaterThan(first ?? 0);
  });

  it("do not authenticate their agent once they have ended", async () => {
    const agent = await wide();
    await patch(agent.did, { max_transaction_value: "40" });
    const read = () => world.as(agent, "GET", "/v1/payment-intents/pin_none");
    expect((await read()).body.code).toBe("not_found");
    // The end is the first instant at which the certificate is invalid.
    const endIn = (ms: number) =>
      world.deps.db
        .update(certificates)
        .set({ replacedAt: Date.now() + ms })
        .where(eq(certificates.did, agent.did));
    await endIn(1);
    expect((await read()).body.code).toBe("not_found");
    await endIn(0);
    expect((await read()).body.code).toBe("aeap_verification_failed");
  });
});

describe("a scope that was changed while the principal was suspended", () => {
  const onPrincipal = async ({ principalId }: Agent, verb: string) =>
    expectStatus(await world.call("POST", `/v1/principals/${principalId}/${verb}`), 200);
  const returned = async ({ did }: Agent) => {
    moveClock();
    return expectStatus(await world.call("PATCH", `/v1/agents/${did}/status`, { body: { status: "ACTIVE" } }), 200);
  };
  const changedMeanwhile = async (body: Record<string, unknown>) => {
    const agent = await wide();
    await onPrincipal(agent, "suspend");
    await world.run(finishCascades);
    await patch(agent.did, body);
    expect(await endsOf(agent)).toHaveLength(1);
    await onPrincipal(agent, "reactivate");
    return agent;
  };
  const admitted = async (agent: Agent): Promise<boolean> =>
    (await world.as(agent, "GET", "/v1/payment-intents/pin_none")).status === 404;

  it.each<[string, Record<string, unknown>, boolean]>([
    ["was narrowed: the earlier certificate ends as usual", { max_transaction_value: "49.00" }, true],
    ["was widened: the earlier certificate stays valid", { max_transaction_value: "51.00" }, false],
  ])("is stated by a new certificate after the agent's reactivation, if it %s", async (_name, body, ends) => {
    const agent = await changedMeanwhile(body);
    const { certificate, version } = await returned(agent);
    const { aeap } = decodeJwt<CertificateClaims>(certificate);
    expect(aeap.scope).toMatchObject(body);
    const aid = expectStatus(await world.call("GET", `/v1/agents/${agent.did}/aid`, { key: null }), 200);
    expect([aid.version, aid.identity.certificate]).toEqual([version, certificate]);
    const [earlier, present] = await endsOf(agent);
    expect([earlier === null, present]).toEqual([!ends, null]);
    expect([await admitted(agent), await admitted({ ...agent, certificate })]).toEqual([true, true]);
  });

  it("and changed back is also stated by a new certificate, because the narrowing ends the earlier one", async () => {
    const agent = await wide();
    await onPrincipal(agent, "suspend");
    await world.run(finishCascades);
    await patch(agent.did, { max_transaction_value: "51" });
    await patch(agent.did, { max_transaction_value: "50" });
    await onPrincipal(agent, "reactivate");
    await returned(agent);
    const [earlier, present] = await endsOf(agent);
    expect([earlier === null, present]).toEqual([false, null]);
  });

  it("needs no new certificate if it was not changed: the agent returns with its present one", async () => {
    const agent = await wide();
    await onPrincipal(agent, "suspend");
    await world.run(finishCascades);
    await onPrincipal(agent, "reactivate");
    expect((await returned(agent)).certificate).toBeUndefined();
    expect(await endsOf(agent)).toEqual([null]);
  });
});
