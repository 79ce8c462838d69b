// Signs a change of markets into the agent's document (IDN-23).
import { updateAgent } from "../agents/store.ts";
import type { Deps } from "../context.ts";
import type { Statement } from "../db/batch.ts";
import type { AgentRow } from "../db/tables/agents.ts";
import type { MovedStates } from "../escrow/store.ts";
import { type AidSource, listMarketCodes, signVersion } from "../identity/aid.ts";
import { recordDirectoryChange } from "../journal/feed.ts";

/**
 * For markets of the agent's own environment: makes a new version of its document and a directory record. `source` has the new markets; `states`
 * are those of the escrows that the same batch opens in that environment.
 */
export async function signMarketChange(
  deps: Deps,
  source: AidSource,
  now: number,
  states: MovedStates = {},
): Promise<Statement[]> {
  const { db } = deps;
  const { agent: before, certificate } = source;
  const agent: AgentRow = { ...before, version: before.version + 1, revision: before.revision + 1, updatedAt: now };
  const { version, updatedAt } = agent;
  return [
    ...updateAgent(db, before, { version, updatedAt, ...states }, { documented: true, owner: source.principal }),
    ...(await signVersion(db, deps, { ...source, agent }, now)),
    ...(certificate === null ? [] : recordDirectoryChange(db, agent, "updated", listMarketCodes(source.markets))),
  ];
}
