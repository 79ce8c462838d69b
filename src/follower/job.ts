// The minute's run of the follower on every network (CHN-24): reads to the head, and compares the next vaults with their lines. The trigger itself
// does this if nothing has happened, otherwise a queue message does.
import type { Deps } from "../context.ts";
import type { EachJob } from "../jobs/job.ts";
import { checkNextVaults } from "./check.ts";
import { followNetwork } from "./follow.ts";
import { followQuiet } from "./quiet.ts";

export const followChains: EachJob = {
  kind: "each",
  name: "follow_chains",
  here: true,
  find: async ({ config }, after) =>
    after === null ? config.networks.map(({ network }) => ({ at: Date.now(), id: network })) : [],
  record: async (deps, network) => {
    let isQuiet = false;
    try {
      isQuiet = await followQuiet(deps, network);
      return !isQuiet;
    } finally {
      // A failed look needs the message too.
      if (!isQuiet) await deps.env.CHAIN_QUEUE.send({ kind: "follow_chain", network });
    }
  },
};

/** A message begins no further step once it has sent this many statements, because one invocation runs several messages (JOB-12). */
const STATEMENTS_OF_MESSAGE = 150;

/** Returns false if no node answered or the time was over: the message of the next minute continues. A full run sends its next message itself. */
export async function followChain(deps: Deps, network: string, until: number): Promise<boolean> {
  const followed = await followNetwork(deps, network, until, { most: STATEMENTS_OF_MESSAGE });
  if (followed === "full") await deps.env.CHAIN_QUEUE.send({ kind: "follow_chain", network });
  if (followed !== "level") return followed === "full";
  await checkNextVaults(deps, network);
  return true;
}
