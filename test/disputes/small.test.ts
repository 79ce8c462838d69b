// Open disputes of less than 5.00 in total on a network leave the escrow unconstrained (MKT-17, DSP-10).
import { beforeAll, describe, expect, it } from "vitest";
import { facilitated, type Pair, pairOf } from "../facilitation/support.ts";
import { rows } from "../promotion/support.ts";
import { playEveryOrder } from "../support/orders.ts";
import { createWorld, expectStatus, type World } from "../support/world.ts";
import { act, type Bought, disputed, escrowOf, file } from "./support.ts";

let world: World;
beforeAll(async () => {
  world = await createWorld();
});

/** Each purchase leaves less than one unit in the vault. */
const bought = (pair: Pair): Promise<Bought> => facilitated(world, pair, "2.50");
const stateOf = async ({ provider }: Pair): Promise<string> => (await escrowOf(provider.did)).state;
const turnsOf = async ({ provider }: Pair): Promise<string[]> =>
  (
    await rows(
      "select object ->> 'escrow_state' as state from events where type = 'agent.escrow_state_changed' and agent_did = ? order by seq",
      provider.did,
    )
  ).map(({ state }) => state);

describe("a provider", () => {
  it("goes on selling and can be reactivated while less than 5.00 is disputed, and is constrained from 5.00 on", async () => {
    const pair = await pairOf(world);
    const [last] = [await bought(pair), await disputed(world, { pair, amount: "2.50" })];
    const order = {
      consumer_did: pair.consumer.did,
      provider_did: pair.provider.did,
      amount: "1.00",
      currency: "USDC",
    };
    const sell = () => world.as(pair.consumer, "POST", "/v1/payment-intents", order);
    const one = await disputed(world, { pair, amount: "2.49" });
    expect([await stateOf(pair), await turnsOf(pair)]).toEqual(["FUNDING", []]);
    expectStatus(await sell(), 201);
    const path = `/v1/agents/${pair.provider.did}/status`;
    for (const status of ["SUSPENDED", "ACTIVE"])
      expectStatus(await world.call("PATCH", path, { body: { status } }), 200);

    const more = expectStatus(await file(world, last, { disputed_amount: "0.01" }), 201);
    expect(await stateOf(pair)).toBe("CONSTRAINED");
    expect((await sell()).body.code).toBe("escrow_constrained");

    expectStatus(await act(world, pair.consumer, more.dispute_id, "withdraw"), 200);
    expect([await stateOf(pair), await turnsOf(pair)]).toEqual(["FUNDING", ["CONSTRAINED", "FUNDING"]]);
    expectStatus(await sell(), 201);
    expect(await escrowOf(pair.provider.did)).toMatchObject({ disputed: 4_990_000 });
    expectStatus(await act(world, pair.consumer, one.id, "withdraw"), 200);
  });

  it("is constrained by two disputes that reach 5.00 together, in whichever order they are recorded", async () => {
    type Stage = Pair & { readonly purchases: readonly Bought[] };
    const by = (nth: number) => (of: World, stage: Stage) =>
      file(of, stage.purchases[nth] as Bought, { disputed_amount: "2.50" });
    await playEveryOrder<Stage, "one" | "other">(
      world,
      "other",
      { one: by(0), other: by(1) },
      {
        set: async () => {
          const pair = await pairOf(world);
          return { ...pair, purchases: [await bought(pair), await bought(pair)] };
        },
        check: async (stage, { one, other }) => {
          expect([one.status, other.status]).toEqual([201, 201]);
          expect(await escrowOf(stage.provider.did)).toMatchObject({ disputed: 5_000_000, state: "CONSTRAINED" });
          expect(await turnsOf(stage)).toEqual(["CONSTRAINED"]);
        },
      },
    );
  });
});
