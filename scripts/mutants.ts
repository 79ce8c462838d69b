// `npm run test:mutants -- src/webhooks [count]`: makes small changes in a copy of the tree, one at a time, and runs the tests of the same
// folder against each. A change that no test notices is printed: the folder does not prove that line.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
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

const [folder = "", count = String(COUNT)] = process.argv.slice(2);
if (!/^src\/[\w-]+$/.test(folder)) {
  console.error("usage: npm run test:mutants -- src/<folder> [count]");
  process.exit(2);
}

const copy = mkdtempSync(join(tmpdir(), "mutants-"));
process.once("exit", () => rmSync(copy, { recursive: true, force: true }));
const { stdout } = spawnSync("git", ["ls-files"], { cwd: root, encoding: "utf8" });
for (const file of stdout.trim().split("\n")) cpSync(join(root, file), join(copy, file));
symlinkSync(join(root, "node_modules"), join(copy, "node_modules"));

const tests = folder.replace("src/", "test/");
if (!passes()) {
  console.error(`${tests} fails without any change`);
  process.exit(1);
}
const chosen = mutants().toSorted(byDigest).slice(0, Number(count));
const survivors = chosen.filter((mutant) => {
  const survived = outlives(mutant);
  console.log(`${survived ? "SURVIVED" : "noticed "} ${describe(mutant)}`);
  return survived;
});
console.log(`${chosen.length - survivors.length} of ${chosen.length} changes noticed`);
process.exit(survivors.length > 0 ? 1 : 0);

/** Runs the tests of the folder until one fails. */
function passes(): boolean {
  const vitest = join(root, "node_modules/vitest/vitest.mjs");
  const args = [vitest, "run", "--bail=1", "--reporter=dot", tests];
  return spawnSync(process.execPath, args, { cwd: copy }).status === 0;
}

function outlives({ file, start, end, text }: Mutant): boolean {
  const path = join(copy, file);
  const before = readFileSync(path, "utf8");
  writeFileSync(path, before.slice(0, start) + text + before.slice(end));
  try {
    return passes();
  } finally {
    writeFileSync(path, before);
  }
}

function mutants(): Mutant[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .flatMap((name) => mutantsOf(`${folder}/${name}`));
}

/** A swapped operator, a statement that is dropped, or a spread element that is dropped from a list. */
function mutantsOf(file: string): Mutant[] {
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

/** In an order that is the same on every machine, and that mixes the files. */
function byDigest(a: Mutant, b: Mutant): number {
  return digestOf(a) < digestOf(b) ? -1 : 1;
}

function digestOf({ file, start, text }: Mutant): string {
  return createHash("sha256").update(`${file} ${start} ${text}`).digest("hex");
}

function describe({ file, start, end, text }: Mutant): string {
  const source = readFileSync(join(root, file), "utf8");
  const line = source.slice(0, start).split("\n").length;
  return `${file}:${line}: ${JSON.stringify(source.slice(start, end))} became ${JSON.stringify(text)}`;
}
