// Every member that the CA signs and anyone can read: certificates, identity documents, status lists.
import { type Shape, signed } from "./public-shapes.ts";

export const JWK = { kty: true, crv: true, x: true, y: true } as const satisfies Shape;
const SCOPE: Shape = {
  authorized_actions: true,
  capabilities: true,
  dispute_window_days: true,
  max_transaction_value: true,
  spending_limit: { amount: true, currency: true, window_days: true },
  minimum_counterparty_cert_tier: true,
  minimum_counterparty_ar: true,
  intents_from: true,
};
const DELEGATION: Shape = { delegated_by: true, chain: true };

export const CERTIFICATE_CLAIMS: Shape = {
  iss: true,
  sub: true,
  jti: true,
  iat: true,
  nbf: true,
  exp: true,
  cnf: { jwk: JWK },
  status: { status_list: { idx: true, uri: true } },
  aeap: {
    version: true,
    agent_id: true,
    economic_role: true,
    cert_tier: true,
    principal_id: true,
    principal_name: true,
    principal_country: true,
    authorized_actions: true,
    capabilities: true,
    scope: SCOPE,
    delegation: DELEGATION,
    attestation: { attestation_id: true, verifier_id: true, model: true, signed: true },
  },
};
export const CERTIFICATE = signed(CERTIFICATE_CLAIMS);

export const AID_CONTENT = {
  version: true,
  revision: true,
  did: true,
  issuer: true,
  issued_at: true,
  identity: {
    did: true,
    profile: { display_name: true, description: true, catalog_url: true },
    economic_role: true,
    cert_tier: true,
    principal: {
      id: true,
      name: true,
      country: true,
      verification: {
        attestation_id: true,
        verifier_id: true,
        model: true,
        issued_at: true,
        expires_at: true,
        tier: true,
        signed: true,
      },
    },
    endpoint_url: true,
    scope: SCOPE,
    authorized_markets: true,
    certificate: CERTIFICATE,
    public_key_jwk: JWK,
    delegation: DELEGATION,
  },
  performance: {
    agent_rating: true,
    interactions: true,
    settled_volume: [{ currency: true, amount: true }],
    as_of: true,
  },
  escrow: {
    liability_profile: { total_balance: true, effective_threshold: true, escrow_state: true, currency: true },
    liability_profiles: [{ total_balance: true, effective_threshold: true, escrow_state: true, currency: true }],
    wallets: [{ market: true, network: true, caip2: true, escrow_wallet: true, operational_wallet: true }],
  },
  disputes: {
    open: true,
    resolved_for: true,
    resolved_against: true,
    dispute_window_days: true,
    policy: true,
  },
  governance: { operator: true, jurisdiction: true, enterprise: true },
} as const satisfies Shape;

export const STATUS_LIST: Shape = {
  iss: true,
  sub: true,
  iat: true,
  exp: true,
  ttl: true,
  status_list: { bits: true, lst: true },
};
