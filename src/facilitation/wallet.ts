// Checks that the service had registered the paid wallet, in force at the payment's block (FAC-17). The contract pays the wallet that it has stored,
// and a stolen registrar key could have changed that one.
import type { AgentCall } from "../call.ts";
import type { Settled } from "../chain/gateway.ts";
import { commit, readBatch } from "../db/batch.ts";
import type { EscrowRow } from "../db/tables/money.ts";
import { findIsWalletNamed } from "../escrow/wallet-store.ts";
import { wasRegistered } from "../escrow/wallets.ts";
import { findMarketsEverywhere } from "../identity/store.ts";
import { raiseAlert } from "../journal/alerts.ts";
import { type Mined, toUnansweredError, toUnverifiedError } from "./evidence.ts";

type PaidSettlement = {
  readonly providerDid: string;
  readonly network: string;
  readonly settlement: Pick<Settled, "operationalWallet">;
  readonly mined: Mined;
  /** The block up to which the follower has booked. */
  readonly bookedBlock: number | null;
};

/** Sends the follower, which may not have read yet that a wallet of the provider named this one, and refuses for now. */
function awaitFollower(call: AgentCall, network: string): never {
  call.background(call.deps.env.CHAIN_QUEUE.send({ kind: "follow_chain", network }).catch(() => undefined));
  throw toUnansweredError("wallet_unread");
}

export async function requireWallet(call: AgentCall, paid: PaidSettlement, escrow: EscrowRow | null): Promise<void> {
  const { db } = call;
  const { providerDid, network, settlement, mined, bookedBlock } = paid;
  const wallet = settlement.operationalWallet;
  if (escrow && wasRegistered(escrow, wallet, mined.minedAt)) return;
  const { markets, named } = await readBatch(db, {
    markets: findMarketsEverywhere(db, providerDid),
    named: findIsWalletNamed(db, { did: providerDid, network, wallet }),
  });
  if (named) return;
  // The contract may already have a wallet that its markets still wait for.
  const requested = markets.some(
    (row) =>
      row.network === network && row.status !== "FAILED" && [row.operationalWallet, row.pendingWallet].includes(wallet),
  );
  if (requested) return;
  if ((bookedBlock ?? 0) < mined.blockNumber) return awaitFollower(call, network);
  const registered = escrow?.operationalWallet ?? null;
  await commit(db, [
    raiseAlert(db, {
      kind: "operational_wallet",
      subject: `${providerDid} on ${network}`,
      message:
        `A payment in block ${mined.blockNumber} went to ${wallet}. The service has ${registered ?? "no wallet"} for this provider, and no wallet of ` +
        "the provider changed it on-chain. The change came through the authority: if this service did not request it, the registrar's key may be " +
        "compromised.",
    }),
  ]);
  throw toUnverifiedError("other_wallet", {
    paid_wallet: wallet,
    registered_wallet: registered,
    block: mined.blockNumber,
    confirmed_by: null,
  });
}
