// The part of a provider's vaults that counts in production, and the way out of FUNDING (AGT-34).
import { createExecutionContext } from "cloudflare:test";
import { beforeAll, describe, expect, it } from "vitest";
import { createApp } from "../../src/app.ts";
import { buildDeps } from "../../src/context.ts";
import { confirm, facilitated, pairOf } from "../facilitation/support.ts";
import { buyer, openIntent } from "../payments/support.ts";
import { CHAINS } from "../support/chain.ts";
import {
  type Agent,
  createWorld,
  env,
  expectStatus,
  ISSUER,
  type Json,
  type Reply,
  type World,
} from "../support/world.ts";
import { deposit, handOn, livePrincipal, openLive, outcome, promote, promoted, rows, under } from "./support.ts";

const UNIT = 1_000_000;
const THRESHOLD = 15 * UNIT;

let world: World;
beforeAll(async () => {
  world = await createWorld();
});

const waiting = async (of = world): Promise<Agent> => {
  const provider = await of.agent("PROVIDER");
  await openLive(of, provider.did);
  return under(provider, await promoted(of, provider.did));
};
const escrowOf = async (did: string): Promise<Json> =>
  (await rows("select * from escrows where did = ? and environment = 'production'", did))[0];

describe("a provider without a funded escrow", () => {
  it("becomes FUNDING, cannot transact, and is shown as suspended", async () => {
    const provider = await world.agent("PROVIDER");
    await openLive(world, provider.did);
    const answer = await promoted(world, provider.did);
    expect([answer.status, answer.environment, answer.escrow_state]).toEqual(["FUNDING", "production", "FUNDING"]);
    const shop = under(provider, answer);
    const call = await world.as(shop, "GET", "/v1/payment-intents/pin_none");
    expect([call.status, call.body.code]).toEqual([409, "agent_not_active"]);
    const { listed_status } = (
      await rows("select listed_status from certificates where did = ? and replaced_at is null", shop.did)
    )[0];
    expect(listed_status).toBe(2);
  });

  it("is refused a further call until its vault's balance reaches the threshold, and is ACTIVE then", async () => {
    const shop = await waiting();
    const poor = await promote(world, shop.did);
    expect(outcome(poor)).toEqual([409, "escrow_below_threshold"]);
    expect(poor.body.detail.escrow).toEqual([
      expect.objectContaining({
        network: "base-sepolia",
        balance: "0.00",
        threshold: "15.00",
        state: "FUNDING",
      }),
    ]);
    await deposit(shop.did, THRESHOLD - 1);
    const almost = await promote(world, shop.did);
    expect([...outcome(almost), almost.body.detail.escrow[0].balance]).toEqual([
      409,
      "escrow_below_threshold",
      "14.999999",
    ]);
    await deposit(shop.did, 1);
    const before = await rows("select version, revision from agents where did = ?", shop.did);
    const answer = await promoted(world, shop.did);
    expect([answer.status, answer.escrow_state, answer.certificate]).toEqual(["ACTIVE", "ACTIVE", undefined]);
    const after = await rows("select version, revision from agents where did = ?", shop.did);
    // The document states the escrow, so it is signed again, in the same version.
    expect([after[0].version - before[0].version, after[0].revision - before[0].revision]).toEqual([0, 1]);
    const aid = expectStatus(await world.call("GET", `/v1/agents/${shop.did}/aid`, { key: null }), 200);
    expect(aid.escrow.liability_profile).toMatchObject({ escrow_state: "ACTIVE", total_balance: "15.00" });
    expect((await world.as(shop, "GET", "/v1/payment-intents/pin_none")).status).toBe(404);
    const told = await rows("select type from events where agent_did = ? and environment = 'production'", shop.did);
    expect(told.map(({ type }) => type).sort()).toEqual([
      "agent.escrow_state_changed",
      "agent.promoted",
      "agent.status_changed",
      "market.provisioned",
    ]);
    const feed = await rows(
      "select change_type from directory_changes where did = ? and environment = 'production'",
      shop.did,
    );
    expect(feed.map(({ change_type }) => change_type)).toEqual(["registered", "status_changed"]);
    expect(outcome(await promote(world, shop.did))).toEqual([409, "invalid_status"]);
  });

  it("sells once it is ACTIVE, to consumers in production alone", async () => {
    const shop = await waiting();
    await deposit(shop.did, THRESHOLD);
    await promoted(world, shop.did);
    const own = await buyer(world);
    const sandbox = await openIntent(world, own, shop, "1.00");
    expect([sandbox.status, sandbox.body.code]).toEqual([409, "environment_mismatch"]);
    const customer = under(own, await promoted(world, own.did));
    expect(expectStatus(await openIntent(world, customer, shop, "1.00"), 201).status).toBe("OPEN");
  });

  it("becomes ACTIVE at the first call if its vault holds enough already", async () => {
    const provider = await world.agent("PROVIDER");
    await openLive(world, provider.did);
    await deposit(provider.did, THRESHOLD);
    expect((await promoted(world, provider.did)).status).toBe("ACTIVE");
  });

  it("keeps the principal under which it was promoted", async () => {
    const shop = await waiting();
    const other = await livePrincipal(world);
    const moved = await promote(world, shop.did, { principal_id: other });
    expect([...outcome(moved), moved.body.detail]).toEqual([
      409,
      "invalid_status",
      { principal_id: world.tenantPrincipalId },
    ]);
    const same = await promote(world, shop.did, { principal_id: world.tenantPrincipalId });
    expect(outcome(same)).toEqual([409, "escrow_below_threshold"]);
  });

  it("stays in FUNDING after its platform has suspended and reactivated it", async () => {
    const shop = await waiting();
    await deposit(shop.did, THRESHOLD);
    const set = (status: string) =>
      world.call("PATCH", `/v1/agents/${shop.did}/status`, { key: world.liveKey, body: { status } });
    expectStatus(await set("SUSPENDED"), 200);
    const refused = await promote(world, shop.did);
    expect([...outcome(refused), refused.body.detail]).toEqual([
      409,
      "invalid_status",
      { environment: "production", status: "SUSPENDED" },
    ]);
    expect(expectStatus(await set("ACTIVE"), 200).status).toBe("FUNDING");
    expect((await promoted(world, shop.did)).status).toBe("ACTIVE");
  });
});

describe("a vault that the sandbox has used", () => {
  it("counts in production without the contributions of the sandbox's settlements", async () => {
    const pair = await pairOf(world);
    await openLive(world, pair.provider.did);
    const { task } = await facilitated(world, pair, "100.00");
    expectStatus(await confirm(world, pair.consumer, task), 200);
    const [sandbox] = await rows(
      "select contributed, balance from escrows where did = ? and environment = 'sandbox'",
      pair.provider.did,
    );
    expect(sandbox.contributed).toBeGreaterThan(9 * UNIT);
    expect(sandbox.balance).toBe(sandbox.contributed);
    // The vault now holds more than the threshold, but most of it is test money.
    await deposit(pair.provider.did, 10 * UNIT);
    const answer = await promoted(world, pair.provider.did);
    expect([answer.status, answer.escrow[0].balance, answer.escrow[0].threshold]).toEqual([
      "FUNDING",
      "10.00",
      "15.00",
    ]);
    await handOn(world);
    expect(await rows("select environment from escrows where did = ?", pair.provider.did)).toEqual([
      { environment: "production" },
    ]);
    await deposit(pair.provider.did, 5 * UNIT);
    expect((await promoted(world, pair.provider.did)).status).toBe("ACTIVE");
    // Contributions of production's settlements count on top.
    const customer = await buyer(world);
    const consumer = under(customer, await promoted(world, customer.did));
    const provider = under(pair.provider, answer);
    await facilitated(world, { consumer, provider }, "10.00");
    const { balance, contributed } = await escrowOf(provider.did);
    expect(balance - contributed).toBe(THRESHOLD);
  });

  it("follows production's threshold alone from then on", async () => {
    const provider = await world.provider();
    await openLive(world, provider.did);
    await promoted(world, provider.did);
    await handOn(world);
    const { other_threshold, threshold, chain_threshold } = await escrowOf(provider.did);
    expect([other_threshold, threshold, chain_threshold]).toEqual([0, THRESHOLD, THRESHOLD]);
  });
});

describe("a chain that cannot be read", () => {
  /** Promotes through a service over the same database whose nodes do not answer. */
  async function promoteBlindly(did: string): Promise<Reply> {
    const deaf = CHAINS.map((chain) => ({ ...chain, rpc_url: "http://127.0.0.1:9" }));
    const { chain } = buildDeps({ ...env, NETWORKS: JSON.stringify(deaf) }, ISSUER);
    const app = createApp({ ...world.deps, chain });
    const request = new Request(`${ISSUER}/v1/agents/${did}/environment`, {
      method: "POST",
      headers: { "Service-Api-Key": world.liveKey, "Content-Type": "application/json" },
      body: JSON.stringify({ environment: "production" }),
    });
    const response = await app.fetch(request, env, createExecutionContext());
    return { status: response.status, body: await response.json(), headers: response.headers } as Reply;
  }

  it("leaves a first call in FUNDING, makes a further one 503, and loses nothing", async () => {
    const provider = await world.agent("PROVIDER");
    await openLive(world, provider.did);
    await deposit(provider.did, THRESHOLD);
    expect(expectStatus(await promoteBlindly(provider.did), 200).status).toBe("FUNDING");
    expect(outcome(await promoteBlindly(provider.did))).toEqual([503, "chain_unavailable"]);
    expect((await promoted(world, provider.did)).status).toBe("ACTIVE");
  });
});
