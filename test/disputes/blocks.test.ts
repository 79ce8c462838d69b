// Acts that an open dispute blocks until it has ended, and acts that it does not block (DSP-8, DSP-10, ACC-27, AGT-17, AGT-34, MKT-29).
import { beforeAll, describe, expect, it } from "vitest";
import { DAY_MS } from "../../src/core/limits.ts";
import { close, givePassword } from "../cascades/account-support.ts";
import { facilitated, type Pair, pairOf } from "../facilitation/support.ts";
import { follow, heldBy, livePair } from "../follower/support.ts";
import { marketsPath } from "../markets/support.ts";
import { deposit, rows } from "../promotion/support.ts";
import { createWorld, expectStatus, type Reply, type World } from "../support/world.ts";
import { chainThreshold, drive } from "../vaults/support.ts";
import { act, disputed, escrowOf, file, filing, keepReserve, PATH, resolve } from "./support.ts";

let world: World;
beforeAll(async () => {
  world = await createWorld();
});
const said = ({ status, body }: Reply) => [status, body.code];
const principalOf = async (did: string): Promise<string> =>
  (await rows("select principal_id from agents where did = ?", did))[0]?.principal_id;
const post = (path: string, body?: unknown) => world.call("POST", path, body === undefined ? {} : { body });

describe("closing a principal", () => {
  it.each(["provider", "consumer"] as const)("is refused until the dispute of its %s has ended", async (side) => {
    const one = await disputed(world);
    const id = await principalOf(one[side].did);
    expectStatus(await post(`/v1/principals/${id}/suspend`, {}), 200);
    const refused = await post(`/v1/principals/${id}/close`, {});
    expect([...said(refused), refused.body.detail]).toEqual([
      409,
      "close_blocked_open_disputes",
      { did: one[side].did },
    ]);
    // Its platform acts in the dispute while the agent is suspended.
    expectStatus(await post(`${PATH}/${one.id}/withdraw`), 200);
    expectStatus(await post(`/v1/principals/${id}/close`, {}), 200);
  });
});

describe("an account", () => {
  async function expectBlocked(own: World, { did }: Pair["consumer"]): Promise<void> {
    const refused = await close(own);
    expect([...said(refused), refused.body.detail]).toEqual([409, "close_blocked_open_disputes", { did }]);
  }

  /** A production pair of agents, each in its own account. */
  async function live(): Promise<{ buying: World; selling: World; pair: Pair }> {
    const [buying, selling] = [await createWorld(), await createWorld()];
    for (const own of [buying, selling]) await givePassword(own);
    return { buying, selling, pair: await livePair(selling, buying) };
  }

  it("is not closed while an agent of it, on either side, is party to a production dispute", async () => {
    const { buying, selling, pair } = await live();
    const one = await disputed(buying, { pair });
    expect(one.dispute.environment).toBe("production");
    await expectBlocked(buying, pair.consumer);
    await expectBlocked(selling, pair.provider);
    expectStatus(await act(buying, pair.consumer, one.id, "withdraw"), 200);
    expectStatus(await close(buying), 200);
    // The vault still holds money.
    expect(said(await close(selling))).toEqual([409, "close_blocked_escrow"]);
  });

  it("is not closed while an agent of it is party to a sandbox dispute, but test money in an escrow does not block it", async () => {
    const [buying, selling] = [await createWorld(), await createWorld()];
    for (const own of [buying, selling]) await givePassword(own);
    const pair = { consumer: await buying.consumer(), provider: await selling.provider() };
    const one = await disputed(buying, { pair });
    expect(one.dispute.environment).toBe("sandbox");
    await expectBlocked(buying, pair.consumer);
    await expectBlocked(selling, pair.provider);
    expectStatus(await act(buying, pair.consumer, one.id, "withdraw"), 200);
    expect((await escrowOf(pair.provider.did)).balance).toBeGreaterThan(0);
    for (const own of [buying, selling]) expectStatus(await close(own), 200);
  });
});

describe("an agent", () => {
  it("is not reactivated while its escrow is constrained, until a deposit covers the disputed amount", async () => {
    const one = await disputed(world);
    const path = `/v1/agents/${one.provider.did}/status`;
    expectStatus(await world.call("PATCH", path, { body: { status: "SUSPENDED" } }), 200);
    expect(said(await world.call("PATCH", path, { body: { status: "ACTIVE" } }))).toEqual([
      409,
      "escrow_constrained_cannot_reactivate",
    ]);
    await deposit(one.provider.did, 10_000_000);
    await follow(world);
    expectStatus(await world.call("PATCH", path, { body: { status: "ACTIVE" } }), 200);
  });

  it("is not promoted while it is party to a dispute, and its vault is not released", async () => {
    const pair = await pairOf(world);
    const one = await disputed(world, { pair });
    const promoted = await world.call("POST", `/v1/agents/${pair.provider.did}/environment`, {
      key: world.liveKey,
      body: { environment: "production" },
    });
    expect(said(promoted)).toEqual([409, "invalid_status"]);
    expect(promoted.body.detail.open).toMatchObject({ disputes: 1 });
    const release = () => post(`/v1/agents/${pair.provider.did}/escrow/release`, { network: "base-sepolia" });
    expect(said(await release())).toEqual([409, "escrow_constrained"]);
    expectStatus(await act(world, one.consumer, one.id, "withdraw"), 200);
  });

  it("keeps its dispute after a transfer to another principal", async () => {
    const one = await disputed(world);
    const principal_id = await world.principal();
    expectStatus(await post(`/v1/agents/${one.provider.did}/transfer`, { principal_id }), 200);
    // The transfer ended the agent's certificate, so its platform responds.
    expectStatus(await post(`${PATH}/${one.id}/respond`, { message: "It was delivered." }), 200);
    expectStatus(await post(`${PATH}/${one.id}/escalate`), 200);
    expectStatus(await resolve(world, one.id, { resolution: "rejected" }), 200);
    // The task is rated under the principals of the settlement.
    const [task] = await rows("select provider_rated_by, consumer_rated_by from tasks where task_id = ?", one.task);
    expect(task).toEqual({
      provider_rated_by: one.consumer.principalId,
      consumer_rated_by: one.provider.principalId,
    });
  });

  it("stays party to disputes after its principal's attestation has ended", async () => {
    const bought = await facilitated(world);
    const id = await principalOf(bought.consumer.did);
    await rows("update principals set attestation_expires_at = ? where principal_id = ?", world.now() - 1, id);
    expect(said(await file(world, bought))).toEqual([409, "agent_not_active"]);
    const { dispute_id } = expectStatus(await world.call("POST", PATH, { body: filing(bought) }), 201);
    expectStatus(await act(world, bought.provider, dispute_id, "respond", { message: "It was delivered." }), 200);
    expectStatus(await post(`${PATH}/${dispute_id}/escalate`), 200);
    expectStatus(await resolve(world, dispute_id, { resolution: "upheld" }), 200);
  });
});

describe("the vault of a provider that leaves", () => {
  it("is not released after its windows while a dispute is open, but is once the dispute has ended", async () => {
    const own = await createWorld();
    const pair = await pairOf(own);
    const { did } = pair.provider;
    // The vault holds more than is disputed, so only the open dispute prevents the release.
    const one = await disputed(own, { pair, more: { disputed_amount: "0.50" } });
    await keepReserve(own, did);
    await deposit(did, 10_000_000);
    await follow(own);
    expectStatus(await own.call("DELETE", `${marketsPath(did)}/GLOBAL-USDC?network=base-sepolia`), 204);
    own.advance(15 * DAY_MS);
    expect(await drive(did, own)).toBe(true);
    expect([await chainThreshold(did), await heldBy(did)]).toEqual([15_000_000, 10_999_500]);
    expect(await rows("select subject from chain_operations where kind = 'release' and subject = ?", did)).toEqual([]);
    expectStatus(await resolve(own, one.id, { resolution: "rejected" }), 200);
    await keepReserve(own, did);
    expect(await drive(did, own)).toBe(true);
    expect([await chainThreshold(did), await heldBy(did)]).toEqual([0, 0]);
  });
});
