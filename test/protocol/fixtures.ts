// One valid certificate, document and receipt with throw-away keys; each test breaks one part of them.
import type { AidContent } from "../../src/protocol/aid.ts";
import type { CertificateClaims } from "../../src/protocol/certificate.ts";
import { importSigningKey, type PrivateJwk, pickPublicPart } from "../../src/protocol/jwks.ts";
import { signJws } from "../../src/protocol/jws.ts";
import type { ReceiptClaims } from "../../src/protocol/receipt.ts";

export const ISSUER = "https://operator.example";
export const NOW = Date.parse("2026-07-21T12:00:00Z");
export const NOW_SECONDS = NOW / 1_000;

export const PROVIDER = "did:aeap:11111111-1111-4111-8111-111111111111";
export const CONSUMER = "did:aeap:22222222-2222-4222-8222-222222222222";

export const CA_JWK: PrivateJwk = {
  kty: "EC",
  crv: "P-256",
  x: "QEXXOOlQaMZ5-JsuQ9XV8Uk-OMwlJP_tnOtac_u2zX0",
  y: "PPMuLnarobJKB2Rfljqy_4d-5SJgn2yqQPjU_SWpm-A",
  d: "WTN7O47HMKyiURmat8QmE7IjoDRs8mXeE7e7mxANBvY",
};

/** A stranger's key, which is also the CA's next one. */
export const OTHER_JWK: PrivateJwk = {
  kty: "EC",
  crv: "P-256",
  x: "nbJEcDWWTz0hahVL4vzhYwy2-QeKljTCp8tGYE0hzt8",
  y: "0aJpb2Qq4fJuzxlPFKEPs-ZBwFKsPydqnR-tq4MAAmQ",
  d: "hyk6kbw2kKJQrs2ybgKSMnnJDKm68LXklEPl5RLPaoI",
};

export const AGENT_JWK = {
  kty: "EC",
  crv: "P-256",
  x: "zJzYPlFnH-eRcNReMVVzEEMYt26ZRQsxpsdW3Yt5DRc",
  y: "bi5kxC6p61CvQgHdGWPOc0FMad6mAIGYu8UlUpBZUcY",
} as const;

/** The x of a key on the curve, with a y that does not belong to it. */
export const OFF_CURVE_JWK = { ...AGENT_JWK, y: OTHER_JWK.y } as const;

export const caKey = () => importSigningKey(CA_JWK);
export const otherKey = () => importSigningKey(OTHER_JWK);
export const caPublic = pickPublicPart(CA_JWK);

/** Signs any header and payload, including those that the code under test would never write. */
export async function signAs(
  header: Record<string, unknown>,
  payload: unknown,
  key: Awaited<ReturnType<typeof caKey>>,
): Promise<string> {
  const encode = (value: unknown) => base64Url(new TextEncoder().encode(JSON.stringify(value)));
  const input = `${encode(header)}.${encode(payload)}`;
  const algorithm = { name: "ECDSA", hash: "SHA-256" };
  const signature = await crypto.subtle.sign(algorithm, key.privateKey, new TextEncoder().encode(input));
  return `${input}.${base64Url(new Uint8Array(signature))}`;
}

export const signPayload = async (payload: unknown, typ: string) =>
  signJws(new TextEncoder().encode(JSON.stringify(payload)), typ, await caKey());

const base64Url = (bytes: Uint8Array) =>
  btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");

export const certificateClaims = (): CertificateClaims => ({
  iss: ISSUER,
  sub: CONSUMER,
  jti: "crt_00000000000000000000000001",
  iat: NOW_SECONDS - 3_600,
  nbf: NOW_SECONDS - 3_600,
  exp: NOW_SECONDS + 3_600,
  cnf: { jwk: { ...AGENT_JWK } },
  status: { status_list: { idx: 7, uri: `${ISSUER}/.well-known/aeap-status-lists/1` } },
  aeap: {
    version: "1",
    agent_id: CONSUMER,
    economic_role: "CONSUMER",
    cert_tier: "TIER_1",
    principal_id: "prn_00000000000000000000000001",
    principal_name: "Société Générale d’Essai",
    principal_country: "FR",
    authorized_actions: ["purchase"],
    capabilities: ["weather"],
    scope: {
      authorized_actions: ["purchase"],
      capabilities: ["weather"],
      max_transaction_value: "10.00",
      spending_limit: { amount: "100.00", currency: "USDC", window_days: 7 },
      minimum_counterparty_ar: 0.5,
    },
    attestation: { attestation_id: "att_1", verifier_id: "ver_1", model: "kyb" },
  },
});

export const aidContent = (): AidContent => ({
  version: 3,
  revision: 9,
  did: PROVIDER,
  issuer: ISSUER,
  issued_at: "2026-07-21T11:00:00Z",
  identity: {
    did: PROVIDER,
    profile: { display_name: "Wetter €", description: null, catalog_url: "https://provider.example/catalog.json" },
    economic_role: "PROVIDER",
    cert_tier: "TIER_2",
    principal: {
      id: "prn_00000000000000000000000002",
      name: "Wetter GmbH",
      country: "DE",
      verification: {
        attestation_id: "att_2",
        verifier_id: "ver_1",
        model: "kyb",
        issued_at: "2026-01-01T00:00:00Z",
        expires_at: "2027-01-01T00:00:00Z",
        tier: "TIER_2",
      },
    },
    endpoint_url: "https://provider.example/agent",
    scope: { authorized_actions: ["sell"], capabilities: ["weather"], dispute_window_days: 14 },
    authorized_markets: ["EU-USDC"],
    certificate: "a.b.c",
    public_key_jwk: { ...AGENT_JWK },
    delegation: null,
  },
  performance: {
    agent_rating: 0.87,
    interactions: 12,
    settled_volume: [{ currency: "USDC", amount: "120.50" }],
    as_of: "2026-07-21T11:00:00Z",
  },
  escrow: {
    liability_profile: {
      total_balance: "15.00",
      effective_threshold: "12.50",
      escrow_state: "ACTIVE",
      currency: "USDC",
    },
    liability_profiles: [
      { total_balance: "15.00", effective_threshold: "12.50", escrow_state: "ACTIVE", currency: "USDC" },
    ],
    wallets: [
      {
        market: "EU-USDC",
        network: "base-sepolia",
        caip2: "eip155:84532",
        escrow_wallet: `0x${"1".repeat(40)}`,
        operational_wallet: `0x${"2".repeat(40)}`,
      },
    ],
  },
  disputes: { open: 0, resolved_for: 1, resolved_against: 0, dispute_window_days: 14, policy: "protocol" },
  governance: { operator: ISSUER, jurisdiction: "DE", enterprise: null },
});

export const receiptClaims = (): ReceiptClaims => ({
  iss: ISSUER,
  iat: NOW_SECONDS,
  jti: "fac_00000000000000000000000001",
  transaction_id: "txn_00000000000000000000000001",
  intent_id: "pin_00000000000000000000000001",
  provider_did: PROVIDER,
  consumer_did: CONSUMER,
  network: "base-sepolia",
  caip2: "eip155:84532",
  contract: `0x${"3".repeat(40)}`,
  token: `0x${"4".repeat(40)}`,
  tx_hash: `0x${"ab".repeat(32)}`,
  log_index: 2,
  settlement_key: `0x${"cd".repeat(32)}`,
  payer: `0x${"5".repeat(40)}`,
  refund_to: `0x${"5".repeat(40)}`,
  operational_wallet: `0x${"2".repeat(40)}`,
  gross_amt: "10.00",
  fee_amt: "0.005",
  escrow_credited: "0.9995",
  operational_amt: "8.9955",
  currency: "USDC",
  settled_at: "2026-07-21T11:59:58Z",
  dispute_window_closes_at: "2026-08-04T11:59:58Z",
  provider_aid_version: 3,
});

/** Yields every text that differs from `text` in the lowest bit of one byte, then a sample of other differences. */
export function* bytesChanged(text: string): Generator<string> {
  const bytes = new TextEncoder().encode(text);
  for (const [i, byte] of bytes.entries()) {
    for (const mask of [1, 2 + ((i * 37) % 253)]) {
      const changed = bytes.slice();
      changed[i] = byte ^ mask;
      yield new TextDecoder().decode(changed);
    }
  }
}
