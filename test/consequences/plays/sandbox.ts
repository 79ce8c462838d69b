// Plays of the sandbox's clock, on platforms of their own, so that no other play meets a moved clock.
import { sweepSandboxes } from "../../../src/sandbox/due.ts";
import { paid } from "../../facilitation/support.ts";
import { rows } from "../../promotion/support.ts";
import type { Parties } from "../../support/consequences.ts";
import { withVars } from "../../support/variants.ts";
import { createWorld, type World } from "../../support/world.ts";
import { openAs, pairOf, partiesOf } from "./purchases.ts";
import { anHour, DAY, follow, HOUR, must, type Play, type Plays } from "./stage.ts";

const MS = 1_000;

/** The platform with the play's database, which may be watched. */
const over = (buying: World, { deps }: World) =>
  withVars(buying, { DB: deps.env.DB, READ_REPLICAS: deps.env.READ_REPLICAS });

const advance = (ms: number) => (buying: World, watched: World) =>
  must(200, over(buying, watched).call("POST", "/v1/sandbox/clock/advance", { body: { seconds: ms / MS } }));

/** `buying` is the consumer's platform, whose clock rules. */
type Buying = { readonly buying: World; readonly parties: Parties };

const moving =
  (prepare: () => Promise<Buying>, act: (buying: World, watched: World) => Promise<unknown>): Play =>
  async ({ world }) => {
    const { buying, parties } = await prepare();
    return async () => {
      await act(buying, world);
      return { ...parties, account: [buying.platformId] };
    };
  };

async function still(): Promise<Buying> {
  return { buying: await createWorld(), parties: {} };
}

async function bought() {
  const [world, other] = [await createWorld(), await createWorld()];
  const pair = await pairOf({ world, other });
  const { intent, tx } = await paid(other, pair, "10.00");
  const body = { intent_id: intent.intent_id, payment_tx: tx };
  const { transaction_id } = await must(200, world.as(pair.provider, "POST", "/v1/facilitate", body));
  return { buying: other, parties: partiesOf(pair), provider: pair.provider, transaction_id };
}

async function openTask(): Promise<Buying> {
  const { buying, parties } = await bought();
  return { buying, parties };
}

/** The reserve in the contract has rows of its own. */
async function openDispute(): Promise<Buying> {
  const { buying, parties, provider, transaction_id } = await bought();
  const body = { transaction_id, reason: "other", disputed_amount: "10.00" };
  await must(201, buying.call("POST", "/v1/disputes", { body }));
  await rows("update chain_operations set next_check_at = null where kind = 'reserve' and subject = ?", provider.did);
  return { buying, parties };
}

async function openIntent(): Promise<Buying> {
  const [world, other] = [await createWorld(), await createWorld()];
  const pair = await pairOf({ world, other });
  await openAs(other, pair, "consumer");
  await follow(world);
  return { buying: other, parties: partiesOf(pair) };
}

async function attested(): Promise<Buying> {
  const buying = await createWorld();
  const principalId = await buying.principal(anHour(buying));
  const agents = [
    await buying.consumer({ principal_id: principalId }),
    await buying.consumer({ principal_id: principalId }),
  ];
  return { buying, parties: { principal: [principalId], agent: agents.map(({ did }) => did) } };
}

/** The state that an advance leaves if it dies before it records anything. */
async function behind(prepare: () => Promise<Buying>): Promise<Buying> {
  const found = await prepare();
  await found.buying.deps.env.DB.prepare(
    "update platforms set clock_offset_ms = ?1, ratings_dated = 1, clock_moved_at = ?2, clock_recorded_to = ?2 - ?3 where platform_id = ?4",
  )
    .bind(4 * DAY, Date.now(), HOUR, found.buying.platformId)
    .run();
  return found;
}

/** Sweeps this sandbox only; others of earlier plays would be noted as recorded. */
const sweep = (world: World) => world.serve(() => sweepSandboxes.record(world.deps, world.platformId));

export const SANDBOX_PLAYS: Plays = {
  advanceSandboxClock: {
    "nothing fell due": moving(still, advance(HOUR)),
    "a task's window ended": moving(openTask, advance(4 * DAY)),
    "the parties' days of a dispute were over": moving(openDispute, advance(8 * DAY)),
    "an intent ended": moving(openIntent, advance(2 * HOUR)),
    "an attestation ended": moving(attested, advance(2 * HOUR)),
  },
  sweep_sandboxes: {
    "nothing fell due": moving(() => behind(still), sweep),
    "a task's window ended": moving(() => behind(openTask), sweep),
  },
};
