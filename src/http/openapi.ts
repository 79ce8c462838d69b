// The paths that are not routes: the OpenAPI document (HTTP-31) with the operator's status page (HTTP-39), the interactive reference, and the health
// check (HTTP-32). The printed document and the reference's script and style are assets of this Worker.
import type { HonoBase } from "hono/hono-base";
import { ERRORS } from "../core/errors.ts";
import { answer, computeEntityTag, toNotModifiedIfKnown } from "./answer.ts";
import { type AppEnv, findDeps } from "./app-env.ts";
import { PAGE_FILES } from "./page-files.ts";
import { toJsonResponse } from "./responses.ts";

const DOCUMENT_HEADERS = { "Content-Type": "application/json", "Cache-Control": "public, max-age=300" };

export function bindService(app: HonoBase<AppEnv>): void {
  app.get("/openapi.json", async (context) => {
    const { issuer, statusPage } = findDeps(context).config;
    const source = { assets: context.env.ASSETS, url: context.req.url };
    const document = await buildServedDocument(source, issuer, statusPage);
    const full = answer(200, { ...DOCUMENT_HEADERS, ETag: await computeEntityTag(document) }, document);
    const { status, headers, body } = toNotModifiedIfKnown(full, context.req.header("if-none-match"));
    return new Response(body, { status, headers });
  });
  app.get("/healthz", () => toJsonResponse(200, { status: "ok" }));
  app.get("/", (context) => context.redirect("/docs"));
  app.get("/docs", () => renderDocsPage());
  app.get("/docs/", (context) => context.redirect("/docs"));
  app.get("/docs/start.js", () => renderDocsStart());
  app.get("/docs/:asset", async (context, next) => {
    const asset = await fetchDocsAsset(context.env.ASSETS, context.req.param("asset"), context.req.url);
    return asset ?? next();
  });
  for (const { path, type, text } of PAGE_FILES) {
    app.get(path, () => new Response(text, { headers: { "Content-Type": type } }));
  }
}

// ---- The document --------------------------------------------------------------------------------------------------------

/** The service's own address in the document as scripts/openapi.ts prints it. The issuer takes its place. */
const SERVER_PLACEHOLDER = "https://issuer.example";

let printedDocument: string | undefined;

async function buildServedDocument(
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

// ---- The reference -------------------------------------------------------------------------------------------------------

/** The targets of a problem's `type` (RFC 9457). */
function renderCodeList(): string {
  const entries = Object.entries(ERRORS).map(
    ([code, { status, message }]) => `<dt id="${code}">${status} ${code}</dt><dd>${message}</dd>`,
  );
  return entries.join("\n");
}

const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Agent Accountability API</title>
<link rel="stylesheet" href="/docs/swagger-ui.css">
</head>
<body>
<div id="reference"></div>
<section>
<h2>Codes</h2>
<dl>
${renderCodeList()}
</dl>
</section>
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/start.js"></script>
</body>
</html>`;

/** Sending a call twice makes two calls: each has its own Idempotency-Key, unless the reader has typed one. */
export const REFERENCE_SCRIPT = `SwaggerUIBundle({
  url: "/openapi.json",
  dom_id: "#reference",
  deepLinking: true,
  tryItOutEnabled: true,
  validatorUrl: null,
  requestInterceptor: (request) => {
    if (request.method === "POST") request.headers["Idempotency-Key"] ??= crypto.randomUUID();
    return request;
  },
});`;

const POLICY = "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:";

const renderDocsPage = (): Response =>
  new Response(PAGE, { headers: { "Content-Type": "text/html; charset=utf-8", "Content-Security-Policy": POLICY } });

const renderDocsStart = (): Response =>
  new Response(REFERENCE_SCRIPT, { headers: { "Content-Type": "text/javascript; charset=utf-8" } });

export const DOCS_ASSETS: ReadonlySet<string> = new Set(["swagger-ui.css", "swagger-ui-bundle.js"]);

async function fetchDocsAsset(assets: Fetcher, name: string, url: string): Promise<Response | null> {
  if (!DOCS_ASSETS.has(name)) return null;
  const stored = await assets.fetch(new URL(`/${name}`, url));
  // Copied, because the headers of a fetched response are immutable.
  return new Response(stored.body, stored);
}
