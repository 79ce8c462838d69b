// Plays of agents that move to another principal or to production.
import { SUBSCRIBERS } from "../../../src/cron.ts";
import { deliverNewEvents } from "../../../src/journal/events.ts";
import { grantMarket, setEscrow } from "../../payments/support.ts";
import { deposit } from "../../promotion/support.ts";
import { account } from "../../support/chain.ts";
import type { World } from "../../support/world.ts";
import { THRESHOLD } from "./follower.ts";
import { follow, marketsOf, marketWith, must, type Play, type Plays } from "./stage.ts";

const consumer = async (world: World) => (await world.consumer()).did;
const draft = async (world: World) => (await world.draft("CONSUMER")).did;
const provider = async (world: World) => (await world.agent("PROVIDER")).did;

/** The new principal is registered before, so that the act is the transfer only. */
const transferred =
  (prepare: (world: World) => Promise<string>): Play =>
  async ({ world }) => {
    const [did, principal_id] = [await prepare(world), await world.principal()];
    return async () => {
      await must(200, world.call("POST", `/v1/agents/${did}/transfer`, { body: { principal_id } }));
      return { agent: [did] };
    };
  };

const promoting =
  (prepare: (world: World) => Promise<string>): Play =>
  async ({ world }) => {
    const did = await prepare(world);
    return async () => {
      await promote(world, did);
      // The delivery of its event removes what it leaves in the sandbox; the queue may have delivered it already.
      await world.serve(() => deliverNewEvents(world.deps, SUBSCRIBERS));
      return { agent: [did] };
    };
  };

const promote = (world: World, did: string) =>
  must(
    200,
    world.call("POST", `/v1/agents/${did}/environment`, { key: world.liveKey, body: { environment: "production" } }),
  );

/** A provider with a market in each environment, as provisioning leaves them. */
async function selling(world: World): Promise<string> {
  const did = await provider(world);
  for (const environment of ["sandbox", "production"] as const)
    await grantMarket(world, did, "GLOBAL-USDC", "base-sepolia", { environment });
  return did;
}

/** One market on the chain, for production only; everything before it is booked. */
async function opened(world: World): Promise<string> {
  const did = await provider(world);
  await must(200, world.call("POST", marketsOf(did), { key: world.liveKey, body: marketWith(account(8)) }));
  await follow(world);
  return did;
}

async function funded(world: World): Promise<string> {
  const did = await opened(world);
  await deposit(did, THRESHOLD);
  return did;
}

async function unfunded(world: World): Promise<string> {
  const did = await selling(world);
  for (const environment of ["sandbox", "production"] as const)
    await setEscrow(world, did, "FUNDING", "base-sepolia", environment);
  await follow(world);
  return did;
}

async function fundedLater(world: World): Promise<string> {
  const did = await opened(world);
  await promote(world, did);
  await deposit(did, THRESHOLD);
  return did;
}

export const MOVE_PLAYS: Plays = {
  transferAgent: {
    "a consumer": transferred(consumer),
    "a provider, which the new principal counts and the old one no longer does": transferred(provider),
    "a DRAFT": transferred(draft),
  },
  promoteAgent: {
    "a consumer": promoting(consumer),
    "a provider whose escrow in production is funded": promoting(funded),
    "a provider whose escrow is not funded, on a vault that the sandbox has used": promoting(unfunded),
    "again, once its escrow is funded": promoting(fundedLater),
  },
};
