// Checks comments, test names and docs for forms that have to be read twice. Arguments limit it to files whose paths begin with one of them.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** Sentences begin with their subject; each word has its usual meaning. */
const BANNED: Readonly<Record<string, RegExp>> = {
  "begins with a clause: name the subject": /(?:^|[.:;] )(?:What|Whoever|Whom|Those that|One that|Of) (?!\w+ \?)/,
  "begins with `The same`: say what": /(?:^|[.:] )The same\b/,
  "`behind` for after": /\bbehind\b(?! (?:real time|the head|the chain|a (?:proxy|router|firewall)|its proxy))/,
  "`beside` for besides, or next to": /\bbeside\b/,
  "`anew` for again": /\banew\b/,
  "a missing subject: `nobody`, `somebody`, `anybody`": /\b(?:nobody|somebody|anybody)\b/i,
  "`is told` for is reported": /\b(?:is|are|was|were|be) told\b/,
  "`comes of` for results": /\bcomes? of\b/,
  "`no more` for no longer": /\bno more\b(?! than)/,
  "`gives back`": /\bg(?:ive|ives|ave|iven|iving) back\b/,
};

/** Lines that contain `text` are allowed. */
const EXCEPTIONS: readonly { readonly file: string; readonly text: string; readonly why: string }[] = [
  { file: "scripts/wording.ts", text: "", why: "states the forms" },
  { file: "test/accounts/patch-profile.test.ts", text: '"nobody",', why: "is no address: data of the test" },
  { file: "test/http/precheck.test.ts", text: "did:aeap:nobody", why: "is the DID of no agent" },
];

const ROOTS = ["src", "test", "scripts", "bench", "docs"];
const PAGES = ["README.md", "CHANGELOG.md", "test/README.md"];
/** Printed from tables that are checked themselves. */
const PRINTED: ReadonlySet<string> = new Set(["docs/consequences.md", "docs/costs.md"]);

const root = join(import.meta.dirname, "..");
const wanted = process.argv.slice(2);
const files = [...ROOTS.flatMap(filesIn), ...PAGES].filter(
  (file) => !PRINTED.has(file) && (wanted.length === 0 || wanted.some((start) => file.startsWith(start))),
);

function filesIn(folder: string): string[] {
  const names = readdirSync(join(root, folder), { recursive: true, encoding: "utf8" });
  return names.filter((name) => /\.(?:ts|mjs|sol|md)$/.test(name)).map((name) => `${folder}/${name}`);
}

/** The prose of a line: all of a page's, the comment and the test name of code. */
function proseOf(file: string, line: string): string | null {
  if (file.endsWith(".md")) return line.replace(/^[\s|>#*-]+/, "");
  const comment = /^\s*(?:\/\/+|\/\*+|\*)\s?(.*?)(?:\*\/)?$/.exec(line)?.[1];
  const name = /^\s*(?:(?:it|test|describe)(?:\.\w+)*(?:\(.*\))?\(|\w+: )["'`](.*)["'`],/.exec(line)?.[1];
  return comment ?? (file.startsWith("test/") ? (name ?? null) : null);
}

const faults: string[] = [];
for (const file of files) {
  const lines = readFileSync(join(root, file), "utf8").split("\n");
  for (const [at, line] of lines.entries()) {
    const prose = proseOf(file, line);
    if (prose === null || EXCEPTIONS.some((one) => one.file === file && line.includes(one.text))) continue;
    for (const [form, pattern] of Object.entries(BANNED))
      if (pattern.test(prose)) faults.push(`${file}:${at + 1}: ${form}: ${prose.trim()}`);
  }
}
if (faults.length > 0) {
  console.error(`${faults.join("\n")}\n${faults.length} lines to say plainly (docs/glossary.md)`);
  process.exit(1);
}
