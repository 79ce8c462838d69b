// Delegation (AGT-24 to AGT-26): registering a delegate within its delegator's bounds.
import { decodeJwt } from "jose";
import { beforeAll, describe, expect, it } from "vitest";
import type { CertificateClaims } from "../../src/protocol/certificate.ts";
import { createWorld, env, expectStatus, type World } from "../support/world.ts";
import { type Body, faultsOf, type Role, registerAgent, registrationOf } from "./support.ts";

let world: World;
let principalId: string;
beforeAll(async () => {
  world = await createWorld();
  principalId = await world.principal();
});

const bodyOf = (role: Role, overrides: Body = {}): Body => registrationOf(principalId, role, overrides);
const register = (body: Body) => registerAgent(world, body);

describe("a delegate", () => {
  const bounds = {
    authorized_actions: ["purchase", "negotiate"],
    capabilities: ["a", "b"],
    max_transaction_value: "100.00",
    spending_limit: { amount: "1000.00", currency: "USDC", window_days: 30 },
    minimum_counterparty_cert_tier: "TIER_2",
    minimum_counterparty_ar: 0.5,
  };
  let delegator: string;
  beforeAll(async () => {
    delegator = (await world.agent("CONSUMER", bodyOf("CONSUMER", { scope: bounds }))).did;
  });
  const delegate = (scope: Body = {}, overrides: Body = {}) =>
    register(bodyOf("CONSUMER", { delegated_by: delegator, scope: { ...bounds, ...scope }, ...overrides }));

  it("may have the same scope or a narrower one, and names its delegator", async () => {
    expect(expectStatus(await delegate(), 201).identity.delegation).toEqual({
      delegated_by: delegator,
      chain: [delegator],
    });
    const less = {
      authorized_actions: ["purchase"],
      capabilities: [],
      max_transaction_value: "99.999999",
      spending_limit: { amount: "1e3", currency: "USDC", window_days: 30 },
      minimum_counterparty_cert_tier: "TIER_3",
      minimum_counterparty_ar: 1,
    };
    expect((await delegate(less)).status).toBe(201);
  });

  it.each<[string, Body, string]>([
    ["another action", { authorized_actions: ["purchase", "sign"] }, "authorized_actions"],
    ["another capability", { capabilities: ["a", "c"] }, "capabilities"],
    ["a higher ceiling", { max_transaction_value: "100.000001" }, "max_transaction_value"],
    ["no ceiling", { max_transaction_value: null }, "max_transaction_value"],
    ["a higher limit", { spending_limit: { amount: "1000.01", currency: "USDC", window_days: 30 } }, "spending_limit"],
    ["a wider window", { spending_limit: { amount: "1000", currency: "USDC", window_days: 31 } }, "spending_limit"],
    [
      "a limit in another currency",
      { spending_limit: { amount: "1", currency: "EURC", window_days: 30 } },
      "spending_limit",
    ],
    ["no limit", { spending_limit: null }, "spending_limit"],
    ["a lower floor of tiers", { minimum_counterparty_cert_tier: "TIER_1" }, "minimum_counterparty_cert_tier"],
    ["no floor of tiers", { minimum_counterparty_cert_tier: null }, "minimum_counterparty_cert_tier"],
    ["a lower floor of ratings", { minimum_counterparty_ar: 0.49 }, "minimum_counterparty_ar"],
    ["no floor of ratings", { minimum_counterparty_ar: null }, "minimum_counterparty_ar"],
  ])("is refused with %s", async (_name, scope, field) => {
    const reply = await delegate(scope);
    expect([reply.status, reply.body.code]).toEqual([422, "validation_failed"]);
    expect(faultsOf(reply)).toEqual([[`scope.${field}`, "scope_exceeds_delegator"]]);
  });

  it("gets a fault for each field in which it is wider", async () => {
    const reply = await delegate({ capabilities: ["z"], max_transaction_value: null, minimum_counterparty_ar: 0 });
    expect(faultsOf(reply)).toHaveLength(3);
  });

  it("is refused under another principal's agent", async () => {
    const { did: delegated_by } = await world.consumer();
    expect(faultsOf(await register(bodyOf("CONSUMER", { delegated_by })))).toEqual([["delegated_by", "invalid_value"]]);
  });

  it.each(["DRAFT", "SUSPENDED", "TERMINATED", "REVOKED", "FUNDING"])(
    "is refused under a delegator that is %s",
    async (status) => {
      const { did } = await world.agent("CONSUMER", { principal_id: principalId });
      await env.DB.prepare("update agents set status = ? where did = ?").bind(status, did).run();
      expect(faultsOf(await register(bodyOf("CONSUMER", { delegated_by: did })))).toEqual([
        ["delegated_by", "invalid_value"],
      ]);
    },
  );

  it("may be at most five levels deep", async () => {
    let by: string | undefined;
    for (let depth = 0; depth <= 5; depth++) {
      const body: Body = { principal_id: principalId, ...(by !== undefined && { delegated_by: by }) };
      by = (await world.agent("CONSUMER", body)).did;
    }
    expect(faultsOf(await register(bodyOf("CONSUMER", { delegated_by: by })))).toEqual([
      ["delegated_by", "invalid_value"],
    ]);
  });

  it("states its whole chain, nearest first, in its document and in its certificate", async () => {
    const top = await world.agent("CONSUMER", { principal_id: principalId });
    const middle = await world.agent("CONSUMER", { principal_id: principalId, delegated_by: top.did });
    const last = await world.agent("CONSUMER", { principal_id: principalId, delegated_by: middle.did });
    for (const [agent, delegation] of [
      [last, { delegated_by: middle.did, chain: [middle.did, top.did] }],
      [middle, { delegated_by: top.did, chain: [top.did] }],
      [top, null],
    ] as const) {
      const { identity } = expectStatus(await world.call("GET", `/v1/agents/${agent.did}/aid`, { key: null }), 200);
      expect([identity.delegation, identity.certificate]).toEqual([delegation, agent.certificate]);
      const { aeap } = decodeJwt<CertificateClaims>(agent.certificate);
      expect(aeap.delegation ?? null).toEqual(delegation);
    }
  });
});
