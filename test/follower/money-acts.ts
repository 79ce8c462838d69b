// The steps of a random history of money, each in the service, on the chain and in the model (money-play.ts).
import { vi } from "vitest";
import { abandonIntents, spendPaidIntents } from "../../src/payments/abandon.ts";
import { asConsumer, asProvider, PATH } from "../facilitation/support.ts";
import { orderOf } from "../payments/support.ts";
import { rows } from "../promotion/support.ts";
import type { Reply } from "../support/world.ts";
import { LAB } from "./money-chain.ts";
import type { Answer, Intent, Payment } from "./money-model.ts";
import { type MoneyPlay, money, pick, UNIT } from "./money-play.ts";

/** One step: an act, and numbers that choose its objects. */
export type Step = { readonly act: Act; readonly a: number; readonly b: number };
type Answers = { readonly answered: unknown; readonly expected: unknown; readonly met: string };

const BASE = 15 * UNIT;
const UNITS = [1, 2_500_000, 5 * UNIT, 5 * UNIT, 10 * UNIT, 20 * UNIT];
const WAITS = [1, 20, 29, 30, 60, 240, 299, 300, 331, 3_600, 86_399, 86_400, 7 * 86_400];
/** Depths of reorgs. A payment with two confirmations is facilitated and booked. */
const DEPTHS = [1, 2, 3, 4, 2, 8, 1];
const MONTH = 30 * 86_400;

const codeOf = ({ status, body }: Reply): Answer => (status < 300 ? "ok" : body.code);

type Play = (play: MoneyPlay, step: Step) => Promise<Answers | null>;

/** Often one of the newest. */
const intentOf = ({ model }: MoneyPlay, n: number): Intent | undefined =>
  pick(n % 3 === 0 ? model.intents : model.intents.slice(-4), n);
const paymentOf = ({ model }: MoneyPlay, n: number): Payment | undefined =>
  pick(n % 3 === 0 ? model.payments : model.payments.slice(-4), n);

function atOwnInstant(play: MoneyPlay): void {
  play.chain.wait(1);
  play.sync();
}

export async function take(play: MoneyPlay, step: Step): Promise<Answers | null> {
  const answers = await ACTS[step.act](play, step);
  play.sync();
  return answers;
}

const ACTS = {
  open: async (play, { a, b }) => {
    const { model, world } = play;
    const [buyer, seller] = [pick(model.buyers, a), pick(play.sellers, b)];
    if (!buyer || !seller) return null;
    // Neither of two intents that are opened at one instant would be the newer one.
    atOwnInstant(play);
    const by = a % 5 === 0 ? "seller" : "buyer";
    const left = model.remaining(buyer);
    // Sometimes asks for all that is left, or for one unit more.
    const units = b % 6 === 0 ? Math.max(1, left + (b % 12 === 0 ? 1 : 0)) : (pick(UNITS, b) ?? 1);
    const caller = play.agentOf(by === "buyer" ? buyer.did : seller.did);
    const body = orderOf(buyer, seller, { amount: money(units), network: LAB });
    const reply = await world.as(caller, "POST", "/v1/payment-intents", body);
    const expected = model.open({ buyer, seller, units }, by, reply.body.intent_id ?? null);
    return { answered: codeOf(reply), expected, met: `open ${expected}` };
  },
  pay: async (play, { a, b }) => {
    const intent = intentOf(play, a);
    if (!intent) return null;
    const named = b % 3 !== 0;
    const units = intent.units + (b % 11 === 0 ? 1 : 0);
    const paid = await play.pay({ ...intent, units }, named ? intent : null);
    return { answered: true, expected: true, met: `pay ${named ? "named" : "unnamed"} ${paid}` };
  },
  broadcast: async (play, { a, b }) => {
    const intent = intentOf(play, a);
    if (intent) play.pool.push({ intent, named: b % 3 !== 0 });
    return null;
  },
  arrive: async (play) => {
    const waiting = play.pool.shift();
    if (!waiting) return null;
    const { intent, named } = waiting;
    const paid = await play.pay(intent, named ? intent : null);
    return { answered: true, expected: true, met: `arrive ${intent.cancelled ? "cancelled" : "open"} ${paid}` };
  },
  resend: async (play) => {
    const sent = await play.chain.resend();
    play.sync();
    const payment = play.model.payments.find(({ hash }) => hash === sent?.hash);
    if (sent && payment) payment[sent.ok ? "block" : "reverted"] = sent.block;
    return { answered: true, expected: true, met: `resend ${sent !== null && payment !== undefined}` };
  },
  follow: async (play) => {
    await play.follow();
    return { answered: true, expected: true, met: "follow" };
  },
  facilitate: async (play, { a, b }) => {
    const { model, world } = play;
    const payment = paymentOf(play, a);
    const paidFor = model.intents.find((one) => one.paid?.payment === payment || one.settled?.payment === payment);
    const intent = b % 5 === 0 ? intentOf(play, b) : (payment?.names ?? paidFor ?? intentOf(play, b));
    if (!intent || !payment) return null;
    // Two settlements of one instant would leave the window a millisecond apart.
    atOwnInstant(play);
    const parts = {
      consumer: play.agentOf(intent.buyer.did),
      provider: play.agentOf(intent.seller.did),
      intent: { intent_id: intent.id },
      tx: payment.hash,
    };
    const reply = await (b % 2 === 0 ? asProvider : asConsumer)(world, parts);
    const expected = model.settleIntent(intent, payment);
    return { answered: codeOf(reply), expected, met: `facilitate ${expected}` };
  },
  client: async (play, { a }) => {
    const { model, world } = play;
    const payment = paymentOf(play, a);
    if (!payment) return null;
    atOwnInstant(play);
    const body = {
      provider_did: payment.seller.did,
      consumer_did: payment.buyer.did,
      tx_hash: payment.hash.replace(/^0x/, ""),
      network: LAB,
    };
    const reply = await world.as(play.agentOf(payment.seller.did), "POST", PATH, body);
    const expected = model.settlePayment(payment);
    return { answered: codeOf(reply), expected, met: `client ${expected}` };
  },
  cancel: async (play, { a, b }) => {
    const { model, world } = play;
    const intent = intentOf(play, a);
    if (!intent) return null;
    const by = play.agentOf(b % 2 === 0 ? intent.buyer.did : intent.seller.did);
    const wasOpen = model.shown(intent) === "OPEN";
    // The service judges by the history's instant whether the node has stalled, but only after the caller's proof, which is of real time.
    const real = Date.now;
    world.meter.reset();
    world.meter.beforeBatch(1, async () => void vi.spyOn(Date, "now").mockReturnValue(play.chain.now));
    const reply = await world.as(by, "POST", `/v1/payment-intents/${intent.id}/cancel`);
    if (Date.now !== real) vi.mocked(Date.now).mockRestore();
    world.meter.beforeBatch(Number.POSITIVE_INFINITY, async () => undefined);
    // The call reads the chain first, but only if the intent is open.
    if (wasOpen) await play.followed();
    const expected = model.cancel(intent, wasOpen);
    return { answered: codeOf(reply), expected, met: `cancel ${expected}` };
  },
  wait: async (play, { a, b }) => {
    play.chain.wait(b % 20 === 0 ? MONTH : (pick(WAITS, a) ?? 1));
    return null;
  },
  mine: async (play) => {
    await play.chain.mine();
    return null;
  },
  jobs: async (play) => {
    atOwnInstant(play);
    await play.world.run(abandonIntents);
    await play.world.run(spendPaidIntents);
    play.model.jobs();
    return { answered: true, expected: true, met: "jobs" };
  },
  deposit: async (play, { a, b }) => {
    const seller = pick(play.sellers, a);
    if (seller) await play.chain.deposit(seller.did, (b + 1) * UNIT);
    return null;
  },
  transfer: async (play, { a, b }) => {
    const vault = pick([...play.vaults.values()], a);
    if (vault) await play.chain.transfer(vault, (b + 1) * 10_001);
    return null;
  },
  release: async (play, { a }) => {
    const seller = pick(play.sellers, a);
    const sent = seller && (await play.chain.release(seller.did));
    return { answered: true, expected: true, met: `release ${sent?.ok}` };
  },
  threshold: async (play, { a, b }) => {
    const seller = pick(play.sellers, a);
    if (seller) await play.chain.setThreshold(seller.did, BASE / 2 + (b % 16) * (BASE / 32));
    return null;
  },
  payOut: async (play, { a, b }) => {
    const dids = JSON.stringify(play.sellers.map(({ did }) => did));
    const settled = await rows(
      "select * from transactions where provider_did in (select value from json_each(?)) order by transaction_id",
      dids,
    );
    const row = pick(settled, a);
    if (row) await play.payOut(row, 1 + b * 10_000);
    return null;
  },
  reorganise: async (play, { a, b }) => {
    const { chain, model } = play;
    const depth = Math.min(pick(DEPTHS, b) ?? 1, chain.blocks.length - 1);
    if (depth === 0) return null;
    const { kept, returned } = await chain.reorganise(depth, a % 4);
    play.kept = Math.min(play.kept ?? kept.number, kept.number);
    model.rolledBack(kept);
    for (const { hash, block, ok } of returned) {
      const payment = model.payments.find((one) => one.hash === hash);
      if (payment) payment[ok ? "block" : "reverted"] = block;
    }
    play.sync();
    return { answered: true, expected: true, met: `reorganise ${returned.filter(({ ok }) => ok).length}` };
  },
} satisfies Record<string, Play>;
export type Act = keyof typeof ACTS;
