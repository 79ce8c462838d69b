// Generates an agent's key pair, at activation and at each rotation. The private key is returned once and never stored.
import { toIso } from "../core/clock.ts";
import type { AgentRow } from "../db/tables/agents.ts";
import type { PrincipalRow } from "../db/tables/principals.ts";
import type { IssuedCertificate } from "../identity/certificate.ts";
import { findTierWarnings } from "../principals/tiers.ts";
import { exportPrivateKeyPem, exportPublicJwk, generateKeyPair } from "../protocol/ecdsa.ts";
import { computeJwkThumbprint } from "../protocol/jwks.ts";
import type { CredentialsView } from "./responses.ts";

const WARNING = "Store the private key now: it is shown once and cannot be recovered.";

type DrawnKey = { readonly columns: Pick<AgentRow, "publicJwk" | "keyId">; readonly privateKey: CryptoKey };

export async function drawKey(): Promise<DrawnKey> {
  const { privateKey, publicKey } = await generateKeyPair();
  const publicJwk = { ...(await exportPublicJwk(publicKey)) };
  return { columns: { publicJwk, keyId: await computeJwkThumbprint(publicJwk) }, privateKey };
}

export const toCredentials = async (
  { did, status, economicRole }: AgentRow,
  principal: PrincipalRow,
  { text, row }: IssuedCertificate,
  { privateKey }: DrawnKey,
): Promise<CredentialsView> => ({
  did,
  status,
  private_key: await exportPrivateKeyPem(privateKey),
  certificate: text,
  certificate_expires_at: toIso(row.expiresAt),
  key_id: row.keyId,
  warning: WARNING,
  warnings: findTierWarnings(economicRole, principal),
});
