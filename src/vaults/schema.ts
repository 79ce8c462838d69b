// What a platform sees of a provider's escrow (MKT-26).
import * as z from "zod";
import { escrowView } from "../agents/schema.ts";
import { LEDGER_KINDS } from "../core/vocabulary.ts";
import { amount, escrowState, instant } from "../http/schemas.ts";
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
