// Maps entries and records of the directory to the shapes of schema.ts.
import { toIso } from "../core/clock.ts";
import type { ChangeRow, DirectoryHeadRow } from "../db/tables/directory.ts";
import { toAidUrl } from "../identity/aid.ts";
import { toEffectiveAgentStatus, toEffectivePrincipalStatus } from "../principals/effective-status.ts";
import type { ListedEntry } from "./list-store.ts";
import type { DirectoryChange, DirectoryEntry, DirectoryHead } from "./responses.ts";
import type { EntryStatus } from "./schema.ts";

export const toDirectoryEntryView = (issuer: string, entry: ListedEntry, now: number): DirectoryEntry => ({
  did: entry.did,
  aid_url: toAidUrl(issuer, entry.did),
  catalog_url: entry.catalogUrl,
  economic_role: entry.economicRole,
  capabilities: entry.capabilities,
  authorized_markets: entry.markets,
  cert_tier: entry.certTier,
  agent_rating: entry.agentRating,
  status: toEntryStatus(entry, now),
  updated_at: toIso(entry.updatedAt),
});

/** The effective status at the instant. An entry whose principal was not read already follows it. */
function toEntryStatus(
  { status, principalStatus, attestationExpiresAt, accountStopped }: ListedEntry,
  now: number,
): EntryStatus {
  const effective =
    principalStatus === null
      ? status
      : toEffectiveAgentStatus(
          status,
          toEffectivePrincipalStatus(
            {
              status: principalStatus,
              attestationExpiresAt: attestationExpiresAt ?? Number.MAX_SAFE_INTEGER,
              accountStopped,
            },
            now,
          ),
        );
  // A FUNDING agent has its certificate, and waits for its escrow.
  return effective === "FUNDING" || effective === "DRAFT" ? "SUSPENDED" : effective;
}

/** The record in the form that the running hash covers. */
export const toChangeView = ({ seq, did, changeType, occurredAt }: ChangeRow): DirectoryChange => ({
  seq,
  did,
  change_type: changeType,
  occurred_at: toIso(occurredAt),
});

export const toHeadView = ({ environment, seq, hash, signedAt, jws }: DirectoryHeadRow): DirectoryHead => ({
  environment,
  seq,
  hash,
  signed_at: toIso(signedAt),
  jws,
});
