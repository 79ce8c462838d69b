// Tends the transactions of the service's keys each minute: resends or replaces waiting ones, and alerts about gas and delays (CHN-17, JOB-9).

import { recordLowGas } from "../chain/availability-store.ts";
import { computeGasThreshold, type Network, requireNetwork } from "../chain/networks.ts";
import type { SignerName } from "../chain/roles.ts";
import type { Deps } from "../context.ts";
import { BEFORE_FIRST_DUE } from "../core/due.ts";
import { LOW_GAS_SECONDS, MINUTE_MS, SECOND_MS } from "../core/limits.ts";
import { commit } from "../db/batch.ts";
import type { EachJob } from "../jobs/job.ts";
import { type Alert, raiseAlert } from "../journal/alerts.ts";
import { tendSigner } from "../objects/signers.ts";
import type { SignerStanding } from "../objects/transactions.ts";

/** A transaction that has waited longer raises an alert. */
const WAITING_TOO_LONG_MS = 5 * MINUTE_MS;
/** The network takes no new intents until its account has not been found low for this long (PAY-24). */
const LOW_GAS_MS = LOW_GAS_SECONDS * SECOND_MS;

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
