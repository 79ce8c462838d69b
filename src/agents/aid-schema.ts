// Specification 2.5 on the wire: the identity document with its five pillars, and the DID document. Loose, because what is signed
// grows: a reader takes what it knows.
import { z } from "@hono/zod-openapi";
import { instant } from "../http/schemas.ts";
import { scopeView } from "./schema.ts";
import { AGENT_STATUSES } from "./states.ts";

const amount = z.string().openapi({ description: "Whole currency units, decimal.", example: "10.50" });

/** Of the agent's P-256 key. */
const publicJwk = z.looseObject({
  kty: z.literal("EC"),
  crv: z.literal("P-256"),
  x: z.string(),
  y: z.string(),
});

const identityPillar = z.looseObject({
  did: z.string(),
  profile: z.looseObject({
    display_name: z.string(),
    description: z.string().nullable(),
    catalog_url: z.string().nullable(),
  }),
  economic_role: z.string(),
  cert_tier: z.string(),
  principal: z.looseObject({
    id: z.string(),
    name: z.string(),
    country: z.string(),
    verification: z.looseObject({
      attestation_id: z.string(),
      verifier_id: z.string(),
      model: z.string(),
      issued_at: instant,
      expires_at: instant,
      tier: z.string().optional(),
    }),
  }),
  endpoint_url: z.string(),
  scope: scopeView,
  authorized_markets: z.array(z.string()),
  certificate: z.string().nullable().openapi({ description: "Null before activation, as the key is." }),
  public_key_jwk: publicJwk.nullable(),
  delegation: z.looseObject({ delegated_by: z.string() }).nullable(),
});

const performancePillar = z.looseObject({
  agent_rating: z.number().min(0).max(1).nullable(),
  interactions: z.number().int(),
  settled_volume: z.array(z.looseObject({ currency: z.string(), amount })),
  as_of: instant,
});

const escrowPillar = z.looseObject({
  liability_profile: z.looseObject({
    total_balance: amount,
    effective_threshold: amount,
    escrow_state: z.string(),
    currency: z.string(),
  }),
  wallets: z.array(
    z.looseObject({
      market: z.string(),
      network: z.string(),
      caip2: z.string(),
      escrow_wallet: z.string(),
      operational_wallet: z.string(),
    }),
  ),
});

const disputesPillar = z.looseObject({
  open: z.number().int(),
  resolved_for: z.number().int(),
  resolved_against: z.number().int(),
  dispute_window_days: z.number().int(),
  policy: z.string(),
});

const detachedJws = z.string().nullable().openapi({
  description:
    "Detached JWS over the canonical JSON (RFC 8785) of the rest but `live`; null while the agent is a DRAFT.",
});

export const aidView = z
  .looseObject({
    version: z.number().int(),
    revision: z.number().int(),
    did: z.string(),
    issuer: z.string(),
    issued_at: instant,
    identity: identityPillar,
    performance: performancePillar
      .partial()
      .openapi({ description: "Empty in an earlier version: no platform's to say." }),
    escrow: escrowPillar
      .nullable()
      .openapi({ description: "Null for a role without escrow, and in an earlier version." }),
    disputes: disputesPillar.partial({ open: true, resolved_for: true, resolved_against: true }),
    governance: z.looseObject({ operator: z.string(), jurisdiction: z.string(), enterprise: z.null() }),
    proof: detachedJws,
    live: z
      .object({ status: z.enum(AGENT_STATUSES), environment: z.enum(["sandbox", "production"]), as_of: instant })
      .optional()
      .openapi({ description: "Not signed: true at `as_of` alone." }),
    status: z.string().optional().openapi({ description: "In the answer to a registration." }),
  })
  .openapi("AgentIdentityDocument");

export const didDocumentView = z
  .looseObject({
    "@context": z.array(z.string()),
    id: z.string(),
    verificationMethod: z.array(
      z.looseObject({
        id: z.string(),
        type: z.literal("JsonWebKey"),
        controller: z.string(),
        publicKeyJwk: publicJwk.extend({ alg: z.literal("ES256"), kid: z.string() }),
      }),
    ),
    authentication: z.array(z.string()).optional(),
    assertionMethod: z.array(z.string()).optional(),
    service: z.array(z.looseObject({ id: z.string(), type: z.string(), serviceEndpoint: z.string() })).optional(),
  })
  .openapi("DidDocument");
