// The wallet that a settlement paid must be one that the service registered, in force at the payment's block (FAC-17). The contract pays the
// wallet that it has: a registrar's key in other hands could have given it another one.
import type { AgentCall } from "../call.ts";
import type { Settled } from "../chain/gateway.ts";
import { commit, readBatch } from "../db/batch.ts";
import type { EscrowRow } from "../db/tables/money.ts";
import { wasInForce } from "../escrow/wallets.ts";
import { findMarketsEverywhere } from "../identity/store.ts";
import { raiseAlert } from "../journal/alerts.ts";
import { unverified } from "./evidence.ts";

type Paid = {
  readonly providerDid: string;
  readonly network: string;
  readonly settlement: Pick<Settled, "operationalWallet">;
  /** Epoch milliseconds of the block. */
  readonly minedAt: number;
};

export async function requireWallet({ db }: AgentCall, paid: Paid, escrow: EscrowRow | null): Promise<void> {
  const { providerDid, network, settlement, minedAt } = paid;
  const wallet = settlement.operationalWallet;
  if (escrow && wasInForce(escrow, wallet, minedAt)) return;
  // The contract may have a wallet already that its markets still wait for.
  const { markets } = await readBatch(db, { markets: findMarketsEverywhere(db, providerDid) });
  const requested = markets.some(
    (row) =>
      row.network === network && row.status !== "FAILED" && [row.operationalWallet, row.pendingWallet].includes(wallet),
  );
  if (requested) return;
  await commit(db, [
    raiseAlert(db, {
      kind: "operational_wallet",
      subject: `${providerDid} on ${network}`,
      message: `A payment went to ${wallet}, which the service never registered for this provider: the registrar's key may be in other hands.`,
    }),
  ]);
  throw unverified("other_wallet");
}
