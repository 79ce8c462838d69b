// Records the consequences of an escrow's new state that the follower has booked: on the agent's row and document, as an event and in the directory
// (MKT-17). An agent in FUNDING whose escrows are all funded becomes ACTIVE (AGT-34). Also records a follower that is late.
import { hasAttestationUntil } from "../agents/find-store.ts";
import { recordEscrowChange } from "../agents/ratings.ts";
import { reviseAgent } from "../agents/revise.ts";
import { agentMachine } from "../agents/states.ts";
import { markDocumentStale } from "../agents/store.ts";
import { computeLagSeconds, findClosure, isFollowerLate, type NetworkAvailability } from "../chain/availability.ts";
import { findAvailabilities, recordFollowerBehind } from "../chain/availability-store.ts";
import type { Deps } from "../context.ts";
import { move } from "../core/machine.ts";
import type { Actor } from "../core/vocabulary.ts";
import { commit, readBatch, type Statement } from "../db/batch.ts";
import type { AgentRow, MarketRow } from "../db/tables/agents.ts";
import type { EscrowRow } from "../db/tables/money.ts";
import { type EscrowChange, hasStateChanged } from "../escrow/changes.ts";
import { toMovedStates } from "../escrow/store.ts";
import { type AidSource, parseCertificate } from "../identity/aid.ts";
import { findEscrows, findMarketsEverywhere, findNewestVersion, findTimedAgent } from "../identity/store.ts";
import { type Alert, raiseAlert } from "../journal/alerts.ts";
import { toEffectivePrincipalStatus } from "../principals/effective-status.ts";

const FOLLOWER_ACTOR: Actor = { type: "system", id: "follow_chains" };

/** One batch records this many agents; each takes about a dozen statements. */
export const TURNED_AT_ONCE = 10;

/** Records the consequences for agents whose escrow changes its state. Reads each agent in one trip. */
export async function recordEscrowTurns(deps: Deps, changes: readonly EscrowChange[]): Promise<Statement[]> {
  const byAgent = [...Map.groupBy(changes, ({ before }) => before.did)];
  const statements: Statement[] = [];
  for (const [did, own] of byAgent) statements.push(...(await recordTurnsOfAgent(deps, did, () => own)));
  return statements;
}

/** Records the consequences for escrows that an earlier batch changed: the agent's row still shows the earlier state. */
export async function recordEarlierTurns(deps: Deps, network: string, dids: readonly string[]): Promise<Statement[]> {
  const statements: Statement[] = [];
  for (const did of dids) {
    statements.push(
      ...(await recordTurnsOfAgent(deps, did, ({ agent }, escrows) =>
        escrows
          .filter((row) => row.network === network)
          .map((after) => ({ before: { ...after, state: agent.escrowStates[network] ?? after.state }, after }))
          .filter(hasStateChanged),
      )),
    );
  }
  return statements;
}

type FindTurns = (found: { readonly agent: AgentRow }, escrows: readonly EscrowRow[]) => readonly EscrowChange[];

async function recordTurnsOfAgent(deps: Deps, did: string, changes: FindTurns): Promise<Statement[]> {
  const { db } = deps;
  const { timed, newest, everywhere, sandbox, production } = await readBatch(db, {
    timed: findTimedAgent(db, did),
    newest: findNewestVersion(db, did),
    everywhere: findMarketsEverywhere(db, did),
    sandbox: findEscrows(db, did, "sandbox"),
    production: findEscrows(db, did, "production"),
  });
  if (!timed) return [];
  const { clockOffsetMs, ...found } = timed;
  const escrows = found.agent.environment === "sandbox" ? sandbox : production;
  // An escrow in an environment that the agent has left, or has not come to, has no consequences.
  const own = changes(found, escrows).filter(({ before }) => before.environment === found.agent.environment);
  if (own.length === 0) return [];
  const now = deps.clock.now() + clockOffsetMs;
  const markets = everywhere.filter(({ environment }) => environment === found.agent.environment);
  const held = escrows.map((row) => own.find(({ before }) => before.network === row.network)?.after ?? row);
  const source = { ...found, certificate: newest && parseCertificate(newest.content), markets, escrows };
  if (canFund(source, held, now)) return (await fundAgent(deps, source, held, FOLLOWER_ACTOR, now)).statements;
  const { agent } = found;
  const states = toMovedStates(own.map(({ after }) => after));
  return [
    ...markDocumentStale(db, agent, { updatedAt: now, ...states }),
    ...recordEscrowChange(
      deps,
      { ...source, agent: { ...agent, updatedAt: Math.max(agent.updatedAt, now) }, escrows: held },
      own.some(hasStateChanged),
      isListed(source) ? {} : null,
      now,
    ),
  ];
}

/** The directory lists only certified agents. */
const isListed = ({ certificate }: AidSource): boolean => certificate !== null;

/** The escrows of the networks on which the agent has an ACTIVE market. */
export const pickEscrowsInUse = (escrows: readonly EscrowRow[], markets: readonly MarketRow[]): EscrowRow[] =>
  escrows.filter(({ network }) => markets.some((market) => market.network === network && market.status === "ACTIVE"));

export function isFunded(escrows: readonly EscrowRow[], markets: readonly MarketRow[]): boolean {
  const used = pickEscrowsInUse(escrows, markets);
  return used.length > 0 && used.every(({ state }) => state === "ACTIVE");
}

const canFund = ({ agent, principal, markets }: AidSource, escrows: readonly EscrowRow[], now: number): boolean =>
  agent.status === "FUNDING" && toEffectivePrincipalStatus(principal, now) === "ACTIVE" && isFunded(escrows, markets);

/** Takes an agent out of FUNDING. `escrows`: as they are afterwards. */
export function fundAgent(
  deps: Deps,
  before: AidSource,
  escrows: readonly EscrowRow[],
  actor: Actor,
  now: number,
): ReturnType<typeof reviseAgent> {
  const { agent, principal } = before;
  const { from, to } = move(agentMachine, agent.status, "fund");
  const turned = escrows.some((row) =>
    before.escrows.some((one) => one.network === row.network && one.state !== row.state),
  );
  return reviseAgent(
    deps.db,
    deps,
    before,
    {
      set: { status: to },
      newVersion: false,
      stale: true,
      also: hasAttestationUntil(now, principal.attestationExpiresAt),
      activity: { action: "agent.funded", actor, changes: { status: { from, to } } },
      events: ["agent.status_changed", ...(turned ? (["agent.escrow_state_changed"] as const) : [])],
      listing: "status_changed",
      escrows: [...escrows],
    },
    now,
  );
}

// ---- A late follower -------------------------------------------------------------------------------------------------------

/**
 * Records that a run did not reach a head of this minute. After a while the network takes no new intents (PAY-24), and an operator gets an alert
 * (JOB-9).
 */
export async function recordLag({ db }: Deps, network: string): Promise<void> {
  const { standings } = await readBatch(db, { standings: findAvailabilities(db, [network]) });
  const [standing] = standings;
  const now = Date.now();
  if (!standing || !isFollowerLate(standing, now)) return;
  await commit(db, [
    recordFollowerBehind(db, network, now),
    ...(findClosure(standing, now) === "lag" ? [raiseAlert(db, toLagAlert(standing, now))] : []),
  ]);
}

function toLagAlert(standing: NetworkAvailability, now: number): Alert {
  const { network } = standing;
  const seconds = computeLagSeconds(standing, now);
  const since = seconds === null ? "was never read to its head" : `was last read to its head ${seconds} seconds ago`;
  return { kind: "follower_lag", subject: network, message: `The network ${since}: it takes no new payment intents.` };
}
