// A vault that holds less than its lines say is reported to the operator, and never repaired (MKT-28).
import { beforeAll, describe, expect, inject, it } from "vitest";
import { bookedOf, escrowOf, follow, robVault, transferTo } from "../follower/support.ts";
import { deposit, rows } from "../promotion/support.ts";
import { createWorld, expectStatus, type Json, type Reply, type World } from "../support/world.ts";

const UNIT = 1_000_000;
const ROUTE = "/v1/operator/reconciliation";

let world: World;
beforeAll(async () => {
  world = await createWorld();
});

const operator = { key: null, headers: { Authorization: `Bearer ${inject("operatorKey")}` } };
const list = (query = ""): Promise<Reply> => world.call("GET", `${ROUTE}${query}`, operator);
const listed = async (query = ""): Promise<Json[]> => expectStatus(await list(query), 200).data;
const sync = (did: string) => world.call("POST", `/v1/agents/${did}/escrow/sync`);

/** A provider whose vault held 10, of which 3 have gone past the contract. */
async function robbed(): Promise<string> {
  const { did } = await world.provider();
  await deposit(did, 10 * UNIT);
  await follow(world);
  await robVault((await escrowOf(did)).vault, 3 * UNIT);
  expectStatus(await sync(did), 200);
  return did;
}

describe("a vault that holds less than its lines say", () => {
  it("is listed with both numbers, its block and its open alert, and lines and escrow stay as they are", async () => {
    const did = await robbed();
    const { contract } = await escrowOf(did);
    const [difference, ...others] = await listed(`?did=${did}`);
    expect(others).toEqual([]);
    expect(difference).toEqual({
      network: "base-sepolia",
      caip2: "eip155:84532",
      did,
      contract,
      currency: "USDC",
      held: "7.00",
      expected: "10.00",
      block_number: expect.any(Number),
      found_at: expect.any(String),
      alert_id: expect.stringMatching(/^alt_/),
    });
    const [alert] = await rows("select * from alerts where alert_id = ?", difference.alert_id);
    expect(alert).toMatchObject({ kind: "reconciliation", subject: `${did} on base-sepolia` });
    expect(await bookedOf(did)).toEqual([["deposit", 10 * UNIT, 10 * UNIT]]);
    expect((await escrowOf(did)).balance).toBe(10 * UNIT);
  });

  it("is found once however often it is compared, and stays listed after its alert is acknowledged", async () => {
    const did = await robbed();
    for (let n = 0; n < 3; n++) expectStatus(await sync(did), 200);
    const [difference, ...others] = await listed(`?did=${did}`);
    expect(others).toEqual([]);
    const acknowledged = `/v1/operator/alerts/${difference.alert_id}/acknowledge`;
    expectStatus(await world.call("POST", acknowledged, operator), 200);
    expect(await listed(`?did=${did}`)).toEqual([{ ...difference, alert_id: null }]);
  });

  it("has its blocks read again once, even if another vault is compared in between", async () => {
    const [one, other] = [await robbed(), await robbed()];
    const reread = async () =>
      (
        await rows(
          "select sum(seen) as sum from alerts where subject like 'blocks of line %' or kind = 'chain_reorganised'",
        )
      )[0].sum;
    const before = await reread();
    expect(before).toBeGreaterThan(0);
    for (const did of [one, other, one, other]) expectStatus(await sync(did), 200);
    expect(await reread()).toBe(before);
  });

  it("is not balanced by anything later: a deposit is booked in full", async () => {
    const did = await robbed();
    await deposit(did, 5 * UNIT);
    await follow(world);
    expect((await bookedOf(did)).map(([kind, amount]) => [kind, amount])).toEqual([
      ["deposit", 10 * UNIT],
      ["deposit", 5 * UNIT],
    ]);
    expect(await listed(`?did=${did}`)).not.toEqual([]);
  });
});

describe("a plain transfer into a vault", () => {
  it("is a deposit and no difference", async () => {
    const { did } = await world.provider();
    await transferTo((await escrowOf(did)).vault, 2 * UNIT);
    expectStatus(await sync(did), 200);
    expect(await bookedOf(did)).toEqual([["deposit", 2 * UNIT, 2 * UNIT]]);
    expect(await listed(`?did=${did}`)).toEqual([]);
  });
});

describe("the list", () => {
  it("shows the newest first, pages through differences of one instant, and filters by network and provider", async () => {
    const did = `did:aeap:${crypto.randomUUID()}`;
    const insert =
      "insert into ledger_differences (network, did, contract, held, expected, block_number, found_at) values (?, ?, '0xc', ?, 20, 1, ?)";
    for (const [network, held, at] of [
      ["base-sepolia", 1, 5],
      ["base-sepolia", 2, 5],
      ["base", 3, 5],
      ["base-sepolia", 12, 9],
    ])
      await rows(insert, network, did, held, at);
    const heldOf = (page: Json[]) => page.map(({ held }) => held);
    expect(heldOf(await listed(`?did=${did}`))).toEqual(["0.000012", "0.000002", "0.000001", "0.000003"]);
    expect(heldOf(await listed(`?did=${did}&network=base`))).toEqual(["0.000003"]);
    expect(heldOf(await listed(`?did=${did}&network=eip155:8453`))).toEqual(["0.000003"]);
    const seen: string[] = [];
    for (let cursor = ""; ; ) {
      const page = expectStatus(await list(`?did=${did}&limit=1${cursor}`), 200);
      seen.push(...heldOf(page.data));
      if (!page.has_more) break;
      cursor = `&cursor=${encodeURIComponent(page.next_cursor)}`;
    }
    expect(seen).toEqual(["0.000012", "0.000002", "0.000001", "0.000003"]);
  });

  it("refuses an unknown network", async () => {
    const refused = await list("?network=nowhere");
    expect([refused.status, refused.body.code]).toEqual([422, "validation_failed"]);
    expect(refused.body.field_errors).toEqual([expect.objectContaining({ field: "network", code: "invalid_value" })]);
  });
});
