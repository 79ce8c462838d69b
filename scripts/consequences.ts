// Prints docs/consequences.md from test/consequences/table.ts; `--write` updates the file, `--check` exits with 1 if it is not current.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { NOUNS, READING_POSTS, RUNNING_CONSEQUENCES } from "../test/consequences/table.ts";
import { type By, type Cases, type Consequence, completeRows } from "../test/consequences/words.ts";

const file = join(import.meta.dirname, "../docs/consequences.md");

const OPENING = `# Consequences

Printed from \`test/consequences/table.ts\` by \`npm run generate\`: what every change leaves besides its own row. Tests play each case and compare
what was written with its line, nothing more and nothing less.

An act is an operation, a job (\`src/cron.ts\`, for one row that it records) or a queue message (\`src/queue.ts\`). An operation that is missing
here only reads; so do ${READING_POSTS.map((name) => `\`${name}\``).join(" and ")}, which are POSTs.

Names in brackets are the affected parties; an event goes to the party's platform. *Directory* names the record of the directory's feed.
A document's *new version* is signed with the change; a *new revision* is signed at its next reading. Of a *stale version* the part that the
platform controls is signed with the change, and the whole at the next reading. *Tables* are those that the other words do not imply.`;

const formatCode = (text: string): string => `\`${text}\``;
const formatTimes = <T extends string>(effects: readonly T[], show: (effect: T) => string): string[] =>
  [...Map.groupBy(effects, (one) => one)].map(
    ([effect, all]) => show(effect) + (all.length === 1 ? "" : ` × ${all.length}`),
  );

/** Lists each effect once, with its parties, and the number of times if it occurs more than once. */
function formatEffects<T extends string>(label: string, by: By<T>, show: (effect: T) => string = String): string[] {
  const lines = new Map<string, string[]>();
  for (const [party, effects] of Object.entries(by)) {
    for (const line of formatTimes(effects, show)) lines.set(line, [...(lines.get(line) ?? []), party]);
  }
  return [...lines].map(([line, parties]) => `${label}${line} (${parties.join(", ")})`);
}

/** Lists the consequences in the order in which a reader asks for them. */
function formatConsequence(row: Consequence): string {
  const { states, activity, events, directory, document, certificate, alerts, mails } = row;
  return [
    ...states,
    ...("none" in activity ? [] : activity.map((action) => `activity ${formatCode(action)}`)),
    ...formatEffects("event ", events, formatCode),
    ...formatEffects("directory: ", directory),
    ...formatEffects("document: ", document),
    ...formatEffects("certificate: ", certificate),
    ...alerts.map((kind) => `alert ${formatCode(kind)}`),
    ...formatTimes(mails, (mail) => `mail ${formatCode(mail)}`),
    ...("none" in activity ? [`no activity: ${activity.none}`] : []),
  ].join("<br>");
}

const linesOf = (kind: string, acts: Readonly<Record<string, Cases>> = {}): string[] =>
  Object.entries(completeRows(acts)).flatMap(([name, rows]) =>
    rows.map((row, i) => {
      const act = i === 0 ? `${kind}${formatCode(name)}` : "";
      return `| ${act} | ${row.when} | ${formatConsequence(row)} | ${row.tables.map(formatCode).join(", ")} |`;
    }),
  );

const section = (title: string, lines: readonly string[]): string =>
  `## ${title}\n\n| Act | Case | What follows | Tables |\n|---|---|---|---|\n${lines.join("\n")}`;

const printed = `${[
  OPENING,
  ...Object.entries(NOUNS).map(([title, { operations, jobs, messages }]) =>
    section(title, [...linesOf("", operations), ...linesOf("job ", jobs), ...linesOf("message ", messages)]),
  ),
  section("Every job and message", linesOf("any ", RUNNING_CONSEQUENCES)),
].join("\n\n")}\n`;

if (process.argv.includes("--check")) {
  if (!existsSync(file) || readFileSync(file, "utf8") !== printed) {
    console.error("docs/consequences.md is not current: run `npm run generate`");
    process.exit(1);
  }
} else if (process.argv.includes("--write")) {
  writeFileSync(file, printed);
} else {
  // The process that reads the pipe may stop early.
  process.stdout.on("error", () => process.exit());
  process.stdout.write(printed);
}
