// Facilitation in its two forms on the wire, and the transaction that it makes (FAC-1).
import * as z from "zod";
import { parseTxHash } from "../chain/hashes.ts";
import { findNetwork, type Network } from "../chain/networks.ts";
import { type FieldError, toFieldError } from "../core/errors.ts";
import { TRANSACTION_STATUSES } from "../core/vocabulary.ts";
import { didInput, idInput, networkInput } from "../http/schemas.ts";

const txHash = z
  .string()
  .regex(/^(0x)?[0-9a-fA-F]{64}$/, "Must be a transaction hash: 64 hexadecimal digits, with or without 0x.")
  .register(z.globalRegistry, { id: "TxHashInput" });

/** The members of each form. Both forms accept either name of the hash. */
const FORMS = (["payment_tx", "tx_hash"] as const).flatMap((hash) => [
  ["intent_id", hash],
  ["provider_did", "consumer_did", "network", hash],
]);

/**
 * One strict body for both forms: an intent (`intent_id`, `payment_tx`), or only a payment (`provider_did`, `consumer_did`, `tx_hash`, `network`),
 * which finds its intent. A member of the other form is checked, never ignored.
 */
export const facilitationInput = z
  .strictObject({
    intent_id: idInput.optional(),
    payment_tx: txHash.optional(),
    tx_hash: txHash.optional(),
    provider_did: didInput.optional(),
    consumer_did: didInput.optional(),
    network: networkInput.optional(),
  })
  .register(z.globalRegistry, { id: "FacilitationInput", anyOf: FORMS.map((required) => ({ required })) });

export type FacilitationInput = z.infer<typeof facilitationInput>;

const CLIENT_FIELDS = ["provider_did", "consumer_did", "network"] as const;

/** The members that the body lacks in its form. */
export function findFacilitationFaults(raw: unknown): FieldError[] {
  if (typeof raw !== "object" || raw === null) return [];
  const body = raw as Record<string, unknown>;
  const given = (name: string) => body[name] !== undefined;
  const named = given("intent_id") || !CLIENT_FIELDS.some(given);
  const required = named ? ["intent_id"] : CLIENT_FIELDS;
  const missing = required.filter((name) => !given(name)).map((name) => toFieldError(name, "required"));
  const hash = named ? "payment_tx" : "tx_hash";
  if (!given("payment_tx") && !given("tx_hash")) missing.push(toFieldError(hash, "required"));
  if (
    given("payment_tx") &&
    given("tx_hash") &&
    normalizeTxHash(body["payment_tx"]) !== normalizeTxHash(body["tx_hash"])
  ) {
    missing.push(toFieldError("tx_hash", "invalid_value", "payment_tx and tx_hash name different transactions."));
  }
  return missing;
}

/** A hash may be written with or without 0x, in either case (FAC-1). */
const normalizeTxHash = (value: unknown): unknown =>
  typeof value === "string" ? (parseTxHash(value) ?? value) : value;

/** The act that a proof of facilitation covers: this payment for this intent or this pair, however the body writes it (PRF-8). */
export function toFacilitationAct(body: FacilitationInput, networks: readonly Network[]): string {
  const hash = parseTxHash(body.payment_tx ?? body.tx_hash ?? "") ?? "";
  const { intent_id, provider_did, consumer_did, network = "" } = body;
  if (intent_id !== undefined) return JSON.stringify([intent_id, hash]);
  return JSON.stringify([provider_did, consumer_did, findNetwork(networks, network)?.network ?? network, hash]);
}

/** The parties in a body that the schema refuses, as far as their members are valid. */
const namedParties = z.object({
  intent_id: idInput.optional().catch(undefined),
  provider_did: didInput.optional().catch(undefined),
});
export type NamedParties = { readonly intentId: string | undefined; readonly providerDid: string | undefined };

export function parseNamedParties(raw: unknown): NamedParties {
  const { data } = namedParties.safeParse(raw);
  return { intentId: data?.intent_id, providerDid: data?.provider_did };
}

export const transactionStatus = z.enum(TRANSACTION_STATUSES).register(z.globalRegistry, { id: "TransactionStatus" });

export const facilitationParams = z.object({ facilitation_id: z.string() });
