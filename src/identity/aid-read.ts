// The identity document as anyone reads it: the stored bytes, signed anew first where somebody's doing has changed what they say, with
// the status of this instant beside them.
import type { PublicCall } from "../call.ts";
import { ServiceError } from "../core/errors.ts";
import { Conflict, retryConflicts } from "../core/retry.ts";
import { present, readBatch, written } from "../db/batch.ts";
import { aidAsJwt, aidCanonical, signAid } from "../protocol/aid.ts";
import { buildAid, certificateIn, liveOf, serveAid } from "./aid.ts";
import {
  environmentOf,
  findAid,
  findAidVersion,
  findEscrows,
  findMarkets,
  findNewestVersion,
  findPublicAgent,
  keepSignedAid,
  type SignedDocument,
} from "./store.ts";

export type ServedAid = {
  readonly json: string;
  /** Null for a DRAFT, which is never signed. */
  readonly jwt: string | null;
  /** All that the answer says but `live.as_of`: what its entity tag is made of. */
  readonly says: string;
  /** A version or a revision that was asked for by its number: the same for ever. */
  readonly immutable: boolean;
};

export type AidNumbers = {
  /** An earlier version: what the platform controlled then. */
  readonly version?: number | undefined;
  /** The whole signed content of the present revision. */
  readonly revision?: number | undefined;
};

export async function getAid(call: PublicCall, did: string, { version, revision }: AidNumbers): Promise<ServedAid> {
  if (version !== undefined) return getVersion(call, did, version);
  const { db, now } = call;
  const found = await call.read(present({ agent: findPublicAgent(db, did), aid: findAid(db, did) }));
  if (!found.agent) throw new ServiceError("not_found");
  const { agent, principal } = found.agent;
  if (revision !== undefined && revision !== agent.revision) throw movedOn();
  const signed = found.aid?.revision === agent.revision ? found.aid : await signStale(call, did);
  if (revision === undefined) return serveLive(signed, liveOf(agent, principal, now));
  if (signed.revision !== revision || signed.proof === null) throw movedOn();
  return serveFixed({ content: signed.content, proof: signed.proof });
}

const movedOn = () => new ServiceError("not_found", { message: "The document has another revision by now." });

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
const SIGNING_ATTEMPTS = 6;

/**
 * Others' doing has moved the revision: the document is signed now, for this and later readings. Of several readers that sign the same
 * revision, the first one stores it, and that is what all of them get. A DRAFT is read unsigned.
 */
function signStale(call: PublicCall, did: string): Promise<Signed> {
  const { deps, now } = call;
  // The primary, wherever the call reads: what is signed is what is.
  const { db } = deps;
  return retryConflicts(SIGNING_ATTEMPTS, async () => {
    const environment = environmentOf(did);
    const { found, newest, markets, escrows } = await readBatch(db, {
      found: findPublicAgent(db, did),
      newest: findNewestVersion(db, did),
      markets: findMarkets(db, did, environment),
      escrows: findEscrows(db, did, environment),
    });
    if (!found) throw new ServiceError("not_found");
    const certificate = newest && certificateIn(newest.content);
    const content = buildAid(deps.config, { ...found, certificate, markets, escrows }, now);
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
