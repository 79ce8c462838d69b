// Responses about the identity of agents. Documents and results are loose objects, because later versions may add members, which readers
// ignore (HTTP-33).
import * as z from "zod";
import { jws } from "../http/response-parts.ts";
import {
  agentStatus,
  amount,
  attestationModel,
  did,
  economicRole,
  environment,
  escrowState,
  fraction,
  instant,
  jsonObject,
  principalStatus,
  registeredUrl,
  tier,
  url,
} from "../http/schemas.ts";
import { profileView, scopeView } from "./schema.ts";

export const ecKey = { kty: z.literal("EC"), crv: z.literal("P-256"), x: z.string(), y: z.string() };

export const verificationMethodView = z
  .looseObject({
    id: z.string(),
    type: z.literal("JsonWebKey"),
    controller: z.string(),
    publicKeyJwk: z.looseObject({ ...ecKey, alg: z.literal("ES256"), kid: z.string() }),
  })
  .register(z.globalRegistry, { id: "VerificationMethod" });

export const didServiceView = z
  .looseObject({ id: z.string(), type: z.string(), serviceEndpoint: url })
  .register(z.globalRegistry, { id: "DidService" });

export const didDocumentView = z
  .looseObject({
    "@context": z.array(z.string()),
    id: z.string(),
    alsoKnownAs: z.array(z.string()),
    verificationMethod: z.array(verificationMethodView),
    authentication: z.array(z.string()).optional(),
    assertionMethod: z.array(z.string()).optional(),
    service: z.array(didServiceView).optional(),
  })
  .register(z.globalRegistry, { id: "DidDocument" });

const publicJwk = z.looseObject(ecKey).register(z.globalRegistry, { id: "PublicJwk" });

const identityPillar = z.looseObject({
  did,
  profile: profileView,
  economic_role: economicRole,
  cert_tier: tier,
  principal: z.looseObject({
    id: z.string(),
    name: z.string(),
    country: z.string(),
    verification: z.looseObject({
      attestation_id: z.string(),
      verifier_id: z.string(),
      model: attestationModel,
      issued_at: instant,
      expires_at: instant,
      tier: tier.optional(),
      signed: z.boolean().optional(),
    }),
  }),
  endpoint_url: registeredUrl,
  scope: scopeView,
  authorized_markets: z.array(z.string()),
  certificate: jws.nullable(),
  public_key_jwk: publicJwk.nullable(),
  delegation: z.looseObject({ delegated_by: did, chain: z.array(did) }).nullable(),
});

const settledVolumes = z
  .array(z.looseObject({ currency: z.string(), amount }).register(z.globalRegistry, { id: "SettledVolume" }))
  .register(z.globalRegistry, { id: "SettledVolumes" });

export const performancePillar = z.looseObject({
  agent_rating: fraction.nullable(),
  interactions: z.number().int(),
  settled_volume: settledVolumes,
  as_of: instant,
});

const liabilityProfile = z
  .looseObject({ total_balance: amount, effective_threshold: amount, escrow_state: escrowState, currency: z.string() })
  .register(z.globalRegistry, { id: "LiabilityProfile" });

const escrowPillar = z.looseObject({
  liability_profile: liabilityProfile,
  liability_profiles: z.array(liabilityProfile),
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

/** A warning in the answer to a call that is not refused (PRN-10). */
export const agentWarning = z
  .object({
    code: z.literal("attestation_tier_below_role"),
    message: z.string(),
    attested_tier: tier,
    required_tier: tier,
  })
  .register(z.globalRegistry, { id: "AgentWarning" });

export const aidView = z
  .looseObject({
    version: z.number().int(),
    revision: z.number().int(),
    did,
    issuer: url,
    issued_at: instant,
    identity: identityPillar,
    performance: performancePillar.partial(),
    escrow: escrowPillar.nullable(),
    disputes: disputesPillar.partial({ open: true, resolved_for: true, resolved_against: true }),
    governance: z.looseObject({ operator: z.string(), jurisdiction: z.string(), enterprise: z.null() }),
    proof: jws.nullable(),
    live: z.object({ status: agentStatus, environment: environment, as_of: instant }).optional(),
    status: agentStatus.optional(),
    warnings: z.array(agentWarning).optional(),
  })
  .register(z.globalRegistry, { id: "AgentIdentityDocument" });

export const statusView = z
  .object({
    did,
    status: agentStatus,
    environment: environment,
    cert_tier: tier,
    economic_role: economicRole,
    escrow_state: escrowState.nullable(),
    agent_rating: fraction.nullable(),
    principal_status: principalStatus,
    aid_version: z.number().int(),
    aid_revision: z.number().int(),
    as_of: instant,
  })
  .register(z.globalRegistry, { id: "AgentStatus" });

export const certificateView = z
  .object({ did, certificate: jws, certificate_expires_at: instant, key_id: z.string() })
  .register(z.globalRegistry, { id: "AgentCertificate" });

// ---- The handshake (IDN-25) ----------------------------------------------------------------------------------------------

export const challengeView = z
  .object({ nonce: z.string().min(16), expires_in: z.number().int(), expires_at: instant })
  .register(z.globalRegistry, { id: "Challenge" });

export const certificateCheck = z
  .object({
    valid: z.boolean(),
    reason: z.string().nullable(),
    agent_id: z.string().nullable(),
    cert_tier: z.string().nullable(),
    economic_role: z.string().nullable(),
    claims: jsonObject.nullable(),
  })
  .register(z.globalRegistry, { id: "CertificateCheck" });

export const proofCheck = z
  .object({ verified: z.boolean(), reason: z.string().nullable(), agent_id: z.string().nullable() })
  .register(z.globalRegistry, { id: "ProofCheck" });

export const aidCheck = z
  .object({
    valid: z.boolean(),
    reason: z.string().nullable(),
    did: did.nullable(),
    version: z.number().int().nullable(),
    revision: z.number().int().nullable(),
  })
  .register(z.globalRegistry, { id: "AidCheck" });

const jwk = z.object({
  kty: z.literal("EC"),
  crv: z.literal("P-256"),
  x: z.string(),
  y: z.string(),
  kid: z.string(),
  use: z.literal("sig"),
  alg: z.literal("ES256"),
});
export const jwksView = z.object({ keys: z.array(jwk) }).register(z.globalRegistry, { id: "Jwks" });

export const discoveryView = z
  .object({
    service_did: did,
    issuer: url,
    jwks_uri: url,
    challenge_endpoint: url,
    status_lists_uri: url,
    proof_formats: z.array(z.string()),
    status_page: url.nullable(),
  })
  .register(z.globalRegistry, { id: "Discovery" });

// ---- DID resolution ------------------------------------------------------------------------------------------------------

const resolutionError = z
  .looseObject({ type: z.string(), title: z.string(), detail: z.string() })
  .register(z.globalRegistry, { id: "DidResolutionError" });
const processMetadata = z
  .looseObject({ contentType: z.string().optional(), error: resolutionError.optional() })
  .register(z.globalRegistry, { id: "DidResolutionMetadata" });
const documentMetadata = z
  .looseObject({ created: z.string().optional(), deactivated: z.boolean().optional() })
  .register(z.globalRegistry, { id: "DidDocumentMetadata" });

export const resolutionView = z
  .looseObject({
    "@context": z.string(),
    didDocument: didDocumentView.nullable(),
    didResolutionMetadata: processMetadata,
    didDocumentMetadata: documentMetadata,
  })
  .register(z.globalRegistry, { id: "DidResolution" });

export const contentView = z
  .union([didDocumentView, verificationMethodView, didServiceView])
  .register(z.globalRegistry, { id: "DidUrlContent" });

export const dereferencingView = z
  .looseObject({
    "@context": z.string(),
    contentStream: contentView.nullable(),
    content: contentView.nullable(),
    dereferencingMetadata: processMetadata,
    contentMetadata: documentMetadata,
  })
  .register(z.globalRegistry, { id: "DidUrlDereferencing" });

/** JSON-LD without further distinction: with a profile it is a result, without one the content itself. */
export const linkedView = z
  .union([resolutionView, dereferencingView, contentView])
  .register(z.globalRegistry, { id: "DidLinkedData" });

export const contextView = z.looseObject({ "@context": jsonObject }).register(z.globalRegistry, { id: "AgentContext" });

// ---- The keys of the CA, for operators (IDN-29) --------------------------------------------------------------------------

const authorityKeyView = z
  .object({
    kid: z.string(),
    use: z.enum(["signing", "published", "revoked", "missing", "dropped"]),
    published_at: instant,
    usable_from: instant,
    first_certificate_at: instant.nullable(),
    last_certificate_at: instant.nullable(),
    droppable_from: instant.nullable(),
  })
  .register(z.globalRegistry, { id: "AuthorityKey" });
export type AuthorityKeyView = z.infer<typeof authorityKeyView>;

export const authorityView = z
  .object({ keys: z.array(authorityKeyView), faults: z.array(z.string()) })
  .register(z.globalRegistry, { id: "Authority" });
export type AuthorityView = z.infer<typeof authorityView>;
