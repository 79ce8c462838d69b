// A change of markets is a change of the agent's document.
import { updateAgent } from "../agents/store.ts";
import type { Deps } from "../context.ts";
import type { Statement } from "../db/batch.ts";
import type { AgentRow } from "../db/tables/agents.ts";
import { type AidSource, signVersion } from "../identity/aid.ts";
import { recordDirectoryChange } from "../journal/feed.ts";

/** The agent's own environment: its document states the market, and the directory is told. `source` has the markets as they are now. */
export async function documentChange(deps: Deps, source: AidSource, now: number): Promise<Statement[]> {
  const { db } = deps;
  const { agent: before, certificate } = source;
  const agent: AgentRow = { ...before, version: before.version + 1, revision: before.revision + 1, updatedAt: now };
  const { version, updatedAt } = agent;
  return [
    ...updateAgent(db, before, { version, updatedAt }, { documented: true }),
    ...(await signVersion(db, deps, { ...source, agent }, now)),
    ...(certificate === null ? [] : [recordDirectoryChange(db, agent.environment, agent.did, "updated", now)]),
  ];
}
