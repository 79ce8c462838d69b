// Every member that the service shows to anyone, by operation: the members that the contract and the specification name as public. No list names a
// member that a platform keeps for itself (its references, its words, its customers, its reasons).
import { each, type Shape, signed } from "./public-shapes.ts";
import { AID_CONTENT, CERTIFICATE, CERTIFICATE_CLAIMS, JWK, STATUS_LIST } from "./public-signed-fields.ts";

/** The forms of an operation's answers: JSON, or a text that is a JWS. A page of the service is the same for every caller. */
export type PublicAnswer = { readonly json?: Shape; readonly text?: Shape | "page" };

// ---- DID documents -------------------------------------------------------------------------------------------------------

const DID_METHOD = { id: true, type: true, controller: true, publicKeyJwk: { ...JWK, alg: true, kid: true } } as const;
const DID_SERVICE = { id: true, type: true, serviceEndpoint: true } as const;
const DID_DOCUMENT = {
  "@context": true,
  id: true,
  alsoKnownAs: true,
  verificationMethod: [DID_METHOD],
  authentication: true,
  assertionMethod: true,
  service: [DID_SERVICE],
} as const satisfies Shape;
/** A document, or one of its keys or services. */
const DID_CONTENT = { ...DID_DOCUMENT, ...DID_METHOD, ...DID_SERVICE } as const satisfies Shape;
const DID_PROCESS: Shape = { contentType: true, error: { type: true, title: true, detail: true } };
const DID_METADATA: Shape = { created: true, deactivated: true };

// ---- Operations ----------------------------------------------------------------------------------------------------------

const JWKS: Shape = { keys: [{ ...JWK, kid: true, use: true, alg: true }] };
const RATING_SIGNAL: Shape = { r: true, weight_factor: true };
const METHOD_MINIMUM: Shape = { sandbox: true, production: true };
const ASKED: Shape = { status: true };

export const PUBLIC: Readonly<Record<string, PublicAnswer>> = {
  // About an agent.
  getAgentAid: {
    json: { ...AID_CONTENT, proof: signed({}), live: { status: true, environment: true, as_of: true } },
    text: signed(AID_CONTENT),
  },
  getAgentStatus: {
    json: {
      did: true,
      status: true,
      environment: true,
      cert_tier: true,
      economic_role: true,
      escrow_state: true,
      agent_rating: true,
      principal_status: true,
      aid_version: true,
      aid_revision: true,
      as_of: true,
    },
  },
  getAgentCertificate: {
    json: { did: true, certificate: CERTIFICATE, certificate_expires_at: true, key_id: true },
  },
  getAgentDidDocument: { json: DID_DOCUMENT },
  getAgentDidWebDocument: { json: DID_DOCUMENT },
  // A result, or the requested object itself.
  resolveDid: {
    json: {
      ...DID_CONTENT,
      didDocument: DID_DOCUMENT,
      didResolutionMetadata: DID_PROCESS,
      didDocumentMetadata: DID_METADATA,
      contentStream: DID_CONTENT,
      content: DID_CONTENT,
      dereferencingMetadata: DID_PROCESS,
      contentMetadata: DID_METADATA,
    },
  },
  getContext: {
    json: { "@context": { "@version": true, "@protected": true, AgentIdentityDocument: true, AgentEndpoint: true } },
  },
  getAgentRating: {
    json: {
      did: true,
      agent_rating: true,
      interactions: true,
      counterparties: true,
      sums: { weight: true, weighted: true },
      heaviest: [{ position: true, weight: true, weighted: true }],
      method: {
        version: true,
        origin: true,
        half_life_days: true,
        kappa: true,
        mu: true,
        max_share: true,
        minimum_interactions: true,
        minimum_counterparties: true,
      },
      as_of: true,
    },
  },
  // The handshake. Any caller that presents a certificate gets its content.
  getChallenge: { json: { nonce: true, expires_in: true, expires_at: true } },
  verifyCertificate: {
    json: {
      valid: true,
      reason: true,
      agent_id: true,
      cert_tier: true,
      economic_role: true,
      claims: CERTIFICATE_CLAIMS,
    },
  },
  verifyProof: { json: { verified: true, reason: true, agent_id: true } },
  verifyAid: { json: { valid: true, reason: true, did: true, version: true, revision: true } },
  // About the service.
  getCaJwks: { json: JWKS },
  getCaJwksJson: { json: JWKS },
  getDiscovery: {
    json: {
      service_did: true,
      issuer: true,
      jwks_uri: true,
      challenge_endpoint: true,
      status_lists_uri: true,
      proof_formats: true,
      status_page: true,
    },
  },
  getStatusList: { text: signed(STATUS_LIST) },
  listMarkets: {
    json: {
      data: [
        {
          market: true,
          jurisdiction: true,
          currency: true,
          networks: [
            {
              network: true,
              caip2: true,
              chain_id: true,
              kind: true,
              settlement_contract: true,
              token: true,
              decimals: true,
              required_confirmations: true,
              explorer: true,
            },
          ],
        },
      ],
      next_cursor: true,
      has_more: true,
    },
  },
  getFacilitationStanding: { json: { facilitation_id: true, status: true, reversed_at: true } },
  getRatingMethod: {
    json: {
      versions: { sandbox: true, production: true },
      formula: true,
      half_life_days: true,
      origin: true,
      kappa: true,
      mu: true,
      decimals: true,
      rounding: true,
      weight: { formula: true, min: true, max: true },
      counterparty_clip: { formula: true, max_share: true },
      minimum_interactions: METHOD_MINIMUM,
      minimum_counterparties: METHOD_MINIMUM,
      prompt_answer_hours: true,
      signals: { provider: each(RATING_SIGNAL), consumer: each(RATING_SIGNAL) },
    },
  },
  // About an account, for a caller that holds its password or a mailed link.
  registerPlatform: {
    json: {
      platform_id: true,
      platform_status: true,
      legal_name: true,
      trading_name: true,
      country: true,
      email: true,
      admin_contact_email: true,
      pending_admin_contact_email: true,
      registration_number: true,
      registered_address: true,
      website: true,
      pending_profile: true,
      requirements: { currently_due: true, pending_verification: true, errors: true },
      accreditation_tier: true,
      tenant_principal_id: true,
      promoted_at: true,
      promotion_by: true,
      created_at: true,
    },
  },
  refuseVerification: {},
  verifyEmail: {
    json: {
      platform_id: true,
      platform_status: true,
      email: true,
      api_key: { raw_key: true, key_prefix: true, environment: true, warning: true },
    },
  },
  resendVerification: { json: ASKED },
  forgotPassword: { json: ASKED },
  resetPassword: { json: { platform_id: true, changed_at: true } },
  logIn: { json: { session_id: true, session_token: true, expires_at: true, platform_id: true } },
  openVerificationPage: { text: "page" },
  openResetPage: { text: "page" },
};

/** The app's answers outside its routes, which are the same for every caller. */
export const BESIDE: readonly string[] = [
  "GET /",
  "GET /docs",
  "GET /docs/",
  "GET /docs/:asset",
  "GET /docs/start.js",
  "GET /healthz",
  "GET /openapi.json",
  "GET /pages/link.css",
  "GET /pages/link.js",
];

// ---- Refusals and headers ------------------------------------------------------------------------------------------------

const FIELD_ERRORS: Shape = [{ field: true, code: true, message: true }];
/** No public refusal reveals anything about an object; the refusal of a body states the limits. */
const LIMITS: Shape = { max_bytes: true, max_depth: true };

export const REFUSAL: Shape = {
  code: true,
  message: true,
  status: true,
  request_id: true,
  error: true,
  field_errors: FIELD_ERRORS,
  detail: LIMITS,
};

/** RFC 9457. */
export const PROBLEM: Shape = {
  type: true,
  title: true,
  status: true,
  detail: true,
  instance: true,
  code: true,
  request_id: true,
  field_errors: FIELD_ERRORS,
  details: LIMITS,
};

export const HEADERS: readonly string[] = [
  "access-control-allow-origin",
  "access-control-expose-headers",
  "age",
  "allow",
  "cache-control",
  "cf-cache-status",
  "content-length",
  "content-security-policy",
  "content-type",
  "etag",
  "link",
  "location",
  "ratelimit",
  "ratelimit-policy",
  "referrer-policy",
  "request-id",
  "retry-after",
  "strict-transport-security",
  "vary",
  "www-authenticate",
  "x-content-type-options",
];
/** Only a log-in sets a cookie. */
export const COOKIE_BY = "logIn";
