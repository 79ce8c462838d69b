// Opens markets, the chain's side (MKT-6 to MKT-8). The wish is written first (PROVISIONING), then the chain is asked, then its answer is
// written (settle.ts). A crash between any two leaves a row that the queue or the minute's job takes up again.
import { networkNamed } from "../chain/networks.ts";
import { type Driven, driveSplit } from "../chain/split.ts";
import type { Deps } from "../context.ts";
import { FIRST } from "../core/due.ts";
import type { ErrorCode } from "../core/errors.ts";
import { MINUTE_MS } from "../core/limits.ts";
import { isEnvironment, isFinal, OTHER_ENVIRONMENT } from "../core/vocabulary.ts";
import { readBatch } from "../db/batch.ts";
import type { AgentRow, MarketRow } from "../db/tables/agents.ts";
import { baseThreshold, firstThreshold } from "../escrow/threshold.ts";
import { findEscrows, findMarkets, findRated } from "../identity/store.ts";
import type { EachJob } from "../jobs/job.ts";
import { signerOn } from "../objects/signers.ts";
import { noteWaiting, type Provisioning, settleMarkets } from "./settle.ts";
import { findStalledMarkets } from "./store.ts";
import { holdsOtherWallet } from "./wallets.ts";

/**
 * Brings the contract to the wish of the rows, and the rows to the state of the contract. Returns the agent's markets when nothing is left
 * to do, null when time ran out or the chain could not be asked. Safe to run at any time and twice.
 */
export async function provisionMarkets(deps: Deps, job: Provisioning, until: number): Promise<MarketRow[] | null> {
  const { db, config, env, chain } = deps;
  const { did, environment, network: name } = job;
  const { agent, markets, escrows, others, production } = await readBatch(db, {
    agent: findRated(db, did),
    markets: findMarkets(db, did, environment),
    escrows: findEscrows(db, did, environment),
    others: findEscrows(db, did, OTHER_ENVIRONMENT[environment]),
    production: findMarkets(db, did, "production"),
  });
  const first = markets.find((row) => row.network === name && row.status === "PROVISIONING");
  if (!agent || !first) return markets;
  const { operationalWallet: wallet } = first;
  const base = baseThreshold(networkNamed(config.networks, name));
  const known = escrows.find((row) => row.network === name);
  const own = known?.threshold ?? firstThreshold(base, environment, agent);
  // The vault is shared: the environment with the higher threshold decides (MKT-20).
  const threshold = Math.max(own, others.find((row) => row.network === name)?.threshold ?? 0);
  const split = { wallet, threshold };
  const forbidden = forbiddenBy(agent, first, production);
  const tools = { chain, signer: signerOn(env, "registrar", name) };
  const driven: Driven =
    forbidden === null
      ? await driveSplit(tools, name, did, split, until)
      : { state: "failed", reason: forbidden, txHash: null };
  if (driven.state === "waiting") {
    await noteWaiting(deps, job, split, driven);
    return null;
  }
  return settleMarkets(deps, job, { driven, split, base });
}

/** Refusals that arose while the market waited; the market's `reason` reports them. */
function forbiddenBy(
  agent: Pick<AgentRow, "status">,
  asked: MarketRow,
  production: readonly MarketRow[],
): ErrorCode | null {
  if (isFinal(agent.status)) return "agent_status_not_mutable";
  return asked.environment === "sandbox" && holdsOtherWallet([asked], production) ? "environment_mismatch" : null;
}

/** Sends markets that a crash or a slow chain left waiting to the queue again. */
export const resumeProvisioning: EachJob = {
  kind: "each",
  name: "resume_market_provisioning",
  find: async ({ db, clock }, after, limit) => {
    const { stalled } = await readBatch(db, {
      stalled: findStalledMarkets(db, clock.now() - MINUTE_MS, after ?? FIRST, limit),
    });
    return stalled;
  },
  record: async ({ env }, id) => {
    const [did, environment, network] = id.split(" ");
    if (did === undefined || !isEnvironment(environment) || network === undefined) return false;
    await env.CHAIN_QUEUE.send({ kind: "provision_market", did, environment, network });
    return true;
  },
};
