// DID resolution on the wire: the results of the HTTP binding, and the context. Results are loose, because metadata is open (HTTP-33).
import * as z from "zod";

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
