// Requests of the DID resolver. Its results are in responses.ts (HTTP-33).
import * as z from "zod";

/** Any text, so that an invalid DID is answered as the binding prescribes. */
export const identifierParams = z.object({ identifier: z.string() });

const parameter = z.string().optional();
/** The parameters of a DID URL and the options of the resolution; unknown ones are judged together with the known ones. */
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
