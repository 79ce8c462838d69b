// Checks comments, test names and docs for forms that have to be read twice. Arguments limit it to files whose paths begin with one of them.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** Sentences begin with their subject; each word has its usual meaning. */
const BANNED: Readonly<Record<string, RegExp>> = {
  "begins with a clause: name the subject": /(?:^|[.:;] )(?:What|Whoever|Whom|Those that|One that|Of) /,
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
  { file: "test/scripts/wording.node.test.ts", text: "", why: "states the forms" },
  { file: "test/accounts/patch-profile.test.ts", text: '"nobody",', why: "is no address: data of the test" },
  { file: "test/http/precheck.test.ts", text: "did:aeap:nobody", why: "is the DID of no agent" },
];

const ROOTS = ["src", "test", "scripts", "bench", "docs"];
const PAGES = ["README.md", "CHANGELOG.md"];
/** Printed from tables that are checked themselves. */
const PRINTED: ReadonlySet<string> = new Set(["docs/consequences.md", "docs/costs.md"]);

const root = join(import.meta.dirname, "..");

/** The prose of a line: all of a page's, the comment or the test name of code. */
function findProse(file: string, line: string): string | null {
  if (file.endsWith(".md")) return line.replace(/^[\s|>#*-]+/, "");
  const comment = /^\s*(?:\/\/+|\/\*+|\*)\s?(.*?)(?:\*\/)?$/.exec(line)?.[1];
  const name = /^\s*(?:(?:it|test|describe)(?:\.\w+)*(?:\(.*\))?\(|\w+: )["'`](.*)["'`],/.exec(line)?.[1];
  return comment ?? (file.startsWith("test/") ? (name ?? null) : null);
}

/** Returns the banned forms in the prose of a line. */
export function findForms(file: string, line: string): string[] {
  const prose = findProse(file, line);
  return prose === null ? [] : Object.keys(BANNED).filter((form) => BANNED[form]?.test(prose));
}

function listFiles(folder: string): string[] {
  const names = readdirSync(join(root, folder), { recursive: true, encoding: "utf8" });
  return names.filter((name) => /\.(?:ts|mjs|sol|md)$/.test(name)).map((name) => `${folder}/${name}`);
}

function check(starts: readonly string[]): string[] {
  const files = [...ROOTS.flatMap(listFiles), ...PAGES].filter(
    (file) => !PRINTED.has(file) && (starts.length === 0 || starts.some((start) => file.startsWith(start))),
  );
  return [...new Set(files)].flatMap((file) =>
    readFileSync(join(root, file), "utf8")
      .split("\n")
      .flatMap((line, i) =>
        EXCEPTIONS.some((one) => one.file === file && line.includes(one.text))
          ? []
          : findForms(file, line).map((form) => `${file}:${i + 1}: ${form}: ${line.trim()}`),
      ),
  );
}

if (import.meta.main) {
  const faults = check(process.argv.slice(2));
  for (const fault of faults) console.error(fault);
  if (faults.length > 0) process.exit(1);
}
