// DID resolution on the wire: the results of the HTTP binding, and the context. Results are loose, because metadata is open (HTTP-33).
import * as z from "zod";
import { jsonObject } from "../http/schemas.ts";
import { didDocumentView, didServiceView, verificationMethodView } from "./schema.ts";

/** Any text, so that what is no DID is answered as the binding says. */
export const identifierParams = z.object({ identifier: z.string() });

const parameter = z.string().optional();
/** Parameters of a DID URL and options of the resolution; an unknown one is judged with the known ones. */
export const resolutionQuery = z.looseObject({
  accept: parameter,
  service: parameter,
  serviceType: parameter,
  relativeRef: parameter,
  versionId: parameter,
  versionTime: parameter,
  expandRelativeUrls: parameter,
  noCache: parameter,
});

const resolutionError = z
  .looseObject({ type: z.string(), title: z.string(), detail: z.string() })
  .register(z.globalRegistry, { id: "DidResolutionError" });
const processMetadata = z
  .looseObject({ contentType: z.string().optional(), error: resolutionError.optional() })
  .register(z.globalRegistry, { id: "DidResolutionMetadata" });
const documentMetadata = z
  .looseObject({ created: z.string().optional(), deactivated: z.boolean().optional() })
  .register(z.globalRegistry, { id: "DidDocumentMetadata" });

export const resolutionView = z
  .looseObject({
    "@context": z.string(),
    didDocument: didDocumentView.nullable(),
    didResolutionMetadata: processMetadata,
    didDocumentMetadata: documentMetadata,
  })
  .register(z.globalRegistry, { id: "DidResolution" });

export const contentView = z
  .union([didDocumentView, verificationMethodView, didServiceView])
  .register(z.globalRegistry, { id: "DidUrlContent" });

export const dereferencingView = z
  .looseObject({
    "@context": z.string(),
    contentStream: contentView.nullable(),
    content: contentView.nullable(),
    dereferencingMetadata: processMetadata,
    contentMetadata: documentMetadata,
  })
  .register(z.globalRegistry, { id: "DidUrlDereferencing" });

/** JSON-LD by its type alone: with a profile a result, without one what was asked for. */
export const linkedView = z
  .union([resolutionView, dereferencingView, contentView])
  .register(z.globalRegistry, { id: "DidLinkedData" });

export const contextView = z.looseObject({ "@context": jsonObject }).register(z.globalRegistry, { id: "AgentContext" });
