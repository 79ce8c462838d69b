// The mails about disputes (DSP-18): to the provider's account at a filing, to both accounts at the arbiter's decision.
import { beforeEach, describe, expect, it } from "vitest";
import { mailNotices } from "../../src/accounts/notices.ts";
import { DAY_MS } from "../../src/core/limits.ts";
import { type Pair, pairOf } from "../facilitation/support.ts";
import { livePair } from "../follower/support.ts";
import { moveClock } from "../support/clock.ts";
import { noticesOf } from "../support/notices.ts";
import { createWorld, expectStatus, type World } from "../support/world.ts";
import { act, arbitrated, disputed, file, resolve } from "./support.ts";

let selling: World;
let buying: World;
beforeEach(async () => {
  [selling, buying] = [await createWorld(), await createWorld()];
});

const WORDS = {
  description: "Call 0800 STRANGER about the invoice.",
  resolution_sought: "Send it to evil.example.",
};
const pairOfTwo = async (): Promise<Pair> => ({
  provider: await selling.provider(),
  consumer: await buying.consumer(),
});
const kindsOf = async (world: World): Promise<string[]> => (await noticesOf(world)).map(({ kind }) => kind).sort();

describe("a filing", () => {
  it.each(["sandbox", "production"])(
    "in %s is mailed to the provider's account alone, without the words of the other side",
    async (environment) => {
      const pair = environment === "sandbox" ? await pairOfTwo() : await livePair(selling, buying);
      const { id, dispute, provider, consumer } = await disputed(buying, { pair, more: WORDS });
      expect(await kindsOf(buying)).not.toContain("customer.dispute_filed");
      const notice = (await noticesOf(selling, "customer.dispute")).at(0);
      expect(await noticesOf(selling, "customer.dispute")).toHaveLength(1);
      expect(notice).toMatchObject({
        kind: "customer.dispute_filed",
        data: {
          ...{ environment, disputeId: id, providerDid: provider.did, consumerDid: consumer.did },
          ...{ amount: "10.00", currency: "USDC", reason: "not_delivered" },
          answersUntil: Date.parse(dispute.pre_arb_deadline),
        },
      });
      await selling.run(mailNotices);
      const mail = selling.mails.find(({ subject }) => subject === "A dispute was filed against your agent");
      expect(mail?.text).toContain(`disputes 10.00 USDC of a ${environment} purchase from your agent ${provider.did}`);
      for (const words of Object.values(WORDS)) expect(JSON.stringify([notice, mail])).not.toContain(words);
    },
  );

  it("by the platform's key is mailed too, but a refused one is not", async () => {
    const one = await disputed(buying, { pair: await pairOfTwo() });
    expect((await file(buying, one)).body.code).toBe("dispute_exists");
    expect(await kindsOf(selling)).toEqual(["customer.dispute_filed"]);
  });

  it("in a sandbox whose clock is ahead is mailed at once", async () => {
    await moveClock(buying, 20 * DAY_MS);
    const before = Date.now();
    const { dispute } = await disputed(buying, { pair: await pairOfTwo() });
    const [notice] = await noticesOf(selling);
    expect(notice?.due_at).toBeGreaterThanOrEqual(before);
    expect(notice?.due_at).toBeLessThanOrEqual(Date.now());
    expect(notice?.data.answersUntil).toBe(Date.parse(dispute.pre_arb_deadline));
  });
});

describe("a decision of the arbiter", () => {
  it("is mailed to both accounts, without the arbiter's words", async () => {
    const one = await disputed(buying, { pair: await pairOfTwo() });
    await arbitrated(buying, one);
    const reason = "The note says 0800 ARBITER.";
    const verdict = { resolution: "partially_upheld", refund_amount: "4.5", reason };
    expectStatus(await resolve(buying, one.id, verdict), 200);
    for (const world of [selling, buying]) {
      const [notice, ...others] = await noticesOf(world, "customer.dispute_decided");
      expect(others).toEqual([]);
      expect(notice?.data).toMatchObject({ disputeId: one.id, resolution: "partially_upheld", refund: "4.50" });
      expect(JSON.stringify(notice)).not.toContain("0800 ARBITER");
    }
    await selling.run(mailNotices);
    const mails = selling.mails.filter(({ subject }) => subject === "A dispute was decided: partially upheld");
    expect(mails).toHaveLength(2);
    for (const { text } of mails) expect(text).toContain("The consumer is awarded 4.50 USDC.");
  });

  it("between agents of one account is one mail", async () => {
    const one = await disputed(selling, { pair: await pairOf(selling) });
    await arbitrated(selling, one);
    expectStatus(await resolve(selling, one.id, { resolution: "rejected" }), 200);
    expect(await kindsOf(selling)).toEqual(["customer.dispute_decided", "customer.dispute_filed"]);
  });

  it("is the only end that is mailed: an end by the parties is reported by its event", async () => {
    const one = await disputed(buying, { pair: await pairOfTwo() });
    expectStatus(await act(buying, one.consumer, one.id, "withdraw"), 200);
    expect([await kindsOf(selling), await kindsOf(buying)]).toEqual([["customer.dispute_filed"], []]);
  });
});
