// Promotes an agent from the sandbox to production, and out of FUNDING (AGT-34). The DID, the key and the identity stay; test money that was earned
// and spent does not count.
import { toAgentView, toEscrowView } from "../agents/read.ts";
import { NOTHING_EARNED } from "../agents/register.ts";
import type { MovedAgentView } from "../agents/responses.ts";
import { refuseHolder, reviseAgent, toAidSource } from "../agents/revise.ts";
import { agentMachine } from "../agents/states.ts";
import { type ManagementCall, type Precheck, precheck } from "../call.ts";
import { toSplitKey } from "../chain/split.ts";
import { recheckOperation } from "../chain/store.ts";
import { measureAhead, systemClock } from "../core/clock.ts";
import { ServiceError, toFieldError, toValidationError } from "../core/errors.ts";
import { OPEN_COUNTED_MAX } from "../core/limits.ts";
import { move } from "../core/machine.ts";
import { requireProduction, sells } from "../core/roles.ts";
import type { AgentStatus } from "../core/vocabulary.ts";
import { dropAbsentReads, type ReadResults, readBatch, type Statement } from "../db/batch.ts";
import { findClockOffset } from "../db/clock.ts";
import type { AgentRow, MarketRow } from "../db/tables/agents.ts";
import type { EscrowRow } from "../db/tables/money.ts";
import type { PrincipalRow } from "../db/tables/principals.ts";
import { guardEscrowStates } from "../escrow/store.ts";
import { fundAgent, isFunded } from "../follower/escrow-turns.ts";
import type { AidSource } from "../identity/aid.ts";
import { certify } from "../identity/certificate.ts";
import { findListPlace } from "../identity/certificate-store.ts";
import { type AgentWithPrincipal, findEscrows, findMarketsEverywhere, findNewestVersion } from "../identity/store.ts";
import type { OpenAt } from "../intents/list-store.ts";
import { recordDeparture } from "../journal/feed.ts";
import { dropMarkets } from "../markets/store.ts";
import { findTierWarnings } from "../principals/attestations.ts";
import { toEffectiveAgentStatus, toEffectivePrincipalStatus } from "../principals/effective-status.ts";
import { findPrincipal } from "../principals/store.ts";
import { findOpen } from "../tasks/store.ts";
import { findKeepsBack } from "../vaults/store.ts";
import type { PromotionInput } from "./schema.ts";
import { findDelegator, findHolder, findNextPrincipal, isPromotionStillAllowed } from "./store.ts";
import { syncVaults } from "./vaults.ts";

const buildPromotionReads = ({ db, tenant, now, deps }: ManagementCall, did: string, named: string | undefined) => ({
  newest: findNewestVersion(db, did),
  allMarkets: findMarketsEverywhere(db, did),
  escrows: findEscrows(db, did, "production"),
  keepsBack: findKeepsBack(db, did, "sandbox"),
  open: findOpen(db, { did, environment: "sandbox" }, { now, ahead: measureAhead(deps.clock) }, OPEN_COUNTED_MAX),
  delegator: findDelegator(db, did),
  principal: findNextPrincipal(db, tenant, did, named),
  holder: findHolder(db, did),
  offset: findClockOffset(db, tenant.platformId),
  place: findListPlace(db),
});
type Read = ReadResults<ReturnType<typeof buildPromotionReads>>;
type Facts = ReturnType<typeof splitMarkets<Read>>;

const splitMarkets = <R extends Pick<Read, "allMarkets">>({ allMarkets, ...facts }: R) => ({
  ...facts,
  markets: allMarkets.filter(({ environment }) => environment === "production"),
  sandboxMarkets: allMarkets.filter(({ environment }) => environment === "sandbox"),
});

export async function promoteAgent(
  call: ManagementCall<AgentWithPrincipal>,
  did: string,
  { principal_id }: PromotionInput,
): Promise<MovedAgentView> {
  const { caller, object, ...found } = await call.read(buildPromotionReads(call, did, principal_id));
  const facts = splitMarkets(found);
  const before = toAidSource(object, facts);
  refuseSandboxCall(call);
  requireProduction("act", caller);
  const { actor } = caller;
  return before.agent.environment === "production"
    ? fund(call, before, principal_id, actor)
    : promote(call, before, facts, actor);
}

/** The sandbox key finds the agent, but cannot promote it. */
function refuseSandboxCall({ environment }: ManagementCall): void {
  if (environment === "production") return;
  const message = "A promotion needs the production key, or a session with Service-Environment: production.";
  throw new ServiceError("environment_mismatch", { message, detail: { environment } });
}

const moveUnfunded = (status: AgentStatus): AgentStatus => move(agentMachine, status, "promote_unfunded").to;

type PromotingActor = Parameters<typeof reviseAgent>[3]["activity"]["actor"];

async function promote(
  call: ManagementCall,
  before: AidSource,
  facts: Facts,
  actor: PromotingActor,
): Promise<MovedAgentView> {
  const { db, now, deps } = call;
  const { agent } = before;
  const { did } = agent;
  // Until the promotion the agent goes by the clock of its sandbox.
  const sandboxNow = now + facts.offset;
  refuseInactive(before, sandboxNow);
  const openAt = { now: sells(agent.economicRole) ? now : sandboxNow, ahead: measureAhead(deps.clock) };
  refuseOpen(agent, facts, await readOpen(call, did, facts, openAt));
  refuseSandboxDelegator(facts.delegator);
  const principal = requireNextPrincipal(facts, now);
  refuseHolder(facts.holder);
  refuseWithoutMarket(before);
  const selling = sells(agent.economicRole);
  const markets = before.markets.filter(isOpen);
  const { escrows } = selling ? await syncVaults(deps, did, facts.escrows, before.markets) : facts;
  const status = selling && !isFunded(escrows, before.markets) ? moveUnfunded(agent.status) : agent.status;
  const { attestationExpiresAt: endsAt, principalId } = principal;
  // Earnings in test money do not count.
  const set = { ...NOTHING_EARNED, environment: "production", principalId, endsAt, status, promotedAt: now } as const;
  const certificate = await certify(call, { ...agent, ...set }, principal, facts.place);
  const { after, statements } = await reviseAgent(
    db,
    deps,
    before,
    {
      set,
      principal,
      newVersion: true,
      certificate,
      earlierCountUntil: systemClock.now(),
      also: isPromotionStillAllowed(agent, principal, { markets, openAt, sandboxNow, now }),
      activity: {
        action: "agent.promoted",
        actor,
        changes: {
          environment: { from: agent.environment, to: "production" },
          principal_id: { from: agent.principalId, to: principalId },
          ...(status !== agent.status && { status: { from: agent.status, to: status } }),
        },
      },
      events: ["agent.promoted"],
      listing: "registered",
      escrows,
    },
    now,
  );
  const view = {
    ...toAgentView(deps.config, after, now),
    certificate: certificate.text,
    warnings: findTierWarnings(agent.economicRole, principal),
  };
  await call.commit(
    [...statements, ...guardEscrowStates(db, escrows), ...dropWaitingMarkets(call, facts), recordDeparture(db, agent)],
    view,
  );
  return view;
}

/**
 * The clock of a consumer's sandbox, which the first reading finds, rules its open tasks (ACC-9). A provider's open tasks go by its consumers'
 * clocks, none of which is behind real time.
 */
const readOpen = async (
  { db, now }: ManagementCall,
  did: string,
  facts: Facts,
  openAt: OpenAt,
): Promise<Read["open"]> =>
  openAt.now === now
    ? facts.open
    : (await readBatch(db, { open: findOpen(db, { did, environment: "sandbox" }, openAt, OPEN_COUNTED_MAX) })).open;

const isOpen = ({ status }: MarketRow): boolean => status === "ACTIVE";

/** Drops waiting markets at once, before the queue opens them. The next delivery drops the others with their vaults (leave-sandbox.ts). */
function dropWaitingMarkets({ db }: ManagementCall, { sandboxMarkets }: Facts): Statement[] {
  const waiting = sandboxMarkets.filter(({ status }) => status === "PROVISIONING");
  const networks = new Set(waiting.map(({ network }) => network));
  return [
    ...waiting.slice(0, 1).map(({ did }) => dropMarkets(db, { did, environment: "sandbox" })),
    // The market's wallet may be on its way to the contract.
    ...[...networks].map((network) => recheckOperation(db, toSplitKey(network, waiting[0]?.did ?? ""), Date.now())),
  ];
}

/** A further call makes an agent that was promoted unfunded ACTIVE once its vaults reach their thresholds. */
async function fund(
  call: ManagementCall<AgentWithPrincipal>,
  before: AidSource,
  named: string | undefined,
  actor: PromotingActor,
): Promise<MovedAgentView> {
  const { db, now, deps } = call;
  const { did } = before.agent;
  refusePromoted(before, named, now);
  refuseWithoutMarket(before);
  const { escrows, seen } = await syncVaults(deps, did, [...before.escrows], before.markets);
  // The look may have booked deposits that moved the agent out of FUNDING.
  const { agent } = (await call.read({})).object;
  const source = { ...before, agent, escrows };
  const funded = isFunded(escrows, before.markets);
  if (!funded && !seen) throw new ServiceError("chain_unavailable");
  if (!funded) refuseUnfunded(call, escrows);
  const { after, statements } =
    agent.status === "FUNDING" ? await fundAgent(deps, source, escrows, actor, now) : { after: source, statements: [] };
  const view = {
    ...toAgentView(deps.config, after, now),
    warnings: findTierWarnings(agent.economicRole, before.principal),
  };
  await call.commit([...statements, ...guardEscrowStates(db, escrows)], view);
  return view;
}

export const precheckAgentPromotion = (
  { db, tenant }: ManagementCall,
  { principal_id: named }: Partial<PromotionInput>,
): Precheck => {
  const principal = named === undefined ? null : findPrincipal(db, { ...tenant, environment: "production" }, named);
  return precheck(dropAbsentReads({ principal }), (known) =>
    named !== undefined && !known.principal ? [toFieldError("principal_id", "not_found")] : [],
  );
};

// ---- Refusals, in their order ----------------------------------------------------------------------------------------------

type Shown = { readonly status: AgentStatus; readonly principal_status?: string };

function toShownStatus({ agent, principal }: AidSource, now: number): Shown {
  const standing = toEffectivePrincipalStatus(principal, now);
  const status = toEffectiveAgentStatus(agent.status, standing);
  return { status, ...(standing !== "ACTIVE" && { principal_status: standing }) };
}

function refuseInactive(before: AidSource, now: number): void {
  const shown = toShownStatus(before, now);
  if (shown.status === "ACTIVE" && before.certificate !== null) return;
  const message = `The agent is ${shown.status}: only an ACTIVE one can be promoted.`;
  throw new ServiceError("invalid_status", { message, detail: shown });
}

/** A dispute also counts as open while the vault reserves something for its refund (DSP-15). */
function refuseOpen({ disputesOpen }: AgentRow, { keepsBack }: Facts, { intents, tasks }: Facts["open"]): void {
  const disputes = Math.max(disputesOpen, keepsBack ? 1 : 0);
  if (intents + tasks + disputes === 0) return;
  const message = "The agent's open intents, tasks and disputes in the sandbox have to end first.";
  throw new ServiceError("invalid_status", { message, detail: { open: { intents, tasks, disputes } } });
}

function refuseSandboxDelegator(delegator: Facts["delegator"]): void {
  if (delegator === null || delegator.environment === "production") return;
  const message = "The agent's delegator is in the sandbox and has to be promoted first.";
  throw new ServiceError("invalid_status", { message, detail: { delegator: delegator.did } });
}

/** A delegation is between agents of one principal (AGT-24). */
function requireNextPrincipal({ principal, delegator }: Facts, now: number): PrincipalRow {
  if (!principal) throw toValidationError([toFieldError("principal_id", "not_found")]);
  if (delegator && delegator.principalId !== principal.principalId) {
    const message = "The agent's delegator belongs to another principal.";
    throw new ServiceError("invalid_status", {
      message,
      detail: { delegator: delegator.did, principal_id: delegator.principalId },
    });
  }
  const standing = toEffectivePrincipalStatus(principal, now);
  if (standing === "ACTIVE") return principal;
  throw new ServiceError("invalid_status", {
    message: `The principal in production is ${standing}.`,
    detail: { principal_id: principal.principalId, principal_status: standing },
  });
}

function refuseWithoutMarket({ agent, markets }: AidSource): void {
  if (!sells(agent.economicRole) || markets.some(isOpen)) return;
  const message = "The agent has no open market in production.";
  const waiting = markets.map(({ market, network, status }) => ({ market, network, status }));
  throw new ServiceError("market_not_authorized", { message, detail: { markets: waiting } });
}

/** An agent in production can only be moved from FUNDING to ACTIVE. */
function refusePromoted(before: AidSource, named: string | undefined, now: number): void {
  const shown = toShownStatus(before, now);
  if (shown.status !== "FUNDING") {
    const message = `The agent is already in production: it is ${shown.status}.`;
    throw new ServiceError("invalid_status", { message, detail: { environment: "production", ...shown } });
  }
  const { principalId } = before.agent;
  if (named === undefined || named === principalId) return;
  const message = "The agent was promoted under another principal; move it with POST /v1/agents/{did}/transfer.";
  throw new ServiceError("invalid_status", { message, detail: { principal_id: principalId } });
}

function refuseUnfunded({ deps }: ManagementCall, escrows: readonly EscrowRow[]): never {
  const escrow = escrows.map((row) => toEscrowView(deps.config, row));
  throw new ServiceError("escrow_below_threshold", { detail: { escrow } });
}
