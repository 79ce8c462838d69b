// The world of a random history of money: the service, its chain and the model (money-model.ts), and how they are compared.
import { syncVault } from "../../src/follower/check.ts";
import { dailyLimit } from "../payments/support.ts";
import { rows } from "../promotion/support.ts";
import { account } from "../support/chain.ts";
import { withDeps } from "../support/variants.ts";
import { type Agent, createWorld, expectStatus, type Json, type World } from "../support/world.ts";
import { headOf, LAB, MoneyChain, networkOf } from "./money-chain.ts";
import { type Buyer, CONFIRMATIONS, type Intent, MoneyModel, type Payment, type Seller } from "./money-model.ts";
import { follow } from "./support.ts";

export const UNIT = 1_000_000;
const IN_TIME = 3_600_000;
const AHEAD_SECONDS = 600;

export const pick = <T>(from: readonly T[], n: number): T | undefined => from[n % Math.max(1, from.length)];
export const money = (units: number): string => (units / UNIT).toFixed(6);

let funded: Promise<World> | undefined;
async function fundOnce(): Promise<World> {
  const { number } = await headOf();
  const world = await createWorld({ NETWORKS: networkOf(number + 1, CONFIRMATIONS) });
  await (await MoneyChain.begin(() => undefined)).fund();
  return world;
}

export class MoneyPlay {
  readonly world: World;
  readonly chain: MoneyChain;
  readonly model: MoneyModel;
  readonly sellers: readonly Seller[];
  readonly vaults: ReadonlyMap<string, string>;
  readonly #agents = new Map<string, Agent>();
  /** The amounts that were paid out of settlements, by their keys. */
  readonly #paidOut = new Map<string, number>();
  /** Payments that were broadcast and wait for their block. */
  readonly pool: { readonly intent: Intent; readonly named: boolean }[] = [];
  /** The newest block that rollbacks left, until the follower has seen them. */
  kept: number | null = null;

  private constructor(world: World, chain: MoneyChain, model: MoneyModel, vaults: ReadonlyMap<string, string>) {
    this.world = world;
    this.chain = chain;
    this.model = model;
    this.vaults = vaults;
    this.sellers = [...vaults.keys()].map((did) => ({ did }));
  }

  /** Each history has its own agents, and begins at the chain's head. */
  static async begin(): Promise<MoneyPlay> {
    funded ??= fundOnce();
    const shared = await funded;
    let now = (await headOf()).at;
    const clock = { now: () => now, ahead: () => 0 };
    const world = withDeps(shared, { ...shared.deps, clock });
    Object.assign(world, { now: () => now });
    const providers = [await sellerOf(world), await sellerOf(world)];
    const vaults = new Map<string, string>();
    for (const { did } of providers) {
      const [escrow] = await rows("select vault from escrows where did = ?", did);
      vaults.set(did, escrow.vault);
    }
    const chain = await MoneyChain.begin((at) => {
      now = at;
    });
    // Ahead of real time, by which the service judges whether a node has stalled.
    chain.wait(Math.max(0, Math.ceil((shared.now() - chain.now) / 1_000)) + AHEAD_SECONDS);
    await chain.mine();
    await follow(world, LAB);
    const model = new MoneyModel(chain.now, chain.head, chain.head.number - CONFIRMATIONS + 1);
    const play = new MoneyPlay(world, chain, model, vaults);
    for (const agent of providers) play.#agents.set(agent.did, agent);
    await play.#buyers();
    return play;
  }

  /** Creates a buyer, two delegates of it, and a delegate of one of these. */
  async #buyers(): Promise<void> {
    const { model } = this;
    const top = await this.#buyer(null, 60 * UNIT, 7);
    const middle = await this.#buyer(top, 40 * UNIT, 1);
    model.buyers.push(middle, await this.#buyer(top, 50 * UNIT, 7), await this.#buyer(middle, 30 * UNIT, 1), top);
  }

  async #buyer(delegator: Buyer | null, units: number, days: number): Promise<Buyer> {
    const scope = {
      authorized_actions: ["purchase"],
      capabilities: ["translation"],
      ...dailyLimit(money(units), days),
    };
    const above = delegator ? this.agentOf(delegator.did) : null;
    const agent = await this.world.consumer({
      scope,
      ...(above && { delegated_by: above.did, principal_id: above.principalId }),
    });
    this.#agents.set(agent.did, agent);
    return { did: agent.did, delegator, limit: { units, days } };
  }

  agentOf(did: string): Agent {
    const agent = this.#agents.get(did);
    if (!agent) throw new Error(`no credentials of ${did}`);
    return agent;
  }

  /** Moves the model's clock and head to the chain's. */
  sync(): void {
    this.model.now = this.chain.now;
    if (this.model.head !== this.chain.head) this.model.mined(this.chain.head);
  }

  async pay(terms: Pick<Payment, "buyer" | "seller" | "units">, names: Intent | null): Promise<boolean> {
    const { buyer, seller, units } = terms;
    const sent = await this.chain.pay(buyer.did, seller.did, units, names?.id ?? null);
    this.sync();
    if (sent.ok) this.model.paid({ buyer, seller, units, names, hash: sent.hash, nonce: sent.nonce });
    // A lost payment that is mined again reverts if its intent is already paid.
    const again = sent.ok ? undefined : this.model.payments.find(({ hash }) => hash === sent.hash);
    if (again) again.reverted = this.model.head;
    return sent.ok;
  }

  async follow(): Promise<void> {
    const level = await follow(this.world, LAB);
    if (!level) throw new Error("the follower did not come to the head");
    // The regular turn of these vaults would come minutes later, after those of earlier histories.
    for (const { did } of this.sellers)
      await this.world.serve(() => syncVault(this.world.deps, did, LAB, Date.now() + IN_TIME));
    await this.followed();
  }

  /** Lets the model follow, after the service has read to the chain's head. */
  async followed(): Promise<void> {
    this.model.follow(this.kept, await this.chain.nonce());
    this.kept = null;
  }

  async payOut(row: Json, units: number): Promise<void> {
    const before = this.#paidOut.get(row.settlement_key) ?? 0;
    const block = this.chain.blocks.find(({ number }) => number === row.block_number);
    if (!block) return;
    const { ok } = await this.chain.payOut(row, block.at, before, units);
    if (ok) this.#paidOut.set(row.settlement_key, before + units);
  }

  // ---- Comparisons after each step -------------------------------------------------------------------------------------------

  /** Returns every intent as it is stored, and as the model has it. */
  async intents(): Promise<[unknown, unknown]> {
    const { intents } = this.model;
    const ids = JSON.stringify(intents.map(({ id }) => id));
    const stored = await rows(
      `select intent_id, status, payment_tx, spent_at, cancelled_at, transaction_id from payment_intents
        where intent_id in (select value from json_each(?)) order by intent_id`,
      ids,
    );
    const answered = stored.map((one) => [
      one.intent_id,
      one.status,
      one.payment_tx,
      ...[one.spent_at !== null, one.cancelled_at !== null, one.transaction_id !== null],
    ]);
    const expected = intents
      .map((one) => [
        one.id,
        one.state,
        one.paid?.payment.hash ?? null,
        ...[one.spentAt !== null, one.cancelled, one.settled !== null],
      ])
      .sort(([one = ""], [other = ""]) => (String(one) < String(other) ? -1 : 1));
    return [answered, expected];
  }

  /** Returns the rest of a buyer's narrowest window, by the service and by the model. */
  async remaining(n: number): Promise<[unknown, unknown]> {
    const [buyer, seller] = [pick(this.model.buyers, n), pick(this.sellers, n)];
    if (!buyer || !seller) throw new Error("unreachable: there are buyers and sellers");
    const body = { provider_did: seller.did, amount: "0.000001", currency: "USDC" };
    const path = `/v1/agents/${buyer.did}/spend-policy/evaluate`;
    const { remaining } = expectStatus(await this.world.call("POST", path, { body }), 200);
    return [Math.round(Number(remaining) * UNIT), this.model.remaining(buyer)];
  }

  /** Compares lines, vaults and balances at the last booked block, and that nothing was credited twice. */
  async books(): Promise<[unknown, unknown]> {
    const [{ booked_block: booked }] = (await rows("select booked_block from followers where network = ?", LAB)) as [
      Json,
    ];
    const answered = [];
    const expected = [];
    for (const { did } of this.sellers) {
      const [{ lines, counts }] = (await rows(
        `select coalesce(sum(amount), 0) as lines, coalesce(sum(case when kind = 'settlement' then 0 else amount end), 0) as counts
          from ledger_lines where did = ? and reversed = 0`,
        did,
      )) as [Json];
      const [{ credited, settled, intents }] = (await rows(
        `select coalesce(sum(escrow), 0) as credited, count(*) as settled, count(distinct intent_id) as intents
          from transactions where provider_did = ? and reversed_at is null`,
        did,
      )) as [Json];
      const [escrow] = await rows("select balance, contributed from escrows where did = ?", did);
      const differences = await rows("select * from ledger_differences where did = ?", did);
      answered.push([lines, escrow.balance, escrow.contributed, settled, differences]);
      expected.push([await this.chain.heldAt(did, booked), counts + credited, credited, intents, []]);
    }
    return [answered, expected];
  }
}

async function sellerOf(world: World): Promise<Agent> {
  const agent = await world.agent("PROVIDER");
  const markets = [{ market: "GLOBAL-USDC", network: LAB, operational_wallet: account(8) }];
  const reply = await world.call("POST", `/v1/agents/${agent.did}/scope/authorized_markets`, { body: { markets } });
  const [market] = expectStatus(reply, 200).markets;
  if (market.status !== "ACTIVE") throw new Error(`the market is ${JSON.stringify(market)}`);
  return agent;
}
