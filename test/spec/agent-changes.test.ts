// Changing, suspending, reactivating and reading agents over HTTP, and the code of each refusal (AGT-11 to AGT-23). Every test names its rule.
import { eq } from "drizzle-orm";
import { beforeAll, describe, expect, it } from "vitest";
import { agents } from "../../src/db/tables/agents.ts";
import { escrows } from "../../src/db/tables/money.ts";
import { account } from "../support/chain.ts";
import { createWorld, expectStatus, type Json, type World } from "../support/world.ts";
import { fieldCodes, patchAgent } from "./support.ts";

let world: World;
beforeAll(async () => {
  world = await createWorld();
});

const patch = (did: string, part: "scope" | "status", body: Json) => patchAgent(world, did, part, body);
const isolated = (did: string) => eq(agents.did, did);

describe("a DRAFT", () => {
  it("AGT-14: is activated once; a second activation is 409 invalid_status", async () => {
    const { did } = await world.agent("CONSUMER");
    const refused = await world.call("POST", `/v1/agents/${did}/activate`);
    expect([refused.status, refused.body.code]).toEqual([409, "invalid_status"]);
  });

  it("AGT-15: is not activated by the status patch, which is 409 use_activate_endpoint", async () => {
    const { did } = await world.draft("CONSUMER");
    const refused = await patch(did, "status", { status: "ACTIVE" });
    expect([refused.status, refused.body.code]).toEqual([409, "use_activate_endpoint"]);
    expect(expectStatus(await world.call("GET", `/v1/agents/${did}`), 200).status).toBe("DRAFT");
  });

  it("AGT-14: activation answers {did, status, private_key, certificate, certificate_expires_at, key_id, warning, warnings}", async () => {
    const { did } = await world.draft("CONSUMER");
    const keys = expectStatus(await world.call("POST", `/v1/agents/${did}/activate`), 200);
    expect(Object.keys(keys).sort()).toEqual(
      ["did", "status", "private_key", "certificate", "certificate_expires_at", "key_id", "warning", "warnings"].sort(),
    );
    expect(keys.status).toBe("ACTIVE");
    expect(keys.private_key).toMatch(/^-----BEGIN PRIVATE KEY-----\n/);
  });
});

describe("PATCH …/status", () => {
  it("AGT-16, IDN-24: suspends and reactivates, and the public status shows it at once", async () => {
    const { did } = await world.agent("CONSUMER");
    const shown = async () => (await world.call("GET", `/v1/agents/${did}/status`, { key: null })).body.status;
    const suspended = expectStatus(await patch(did, "status", { status: "SUSPENDED", reason: "audit" }), 200);
    expect(suspended).toMatchObject({ status: "SUSPENDED", suspension_reason: "platform" });
    expect(await shown()).toBe("SUSPENDED");
    const returned = expectStatus(await patch(did, "status", { status: "ACTIVE" }), 200);
    expect(returned).toMatchObject({ status: "ACTIVE", suspension_reason: null });
    expect(await shown()).toBe("ACTIVE");
  });

  it("PRF-10: a SUSPENDED agent that calls gets 409 agent_not_active, a TERMINATED one 401", async () => {
    const consumer = await world.agent("CONSUMER");
    const call = () => world.as(consumer, "GET", "/v1/tasks/tsk_nothing");
    expect((await call()).status).toBe(404);
    await patch(consumer.did, "status", { status: "SUSPENDED" });
    const stopped = await call();
    expect([stopped.status, stopped.body.code]).toEqual([409, "agent_not_active"]);
    await patch(consumer.did, "status", { status: "TERMINATED" });
    const ended = await call();
    expect([ended.status, ended.body.code]).toEqual([401, "aeap_verification_failed"]);
  });

  it("AGT-13: a transition that the table does not allow is 409 invalid_status and changes nothing", async () => {
    const { did } = await world.agent("CONSUMER");
    const refused = await patch(did, "status", { status: "ACTIVE" });
    expect([refused.status, refused.body.code]).toEqual([409, "invalid_status"]);
  });

  it("AGT-17: does not reactivate while the escrow is CONSTRAINED (409 escrow_constrained_cannot_reactivate)", async () => {
    const provider = await world.provider();
    await patch(provider.did, "status", { status: "SUSPENDED" });
    const { db } = world.deps;
    await db.update(escrows).set({ state: "CONSTRAINED" }).where(eq(escrows.did, provider.did));
    const refused = await patch(provider.did, "status", { status: "ACTIVE" });
    expect([refused.status, refused.body.code]).toEqual([409, "escrow_constrained_cannot_reactivate"]);
    await db.update(escrows).set({ state: "FUNDING" }).where(eq(escrows.did, provider.did));
    expect(expectStatus(await patch(provider.did, "status", { status: "ACTIVE" }), 200).status).toBe("ACTIVE");
  });

  it("AGT-13: TERMINATED is final", async () => {
    const { did } = await world.agent("CONSUMER");
    expect(expectStatus(await patch(did, "status", { status: "TERMINATED" }), 200).status).toBe("TERMINATED");
    for (const status of ["ACTIVE", "SUSPENDED", "TERMINATED"]) {
      const refused = await patch(did, "status", { status });
      expect([refused.status, refused.body.code]).toEqual([409, "invalid_status"]);
    }
  });
});

describe("PATCH …/scope", () => {
  it("AGT-22: changes the document by one version, and the certificate states the new scope", async () => {
    const consumer = await world.agent("CONSUMER");
    const limits = { max_transaction_value: 25, spending_limit: { amount: "1e2", currency: "USDC", window_days: 30 } };
    const agent = expectStatus(await patch(consumer.did, "scope", limits), 200);
    expect(agent.scope.max_transaction_value).toBe("25.00");
    expect(agent.version).toBe(3);
    const aid = expectStatus(await world.call("GET", `/v1/agents/${consumer.did}/aid`, { key: null }), 200);
    expect([aid.version, aid.identity.scope.max_transaction_value]).toEqual([3, "25.00"]);
    const checked = expectStatus(
      await world.call("POST", "/v1/verify/certificate", {
        key: null,
        body: { certificate: aid.identity.certificate },
      }),
      200,
    );
    expect(checked.claims.aeap.scope.max_transaction_value).toBe("25.00");
  });

  it("AGT-21: a patch that changes nothing is 400 no_changes_requested", async () => {
    const consumer = await world.agent("CONSUMER");
    for (const body of [{}, { capabilities: ["translation"], dispute_window_days: 14 }]) {
      const refused = await patch(consumer.did, "scope", body);
      expect([refused.status, refused.body.code]).toEqual([400, "no_changes_requested"]);
    }
    expect(expectStatus(await world.call("GET", `/v1/agents/${consumer.did}`), 200).version).toBe(2);
  });

  it.each([
    ["PROVIDER", { max_transaction_value: "1" }],
    ["PROVIDER", { minimum_counterparty_ar: 0.1 }],
    ["CONSUMER", { authorized_markets: ["DE-USDC"] }],
  ] as const)("field_not_allowed_for_role: %s with %j", async (role, body) => {
    const { did } = await world.draft(role);
    const refused = await patch(did, "scope", body);
    expect([refused.status, refused.body.code]).toEqual([422, "field_not_allowed_for_role"]);
    expect(fieldCodes(refused)).toEqual({ [Object.keys(body)[0] ?? ""]: "field_not_allowed_for_role" });
  });

  it.each(["CONSUMER", "PROVIDER"] as const)("AGT-8: dispute_window_days is accepted on a %s", async (role) => {
    const { did } = await world.draft(role);
    expect(expectStatus(await patch(did, "scope", { dispute_window_days: 0 }), 200).scope.dispute_window_days).toBe(0);
  });

  it.each(["REVOKED", "TERMINATED"] as const)(
    "AGT-20: a %s agent rejects scope edits with 409 agent_status_not_mutable",
    async (status) => {
      const consumer = await world.agent("CONSUMER");
      await world.deps.db.update(agents).set({ status }).where(isolated(consumer.did));
      const refused = await patch(consumer.did, "scope", { capabilities: ["other"] });
      expect([refused.status, refused.body.code]).toEqual([409, "agent_status_not_mutable"]);
    },
  );
});

describe("reading agents", () => {
  it("AGT-11: GET /v1/agents filters by principal_id, status and economic_role, in the key's environment", async () => {
    const own = await createWorld();
    const first = await own.agent("CONSUMER");
    const second = await own.draft("PROVIDER");
    const dids = async (query: string, key = own.key) => {
      const page = expectStatus(await own.call("GET", `/v1/agents${query}`, { key }), 200);
      expect(Object.keys(page).sort()).toEqual(["data", "has_more", "next_cursor"]);
      return page.data.map(({ did }: { did: string }) => did);
    };
    expect((await dids("")).sort()).toEqual([first.did, second.did].sort());
    expect(await dids(`?principal_id=${first.principalId}`)).toEqual([first.did]);
    expect(await dids("?status=DRAFT")).toEqual([second.did]);
    expect(await dids("?economic_role=CONSUMER")).toEqual([first.did]);
    expect(await dids("", own.liveKey)).toEqual([]);
    const page = expectStatus(await own.call("GET", "/v1/agents?limit=1"), 200);
    expect(page.has_more).toBe(true);
    const rest = expectStatus(await own.call("GET", `/v1/agents?limit=1&cursor=${page.next_cursor}`), 200);
    expect([rest.has_more, rest.next_cursor]).toEqual([false, null]);
    expect([page.data[0].did, rest.data[0].did].sort()).toEqual([first.did, second.did].sort());
  });

  it("AGT-12: GET /v1/agents/{did} shows the record, escrow, markets and the certificate's end", async () => {
    const provider = await world.provider();
    const agent = expectStatus(await world.call("GET", `/v1/agents/${provider.did}`), 200);
    expect(agent).toMatchObject({
      principal_id: provider.principalId,
      status: "ACTIVE",
      certificate_expires_at: expect.any(String),
      authorized_markets: ["GLOBAL-USDC"],
      escrow_state: "FUNDING",
    });
    expect(agent.escrow).toEqual([
      expect.objectContaining({ network: "base-sepolia", balance: "0.00", threshold: "15.00", state: "FUNDING" }),
    ]);
    expect(agent.markets[0].operational_wallet).toBe(account(8).toLowerCase());
  });
});
