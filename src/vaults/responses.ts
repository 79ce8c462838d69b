// Responses about vaults: an escrow (MKT-26) and its release (MKT-29) for a platform, and differences for an operator (MKT-28).
import * as z from "zod";
import { escrowView } from "../agents/schema.ts";
import { LEDGER_KINDS } from "../core/vocabulary.ts";
import { buildListSchema } from "../http/response-parts.ts";
import { amount, did, escrowState, instant } from "../http/schemas.ts";
import { agentParams } from "../identity/schema.ts";

const movementView = z
  .object({
    kind: z.enum(LEDGER_KINDS).register(z.globalRegistry, { id: "MovementKind" }),
    amount,
    held: amount,
    transaction_id: z.string().nullable(),
    tx_hash: z.string().nullable(),
    block_number: z.number().int(),
    mined_at: instant,
  })
  .register(z.globalRegistry, { id: "VaultMovement" });

const vaultView = z
  .object({
    ...escrowView.shape,
    as_of_block: z.number().int().nullable(),
    operational_wallet: z.string(),
    base_threshold: amount,
    chain_threshold: amount,
    held: amount,
    contributed: amount,
    movements: z.array(movementView),
  })
  .register(z.globalRegistry, { id: "Vault" });
export type VaultView = z.infer<typeof vaultView>;

export const escrowReport = agentParams
  .extend({ escrow_state: escrowState.nullable(), escrow: z.array(vaultView) })
  .register(z.globalRegistry, { id: "EscrowReport" });
export type EscrowReport = z.infer<typeof escrowReport>;

export const releaseView = agentParams
  .extend({
    network: z.string(),
    caip2: z.string(),
    currency: z.string(),
    amount,
    operational_wallet: z.string(),
    status: z.enum(["waiting", "scheduled", "released", "failed"]).register(z.globalRegistry, { id: "ReleaseStatus" }),
    tx_hash: z.string().nullable(),
    reason: z.string().nullable(),
    effective_at: instant.nullable(),
  })
  .register(z.globalRegistry, { id: "Release" });
export type ReleaseView = z.infer<typeof releaseView>;

// ---- Differences between vaults and their ledgers (MKT-28) ---------------------------------------------------------------

export const differenceView = z
  .object({
    network: z.string(),
    caip2: z.string(),
    did,
    contract: z.string(),
    currency: z.string(),
    held: amount,
    expected: amount,
    block_number: z.number().int(),
    found_at: instant,
    alert_id: z.string().nullable(),
  })
  .register(z.globalRegistry, { id: "LedgerDifference" });
export type DifferenceView = z.infer<typeof differenceView>;

export const differenceList = buildListSchema(differenceView).register(z.globalRegistry, {
  id: "LedgerDifferenceList",
});
