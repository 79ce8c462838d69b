// The OpenAPI document as it is served: printed from the routes at build time (scripts/openapi.ts), with the issuer as its one server
// (HTTP-31), and the operator's status page (HTTP-39).
import { Buffer } from "node:buffer";
import { brotliDecompressSync } from "node:zlib";
import { PACKED_DOCUMENT, SERVER_PLACEHOLDER } from "./openapi-document.ts";

let unpacked: string | undefined;

/** As printed, with a placeholder for its server. Unpacked once, when it is first asked for. */
export function printedDocument(): string {
  unpacked ??= brotliDecompressSync(Buffer.from(PACKED_DOCUMENT, "base64")).toString("utf8");
  return unpacked;
}

export function openapiDocument(issuer: string, statusPage: string | null): string {
  const document = printedDocument().replace(JSON.stringify(SERVER_PLACEHOLDER), () => JSON.stringify(issuer));
  if (statusPage === null) return document;
  const externalDocs = { description: "Incidents and maintenance of this service.", url: statusPage };
  return document.replace("{", () => `{"externalDocs":${JSON.stringify(externalDocs)},`);
}
