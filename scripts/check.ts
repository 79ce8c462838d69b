// `npm run check`: proves the tree without running it. A failed step does not stop the others.
import { type ChildProcess, spawn } from "node:child_process";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";

type Step = { readonly name: string; readonly seconds: number; readonly command: readonly string[] };

const root = join(import.meta.dirname, "..");
const script = (file: string, ...args: string[]) => [process.execPath, join(root, "scripts", file), ...args];
const tool = (path: string, ...args: string[]) => [process.execPath, join(root, "node_modules", path), ...args];

const STEPS: readonly Step[] = [
  { name: "contracts are compiled", seconds: 1, command: script("contracts.ts", "--check") },
  { name: "migrations follow the tables", seconds: 2, command: script("migrations.ts", "--check") },
  { name: "docs/openapi.json follows the routes", seconds: 4, command: script("openapi.ts", "--check") },
  { name: "docs/consequences.md follows the table", seconds: 1, command: script("consequences.ts", "--check") },
  {
    name: "the list of common passwords follows its package",
    seconds: 1,
    command: script("common-passwords.ts", "--check"),
  },
  { name: "types", seconds: 20, command: tool("typescript-7/bin/tsc", "--noEmit", "-p", ".", "--singleThreaded") },
  { name: "format and lint", seconds: 1, command: tool("@biomejs/biome/bin/biome", "check") },
  { name: "who may import whom", seconds: 5, command: script("imports.ts") },
  { name: "each table has one store that writes it", seconds: 9, command: script("writers.ts") },
  { name: "cited rules exist, and each is proven", seconds: 1, command: script("rules.ts") },
  { name: "no test waits or depends on chance", seconds: 1, command: script("chance.ts") },
  { name: "each exported name has one meaning", seconds: 1, command: script("names.ts") },
  { name: "comments, test names and docs read plainly", seconds: 1, command: script("wording.ts") },
  { name: "nothing unused", seconds: 5, command: tool("knip/bin/knip.js", "--no-progress") },
];

/** Seconds that each step took on two cores; the longest begin first, so that they end together. */
const waitingSteps = STEPS.toSorted((a, b) => b.seconds - a.seconds);
const failedSteps: string[] = [];

async function runStep({ name, command }: Step): Promise<void> {
  const started = performance.now();
  const [file = "", ...args] = command;
  const child = spawn(file, args, { cwd: root, stdio: ["ignore", "pipe", "pipe"] });
  const [output, complaint, status] = await Promise.all([text(child.stdout), text(child.stderr), awaitExit(child)]);
  const seconds = ((performance.now() - started) / 1_000).toFixed(1);
  console.log(`${status === 0 ? "ok    " : "FAILED"} ${name} (${seconds} s)`);
  if (status === 0) return;
  failedSteps.push(name);
  console.log(`${output}${complaint}`.trimEnd());
}

/** Resolves with the exit code, or with the reason why the command could not run. */
const awaitExit = (child: ChildProcess): Promise<number | string | null> =>
  new Promise((resolve) => {
    child.once("error", (error) => resolve(error.message));
    child.once("close", (code, signal) => resolve(code ?? signal));
  });

async function runSteps(): Promise<void> {
  for (let step = waitingSteps.shift(); step; step = waitingSteps.shift()) await runStep(step);
}

await Promise.all(Array.from({ length: availableParallelism() }, runSteps));

if (failedSteps.length > 0) {
  console.log(`\n${failedSteps.length} of ${STEPS.length} checks failed: ${failedSteps.join("; ")}`);
  process.exit(1);
}
