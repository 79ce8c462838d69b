// The OpenAPI document as it is served: printed from the routes at build time (scripts/openapi.ts), with the issuer as its one server
// (HTTP-31).
import { OPENAPI_DOCUMENT, SERVER_PLACEHOLDER } from "./openapi-document.ts";

export const openapiDocument = (issuer: string): string =>
  OPENAPI_DOCUMENT.replace(JSON.stringify(SERVER_PLACEHOLDER), () => JSON.stringify(issuer));
