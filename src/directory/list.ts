// Reads the directory's listing, and one entry (DIR-7 to DIR-10).
import { askedPage, type ManagementCall } from "../call.ts";
import { ServiceError } from "../core/errors.ts";
import { type Listing, listingOf, type Page, toPage } from "../core/page.ts";
import { readBatch } from "../db/batch.ts";
import { findEntry, findMark, findStopped, type Mark, pageReads } from "./list-store.ts";
import type { DirectoryEntry } from "./responses.ts";
import type { EntryQuery } from "./schema.ts";
import { toEntryView } from "./views.ts";

/** The directory is everybody's: no sandbox's clock rules it. */
export const REAL_TIME = { clock: () => 0 };

/** A page with its entity tag, null where it has none; the view is null where the caller has it. */
export type Tagged = { readonly etag: string | null; readonly view: Page<DirectoryEntry> | null };

/** `known`: If-None-Match. A caller that has another page than the present one costs a trip more than one that has none. */
export async function listDirectory(
  call: ManagementCall,
  query: EntryQuery,
  known: string | undefined,
): Promise<Tagged> {
  const { db, environment, deps } = call;
  const filter = filterOf(query);
  const { limit: _limit, cursor, ...named } = query;
  const page = await askedPage(call, query, listingOf("directory", [environment], named));
  const tag = listingOf("directory page", [environment, page.listing], { limit: page.limit, cursor });
  const now = deps.clock.now();
  const mark = findMark(db, environment, now);
  if (known !== undefined) {
    const etag = tagOf((await call.read({ mark }, REAL_TIME)).mark, tag);
    if (etag !== null && isKnown(etag, known)) return { etag, view: null };
  }
  const read = await call.read({ mark, ...pageReads(db, environment, filter, page) }, REAL_TIME);
  const { rows, end } = isStopping(read.mark)
    ? (await readBatch(db, { found: findStopped(db, environment, filter, now, page) })).found
    : { rows: [...read.plain.rows, ...(read.sought ?? [])], end: read.plain.end };
  const view = toPage(
    rows,
    page,
    ({ updatedAt, did }) => ({ at: updatedAt, id: did }),
    (entry) => toEntryView(deps.config.issuer, entry, now),
    end,
  );
  const etag = tagOf(read.mark, tag);
  return { etag, view };
}

const filterOf = (query: EntryQuery) => ({
  status: query.status,
  capabilities: query.capabilities ?? [],
  markets: query.markets ?? [],
  economicRole: query.economic_role,
  certTier: query.cert_tier,
  minRating: query.min_agent_rating,
  updatedSince: query.updated_since,
});

/** Some entry may have to follow its principal. */
const isStopping = ({ ended, moving }: Mark): boolean => moving || ended > 0;

export async function getDirectoryEntry(call: ManagementCall, did: string): Promise<DirectoryEntry> {
  // Of the reading, and no later: an end that passes meanwhile may have been renewed.
  const now = call.deps.clock.now();
  const { entry } = await call.read({ entry: findEntry(call.db, call.environment, did) }, REAL_TIME);
  if (!entry) throw new ServiceError("not_found");
  return toEntryView(call.deps.config.issuer, entry, now);
}

// ---- Entity tags (DIR-10) ------------------------------------------------------------------------------------------------

/** Weak: the last change and the last end that passed, with the query. None while a change has still to be written into entries. */
const tagOf = ({ seq, ended, moving, relisting }: Mark, page: Listing): string | null =>
  moving || relisting ? null : `W/"${seq}.${ended}.${page}"`;

const isKnown = (etag: string, ifNoneMatch: string): boolean =>
  ifNoneMatch.split(",").some((known) => known.trim().replace(/^(?!W\/)/, "W/") === etag);
