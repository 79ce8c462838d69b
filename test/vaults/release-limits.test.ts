// Limits how often a release of a provider's vault can be requested, because each costs gas (MKT-29).
import { beforeAll, describe, expect, it } from "vitest";
import { DAY_MS, HOUR_MS, SECOND_MS } from "../../src/core/limits.ts";
import { heldBy } from "../follower/support.ts";
import { deposit, rows } from "../promotion/support.ts";
import { createWorld, expectStatus, type Json, type Reply, type World } from "../support/world.ts";
import { funded, operationOf, THRESHOLD, UNIT } from "./support.ts";

let world: World;
beforeAll(async () => {
  world = await createWorld();
});

const release = (did: string): Promise<Reply> =>
  world.call("POST", `/v1/agents/${did}/escrow/release`, { body: { network: "base-sepolia" } });
/** Requests until the release is done, also on a busy machine: a request while it waits is for the same release. */
async function released(did: string): Promise<Json> {
  for (;;) {
    const answer = expectStatus(await release(did), 200);
    if (answer.status === "released") return answer;
  }
}
const outcome = ({ status, body }: Reply) => [status, body.code];
/** Pretends that releases were requested at these instants. */
const asked = (did: string, asks: readonly number[]) =>
  rows("update chain_operations set asks = ? where subject = ? and kind = 'release'", JSON.stringify(asks), did);

describe("a release", () => {
  it("can be requested ten times in 24 hours of real time, and a refused request is not counted", async () => {
    const did = await funded(world, 20 * UNIT);
    const asks = Array.from({ length: 9 }, (_, n) => world.deps.clock.now() - (9 - n) * HOUR_MS);
    await released(did);
    await asked(did, asks);
    expect(outcome(await release(did))).toEqual([409, "invalid_status"]);
    await deposit(did, UNIT);
    expect((await released(did)).status).toBe("released");
    await deposit(did, UNIT);
    const before = await operationOf(did);
    expect(JSON.parse(before.asks)).toHaveLength(10);
    const secondsLeft = () => Math.ceil(((asks[0] ?? 0) + DAY_MS - world.deps.clock.now()) / SECOND_MS);
    const most = secondsLeft();
    const refused = await release(did);
    expect(outcome(refused)).toEqual([429, "rate_limited"]);
    // The request of nine hours ago no longer counts fifteen hours from now.
    const seconds = Number(refused.headers.get("retry-after"));
    expect(seconds).toBeLessThanOrEqual(most);
    expect(seconds).toBeGreaterThanOrEqual(secondsLeft());
    expect([await operationOf(did), await heldBy(did)]).toEqual([before, THRESHOLD + UNIT]);
    // Another agent is not limited by this.
    expect((await released(await funded(world, 20 * UNIT))).status).toBe("released");
    try {
      world.offset = 15 * HOUR_MS;
      expect((await released(did)).status).toBe("released");
    } finally {
      world.offset = 0;
    }
  });

  it("cannot be requested more often by concurrent calls", async () => {
    const did = await funded(world, 20 * UNIT);
    const asks = Array.from({ length: 9 }, () => world.deps.clock.now());
    await released(did);
    await asked(did, asks);
    await deposit(did, UNIT);
    const answers = await Promise.all(Array.from({ length: 4 }, () => release(did)));
    const statuses = answers.map(({ status }) => status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(1);
    expect(statuses.filter((status) => status !== 200 && status !== 429 && status !== 409)).toEqual([]);
  });
});
