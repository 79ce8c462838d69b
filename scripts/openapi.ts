// The OpenAPI document without a server: prints it; `--write` updates docs/openapi.json; `--check` exits non-zero when that
// file is behind the routes.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { createApp } from "../src/app.ts";
import { describeService } from "../src/http/openapi.ts";

// Where `npm start` serves it; a deployed service names itself at /openapi.json.
const SERVER_URL = "http://127.0.0.1:8787";
const file = join(import.meta.dirname, "../docs/openapi.json");
const document = `${JSON.stringify(describeService(createApp(), SERVER_URL), null, 2)}\n`;

if (process.argv.includes("--check")) {
  const committed = existsSync(file) ? readFileSync(file, "utf8") : "";
  if (committed !== document) {
    console.error("docs/openapi.json is behind the routes: run `npm run generate`");
    process.exit(1);
  }
} else if (process.argv.includes("--write")) {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, document);
} else {
  // Whoever reads may stop early.
  process.stdout.on("error", () => process.exit());
  process.stdout.write(document);
}
