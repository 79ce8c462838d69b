// Networks as operators see them (CHN-32): as configured, as their chains have them, and how far they are read. A value of a chain is null if its
// node does not state it.
import * as z from "zod";
import { SIGNER_ROLE_NAMES, SIGNERS } from "../chain/sign.ts";
import { SCHEDULED_SHOWN_MAX } from "../core/limits.ts";
import { buildListSchema } from "../http/response-parts.ts";
import { instant, url } from "../http/schemas.ts";
import { closure } from "../jobs/responses.ts";

const count = z.number().int();
const signerName = z.enum(SIGNERS).register(z.globalRegistry, { id: "SignerName" });

const editionConfigured = z
  .object({ settlement_contract: z.string(), authority: z.string() })
  .register(z.globalRegistry, { id: "ConfiguredEdition" });

/** Leaves out the addresses of nodes, which may carry a key (CHN-12). */
const configured = z
  .object({
    chain_id: count,
    kind: z.enum(["testnet", "mainnet"]),
    ...editionConfigured.shape,
    earlier_editions: z.array(editionConfigured),
    token: z.string(),
    currency: z.string(),
    decimals: count,
    escrow_base: z.string(),
    required_confirmations: count,
    first_block: count,
    ask_twice_from: z.string(),
    block_seconds: z.number(),
    expected_operations: z.array(z.string()),
    explorer: url.nullable(),
    max_fee_gwei: z.number(),
    max_tip_gwei: z.number(),
    low_gas_eth: z.number(),
  })
  .register(z.globalRegistry, { id: "ConfiguredNetwork" });

const node = z
  .object({ chain_id: count.nullable(), head_block: count.nullable(), head_at: instant.nullable() })
  .register(z.globalRegistry, { id: "NetworkNode" });

const token = z
  .object({ has_code: z.boolean(), decimals: count.nullable(), symbol: z.string().nullable() })
  .register(z.globalRegistry, { id: "TokenOnChain" });

const role = z
  .object({
    role: z.enum(SIGNER_ROLE_NAMES),
    holder: signerName,
    held: z.boolean().nullable(),
    delay_seconds: count.nullable(),
    grant_delay_seconds: count.nullable(),
  })
  .register(z.globalRegistry, { id: "RoleOnChain" });

const edition = z
  .object({
    settlement_contract: z.string(),
    authority: z.string().nullable(),
    has_code: z.boolean(),
    fee_bps: count.nullable(),
    fee_recipient: z.string().nullable(),
    paused: z.boolean().nullable(),
    token_base: z.string().nullable(),
    wallet_delay_seconds: count.nullable(),
    payout_delay_seconds: count.nullable(),
    admin_delay_seconds: count.nullable(),
    roles: z.array(role),
  })
  .register(z.globalRegistry, { id: "EditionOnChain" });

const signer = z
  .object({
    signer: signerName,
    address: z.string().nullable(),
    balance_eth: z.string().nullable(),
    low_gas: z.boolean().nullable(),
  })
  .register(z.globalRegistry, { id: "SignerAccount" });

/** A call to the authority: its address, and the encoded call. */
const authorityCall = z
  .object({ to: z.string(), data: z.string() })
  .register(z.globalRegistry, { id: "AuthorityCall" });

const scheduledCall = z
  .object({
    operation_id: z.string(),
    authority: z.string(),
    caller: z.string(),
    target: z.string(),
    data: z.string().nullable(),
    effect: z.string().nullable(),
    asked_for: z.boolean(),
    tx_hash: z.string(),
    scheduled_at: instant,
    executable_from: instant,
    executable_until: instant,
    guardian_cancels: z.boolean().nullable(),
    cancellation: authorityCall.nullable(),
  })
  .register(z.globalRegistry, { id: "ScheduledCall" });

/** A short list with a bound. `count`: the number of all calls. */
const scheduled = z
  .object({ count, calls: z.array(scheduledCall).max(SCHEDULED_SHOWN_MAX) })
  .register(z.globalRegistry, { id: "ScheduledCalls" });

const follower = z
  .object({
    read_through: instant.nullable(),
    lag_seconds: count.nullable(),
    head_block: count.nullable(),
    booked_block: count.nullable(),
    closed: closure.nullable(),
  })
  .register(z.globalRegistry, { id: "NetworkFollower" });

const networkState = z
  .object({
    network: z.string(),
    caip2: z.string(),
    configured,
    node,
    fallback_node: node.nullable(),
    token: token.nullable(),
    editions: z.array(edition),
    signers: z.array(signer),
    scheduled,
    follower,
    faults: z.array(z.string()),
  })
  .register(z.globalRegistry, { id: "NetworkState" });
export type NetworkState = z.infer<typeof networkState>;

export const networkList = buildListSchema(networkState)
  .extend({ configuration_fault: z.string().nullable() })
  .register(z.globalRegistry, { id: "NetworkList" });
export type NetworkPage = z.infer<typeof networkList>;
