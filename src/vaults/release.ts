// Releases what a provider's vault holds above threshold and reserve, for its platform (MKT-29). The contract releases all of it or nothing, so the
// amount only says what the caller expects, and another amount is refused.
import type { ManagementCall } from "../call.ts";
import { findNetwork, formatTokenUnits, type Network, toCaip2 } from "../chain/networks.ts";
import { findOperation, requestAgain, requestOperation } from "../chain/store.ts";
import { computeSurplus, readVault, type VaultState } from "../chain/surplus.ts";
import { addDailyRequests, systemClock, toIsoOrNull } from "../core/clock.ts";
import { ServiceError, toFieldError, toValidationError } from "../core/errors.ts";
import { MARKET_PROVISION_WAIT_MS, RELEASES_A_DAY } from "../core/limits.ts";
import { sells } from "../core/roles.ts";
import { parseAmount } from "../core/text.ts";
import { readBatch } from "../db/batch.ts";
import type { OperationRow } from "../db/tables/chain.ts";
import { pickVaultThreshold } from "../escrow/threshold.ts";
import type { AgentWithPrincipal } from "../identity/store.ts";
import { recordActivity } from "../journal/activity.ts";
import { buildExitReads, driveVault, type ExitFacts, isLeaving, pickEscrowEdition, releaseKey } from "./exit.ts";
import type { ReleaseView } from "./responses.ts";
import type { ReleaseInput } from "./schema.ts";

const RETRY_SECONDS = 2;
/** Each release costs gas. */
const RELEASE_BOUND = {
  most: RELEASES_A_DAY,
  message: `A vault can be released at most ${RELEASES_A_DAY} times in 24 hours.`,
};

export async function releaseEscrow(
  call: ManagementCall<AgentWithPrincipal>,
  did: string,
  input: ReleaseInput,
): Promise<ReleaseView> {
  const { db, deps, environment } = call;
  const network = findNetwork(deps.config.networks, input.network);
  const vault = { did, network: network?.network ?? "" };
  const { object: found, caller, ...facts } = await call.read(buildExitReads(deps, vault));
  if (!sells(found.agent.economicRole)) throw new ServiceError("role_not_permitted");
  if (!network)
    throw toValidationError([toFieldError("network", "invalid_value", "No such network; see GET /v1/markets.")]);
  const expected = parseExpectedUnits(input.amount, network);
  const asks = addDailyRequests(facts.operation?.asks ?? null, 1, deps.clock.now(), RELEASE_BOUND);
  const { wallet, releasable } = await judgeRelease(call, facts, network, expected);
  const key = releaseKey(vault);
  const base = { did, network: vault.network, caip2: toCaip2(network), currency: network.currency };
  const view = { ...base, amount: formatTokenUnits(network, releasable), operational_wallet: wallet };
  await call.commit(
    [
      ...(facts.operation
        ? requestAgain(db, facts.operation, { asked: "yes" }, Date.now(), { asks })
        : [requestOperation(db, key, { asked: "yes" }, Date.now(), asks)]),
      recordActivity(db, { platformId: found.agent.platformId, environment }, call.now, {
        action: "agent.escrow_release_requested",
        actor: caller.actor,
        subject: { type: "agent", id: did },
        changes: { [vault.network]: { from: null, to: view.amount } },
      }),
    ],
    { ...view, status: "waiting", tx_hash: null, reason: null, effective_at: null } satisfies ReleaseView,
  );

  // The chain may be slow: a suspension of the agent must not wait for it.
  call.unlock();
  const driven = await driveVault(deps, vault, systemClock.now() + MARKET_PROVISION_WAIT_MS).catch(() => false);
  // If a crash leaves the operation, the minute's job finds it.
  if (!driven) await deps.env.CHAIN_QUEUE.send({ kind: "release_escrow", ...vault });
  const { operation } = await readBatch(db, { operation: findOperation(db, key) });
  return { ...view, ...toReleaseProgress(operation) };
}

function parseExpectedUnits(amount: string | undefined, { decimals }: Network): bigint | null {
  if (amount === undefined) return null;
  const parsed = parseAmount(amount, decimals);
  if (!parsed.ok) throw toValidationError([toFieldError("amount", parsed.fault)]);
  return BigInt(parsed.units);
}

/** @throws ServiceError when nothing can be released, or not what is expected */
async function judgeRelease(
  { deps, environment }: ManagementCall,
  facts: ExitFacts,
  network: Network,
  expected: bigint | null,
): Promise<{ readonly wallet: string; readonly releasable: bigint }> {
  const escrow = facts.escrows.find((row) => row.environment === environment);
  const on = escrow && pickEscrowEdition(deps, escrow);
  if (!escrow || !on)
    throw toNothingToReleaseError("The agent has no escrow on this network.", { network: network.network });
  if (facts.escrows.some(({ state }) => state === "CONSTRAINED"))
    throw new ServiceError("escrow_constrained", { detail: { network: network.network } });
  const read = await readVault(on, escrow.did);
  if (!read.ok) throw new ServiceError("chain_unavailable", { headers: { "Retry-After": String(RETRY_SECONDS) } });
  const threshold = isLeaving(facts, deps.clock.now()) ? 0n : BigInt(pickVaultThreshold(escrow));
  const releasable = computeSurplus(read.value, threshold);
  const detail = toRefusalDetail(network, read.value, threshold, releasable, facts.operation);
  if (releasable === 0n)
    throw toNothingToReleaseError("The vault holds nothing above its threshold and reserve.", detail);
  if (expected !== null && expected !== releasable)
    throw toNothingToReleaseError(
      "Send exactly what the vault holds above its threshold and reserve, or no amount.",
      detail,
    );
  return { wallet: read.value.wallet ?? escrow.operationalWallet, releasable };
}

const toNothingToReleaseError = (message: string, detail: Record<string, unknown>): ServiceError =>
  new ServiceError("invalid_status", { message, detail });

const toRefusalDetail = (
  network: Network,
  { balance, reserve }: VaultState,
  threshold: bigint,
  releasable: bigint,
  operation: OperationRow | null,
) => ({
  network: network.network,
  releasable: formatTokenUnits(network, releasable),
  held: formatTokenUnits(network, balance),
  threshold: formatTokenUnits(network, threshold),
  reserve: formatTokenUnits(network, reserve),
  ...(operation && { last_release: toLastRelease(operation) }),
});

function toLastRelease(operation: OperationRow) {
  const { status, tx_hash } = toReleaseProgress(operation);
  return { status, tx_hash };
}

/** `scheduled`: the threshold of a leaving provider waits for the contract's delay. */
function toReleaseProgress(
  operation: OperationRow | null,
): Pick<ReleaseView, "status" | "tx_hash" | "reason" | "effective_at"> {
  const effectiveAt = operation?.wanted["effective_at"];
  const scheduled = operation?.status === "waiting" && effectiveAt ? Number(effectiveAt) : null;
  return {
    status: scheduled === null ? STATUSES[operation?.status ?? "waiting"] : "scheduled",
    tx_hash: operation?.txHash ?? null,
    reason: operation?.reason ?? null,
    effective_at: toIsoOrNull(scheduled),
  };
}
const STATUSES = { done: "released", waiting: "waiting", failed: "failed" } as const;
