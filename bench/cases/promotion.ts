// The promotion of an agent, on a platform of its own that may use both environments: no other case uses its key or its agents.
import { generateManagementKey } from "../../src/accounts/keys.ts";
import type { Case } from "../case.ts";
import { depositFor } from "../payer.ts";
import {
  agent,
  agentPath,
  follow,
  manage,
  marketBody,
  marketsPath,
  must,
  openProvider,
  type Play,
  principal,
} from "../play.ts";
import { accredit, type Platform, type Stage } from "../stage.ts";
import type { Ask } from "../wire.ts";

/** More than any threshold. */
const ENOUGH = 1_000_000_000n;

/** The stage of that platform with its key of each environment. */
type GrownPlatform = { readonly sandbox: Stage; readonly live: Stage };
const stages = new WeakMap<Stage, Promise<GrownPlatform>>();

const getGrownPlatform = (stage: Stage): Promise<GrownPlatform> => {
  const known = stages.get(stage) ?? grow(stage);
  stages.set(stage, known);
  return known;
};

async function grow(stage: Stage): Promise<GrownPlatform> {
  const platform = await accredit(stage.origin, "Grown Platform");
  const of = (key: string): Stage => ({ ...stage, platform: { ...platform, key } });
  return { sandbox: of(platform.key), live: of(await issueLiveKey(stage, platform)) };
}

async function issueLiveKey(stage: Stage, { platformId }: Platform): Promise<string> {
  const { rawKey, keyHash, keyPrefix } = await generateManagementKey("production", ["bench"]);
  const now = Date.now();
  await stage.sql([
    { sql: "update platforms set promoted_at = ? where platform_id = ?", params: [now, platformId] },
    {
      sql: `insert into management_keys (key_hash, key_id, platform_id, environment, key_prefix, created_at, last_used_at)
        values (?, ?, ?, 'production', ?, ?, ?)`,
      params: [keyHash, `key_${keyHash}`, platformId, keyPrefix, now, now],
    },
  ]);
  return rawKey;
}

/** Prepares a provider with a market and an escrow in each environment, on one vault that holds more than its threshold. */
async function promotion(play: Play): Promise<Ask> {
  const { stage, next } = play;
  const { sandbox, live } = await getGrownPlatform(stage);
  const seller = await principal(sandbox, sandbox.platform, next());
  const { did } = await openProvider(sandbox, seller);
  const [network] = stage.networks;
  if (!network) throw new Error("no network");
  await must(stage, manage(live, "POST", marketsPath(did), marketBody(network)), 200);
  await depositFor(network, did, ENOUGH);
  await follow(play);
  return manage(live, "POST", `${agentPath(did)}/environment`, { environment: "production" });
}

async function preparePromotable({ stage, next }: Play): Promise<{ did: string; promotion: Ask }> {
  const { sandbox, live } = await getGrownPlatform(stage);
  const buyer = await principal(sandbox, sandbox.platform, next());
  const { did } = await agent(sandbox, sandbox.platform, "CONSUMER", buyer);
  return { did, promotion: manage(live, "POST", `${agentPath(did)}/environment`, { environment: "production" }) };
}
const promotionOfConsumer = async (play: Play): Promise<Ask> => (await preparePromotable(play)).promotion;

/** Promotes a consumer and returns its DID. */
export async function promoteConsumer(play: Play): Promise<string> {
  const { did, promotion: ask } = await preparePromotable(play);
  await must(play.stage, ask, 200);
  return did;
}

export const PROMOTION: readonly Case[] = [
  {
    route: "POST /v1/agents/{did}/environment",
    status: 200,
    timed: "effect",
    ask: promotion,
  },
  {
    route: "POST /v1/agents/{did}/environment",
    variant: "a consumer",
    status: 200,
    ask: promotionOfConsumer,
  },
];
