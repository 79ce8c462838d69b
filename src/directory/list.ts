// Reads the directory's listing, and one entry (DIR-7 to DIR-10).
import { type ManagementCall, readPage } from "../call.ts";
import { toIso } from "../core/clock.ts";
import { ServiceError } from "../core/errors.ts";
import { hashListing, type Listing, type Page, toPage } from "../core/page.ts";
import { readBatch } from "../db/batch.ts";
import type { ChangeRow, DirectoryHeadRow } from "../db/tables/directory.ts";
import { toAidUrl } from "../identity/aid.ts";
import { toEffectiveAgentStatus, toEffectivePrincipalStatus } from "../principals/effective-status.ts";
import {
  buildPageReads,
  findEntry,
  findListingState,
  findPageWithPrincipals,
  type ListedEntry,
  type ListingState,
} from "./list-store.ts";
import type { DirectoryChange, DirectoryEntry, DirectoryHead } from "./responses.ts";
import type { EntryQuery, EntryStatus } from "./schema.ts";

/** All platforms share the directory, so no sandbox clock rules it. */
export const REAL_TIME = { clock: () => 0 };

/** A page with its entity tag; null if it has none. The view is null if the caller already has the page. */
export type Tagged = { readonly etag: string | null; readonly view: Page<DirectoryEntry> | null };

/** `known`: If-None-Match. A caller with an outdated page costs one trip more than a caller without a page. */
export async function listDirectory(
  call: ManagementCall,
  query: EntryQuery,
  known: string | undefined,
): Promise<Tagged> {
  const { db, environment, deps } = call;
  const filter = toEntryFilter(query);
  const { limit: _limit, cursor, ...named } = query;
  const page = await readPage(call, query, hashListing("directory", [environment], named));
  const tag = hashListing("directory page", [environment, page.listing], { limit: page.limit, cursor });
  const now = deps.clock.now();
  const mark = findListingState(db, environment, now);
  if (known !== undefined) {
    const etag = toListingTag((await call.read({ mark }, REAL_TIME)).mark, tag);
    if (etag !== null && matchesIfNoneMatch(etag, known)) return { etag, view: null };
  }
  const read = await call.read({ mark, ...buildPageReads(db, environment, filter, page) }, REAL_TIME);
  const found = mayNotFollowPrincipals(read.mark)
    ? (await readBatch(db, { found: findPageWithPrincipals(db, environment, filter, now, page) })).found
    : { rows: [...read.plain.rows, ...(read.sought ?? [])], end: read.plain.end };
  const view = toPage(
    found,
    page,
    ({ updatedAt, did }) => ({ at: updatedAt, id: did }),
    (entry) => toDirectoryEntryView(deps.config.issuer, entry, now),
  );
  const etag = toListingTag(read.mark, tag);
  return { etag, view };
}

const toEntryFilter = (query: EntryQuery) => ({
  status: query.status,
  capabilities: query.capabilities ?? [],
  markets: query.markets ?? [],
  economicRole: query.economic_role,
  certTier: query.cert_tier,
  minRating: query.min_agent_rating,
  updatedSince: query.updated_since,
});

const mayNotFollowPrincipals = ({ ended, moving }: ListingState): boolean => moving || ended > 0;

export async function getDirectoryEntry(call: ManagementCall, did: string): Promise<DirectoryEntry> {
  // The instant of the read, not a later one: an end that passes meanwhile may have been renewed.
  const now = call.deps.clock.now();
  const { entry } = await call.read({ entry: findEntry(call.db, call.environment, did) }, REAL_TIME);
  if (!entry) throw new ServiceError("not_found");
  return toDirectoryEntryView(call.deps.config.issuer, entry, now);
}

// ---- Entity tags (DIR-10) ------------------------------------------------------------------------------------------------

/** A weak tag of the last change, the last end that passed, and the query; null while a change still has to be written to entries. */
const toListingTag = ({ seq, ended, moving, relisting }: ListingState, page: Listing): string | null =>
  moving || relisting ? null : `W/"${seq}.${ended}.${page}"`;

const matchesIfNoneMatch = (etag: string, ifNoneMatch: string): boolean =>
  ifNoneMatch.split(",").some((known) => known.trim().replace(/^(?!W\/)/, "W/") === etag);

// ---- Views --------------------------------------------------------------------------------------------------------------

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
