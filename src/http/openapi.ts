// The OpenAPI document as it is served: printed from the routes at build time (scripts/openapi.ts), with the issuer as its one server
// (HTTP-31), and the operator's status page (HTTP-39).
import { OPENAPI_DOCUMENT, SERVER_PLACEHOLDER } from "./openapi-document.ts";

export function openapiDocument(issuer: string, statusPage: string | null): string {
  const document = OPENAPI_DOCUMENT.replace(JSON.stringify(SERVER_PLACEHOLDER), () => JSON.stringify(issuer));
  if (statusPage === null) return document;
  const externalDocs = { description: "Incidents and maintenance of this service.", url: statusPage };
  return document.replace("{", () => `{"externalDocs":${JSON.stringify(externalDocs)},`);
}
