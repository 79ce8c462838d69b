// Prints docs/consequences.md from src/journal/consequences/table.ts; `--write` updates the file, `--check` exits non-zero when it is behind.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  JOB_CONSEQUENCES,
  MESSAGE_CONSEQUENCES,
  OPERATION_CONSEQUENCES,
  READING_POSTS,
  RUNNING_CONSEQUENCES,
} from "../src/journal/consequences/table.ts";
import type { By, Consequence } from "../src/journal/consequences/words.ts";

const file = join(import.meta.dirname, "../docs/consequences.md");

const OPENING = `# Consequences

Printed from \`src/journal/consequences/table.ts\`: \`npm run generate\`. The consequences of every change beside its own row: the entry of the
activity log, the events, the record of the directory's feed, the effect on the identity document and on the certificate, and the notices of
operators. \`test/journal/\` plays each case and compares what was written with its row, nothing more and nothing less.

Names in brackets are the affected parties; of an event, the party whose platform gets it. "Also writes" are the tables that the other
columns do not imply. A document's *new version* is signed with the change; a *new revision* is signed at its next reading. Of a *stale
version* the part that the platform controls is signed with the change, and the whole at the next reading.`;

const HEADINGS = [
  "Case",
  "State",
  "Activity",
  "Events",
  "Directory",
  "Document",
  "Certificate",
  "Operators",
  "Also writes",
];
const NOTHING = "–";

const joined = (parts: readonly string[]): string => (parts.length === 0 ? NOTHING : parts.join("<br>"));
const code = (text: string): string => `\`${text}\``;
/** Each effect once, with its parties, and how often it occurs if more than once. */
function effectsOf<T extends string>(by: By<T>, show: (effect: T) => string = String): string {
  const lines = new Map<string, string[]>();
  for (const [party, effects] of Object.entries(by)) {
    for (const [effect, times] of Map.groupBy(effects, (one) => one)) {
      const line = times.length === 1 ? show(effect) : `${show(effect)} × ${times.length}`;
      lines.set(line, [...(lines.get(line) ?? []), party]);
    }
  }
  return joined([...lines].map(([line, parties]) => `${line} (${parties.join(", ")})`));
}

const activityOf = ({ activity }: Consequence): string =>
  "none" in activity ? `none: ${activity.none}` : joined(activity.map(code));

function lineOf(row: Consequence): string {
  const cells = [
    row.when,
    joined(row.states),
    activityOf(row),
    effectsOf(row.events, code),
    effectsOf(row.directory, code),
    effectsOf(row.document),
    effectsOf(row.certificate),
    joined([...row.alerts.map((kind) => `alert ${code(kind)}`), ...row.mails.map((mail) => `mail: ${mail}`)]),
    joined(row.tables.map(code)),
  ];
  return `| ${cells.join(" | ")} |`;
}

const table = (rows: readonly Consequence[]): string =>
  [`| ${HEADINGS.join(" | ")} |`, `|${"---|".repeat(HEADINGS.length)}`, ...rows.map(lineOf)].join("\n");

const section = (title: string, sentence: string, cases: Readonly<Record<string, readonly Consequence[]>>): string =>
  [`## ${title}`, sentence, ...Object.entries(cases).flatMap(([name, rows]) => [`### ${name}`, table(rows)])].join(
    "\n\n",
  );

const printed = `${[
  OPENING,
  section(
    "Operations",
    `By operationId. An operation that is not named here only reads; so do ${READING_POSTS.map(code).join(" and ")}, which are POSTs.`,
    OPERATION_CONSEQUENCES,
  ),
  section("Jobs", "What falls due by itself (`src/cron.ts`), for one row that the job records.", JOB_CONSEQUENCES),
  section("Messages", "What goes on after an answer (`src/queue.ts`).", MESSAGE_CONSEQUENCES),
  section("Running them", "What every job and every message leaves, whatever it does.", RUNNING_CONSEQUENCES),
].join("\n\n")}\n`;

if (process.argv.includes("--check")) {
  if (!existsSync(file) || readFileSync(file, "utf8") !== printed) {
    console.error("docs/consequences.md is behind src/journal/consequences/table.ts: run `npm run generate`");
    process.exit(1);
  }
} else if (process.argv.includes("--write")) {
  writeFileSync(file, printed);
} else {
  // The reader of the pipe may stop early.
  process.stdout.on("error", () => process.exit());
  process.stdout.write(printed);
}
