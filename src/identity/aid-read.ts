// Serves the identity document to anyone: the stored bytes, signed again first when they are stale (IDN-18), with the live status beside
// them (IDN-20).
import type { PublicCall } from "../call.ts";
import { ServiceError } from "../core/errors.ts";
import { Conflict, retryConflicts } from "../core/retry.ts";
import { readBatch, written } from "../db/batch.ts";
import { aidAsJwt, aidCanonical, signAid } from "../protocol/aid.ts";
import { buildAid, certificateIn, liveOf, serveAid } from "./aid.ts";
import { type FoundDocument, findDocument } from "./document-store.ts";
import { findAid, findAidVersion, keepSignedAid, type SignedDocument } from "./store.ts";

export type ServedAid = {
  readonly json: string;
  /** Null for a DRAFT, which is never signed. */
  readonly jwt: string | null;
  /** The answer without `live.as_of`, from which the entity tag is made (IDN-22). */
  readonly says: string;
  /** A version or revision that was requested by number and never changes (IDN-21). */
  readonly immutable: boolean;
};

export type AidNumbers = {
  /** An earlier version: the content that the platform controlled then. */
  readonly version?: number | undefined;
  /** The whole signed content of the present revision. */
  readonly revision?: number | undefined;
};

export async function getAid(call: PublicCall, did: string, { version, revision }: AidNumbers): Promise<ServedAid> {
  if (version !== undefined) return getVersion(call, did, version);
  const { db, deps, now } = call;
  const { found } = await call.read({ found: findDocument(db, did) });
  if (!found) throw new ServiceError("not_found");
  const { agent, principal, aid } = found;
  if (revision !== undefined && revision !== agent.revision) throw movedOn();
  // What is signed is what the primary says.
  const signed = isCurrent(found) && aid ? aid : await signStale(call, did, db === deps.db ? found : null);
  if (revision === undefined) return serveLive(signed, liveOf(agent, principal, now));
  if (signed.revision !== revision || signed.proof === null) throw movedOn();
  return serveFixed({ content: signed.content, proof: signed.proof });
}

const movedOn = () => new ServiceError("not_found", { message: "The document has moved on to another revision." });

async function getVersion(call: PublicCall, did: string, version: number): Promise<ServedAid> {
  const { earlier } = await call.read({ earlier: findAidVersion(call.db, did, version) });
  if (!earlier) throw new ServiceError("not_found");
  return serveFixed(earlier);
}

function serveLive({ content, proof }: Signed, live: ReturnType<typeof liveOf>): ServedAid {
  return {
    json: serveAid(content, proof, live),
    jwt: proof === null ? null : jwtOf(content, proof),
    says: [content, live.status, live.environment].join("\n"),
    immutable: false,
  };
}

const serveFixed = ({ content, proof }: SignedDocument): ServedAid => ({
  json: serveAid(content, proof),
  jwt: jwtOf(content, proof),
  says: content,
  immutable: true,
});

const jwtOf = (canonical: string, proof: string): string => aidAsJwt({ canonical, proof });

type Signed = { readonly content: string; readonly proof: string | null; readonly revision: number };

const isCurrent = ({ agent, aid }: FoundDocument): boolean => aid?.revision === agent.revision;

/**
 * Signs a stale document, for this and later readings (IDN-18). Of several readers that sign the same revision, the first one stores its
 * signature, and all of them get that one. A DRAFT is read unsigned. `known`: what the primary has said already.
 */
function signStale(call: PublicCall, did: string, known: FoundDocument | null): Promise<Signed> {
  const { deps, now } = call;
  const { db } = deps;
  let source = known;
  return retryConflicts(async () => {
    const found = source ?? (await readBatch(db, { found: findDocument(db, did) })).found;
    source = null;
    if (!found) throw new ServiceError("not_found");
    if (found.aid && isCurrent(found)) return found.aid;
    const certificate = found.newest && certificateIn(found.newest);
    const content = buildAid(deps.config, { ...found, certificate }, now);
    const { revision } = content;
    if (certificate === null) return { content: aidCanonical(content), proof: null, revision };
    const { canonical, proof } = await signAid(content, (await deps.ca()).signing);
    const { stored } = await readBatch(db, {
      kept: written(keepSignedAid(db, { did, revision, content: canonical, proof })),
      stored: findAid(db, did),
    });
    if (!stored) throw new Conflict();
    return stored;
  });
}
