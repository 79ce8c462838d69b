// `npm run test:mutants -- src/webhooks [count]`: makes small changes in a copy of the tree, one at a time, and runs the tests of the same folder
// against each. It prints every change that no test notices, because the folder's tests do not prove that line.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import ts from "typescript";

type Mutant = { readonly file: string; readonly start: number; readonly end: number; readonly text: string };

const root = join(import.meta.dirname, "..");
const COUNT = 20;
const SWAPPED: Readonly<Record<string, string>> = {
  "<": "<=",
  "<=": "<",
  ">": ">=",
  ">=": ">",
  "===": "!==",
  "!==": "===",
  "&&": "||",
  "||": "&&",
};

/** Folders whose tests are in other folders. */
const TESTED_BY: Readonly<Record<string, readonly string[]>> = { "src/intents": ["src/payments", "src/tasks"] };
/** Ends the tests of a mutant that loops for ever. */
const LIMIT_MS = 15 * 60_000;

const INTERRUPTED = 130;

const [folder = "", count = String(COUNT)] = process.argv.slice(2);
if (!existsSync(join(root, folder)) || !/^src\/[\w-]+$/.test(folder) || !(Number(count) >= 1)) {
  console.error("usage: npm run test:mutants -- src/<folder> [count]");
  process.exit(2);
}

const copy = mkdtempSync(join(tmpdir(), "mutants-"));
process.once("exit", () => rmSync(copy, { recursive: true, force: true }));
// Ctrl-C also ends the child process that runs the tests; `runTests` then exits.
process.on("SIGINT", () => undefined);
const { stdout } = spawnSync("git", ["ls-files", "-co", "--exclude-standard"], { cwd: root, encoding: "utf8" });
for (const file of stdout.trim().split("\n")) cpSync(join(root, file), join(copy, file));
// Links every package, but not the caches `.vite` and `.vitest-cache`.
mkdirSync(join(copy, "node_modules"));
for (const name of readdirSync(join(root, "node_modules")).filter((name) => !name.startsWith(".v")))
  symlinkSync(join(root, "node_modules", name), join(copy, "node_modules", name));

const tests = (TESTED_BY[folder] ?? [folder]).map((name) => name.replace("src/", "test/"));
if (runTests() !== "passed") {
  console.error(`${tests.join(" ")} fails without any change`);
  process.exit(1);
}
const chosenMutants = findMutants().toSorted(compareDigests).slice(0, Number(count));
const noticedMutants = chosenMutants.filter((mutant) => {
  const outcome = tryMutant(mutant);
  console.log(`${outcome.padEnd(8)} ${describeMutant(mutant)}`);
  return outcome === "noticed";
});
console.log(`${noticedMutants.length} of ${chosenMutants.length} changes noticed`);
process.exit(noticedMutants.length < chosenMutants.length ? 1 : 0);

/** Runs the folder's tests until one fails. "broken": the run crashed without a failed test or hook. */
function runTests(): "passed" | "failed" | "broken" {
  const report = join(copy, "report.json");
  rmSync(report, { force: true });
  const vitest = join(root, "node_modules/vitest/vitest.mjs");
  const args = [vitest, "run", "--bail=1", "--reporter=json", `--outputFile.json=${report}`, ...tests];
  const { status, signal } = spawnSync(process.execPath, args, { cwd: copy, timeout: LIMIT_MS });
  if (status === INTERRUPTED || signal === "SIGINT") process.exit(INTERRUPTED);
  if (signal !== null) return "failed";
  if (status === 0) return "passed";
  const results = existsSync(report)
    ? (JSON.parse(readFileSync(report, "utf8")).testResults as { status: string }[])
    : [];
  return results.some((file) => file.status === "failed") ? "failed" : "broken";
}

function tryMutant({ file, start, end, text }: Mutant): "noticed" | "SURVIVED" | "broken" {
  const path = join(copy, file);
  const before = readFileSync(path, "utf8");
  writeFileSync(path, before.slice(0, start) + text + before.slice(end));
  try {
    const outcome = runTests();
    if (outcome === "passed") return "SURVIVED";
    return outcome === "failed" ? "noticed" : "broken";
  } finally {
    writeFileSync(path, before);
  }
}

function findMutants(): Mutant[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .flatMap((name) => findMutantsIn(`${folder}/${name}`));
}

/** A swapped operator, a dropped statement, or a spread element dropped from a list. */
function findMutantsIn(file: string): Mutant[] {
  const source = ts.createSourceFile(file, readFileSync(join(root, file), "utf8"), ts.ScriptTarget.Latest, true);
  const found: Mutant[] = [];
  const replace = (node: ts.Node, text: string) =>
    found.push({ file, start: node.getStart(source), end: node.getEnd(), text });
  const visit = (node: ts.Node): void => {
    if (ts.isBinaryExpression(node)) {
      const swapped = SWAPPED[node.operatorToken.getText(source)];
      if (swapped !== undefined) replace(node.operatorToken, swapped);
    }
    if (ts.isExpressionStatement(node)) replace(node, "");
    if (ts.isSpreadElement(node) && ts.isArrayLiteralExpression(node.parent)) replace(node, "...[]");
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

/** An order that is the same on every machine, and that mixes the files. */
function compareDigests(a: Mutant, b: Mutant): number {
  return digestOf(a) < digestOf(b) ? -1 : 1;
}

function digestOf({ file, start, text }: Mutant): string {
  return createHash("sha256").update(`${file} ${start} ${text}`).digest("hex");
}

function describeMutant({ file, start, end, text }: Mutant): string {
  const source = readFileSync(join(root, file), "utf8");
  const line = source.slice(0, start).split("\n").length;
  return `${file}:${line}: ${JSON.stringify(source.slice(start, end))} became ${JSON.stringify(text)}`;
}
