// /docs: the interactive reference. Its script and style are assets of this Worker, nothing comes from elsewhere.

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
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/start.js"></script>
</body>
</html>`;

const START = `SwaggerUIBundle({ url: "/openapi.json", dom_id: "#reference", deepLinking: true, tryItOutEnabled: true, validatorUrl: null });`;

const POLICY = "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:";

export const docsPage = (): Response =>
  new Response(PAGE, { headers: { "Content-Type": "text/html; charset=utf-8", "Content-Security-Policy": POLICY } });

export const docsStart = (): Response =>
  new Response(START, { headers: { "Content-Type": "text/javascript; charset=utf-8" } });

const ASSETS: ReadonlySet<string> = new Set(["swagger-ui.css", "swagger-ui-bundle.js"]);

/** A file of the reference from the Worker's own assets; null for any other name. */
export async function docsAsset(assets: Fetcher, name: string, url: string): Promise<Response | null> {
  if (!ASSETS.has(name)) return null;
  const stored = await assets.fetch(new URL(`/${name}`, url));
  // Copied, because the headers of a fetched response cannot be added to.
  return new Response(stored.body, stored);
}
