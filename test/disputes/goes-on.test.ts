// A dispute continues when a party is stopped (DSP-8, ACC-25, AGT-31, AGT-33): a suspended side acts by its platform's key, the parties' days end,
// the arbiter decides, the vault pays, and undisputed tasks end as usual.
import { beforeAll, describe, expect, it } from "vitest";
import { HOUR_MS } from "../../src/core/limits.ts";
import { autoConfirmTasks } from "../../src/tasks/confirm.ts";
import { close, givePassword, suspend } from "../cascades/account-support.ts";
import { confirm, facilitated, type Pair } from "../facilitation/support.ts";
import { follow, heldBy } from "../follower/support.ts";
import { deposit, rows } from "../promotion/support.ts";
import { advanced, HOUR_S } from "../sandbox/support.ts";
import { attested } from "../support/clock.ts";
import { type Agent, createWorld, expectStatus, type Json, type Reply, type World } from "../support/world.ts";
import { reserveOf } from "../vaults/support.ts";
import {
  act,
  type Bought,
  countsOf,
  escrowOf,
  file,
  keepReserve,
  PATH,
  pass,
  payOut,
  read,
  recordDays,
  resolve,
} from "./support.ts";

let buying: World;
beforeAll(async () => {
  buying = await createWorld();
});

const UNIT = 1_000_000;
const said = ({ status, body }: Reply): [number, string | undefined] => [status, body.code];
const taskOf = async (id: string): Promise<Json> => (await rows("select * from tasks where task_id = ?", id))[0];
const interactionsOf = async ({ did }: Agent): Promise<number> =>
  (await rows("select rating_interactions as n from agents where did = ?", did))[0]?.n;
const answer = { message: "It was delivered." };

const suspendAgent = async (own: World, { did }: Agent) =>
  expectStatus(await own.call("PATCH", `/v1/agents/${did}/status`, { body: { status: "SUSPENDED" } }), 200);
const suspendPrincipal = async (own: World, { principalId }: Agent) =>
  expectStatus(await own.call("POST", `/v1/principals/${principalId}/suspend`, { body: {} }), 200);

type Stop = {
  readonly stop: (own: World, agent: Agent) => Promise<unknown>;
  /** The agent's status from then on. */
  readonly status: string;
  /** The answers to the agent's own act and to its platform's act. */
  readonly itself: readonly [number, string];
  readonly platform: readonly [number, string | undefined];
  /** The disputes are filed after the stop, because an open dispute blocks the closing. */
  readonly filedAfterwards?: true;
};
const STOPS: Readonly<Record<string, Stop>> = {
  "is suspended": {
    stop: suspendAgent,
    status: "SUSPENDED",
    itself: [409, "agent_not_active"],
    platform: [200, undefined],
  },
  "belongs to a suspended principal": {
    stop: suspendPrincipal,
    status: "SUSPENDED",
    itself: [409, "agent_not_active"],
    platform: [200, undefined],
  },
  "belongs to a principal whose attestation has ended": {
    stop: (own) => advanced(own, 2 * HOUR_S),
    status: "SUSPENDED",
    itself: [409, "agent_not_active"],
    platform: [200, undefined],
  },
  "belongs to an account that the operator has suspended": {
    stop: async (own) => expectStatus(await suspend(own), 200),
    status: "SUSPENDED",
    itself: [403, "account_suspended"],
    platform: [403, "account_suspended"],
  },
  "is revoked": {
    stop: async (own, { did }) =>
      expectStatus(await own.call("POST", `/v1/agents/${did}/revoke`, { body: { reason: "It ends." } }), 200),
    status: "REVOKED",
    itself: [401, "aeap_verification_failed"],
    platform: [200, undefined],
  },
  "belongs to a closed account": {
    stop: async (own) => {
      await givePassword(own);
      expectStatus(await close(own), 200);
    },
    status: "REVOKED",
    itself: [401, "aeap_verification_failed"],
    platform: [401, "invalid_credentials"],
    filedAfterwards: true,
  },
};

describe.each(Object.entries(STOPS))(
  "when the provider %s",
  (_name, { stop, status, itself, platform, filedAfterwards = false }) => {
    let selling: World;
    let pair: Pair;
    let [answered, conceded, decided, late, open, quiet] = [] as unknown as Bought[];
    const filed = async (bought: Bought | undefined): Promise<string> => {
      if (!bought) throw new Error("nothing was bought");
      return expectStatus(await file(buying, bought, { disputed_amount: "8.00" }), 201).dispute_id;
    };
    let ids: { readonly answered: string; readonly conceded: string; readonly decided: string };

    beforeAll(async () => {
      selling = await createWorld();
      const provider = await selling.provider({ principal_id: await selling.principal(attested(1)) });
      pair = { consumer: await buying.consumer(), provider };
      const bought: Bought[] = [];
      for (let n = 0; n < 6; n++) bought.push(await facilitated(buying, pair));
      [answered, conceded, decided, late, open, quiet] = bought;
      const fileAll = async () => {
        ids = { answered: await filed(answered), conceded: await filed(conceded), decided: await filed(decided) };
      };
      if (!filedAfterwards) await fileAll();
      await deposit(provider.did, 50 * UNIT);
      await follow(selling);
      await stop(selling, provider);
      if (filedAfterwards) await fileAll();
      const shown = await buying.call("GET", `/v1/agents/${provider.did}/status`, { key: null });
      expect(shown.body.status).toBe(status);
    });

    it("its own acts are refused, and its platform's key answers and concedes while the platform can call", async () => {
      const before = await read(buying, pair.consumer, ids.answered);
      expect(said(await act(selling, pair.provider, ids.answered, "respond", answer))).toEqual(itself);
      expect(await read(buying, pair.consumer, ids.answered)).toEqual(before);
      expect(said(await selling.call("POST", `${PATH}/${ids.answered}/respond`, { body: answer }))).toEqual(platform);
      expect(said(await selling.call("POST", `${PATH}/${ids.conceded}/concede`))).toEqual(platform);
      const acts = platform[0] === 200;
      expect((await read(buying, pair.consumer, ids.answered)).messages).toHaveLength(acts ? 1 : 0);
      expect((await read(buying, pair.consumer, ids.conceded)).resolution).toBe(acts ? "upheld" : null);
    });

    it("the parties' days end, the arbiter decides, and the vault pays", async () => {
      await pass(ids.decided, 7);
      await recordDays(buying, ids.decided);
      expect(await rows("select status from disputes where dispute_id = ?", ids.decided)).toEqual([
        { status: "arbitration" },
      ]);
      const { lost } = await countsOf(pair.provider.did);
      const held = await heldBy(pair.provider.did);
      expectStatus(await resolve(buying, ids.decided, { resolution: "upheld" }), 200);
      expect(await payOut(buying, ids.decided)).toBe(true);
      expect(held - (await heldBy(pair.provider.did))).toBe(9 * UNIT);
      expect(await read(buying, pair.consumer, ids.decided)).toMatchObject({
        status: "resolved",
        refund_status: "paid",
        paid_from_vault: "9.00",
      });
      expect((await countsOf(pair.provider.did)).lost).toBe(lost + 1);
      expect(await taskOf(decided?.task ?? "")).toMatchObject({ status: "confirmed", verdict: "upheld" });
    });

    it("another purchase can be disputed, and the contract reserves the amount", async () => {
      const before = await escrowOf(pair.provider.did);
      await filed(late);
      const after = await escrowOf(pair.provider.did);
      expect(after.disputed - before.disputed).toBe(8 * UNIT);
      expect(await keepReserve(buying, pair.provider.did)).toBe(true);
      expect(await reserveOf(pair.provider.did)).toBe(after.disputed + after.owed);
    });

    it("one task is confirmed and another confirms itself, and both rate the provider", async () => {
      const rated = await interactionsOf(pair.provider);
      expectStatus(await confirm(buying, pair.consumer, open?.task ?? ""), 200);
      const end = buying.now() - 1;
      const opened = end - 72 * HOUR_MS;
      await rows("update tasks set confirm_by = ?, opened_at = ? where task_id = ?", end, opened, quiet?.task);
      await buying.run(autoConfirmTasks);
      expect(await taskOf(quiet?.task ?? "")).toMatchObject({ status: "auto_confirmed", closed_at: end });
      expect(await interactionsOf(pair.provider)).toBe(rated + 2);
    });
  },
);

describe("when the consumer's side is stopped", () => {
  it.each([
    ["agent", suspendAgent],
    ["principal", suspendPrincipal],
  ])("the platform of a suspended %s accepts and withdraws for it", async (_name, stop) => {
    const own = await createWorld();
    const pair = { consumer: await own.consumer(), provider: await buying.provider() };
    const [first, second] = [await facilitated(own, pair), await facilitated(own, pair)];
    const [offered, left] = [await file(own, first), await file(own, second)].map(
      (reply) => expectStatus(reply, 201).dispute_id,
    );
    expectStatus(await act(buying, pair.provider, offered, "respond", { ...answer, offer_amount: "4" }), 200);
    await stop(own, pair.consumer);
    expect(said(await act(own, pair.consumer, offered, "accept"))).toEqual([409, "agent_not_active"]);
    expect(expectStatus(await own.call("POST", `${PATH}/${offered}/accept`), 200).resolution).toBe("settled");
    expect(expectStatus(await own.call("POST", `${PATH}/${left}/withdraw`), 200).resolution).toBe("withdrawn");
  });
});

describe("after a transfer", () => {
  const ANSWERS = { provider: "respond", consumer: "withdraw" } as const;

  it.each(["provider", "consumer"] as const)("of the %s the dispute stays with the DID until its end", async (side) => {
    const pair = { consumer: await buying.consumer(), provider: await buying.provider() };
    const bought = [await facilitated(buying, pair), await facilitated(buying, pair)];
    const [decided = "", other = ""] = await Promise.all(
      bought.map(async (one) => expectStatus(await file(buying, one, { disputed_amount: "8.00" }), 201).dispute_id),
    );
    await deposit(pair.provider.did, 20 * UNIT);
    const principal_id = await buying.principal();
    const path = `/v1/agents/${pair[side].did}/transfer`;
    const { certificate } = expectStatus(await buying.call("POST", path, { body: { principal_id } }), 200);
    const body = side === "provider" ? answer : undefined;
    const acts = (agent: Agent) => act(buying, agent, other, ANSWERS[side], body);
    expect(said(await acts(pair[side]))).toEqual([401, "aeap_verification_failed"]);
    const after = { ...pair, [side]: { ...pair[side], certificate } };
    expectStatus(await acts(after[side]), 200);
    await pass(decided, 7);
    await recordDays(buying, decided);
    const held = await heldBy(pair.provider.did);
    expectStatus(await resolve(buying, decided, { resolution: "upheld" }), 200);
    expect(await payOut(buying, decided)).toBe(true);
    expect(held - (await heldBy(pair.provider.did))).toBe(9 * UNIT);
    expect(await read(buying, after.consumer, decided)).toMatchObject({ status: "resolved", refund_status: "paid" });
    expect((await countsOf(pair.provider.did)).lost).toBe(1);
    expect((await countsOf(pair.consumer.did)).won).toBe(1);
    // The tasks are rated under the principals of the settlement.
    expect(await taskOf(bought[0]?.task ?? "")).toMatchObject({
      provider_rated_by: pair.consumer.principalId,
      consumer_rated_by: pair.provider.principalId,
    });
  });
});
