// Serves the public identity document: the stored bytes, signed again first if they are stale (IDN-18), together with the live status (IDN-20).
import type { PublicCall } from "../call.ts";
import { ServiceError } from "../core/errors.ts";
import { Conflict, retryConflicts } from "../core/retry.ts";
import { readBatch, toWriteRead } from "../db/batch.ts";
import { signAid, toAidJwt, toCanonicalAid } from "../protocol/aid.ts";
import { buildAid, parseCertificate, serveAid, toLiveStatus } from "./aid.ts";
import { type FoundDocument, findIdentityDocument } from "./authority-store.ts";
import { findAid, findAidVersion, type SignedDocument, storeSignedAid } from "./store.ts";

export type ServedAid = {
  readonly json: string;
  /** Undefined for a DRAFT, which the service never signs. */
  readonly jwt: (() => string) | undefined;
  /** The entity tag without the representation. It covers the whole answer except `live.as_of` (IDN-22). */
  readonly tag: string;
  /** True for a version or revision that was requested by number: it never changes (IDN-21). */
  readonly immutable: boolean;
};

export type AidNumbers = {
  /** A version by number: the content that the platform controlled then. */
  readonly version?: number | undefined;
  /** The complete signed content of the present revision. */
  readonly revision?: number | undefined;
};

export async function getAid(call: PublicCall, did: string, { version, revision }: AidNumbers): Promise<ServedAid> {
  if (version !== undefined) return getVersion(call, did, version);
  const { db, deps, now } = call;
  const { found } = await call.read({ found: findIdentityDocument(db, did) });
  if (!found) throw new ServiceError("not_found");
  const { agent, principal, aid } = found;
  if (revision !== undefined && revision !== agent.revision) throw buildRevisionGoneError();
  // A document is signed only from the primary's data.
  const signed = isCurrent(found) && aid ? aid : await signStale(call, did, db === deps.db ? found : null);
  if (revision === undefined) return serveLive(signed, toLiveStatus(agent, principal, now));
  if (signed.revision !== revision || signed.proof === null) throw buildRevisionGoneError();
  return serveFixed({ content: signed.content, proof: signed.proof }, `r${revision}`);
}

const buildRevisionGoneError = () =>
  new ServiceError("not_found", { message: "The document has another revision now." });

async function getVersion(call: PublicCall, did: string, version: number): Promise<ServedAid> {
  const { earlier } = await call.read({ earlier: findAidVersion(call.db, did, version) });
  if (!earlier) throw new ServiceError("not_found");
  return serveFixed(earlier, `v${version}`);
}

const serveLive = ({ content, proof, revision }: SignedRevision, live: ReturnType<typeof toLiveStatus>): ServedAid => ({
  json: serveAid(content, proof, live),
  jwt: proof === null ? undefined : () => toAidJwt({ canonical: content, proof }),
  // A DRAFT is unsigned and dated at each read, so each read differs.
  tag: [revision, live.status, live.environment, ...(proof === null ? [live.as_of] : [])].join("-"),
  immutable: false,
});

const serveFixed = ({ content, proof }: SignedDocument, tag: string): ServedAid => ({
  json: serveAid(content, proof),
  jwt: () => toAidJwt({ canonical: content, proof }),
  tag,
  immutable: true,
});

type SignedRevision = { readonly content: string; readonly proof: string | null; readonly revision: number };

const isCurrent = ({ agent, aid }: FoundDocument): boolean => aid?.revision === agent.revision;

/**
 * Signs a stale document for this and later reads (IDN-18). Several readers may sign the same revision: the first one stores its signature, and
 * all of them return that one. A DRAFT is returned unsigned. `known`: a row that was already read from the primary.
 */
function signStale(call: PublicCall, did: string, known: FoundDocument | null): Promise<SignedRevision> {
  const { deps, now } = call;
  const { db } = deps;
  let first = known;
  return retryConflicts(async () => {
    const found = first ?? (await readBatch(db, { found: findIdentityDocument(db, did) })).found;
    first = null;
    if (!found) throw new ServiceError("not_found");
    if (found.aid && isCurrent(found)) return found.aid;
    if (!found.source) throw new Conflict();
    const { newest, ...source } = found.source;
    const certificate = newest && parseCertificate(newest);
    const content = buildAid(deps.config, { ...source, certificate }, now);
    const { revision } = content;
    if (certificate === null) return { content: toCanonicalAid(content), proof: null, revision };
    const { canonical, proof } = await signAid(content, (await deps.ca()).signing);
    const { stored } = await readBatch(db, {
      kept: toWriteRead(storeSignedAid(db, { did, revision, content: canonical, proof })),
      stored: findAid(db, did),
    });
    if (!stored) throw new Conflict();
    return stored;
  });
}
