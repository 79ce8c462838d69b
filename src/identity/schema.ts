// An agent's scope and profile, and the requests of its public routes, of the handshake and of the DID resolver. The documents are in responses.ts
// (HTTP-33).
import * as z from "zod";
import { AID_MAX_CHARS, CERTIFICATE_MAX_CHARS } from "../core/limits.ts";
import { INTENTS_FROM } from "../core/vocabulary.ts";
import {
  amount,
  buildWholeNumberSchema,
  did,
  didInput,
  fraction,
  jsonObject,
  registeredUrl,
  tier,
} from "../http/schemas.ts";

export const agentParams = z.object({ did: did });

export const intentsFrom = z.enum(INTENTS_FROM).register(z.globalRegistry, { id: "IntentsFrom" });

export const scopeView = z
  .object({
    authorized_actions: z.array(z.string()),
    capabilities: z.array(z.string()),
    dispute_window_days: z.number().int(),
    max_transaction_value: amount.nullable().optional(),
    spending_limit: z
      .object({ amount, currency: z.string(), window_days: z.number().int() })
      .register(z.globalRegistry, { id: "SpendingLimit" })
      .nullable()
      .optional(),
    minimum_counterparty_cert_tier: tier.nullable().optional(),
    minimum_counterparty_ar: fraction.nullable().optional(),
    intents_from: intentsFrom.optional(),
  })
  .register(z.globalRegistry, { id: "AgentScope" });

export const profileView = z
  .object({ display_name: z.string(), description: z.string().nullable(), catalog_url: registeredUrl.nullable() })
  .register(z.globalRegistry, { id: "AgentProfile" });

const documentNumber = buildWholeNumberSchema(z.number().min(1)).optional();
export const aidQuery = z
  .strictObject({ version: documentNumber, revision: documentNumber })
  .refine(({ version, revision }) => version === undefined || revision === undefined, {
    path: ["revision"],
    params: { code: "invalid_value" },
    message: "Must not be given together with version.",
  });

// ---- Handshake (IDN-25) -------------------------------------------------------------------------------------------------

const certificate = z.string().min(1).max(CERTIFICATE_MAX_CHARS);
export const certificateInput = z.strictObject({ certificate }).register(z.globalRegistry, { id: "CertificateInput" });

const shared = { certificate, proof: z.string().min(1).max(1000), timestamp: z.string().min(1).max(64) };

export const proofInput = z
  .discriminatedUnion("proof_type", [
    z.strictObject({ proof_type: z.literal("challenge_response"), nonce: z.string().min(1).max(256), ...shared }),
    z.strictObject({ proof_type: z.literal("bound_proof"), callee_did: didInput, ...shared }),
  ])
  .register(z.globalRegistry, { id: "ProofInput" });
export type ProofInput = z.infer<typeof proofInput>;

export const aidInput = z
  .strictObject({ aid: z.union([z.string().min(1).max(AID_MAX_CHARS), jsonObject]) })
  .register(z.globalRegistry, { id: "AidInput" });

// ---- DID resolver -------------------------------------------------------------------------------------------------------

/** Any text, so that an invalid DID is answered as the binding prescribes. */
export const identifierParams = z.object({ identifier: z.string() });

const parameter = z.string().optional();
/** The parameters of a DID URL and the options of the resolution; unknown ones are judged together with the known ones. */
export const resolutionQuery = z.looseObject({
  accept: parameter,
  service: parameter,
  serviceType: parameter,
  relativeRef: parameter,
  versionId: parameter,
  versionTime: parameter,
  expandRelativeUrls: parameter,
  noCache: parameter,
});
