// Plays of disputes: by the key of the consumer's or the provider's platform, by the operator, and by their jobs and messages.
import { putOperation } from "../../../src/chain/store.ts";
import { endDisputeDays } from "../../../src/disputes/deadlines.ts";

import { payAward, payAwards } from "../../../src/disputes/payout.ts";
import { keepReserves, setReserve } from "../../../src/disputes/reserve.ts";
import { arbitrated, disputed } from "../../disputes/support.ts";
import { confirm, facilitated } from "../../facilitation/support.ts";
import { livePair, refundOf } from "../../follower/support.ts";
import { deposit, rows } from "../../promotion/support.ts";
import type { Parties } from "../../support/consequences.ts";
import { withVars } from "../../support/variants.ts";
import type { Json, World } from "../../support/world.ts";
import { pairOf, partiesOf } from "./purchases.ts";
import { DAY, follow, must, NETWORK, operator, type Play, type Plays, type Stage, store } from "./stage.ts";

const PATH = "/v1/disputes";
const AMOUNT = "10.00";
const ALL = 10_000_000;
const IN_TIME = 20_000;

/** Only the call itself is played: the messages that it sends to the chain's queue have rows of their own. */
type Case = {
  readonly world: World;
  readonly buyersKey: string;
  readonly bought: Json;
  readonly parties: Parties;
};

async function purchase(stage: Stage): Promise<Case> {
  const bought = await facilitated(stage.world, await pairOf(stage), AMOUNT);
  // The entry is in the log of the platform that acts: the consumer's, unless the case says otherwise.
  const parties = { ...partiesOf(bought), account: [stage.other.platformId] };
  return { world: stage.world, buyersKey: stage.other.key, bought, parties };
}
/** One clock serves both platforms. */
const file = ({ world, buyersKey: key, bought }: Case) => {
  const body = { transaction_id: bought.fac.transaction_id, reason: "other", disputed_amount: AMOUNT };
  return must(201, world.call("POST", PATH, { key, body }));
};
type Filed = Case & { readonly id: string };
async function filed(stage: Stage, before: (of: Case) => Promise<unknown> = async () => undefined): Promise<Filed> {
  const of = await purchase(stage);
  await before(of);
  return { ...of, id: (await file(of)).dispute_id };
}
const act = ({ world, id }: Filed, verb: string, body?: Json, status = 200) =>
  must(status, world.call("POST", `${PATH}/${id}/${verb}`, body === undefined ? {} : { body }));
const asBuyer = ({ world, buyersKey: key, id }: Filed, verb: string) =>
  must(200, world.call("POST", `${PATH}/${id}/${verb}`, { key }));
const offer = { message: "Half of it.", offer_amount: "5" };
const respond = (of: Filed) => act(of, "respond", offer);
const escalate = (of: Filed) => asBuyer(of, "escalate");
const concede = (of: Filed) => act(of, "concede");
const withdraw = (of: Filed) => asBuyer(of, "withdraw");
const accept = (of: Filed) => asBuyer(of, "accept");
const arbitrate = async (of: Filed) => {
  await respond(of);
  await escalate(of);
};
const cover = ({ bought }: Case) => deposit(bought.provider.did, 2 * ALL, NETWORK).then(() => undefined);
const covered = async (of: Case) => {
  await cover(of);
  await follow(of.world);
};
const resolve =
  (body: Json) =>
  ({ world, id }: Filed) =>
    must(
      200,
      world.call("POST", `/v1/operator/disputes/${id}/resolve`, {
        ...operator(),
        body: { reason: "So it is.", ...body },
      }),
    );
const UPHELD = { resolution: "upheld" };
const upheld = resolve(UPHELD);
const confirmTask = ({ world, bought }: Case) => must(200, confirm(world, bought.consumer, bought.task));
/** Makes everything that will fall due be due now. */
const due = ({ id, world }: Pick<Filed, "id" | "world">) =>
  rows(
    "update disputes set due_at = ?, answers_until = min(answers_until, ?) where dispute_id = ?",
    world.now() - 1,
    world.now() - 1,
    id,
  );
const runDays = ({ world, id }: Pick<Filed, "id" | "world">) => endDisputeDays.record(world.deps, id);
const reserve = ({ world, bought }: Filed) =>
  setReserve(world.deps, { network: NETWORK, did: bought.provider.did }, Date.now() + IN_TIME);
const pay = ({ world, id }: Filed) => payAward(world.deps, { network: NETWORK, disputeId: id }, Date.now() + IN_TIME);
/** The state that the guardian's cancellation leaves. */
const cancelled = async ({ id, bought }: Filed) => {
  await rows(
    "update chain_operations set status = 'failed', reason = 'cancelled', next_check_at = null where kind = 'payout' and subject = ?",
    id,
  );
  await rows("update disputes set refund_status = 'outstanding', owed = 0 where dispute_id = ?", id);
  await rows("update escrows set owed = 0 where did = ?", bought.provider.did);
};
const repeat = ({ world, id }: Pick<Filed, "world" | "id">) =>
  must(200, world.call("POST", `/v1/operator/disputes/${id}/payout`, { ...operator(), body: { reason: "So it is." } }));
const dueAgain =
  (kind: string) =>
  ({ id, bought }: Filed) =>
    rows(
      "update chain_operations set next_check_at = 1 where kind = ? and subject in (?, ?)",
      kind,
      id,
      bought.provider.did,
    );

/** Prepares a dispute step by step, and plays one more step. */
const playing =
  (
    last: (of: Filed) => Promise<unknown>,
    steps: readonly ((of: Filed) => Promise<unknown>)[] = [],
    before?: (of: Case) => Promise<unknown>,
  ): Play =>
  async (stage) => {
    const of = await filed(stage, before);
    for (const step of steps) await step(of);
    return async () => {
      await last(of);
      return of.parties;
    };
  };
/** A play of one step by the provider's platform. */
const byProvider =
  (last: (of: Filed) => Promise<unknown>, before?: (of: Case) => Promise<unknown>): Play =>
  async (stage) => {
    const of = await filed(stage, before);
    return async () => {
      await last(of);
      return { ...of.parties, account: [stage.world.platformId] };
    };
  };
/** Expects the entry in the logs of both platforms. */
const inBothLogs =
  (play: Play): Play =>
  async (stage) => {
    const last = await play(stage);
    return async () => ({ ...(await last()), account: [stage.other.platformId, stage.world.platformId] });
  };
const filing = (before: (of: Case) => Promise<unknown>): Play =>
  inBothLogs(async (stage) => {
    const of = await purchase(stage);
    await before(of);
    return async () => {
      await file(of);
      return of.parties;
    };
  });
const deciding = (verdict: Json, before?: (of: Case) => Promise<unknown>): Play =>
  inBothLogs(playing(resolve(verdict), [arbitrate], before));
/** A dispute in production, by its agents. */
const overdueLive: Play = async ({ world, other }) => {
  const one = await disputed(world, { pair: await livePair(world, other) });
  await arbitrated(world, one);
  const of = { ...one, world };
  await due(of);
  return async () => {
    await runDays(of);
    return partiesOf(one);
  };
};
/** Disputes of one sandbox share an alert, which an earlier play may have left open. */
const noneWaits = () => rows("delete from alerts where kind = 'arbitration_waiting'");
const nothing = async () => undefined;
const handing =
  (job: typeof keepReserves, kind: "reserve" | "payout"): Play =>
  async ({ world }) => {
    const subject = crypto.randomUUID();
    const outcome = { wanted: {}, status: "waiting", reason: null, txHash: null, nextCheckAt: 1 } as const;
    await store(world, (db) => putOperation(db, { network: NETWORK, kind, subject }, outcome, 1));
    return async () => {
      await world.run(job);
      return {};
    };
  };

export const DISPUTE_PLAYS: Plays = {
  fileDispute: {
    "the task is open, and more is disputed than counts in the vault": filing(nothing),
    "the task is open, and the vault holds enough": filing(covered),
    "the task is closed": filing(async (of) => {
      await covered(of);
      await confirmTask(of);
    }),
  },
  respondToDispute: { always: byProvider(respond) },
  addDisputeEvidence: {
    always: byProvider((of) => act(of, "evidence", { description: "The note." }, 201)),
  },
  escalateDispute: { "the provider has answered": playing(escalate, [respond, noneWaits]) },
  acceptOffer: {
    "it held the task": playing(accept, [respond], covered),
    "it held the task and constrained the escrow": playing(accept, [respond]),
  },
  concedeDispute: {
    "it held the task": byProvider(concede, covered),
    "it held the task and constrained the escrow": byProvider(concede),
  },
  withdrawDispute: {
    "it held the task": playing(withdraw, [], covered),
    "it held the task and constrained the escrow": playing(withdraw),
  },
  resolveDispute: {
    "upheld, and it held the task": deciding(UPHELD, covered),
    "upheld, and it held the task and constrained the escrow": deciding(UPHELD),
    "rejected, and the task was closed": deciding({ resolution: "rejected" }, async (of) => {
      await covered(of);
      await confirmTask(of);
    }),
  },
  repeatPayout: {
    "one operator may request it alone": inBothLogs(playing(repeat, [arbitrate, upheld, cancelled], covered)),
    "it waits for a second operator": playing(
      (of) => repeat({ ...of, world: withVars(of.world, { PAYOUT_ALONE_UP_TO: "0" }) }),
      [arbitrate, upheld, cancelled],
      covered,
    ),
  },
  end_dispute_days: {
    "the parties' days are over": playing(runDays, [due, noneWaits]),
    "the arbiter is overdue in production": overdueLive,
    "the arbiter is overdue in a sandbox": playing(runDays, [arbitrate, due]),
    "a refund has arrived": playing(
      runDays,
      [concede, ({ bought }) => refundOf(bought.fac.transaction_id, ALL), ({ world }) => follow(world)],
      covered,
    ),
    "a refund did not arrive": playing(
      runDays,
      [
        concede,
        ({ id }) =>
          rows("update disputes set resolved_at = resolved_at - ?, due_at = 1 where dispute_id = ?", 8 * DAY, id),
        () => rows("update chain_operations set status = 'failed' where kind = 'refund' and status = 'waiting'"),
        noneWaits,
      ],
      covered,
    ),
  },
  set_reserve: {
    "the contract does not have it yet": playing(reserve),
    "the contract has it": playing(reserve, [reserve, dueAgain("reserve")]),
  },
  pay_award: {
    "the vault pays all of it": playing(pay, [arbitrate, upheld], covered),
    "the vault pays a part of it": playing(pay, [arbitrate, upheld]),
    "it is checked again": playing(pay, [arbitrate, upheld, pay, dueAgain("payout")], covered),
  },
  keep_reserves: { "handed to the queue: set_reserve": handing(keepReserves, "reserve") },
  pay_awards: { "handed to the queue: pay_award": handing(payAwards, "payout") },
};
