// Limits the cost of sandboxes on mainnets (MKT-25): a provider that a sandbox key registers there costs the registrar gas, and opening a sandbox
// is free. Also tends the waiting transactions of the service's keys (CHN-17).
import type { ManagementCall, ManagementCaller } from "../call.ts";
import { recordLowGas } from "../chain/availability-store.ts";
import { computeGasThreshold, findNetwork, type Network, requireNetwork } from "../chain/networks.ts";
import type { SignerName } from "../chain/sign.ts";
import type { Config, Deps } from "../context.ts";
import { addDailyRequests, BEFORE_FIRST_DUE } from "../core/clock.ts";
import { ServiceError } from "../core/errors.ts";
import { DAY_MS, LOW_GAS_SECONDS, MINUTE_MS, SECOND_MS, TOGETHER_ALERT_PERCENT } from "../core/limits.ts";
import { commit, dropAbsentReads, type ReadResults, type Statement } from "../db/batch.ts";
import type { MarketRow } from "../db/tables/agents.ts";
import type { EachJob } from "../jobs/job.ts";
import { type Alert, raiseAlert } from "../journal/alerts.ts";
import { tendSigner } from "../objects/signers.ts";
import type { SignerStanding } from "../objects/transactions.ts";
import type { MarketInput } from "./schema.ts";
import { countTogether, findTogether, findTrials, hasJustReached, putTrials } from "./store.ts";

const isMainnet = ({ networks }: Config, name: string): boolean => findNetwork(networks, name)?.kind === "mainnet";

/** Reads the registrations of the account and of all accounts together, only for a sandbox call that names a mainnet. */
export function buildTrialReads({ db, tenant, deps, environment }: ManagementCall, { markets }: MarketInput) {
  const counts = environment === "sandbox" && markets.some(({ network }) => isMainnet(deps.config, network));
  return dropAbsentReads({
    trials: counts ? findTrials(db, tenant) : null,
    together: counts ? findTogether(db) : null,
  });
}

type TrialFacts = ReadResults<ReturnType<typeof buildTrialReads>> & {
  readonly caller: Pick<ManagementCaller, "platformStatus">;
  /** The markets for which the call asks the chain. */
  readonly wanted: readonly MarketRow[];
  /** The provider's markets and escrows in either environment: on their networks it is registered, or was counted. */
  readonly known: readonly { readonly network: string }[];
};

/**
 * Counts new registrations.
 * @throws ServiceError `rate_limited` when they are too many
 */
export function countTrials(call: ManagementCall, platformId: string, found: TrialFacts): Statement[] {
  const { config, clock } = call.deps;
  if (call.environment !== "sandbox") return [];
  const networks = new Set(found.wanted.map(({ network }) => network).filter((name) => isMainnet(config, name)));
  for (const { network } of found.known) networks.delete(network);
  const further = networks.size;
  if (further === 0) return [];
  const counting = { further, now: clock.now() };
  return [...countForAccount(call, platformId, found, counting), ...countForAllAccounts(call, found, counting)];
}

type Counting = { readonly further: number; readonly now: number };

function countForAccount(
  { db, deps }: ManagementCall,
  platformId: string,
  found: TrialFacts,
  { further, now }: Counting,
) {
  const { aDay, inAll } = deps.config.sandboxMainnet;
  const trials = found.trials ?? null;
  const total = (trials?.total ?? 0) + further;
  // The total never falls again, but an operator may raise its limit.
  if (total > inAll) {
    const message = `An account can register at most ${inAll} providers on mainnets from the sandbox.`;
    throw new ServiceError("rate_limited", { message, headers: { "Retry-After": String(DAY_MS / SECOND_MS) } });
  }
  const message = `An account can register at most ${aDay} providers a day on mainnets from the sandbox.`;
  const asks = addDailyRequests(trials?.asks ?? null, further, now, { most: aDay, message });
  return putTrials(db, trials, { platformId, asks, total });
}

/** Unaccredited accounts cost nothing to open, so they share one limit. */
function countForAllAccounts(
  { db, deps }: ManagementCall,
  { caller, together }: TrialFacts,
  counting: Counting,
): Statement[] {
  if (caller.platformStatus === "ACCREDITED") return [];
  const most = deps.config.sandboxMainnet.togetherADay;
  const { further, now } = counting;
  const message = `Accounts that are not accredited can together register at most ${most} providers a day on mainnets from the sandbox.`;
  addDailyRequests(together?.asks ?? null, further, now, { most, message, detail: { bound: "all_accounts" } });
  const from = Math.ceil((most * TOGETHER_ALERT_PERCENT) / 100);
  return [
    ...countTogether(db, counting, most),
    raiseAlert(db, toRegistrationsAlert(from, most), now, hasJustReached(from, counting)),
  ];
}

const toRegistrationsAlert = (from: number, most: number): Alert => ({
  kind: "sandbox_registrations",
  subject: "all accounts that are not accredited",
  message: `${from} providers were registered on mainnets from sandboxes within 24 hours. From ${most} on, registrations are refused.`,
});

// ---- Transactions of the service's keys ------------------------------------------------------------------------------------

/** The network takes no new intents until its account has not been found low for this long (PAY-24). */
const LOW_GAS_MS = LOW_GAS_SECONDS * SECOND_MS;

/** Resends or replaces waiting transactions each minute, and alerts about gas and delays (JOB-9). */
const createTender = (name: string, signer: SignerName): EachJob => ({
  kind: "each",
  name,
  here: true,
  find: async ({ config, clock }, after) =>
    after === null || after === BEFORE_FIRST_DUE
      ? config.networks.map(({ network }) => ({ at: clock.now(), id: network }))
      : [],
  record: async (deps, network) => {
    const standing = await tendSigner(deps.env, signer, network);
    const configured = requireNetwork(deps.config.networks, network);
    if (!standing.ok) return standing.error.reason === "wrong_chain" ? raiseWrongChain(deps, configured) : false;
    const alerts = toSignerAlerts(configured, signer, standing.value);
    await commit(deps.db, [
      ...alerts.map((alert) => raiseAlert(deps.db, alert)),
      ...(alerts.some(({ kind }) => kind === "low_gas")
        ? [recordLowGas(deps.db, network, Date.now() + LOW_GAS_MS)]
        : []),
    ]);
    return alerts.length > 0;
  },
});

export const tendSigners = createTender("tend_signers", "registrar");
export const tendArbiters = createTender("tend_arbiters", "arbiter");

/** No node of the network is trusted: nothing is sent, and nothing is read (CHN-9). */
async function raiseWrongChain({ db }: Deps, { network, chain_id }: Network): Promise<boolean> {
  const message = `chain_id is ${chain_id} in NETWORKS, and the node is of another chain.`;
  await commit(db, [raiseAlert(db, { kind: "network", subject: network, message })]);
  return true;
}

/** A transaction that has waited longer raises an alert. */
const WAITING_TOO_LONG_MS = 5 * MINUTE_MS;

function toSignerAlerts(
  configured: Network,
  signer: SignerName,
  { balance, oldestSentAt, reason, waiting }: SignerStanding,
): Alert[] {
  const subject = `${signer} on ${configured.network}`;
  const late = oldestSentAt !== null && Date.now() > oldestSentAt + WAITING_TOO_LONG_MS;
  const low = balance < computeGasThreshold(configured) || reason === "insufficient_gas";
  const because =
    reason === "fee_above_bound" ? "the network's fees are above the configured bound" : "no block included them";
  return [
    ...(low ? [{ kind: "low_gas" as const, subject, message: `The account holds ${balance} wei.` }] : []),
    ...(late
      ? [{ kind: "waiting_transaction" as const, subject, message: `${waiting} transactions wait: ${because}.` }]
      : []),
  ];
}
