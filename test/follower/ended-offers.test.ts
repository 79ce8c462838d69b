// A buyer's payment waits in the node's pool while its offer, or a side of it, ends. A payment that is mined within 30 seconds of the offer's end
// counts, is facilitated by the other side and opens a task; a later one does not, and the hold stands until a later chain was read (PAY-11, PAY-14,
// AGT-31, ACC-27). If an account or a principal is suspended or closed, an offer ends within its own five minutes. Only this file uses the network
// `lab-ended`.
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { abandonIntents } from "../../src/payments/abandon.ts";
import { close, givePassword, suspend } from "../cascades/account-support.ts";
import { PATH, type Pair } from "../facilitation/support.ts";
import { buyer, dailyLimit, delegateOf, spendState } from "../payments/support.ts";
import { rows } from "../promotion/support.ts";
import { networksWith, payOnChain } from "../support/chain.ts";
import { labOf } from "../support/lab.ts";
import { type Agent, createWorld, expectStatus, type Json, type Reply, type World } from "../support/world.ts";
import { follow } from "./support.ts";

const LAB = "lab-ended";
const UNIT = 1_000_000;
/** After the five minutes of an intent, and the 30 seconds. */
const LATER_MS = 332_000;
/** After the end of an offer, and within the 30 seconds. */
const SOON_MS = 3_000;
const LIFE_MS = 300_000;
const { lab, mine } = labOf(LAB);

const NETWORKS = networksWith(LAB);
/** Reads the chain. Its agents are on the other side of those that end. */
let world: World;
beforeAll(async () => {
  world = await createWorld({ NETWORKS });
});
afterEach(async () => {
  world.offset = 0;
  await lab("evm_setAutomine", true);
});

/** Two sides, each of its own account, and what ends one of them. */
type Ending = { readonly pair: Pair; readonly other: "provider" | "consumer"; readonly end: () => Promise<Reply> };

async function ofAccounts(
  ends: "provider" | "consumer",
  end: (own: World, agent: Agent) => Promise<Reply>,
): Promise<Ending> {
  const own = await createWorld({ NETWORKS });
  await givePassword(own);
  const [selling, buying] = ends === "provider" ? [own, world] : [world, own];
  const pair = {
    consumer: await buyer(buying, dailyLimit("10.00")),
    provider: await selling.provider({}, "GLOBAL-USDC", LAB),
  };
  return { pair, other: ends === "provider" ? "consumer" : "provider", end: () => end(own, pair[ends]) };
}

const revoke = (own: World, { did }: Agent): Promise<Reply> =>
  own.call("POST", `/v1/agents/${did}/revoke`, { body: { reason: "gone" } });
const suspendAgent = (own: World, { did }: Agent): Promise<Reply> =>
  own.call("PATCH", `/v1/agents/${did}/status`, { body: { status: "SUSPENDED" } });
const closePrincipal = async (own: World, agent: Agent): Promise<Reply> => {
  expectStatus(await principal("suspend")(own, agent), 200);
  return principal("close")(own, agent);
};
const principal =
  (verb: string) =>
  (own: World, { principalId }: Agent): Promise<Reply> =>
    own.call("POST", `/v1/principals/${principalId}/${verb}`, { body: { reason: "gone" } });

/** A consumer whose delegator is revoked. */
async function ofDelegator(): Promise<Ending> {
  const own = await createWorld({ NETWORKS });
  const delegator = await buyer(own, dailyLimit("10.00"));
  const pair = {
    consumer: await delegateOf(own, delegator, dailyLimit("10.00")),
    provider: await world.provider({}, "GLOBAL-USDC", LAB),
  };
  return { pair, other: "provider", end: () => revoke(own, delegator) };
}

/** `life`: how long an offer lasts after such an end. */
const ENDINGS: readonly (readonly [name: string, life: number, set: () => Promise<Ending>])[] = [
  ["the provider's account closes", LIFE_MS, () => ofAccounts("provider", (own) => close(own))],
  ["the consumer's account closes", LIFE_MS, () => ofAccounts("consumer", (own) => close(own))],
  ["the provider's account is suspended", LIFE_MS, () => ofAccounts("provider", (own) => suspend(own))],
  ["the consumer's account is suspended", LIFE_MS, () => ofAccounts("consumer", (own) => suspend(own))],
  ["the provider's principal is closed", LIFE_MS, () => ofAccounts("provider", closePrincipal)],
  ["the consumer's principal is closed", LIFE_MS, () => ofAccounts("consumer", closePrincipal)],
  ["the provider's principal is suspended", LIFE_MS, () => ofAccounts("provider", principal("suspend"))],
  ["the provider's agent is suspended", LIFE_MS, () => ofAccounts("provider", suspendAgent)],
  ["the consumer's agent is suspended", LIFE_MS, () => ofAccounts("consumer", suspendAgent)],
  ["the provider's agent is revoked", 0, () => ofAccounts("provider", revoke)],
  ["the consumer's delegator is revoked", LIFE_MS, ofDelegator],
];

/** Opens an intent whose payment waits in the node's pool while one of its sides ends. */
async function endedWhilePending({ pair: { consumer, provider }, end }: Ending) {
  const intent = await world.intent(consumer, provider, "10.00", { network: LAB });
  const stop = () => lab("evm_setAutomine", false);
  const named = { network: LAB, intentId: intent.intent_id, mined: false, prepared: stop };
  const tx = await payOnChain(consumer.did, provider.did, 10 * UNIT, named);
  const reply = await end();
  expect([reply.status, reply.text]).toEqual([200, expect.any(String)]);
  return { intent, tx };
}

const stored = async ({ intent_id }: Json): Promise<Json> =>
  (await rows("select status, payment_tx as tx from payment_intents where intent_id = ?", intent_id))[0];
/**
 * The holds of its window as far as the network is read, and what it has spent. A hold that ended without its intent is dropped with the next one.
 */
const spentBy = async ({ did }: Agent) => {
  const held = await rows(
    `select amount from spend_holds where did = ?
      and expires_at > coalesce((select read_through from followers where network = ?) + ? - 30000, 0)`,
    ...[did, LAB, world.offset],
  );
  const [state] = await spendState(world, did);
  return { held: held.map(({ amount }) => amount), settled: state?.settled };
};
const facilitate = ({ pair, other }: Ending, intent: Json, tx: string): Promise<Reply> =>
  world.as(pair[other], "POST", PATH, { intent_id: intent.intent_id, payment_tx: tx });

describe.each(ENDINGS)("a payment that waits while %s", (_name, life, set) => {
  it("counts if it is mined soon after the offer's end: it is facilitated by the other side, and opens a task", async () => {
    const ending = await set();
    const { consumer } = ending.pair;
    const { intent, tx } = await endedWhilePending(ending);
    world.offset = life + SOON_MS;
    await mine(1);
    expect(await spentBy(consumer)).toEqual({ held: [10 * UNIT], settled: 0 });
    await follow(world, LAB);
    expect(await stored(intent)).toEqual({ status: "PAID", tx });
    const { task_id } = expectStatus(await facilitate(ending, intent, tx), 200);
    expect(await rows("select status from tasks where task_id = ?", task_id)).toEqual([{ status: "open" }]);
    expect(await spentBy(consumer)).toEqual({ held: [], settled: 10 * UNIT });
  });

  it("does not count if it is mined later, and holds until a later chain was read", async () => {
    const ending = await set();
    const { consumer } = ending.pair;
    const { intent, tx } = await endedWhilePending(ending);
    world.offset = LATER_MS;
    // The follower has read only the chain from before the broadcast.
    await rows("update followers set read_through = read_through - 60000 where network = ?", LAB);
    await world.run(abandonIntents);
    expect(await spentBy(consumer)).toEqual({ held: [10 * UNIT], settled: 0 });
    await mine(1);
    await follow(world, LAB);
    expect((await stored(intent)).tx).toBeNull();
    const reply = await facilitate(ending, intent, tx);
    expect([reply.status, reply.body.code]).toEqual([409, "intent_expired"]);
    await world.run(abandonIntents);
    expect(await spentBy(consumer)).toEqual({ held: [], settled: 0 });
    expect(await stored(intent)).toEqual({ status: "ABANDONED", tx: null });
  });
});
