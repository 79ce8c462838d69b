// The OpenAPI document as it is served: printed from the routes (scripts/openapi.ts) into the Worker's own assets, with the issuer as its only
// server (HTTP-31), and the operator's status page (HTTP-39).

/** The service's own address in the printed document. */
const SERVER_PLACEHOLDER = "https://issuer.example";

let printedDocument: string | undefined;

export async function buildServedDocument(
  { assets, url }: { readonly assets: Fetcher; readonly url: string },
  issuer: string,
  statusPage: string | null,
): Promise<string> {
  printedDocument ??= await readPrinted(assets, url);
  const document = printedDocument.replace(JSON.stringify(SERVER_PLACEHOLDER), () => JSON.stringify(issuer));
  if (statusPage === null) return document;
  const externalDocs = { description: "Incidents and maintenance of this service.", url: statusPage };
  return document.replace("{", () => `{"externalDocs":${JSON.stringify(externalDocs)},`);
}

async function readPrinted(assets: Fetcher, url: string): Promise<string> {
  const stored = await assets.fetch(new URL("/openapi.json", url));
  if (!stored.ok) throw new Error(`the asset openapi.json answers ${stored.status}`);
  return stored.text();
}
