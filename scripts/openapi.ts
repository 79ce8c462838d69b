// Prints the public OpenAPI document without a server. `--write` updates docs/openapi.json, docs/openapi-operator.json and the copy that the
// Worker serves; `--check` exits non-zero if one of them does not match the routes, or fails the review.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { buildDocument } from "./openapi/document.ts";
import { OPERATORS, PLACEHOLDER, PUBLIC } from "./openapi/documents.ts";
import { ANSWERS } from "./openapi/operations.ts";
import { reviewDocument } from "./openapi/review.ts";
import { Sentences } from "./openapi/sentences.ts";

// The address at which `npm start` serves it; a deployed service names itself at /openapi.json.
const SERVER_URL = "http://127.0.0.1:8787";
const root = join(import.meta.dirname, "..");

const sentences = new Sentences();
const [open, operators] = [PUBLIC, OPERATORS].map((routes) => buildDocument(routes, SERVER_URL, sentences));
const pretty = (document: unknown): string => `${JSON.stringify(document, null, 2)}\n`;
const files: Readonly<Record<string, string>> = {
  "docs/openapi.json": pretty(open),
  "docs/openapi-operator.json": pretty(operators),
  "src/http/assets/openapi.json": JSON.stringify(buildDocument(PUBLIC, PLACEHOLDER)),
};

if (process.argv.includes("--check")) {
  const read = (file: string) => (existsSync(join(root, file)) ? readFileSync(join(root, file), "utf8") : "");
  const behind = Object.entries(files).filter(([file, text]) => read(file) !== text);
  for (const [file] of behind) console.error(`${file} is out of date: run \`npm run generate\``);
  const faults = [open, operators].flatMap((document) => (document ? reviewDocument(document) : []));
  for (const { operationId } of [...PUBLIC, ...OPERATORS])
    if (!ANSWERS[operationId]) faults.push(`scripts/openapi/operations.ts: does not say what ${operationId} answers`);
  for (const name of sentences.unused())
    faults.push(`scripts/openapi/fields.ts, operations.ts, titles.ts or responses.ts: no document uses ${name}`);
  for (const fault of faults) console.error(fault);
  if (behind.length > 0 || faults.length > 0) process.exit(1);
} else if (process.argv.includes("--write")) {
  for (const [file, text] of Object.entries(files)) writeFileSync(join(root, file), text);
} else {
  // The process that reads the pipe may stop early.
  process.stdout.on("error", () => process.exit());
  process.stdout.write(pretty(open));
}
