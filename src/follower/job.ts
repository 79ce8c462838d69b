// The minute's run of the follower on every network (CHN-24): read to the head, and compare the next vaults with their lines.
import type { Deps } from "../context.ts";
import type { EachJob } from "../jobs/job.ts";
import { checkNextVaults } from "./check.ts";
import { followNetwork } from "./follow.ts";

export const followChains: EachJob = {
  kind: "each",
  name: "follow_chains",
  find: async ({ config }, after) =>
    after === null ? config.networks.map(({ network }) => ({ at: Date.now(), id: network })) : [],
  record: async ({ env }, network) => {
    await env.CHAIN_QUEUE.send({ kind: "follow_chain", network });
    return true;
  },
};

/** False where there is more to read, which another message goes on with, or no node answered: then the next minute does. */
export async function followChain(deps: Deps, network: string, until: number): Promise<boolean> {
  const followed = await followNetwork(deps, network, until);
  if (followed === "far") await deps.env.CHAIN_QUEUE.send({ kind: "follow_chain", network });
  if (followed !== "level") return false;
  await checkNextVaults(deps, network);
  return true;
}
