// The DID resolver: the HTTP binding of W3C DID Resolution 1.0 (section 12.1), with the media types of the earlier drafts, and the usual error
// format for clients that ask for a bare document (IDN-32 to IDN-37). Nothing is cached: whether a key is valid depends on the instant.
import { ServiceError } from "../core/errors.ts";
import { choosePreferred, type Offer } from "../http/accept.ts";
import { type Answer, answer } from "../http/answer.ts";
import { defineRoute } from "../http/route.ts";
import {
  type DidRequest,
  isPart,
  parseDidRequest,
  RESOLUTION_ERRORS,
  ResolutionError,
  type Resolved,
  resolveDidUrl,
  selectsService,
} from "./resolve.ts";
import { identifierParams, resolutionQuery } from "./schema.ts";

export const LD_TYPE = "application/ld+json";
export const RESULTS = ["application/did-resolution", "application/did-url-dereferencing", LD_TYPE] as const;
export const CONTENTS = [
  "application/did",
  "application/did+json",
  "application/did+ld+json",
  "application/json",
] as const;

/** The form of an answer: a resolution result, a dereferencing result, or the content itself. `says`: the representation in its metadata. */
type Form = Offer & { readonly kind: "resolution" | "dereferencing" | "content" | "uri"; readonly says: string };

const buildForm = (kind: Form["kind"], type: string, says = "application/did"): Form => ({ kind, type, says });
const buildDraftForm = (kind: Form["kind"], profile: string): Form => ({
  ...buildForm(kind, LD_TYPE, "application/did+ld+json"),
  profile: `https://w3id.org/${profile}`,
});

const RESULT = buildForm("resolution", "application/did-resolution");
const RESOLUTION = [RESULT, buildDraftForm("resolution", "did-resolution")];
const PART_RESULT = buildForm("dereferencing", "application/did-url-dereferencing");
const DEREFERENCING = [PART_RESULT, buildDraftForm("dereferencing", "did-url-dereferencing")];
const CONTENT = [...CONTENTS, LD_TYPE].map((type) => buildForm("content", type, type));
const URI = buildForm("uri", "text/uri-list", "text/uri-list");

/** The form that the client prefers. A DID URL for a part of a document is dereferenced, not resolved. */
function chooseForm(accept: string | undefined, asked: DidRequest | undefined): Form | undefined {
  if (!asked || !isPart(asked)) return choosePreferred(accept, [...RESOLUTION, ...CONTENT, ...DEREFERENCING]);
  const uri = selectsService(asked.parameters) ? [URI] : [];
  return choosePreferred(accept, [...DEREFERENCING, ...CONTENT, ...uri]);
}

const CONTEXT = "https://w3id.org/did-resolution/v1";

const toOfferHeaders = ({ type, profile }: Offer) => ({
  "Content-Type": profile === undefined ? type : `${type};profile="${profile}"`,
  Vary: "Accept",
});

/** Redirects to a selected endpoint with 303, unless the client accepts only a bare document. */
function answerOutcome(form: Form, { content, location, metadata }: Resolved): Answer {
  const { deactivated } = metadata;
  if (location !== null && form.kind !== "content") return answer(303, { Location: location, Vary: "Accept" }, null);
  const status = deactivated ? 410 : 200;
  if (form.kind === "content") return answer(status, toOfferHeaders(form), JSON.stringify(content));
  const shown = deactivated ? null : content;
  const about = deactivated ? {} : { contentType: form.says };
  return answerResult(form, status, shown, about, metadata);
}

/** The service's own error format has no codes for errors that only a resolver has: these are answered as a result, whatever is accepted. */
function answerRefusal(form: Form = RESULT, { type, message: detail }: ResolutionError): Answer {
  const { status, title } = RESOLUTION_ERRORS[type];
  if (form.kind === "content" && status === 400) throw new ServiceError("invalid_request", { message: detail });
  if (form.kind === "content" && status === 404) throw new ServiceError("not_found", { message: detail });
  const error = { type: `https://www.w3.org/ns/did#${type}`, title, detail };
  return answerResult(form, status, null, { error }, {});
}

function answerResult(form: Form, status: number, content: unknown, about: object, metadata: object): Answer {
  const written = form.kind === "uri" ? PART_RESULT : form.kind === "content" ? RESULT : form;
  const body =
    written.kind === "resolution"
      ? { didDocument: content, didResolutionMetadata: about, didDocumentMetadata: metadata }
      : { contentStream: content, content, dereferencingMetadata: about, contentMetadata: metadata };
  return answer(status, toOfferHeaders(written), JSON.stringify({ "@context": CONTEXT, ...body }));
}

const PRINTABLE = /^[\x20-\x7e]*$/;

export const resolverRoutes = [
  defineRoute({
    method: "get",
    path: "/1.0/identifiers/{identifier}",
    rest: true,
    operationId: "resolveDid",
    params: identifierParams,
    query: resolutionQuery,
    status: 200,
    outcomes: {
      303: { description: "`Location` names the endpoint that the DID URL selects.", types: [] },
      400: { description: "`INVALID_DID`, `INVALID_DID_URL` or `INVALID_OPTIONS`.", types: RESULTS },
      404: { description: "`NOT_FOUND`.", types: RESULTS },
      406: { description: "`REPRESENTATION_NOT_SUPPORTED`.", types: RESULTS },
      410: {
        description: "The DID is deactivated: its agent is REVOKED or TERMINATED.",
        types: [...RESULTS, ...CONTENTS],
      },
      501: { description: "`METHOD_NOT_SUPPORTED` or `FEATURE_NOT_SUPPORTED`.", types: RESULTS },
    },
    errors: ["invalid_request", "not_found"],
    cors: true,
    headers: ["accept"],
    replica: () => true,
    surfaces: ["public"],
    handle: async (call, { params, query, headers }) => {
      const { accept = headers["accept"], ...options } = query;
      let asked: DidRequest | undefined;
      try {
        if (!PRINTABLE.test(query.accept ?? "")) throw new ResolutionError("INVALID_OPTIONS", "accept is malformed.");
        asked = parseDidRequest(
          params.identifier,
          Object.entries(options).map(([name, value]) => [name, String(value)]),
        );
        const form = chooseForm(accept, asked);
        if (!form) throw new ResolutionError("REPRESENTATION_NOT_SUPPORTED", "See the types of the 200 in /docs.");
        return answerOutcome(form, await resolveDidUrl(call, asked));
      } catch (thrown) {
        if (!(thrown instanceof ResolutionError)) throw thrown;
        // A replica may not have the agent yet: this code makes the caller ask the primary.
        if (thrown.type === "NOT_FOUND" && call.db !== call.deps.db) throw new ServiceError("not_found");
        return answerRefusal(chooseForm(accept, asked), thrown);
      }
    },
  }),
];
