// Checks that the rules of docs/rules are numbered without gaps, that the index has their ranges, that every id cited in the tree exists, that each
// built rule has a row of tests in test/README.md and these tests exist, that every dependency has a line in the decisions, and that no text cites a
// rule by the number of another document.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");
const RULES = "docs/rules";
const TRACEABILITY = "test/README.md";

const ROOTS = ["src", "scripts", "bench", "test", "docs"];
const FILES = ["README.md", "CHANGELOG.md", "wrangler.toml", ".dependency-cruiser.cjs"];
/** Generated texts, and this file, whose patterns would match themselves. */
const SKIPPED: ReadonlySet<string> = new Set([
  "docs/openapi.json",
  "docs/openapi-operator.json",
  "src/http/assets/openapi.json",
  "src/chain/contracts/artifacts.json",
  "scripts/rules.ts",
]);
const TEXT = /\.(ts|mjs|sol|md|json)$/;

const FOREIGN = [
  /\b(?:contract|specification)s?,?\s+(?:sections?\s+)?\d(?!\d)/i,
  /\bpublic clients?,\s+step/i,
  /\bperformance design\b/i,
  /(?:\/\/|\*)\s*\d\.\d{1,2}:/,
];

const faults: string[] = [];
const read = (path: string): string => readFileSync(join(root, path), "utf8");
const listed = (folder: string): string[] =>
  readdirSync(join(root, folder), { recursive: true, encoding: "utf8" }).map((name) => `${folder}/${name}`);

const defined = new Set<string>();
const notBuilt = new Set<string>();
const areas = new Set<string>();
for (const page of listed(RULES)) {
  const numbers = [...read(page).matchAll(/^- \*\*([A-Z]+)-(\d+)\*\*(.*)$/gm)];
  for (const [i, [, area = "", number, sentence = ""]] of numbers.entries()) {
    if (Number(number) !== i + 1) faults.push(`${page}: ${area}-${number} should be ${area}-${i + 1}`);
    defined.add(`${area}-${number}`);
    if (sentence.endsWith("(not built)")) notBuilt.add(`${area}-${number}`);
    areas.add(area);
  }
  const [, area] = numbers[0] ?? [];
  if (area === undefined) faults.push(`${page}: no rule`);
  const range = `| ${area}-1 to ${area}-${numbers.length} | [${page.replace("docs/", "")}]`;
  if (!read("docs/rules.md").includes(range)) faults.push(`docs/rules.md: the row of ${page} should hold "${range}"`);
}

const CITED = new RegExp(`\\b(?:${[...areas].join("|")})-\\d+\\b`, "g");
const texts = [...ROOTS.flatMap(listed).filter((path) => TEXT.test(path)), ...FILES].filter(
  (path) => !SKIPPED.has(path),
);
for (const path of texts) {
  for (const [i, line] of read(path).split("\n").entries()) {
    const at = `${path}:${i + 1}`;
    for (const [id] of line.matchAll(CITED)) if (!defined.has(id)) faults.push(`${at}: no rule ${id}`);
    if (FOREIGN.some((pattern) => pattern.test(line))) faults.push(`${at}: cites another document by number`);
  }
}

/** A row of the table names rules, alone or as "X-1 to X-3", and their tests by the beginning of their paths in test/. */
const proven = new Set<string>();
const tests = listed("test").map((path) => path.slice("test/".length));
const [, rows = ""] = read(TRACEABILITY).split("| Rules | Tests |");
for (const [, rules = "", cell = ""] of rows.matchAll(/^\|([^|]+)\|([^|]+)\|\s*$/gm)) {
  const names = cell.split(",").map((text) => text.replace(/\(.*\)|`.*`/g, "").trim());
  for (const name of names) {
    const known = name === "" || /^-+$/.test(name) || tests.some((path) => path.startsWith(name));
    if (!known) faults.push(`${TRACEABILITY}: no test begins with ${name}`);
  }
  if (names.every((name) => name === "")) continue;
  for (const [, area, from, to = from] of rules.matchAll(/\b([A-Z]+)-(\d+)(?: to \1-(\d+))?/g)) {
    for (let number = Number(from); number <= Number(to); number++) proven.add(`${area}-${number}`);
  }
}
for (const id of defined) {
  if (proven.has(id) === notBuilt.has(id)) {
    faults.push(
      `${TRACEABILITY}: ${id} ${notBuilt.has(id) ? "is not built and has a row" : "is built and has no row"}`,
    );
  }
}

const { dependencies, devDependencies } = JSON.parse(read("package.json"));
const reasons = read("docs/decisions/dependencies.md");
for (const name of Object.keys({ ...dependencies, ...devDependencies })) {
  if (!reasons.includes(name)) faults.push(`docs/decisions/dependencies.md: no line for ${name}`);
}

for (const fault of faults) console.error(fault);
if (faults.length > 0) process.exit(1);
