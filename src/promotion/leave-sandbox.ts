// Removes what a provider leaves in the sandbox after its promotion (AGT-34): its markets, its part in vaults that production goes on using, and its
// place in its principals' counts. The next delivery of events does this, and nothing waits for it, because the sandbox no longer uses the agent.
import type { AgentView } from "../agents/schema.ts";
import { sells } from "../core/roles.ts";
import { readBatch, type Statement } from "../db/batch.ts";
import { dropSandboxEscrows, linkThresholdsOfAgents } from "../escrow/store.ts";
import { findNewestChanges } from "../journal/activity-store.ts";
import type { Subscriber } from "../journal/events.ts";
import { dropSandboxMarkets } from "../markets/store.ts";
import { countProviders } from "../principals/store.ts";

export const leaveSandbox: Subscriber = async ({ db }, events) => {
  const promoted = events
    .filter(({ type }) => type === "agent.promoted")
    .map(({ platformId, object }) => ({ platformId, agent: object as unknown as AgentView }))
    .filter(({ agent }) => sells(agent.economic_role));
  if (promoted.length === 0) return [];
  const dids = promoted.map(({ agent }) => agent.did);
  const subjects = promoted.map(({ platformId, agent }) => [platformId, agent.did] as const);
  const { changes } = await readBatch(db, { changes: findNewestChanges(db, "agent.promoted", subjects) });
  const left = changes.flatMap((one) => one?.["principal_id"]?.from ?? []).map(String);
  return [
    ...dropSandboxEscrows(db, dids),
    linkThresholdsOfAgents(db, dids),
    dropSandboxMarkets(db, dids),
    ...countProviders(db, { left, come: promoted.map(({ agent }) => agent.principal_id) }),
  ] satisfies Statement[];
};
