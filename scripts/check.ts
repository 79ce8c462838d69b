// `npm run check`: proves the tree without running it. Every step runs, also after one failed.
import { spawnSync } from "node:child_process";
import { join } from "node:path";

type Step = { readonly name: string; readonly command: readonly string[] };

const root = join(import.meta.dirname, "..");
const script = (file: string, ...args: string[]) => [process.execPath, join(root, "scripts", file), ...args];
const tool = (path: string, ...args: string[]) => [process.execPath, join(root, "node_modules", path), ...args];

const STEPS: readonly Step[] = [
  { name: "contracts are compiled", command: script("contracts.ts", "--check") },
  { name: "migrations follow the tables", command: script("migrations.ts", "--check") },
  { name: "docs/openapi.json follows the routes", command: script("openapi.ts", "--check") },
  { name: "docs/consequences.md follows the table", command: script("consequences.ts", "--check") },
  { name: "types", command: tool("typescript/bin/tsc", "--noEmit", "-p", ".") },
  { name: "format and lint", command: tool("@biomejs/biome/bin/biome", "check") },
  { name: "who may import whom", command: script("imports.ts") },
  { name: "each table has one store that writes it", command: script("writers.ts") },
  { name: "cited rules exist, and each is proven", command: script("rules.ts") },
  { name: "nothing unused", command: tool("knip/bin/knip.js", "--no-progress") },
];

const failed = STEPS.filter(({ name, command }) => {
  const started = performance.now();
  const [file = "", ...args] = command;
  const { status, error, stdout, stderr } = spawnSync(file, args, { cwd: root, encoding: "utf8" });
  const seconds = ((performance.now() - started) / 1_000).toFixed(1);
  console.log(`${status === 0 ? "ok    " : "FAILED"} ${name} (${seconds} s)`);
  if (status !== 0) console.log(error ? error.message : `${stdout}${stderr}`.trimEnd());
  return status !== 0;
});

if (failed.length > 0) {
  console.log(`\n${failed.length} of ${STEPS.length} checks failed: ${failed.map(({ name }) => name).join("; ")}`);
  process.exit(1);
}
