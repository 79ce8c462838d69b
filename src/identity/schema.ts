// The identity document, the DID document, the status and the certificate on the wire. Documents are loose objects, because later
// versions add members that readers ignore (HTTP-33).
import * as z from "zod";
import { INTENTS_FROM } from "../core/vocabulary.ts";
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
  jws,
  principalStatus,
  registeredUrl,
  tier,
  url,
  wholeNumber,
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

const ecKey = { kty: z.literal("EC"), crv: z.literal("P-256"), x: z.string(), y: z.string() };
/** The agent's public P-256 key. */
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

/** What the answer to a call that is not refused warns of (PRN-10). */
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

const numbered = wholeNumber(z.number().min(1)).optional();
export const aidQuery = z
  .strictObject({ version: numbered, revision: numbered })
  .refine(({ version, revision }) => version === undefined || revision === undefined, {
    path: ["revision"],
    params: { code: "invalid_value" },
    message: "Must not be given together with version.",
  });
