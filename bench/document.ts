// Writes docs/costs.md from the counts of a whole run.
import { type ActRows, rowsOf } from "./acts.ts";
import { BUDGETS } from "./budgets.ts";
import type { Outcome } from "./costs.ts";
import type { Findings } from "./report.ts";
import type { Suspension } from "./suspensions.ts";

export type Counted = Pick<Findings, "costs" | "far" | "acts" | "suspensions">;

export const COSTS_PATH = "docs/costs.md";

export function costsDocument(counted: Counted): string {
  const sections = [
    "# Costs\n\n`npm run bench -- --write` writes this page, and `npm run bench -- --check` fails if the last table is no longer true, rows read aside.\n" +
      "The figures of acts depend on how often jobs run meanwhile.\n" +
      "[performance.md](performance.md) explains how each figure is counted and what bounds it.",
    formatSection("Acts, with all that follows them", actsTable(counted.acts)),
    formatSection("Rows written, by table", counted.acts.map(tablesOf).join("\n")),
    formatSection("A million purchases in dollars", dollarsTables(counted.acts)),
    formatSection("The suspension of a principal", suspensionsTable(counted.suspensions)),
    formatSection("Calls and jobs", callsTable(counted)),
  ];
  return `${sections.join("\n\n")}\n`;
}

/** The calls and jobs are equal in each run, except rows read. The figures of acts depend on how often jobs run meanwhile: budgets hold them. */
export const isCurrent = (stored: string, measured: string): boolean => pickCalls(stored) === pickCalls(measured);

function pickCalls(text: string): string {
  const [, calls = ""] = text.split(CALLS_TITLE);
  return calls
    .split("\n")
    .map((line) => line.split("|").toSpliced(ROWS_READ, 1).join("|"))
    .join("\n");
}
const CALLS_TITLE = "## Calls and jobs\n";
/** The index of the rows read in a line. */
const ROWS_READ = 4;

const formatSection = (title: string, text: string): string => `## ${title}\n${text}`;

const formatTable = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map((_, i) => (i === 0 ? "---" : "---:")), ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");

const formatFigure = (value: number): string => value.toLocaleString("en", { maximumFractionDigits: 1 });

// ---- Acts ----------------------------------------------------------------------------------------------------------------

const actsTable = (acts: readonly ActRows[]): string =>
  "The rows are those of the calls, of the jobs that follow, and of the deletion after 30 days. The bytes are pages of tables and indexes: until that\n" +
  "deletion, and for ever. An event is the mean of those that a purchase tells. A delivery is one of a hundred to one endpoint.\n\n" +
  formatTable(
    [
      "Act",
      "Calls",
      "Rows read",
      "Rows written",
      "Object calls",
      "Queue messages",
      "Bytes",
      "for ever",
      "Dollars a million",
    ],
    [...acts.map(lineOf), ...acts.filter(({ act }) => act === "purchase").map(eventLine)],
  );

const lineOf = (one: ActRows): string[] => [
  one.act,
  ...[one.billed.requests, one.billed.rowsRead, rowsOf(one), one.billed.objectCalls, one.billed.queueMessages].map(
    formatFigure,
  ),
  ...[one.bytes.standing, one.bytes.forEver].map((bytes) => formatFigure(Math.round(bytes))),
  formatMoney(billOf(one).reduce((sum, [, , dollars]) => sum + dollars, 0)),
];

function eventLine({ tables, events, bytes }: ActRows): string[] {
  const rows = (new Map(tables).get("events") ?? 0) / events;
  const size = formatFigure(Math.round((bytes.standing - bytes.forEver) / events));
  return ["event", "", "", formatFigure(rows), "", "", size, "0", formatMoney(rows * PRICES.rowsWritten)];
}

const tablesOf = ({ act, tables }: ActRows): string =>
  `- ${act}: ${tables.map(([table, rows]) => `\`${table}\` ${formatFigure(rows)}`).join(", ")}`;

// ---- Dollars -------------------------------------------------------------------------------------------------------------

/** Cloudflare's prices beyond what a paid plan includes, in dollars a million (2026-11). A queue message is three operations. */
const PRICES = { requests: 0.3, rowsRead: 0.001, rowsWritten: 1, objectCalls: 0.15, queueMessages: 3 * 0.4 } as const;

/** The cost of a million of the nearest unit elsewhere, by the public price list of 2026-11. */
const ELSEWHERE = [
  ["x402 settlements, Coinbase's facilitator", "$0.001 each after 1,000 a month; gas is included", 999],
  ["Stripe charges by card", "30 ¢ each, and 2.9 % of the amount", 300_000],
  ["Svix messages", "$0.0001 each after 50,000 a month, and a plan of $0 or $490 a month", 95],
] as const;

/** The lines of a bill: the number in one act, and the dollars for a million acts. */
function billOf(one: ActRows): (readonly [line: string, count: number, dollars: number])[] {
  const { requests, rowsRead, objectCalls, queueMessages } = one.billed;
  const lines = [
    ["calls", requests, PRICES.requests],
    ["rows read", rowsRead, PRICES.rowsRead],
    ["rows written", rowsOf(one), PRICES.rowsWritten],
    ["calls of Durable Objects", objectCalls, PRICES.objectCalls],
    ["queue messages", queueMessages, PRICES.queueMessages],
  ] as const;
  return lines.map(([line, count, price]) => [line, count, count * price] as const);
}

const formatMoney = (value: number): string => value.toFixed(2);

function dollarsTables(acts: readonly ActRows[]): string {
  const purchase = acts.find(({ act }) => act === "purchase");
  if (!purchase) return "";
  const delivery = acts.find(({ act }) => act === "delivery");
  const bill = billOf(purchase);
  const total = bill.reduce((sum, [, , dollars]) => sum + dollars, 0);
  return [
    "CPU time is left out, because it does not repeat. A millisecond of each call would add $0.02.\n",
    formatTable(
      ["Line", "of one purchase", "dollars a million"],
      [
        ...bill.map(([line, count, dollars]) => [line, formatFigure(count), formatMoney(dollars)]),
        ["in all", "", formatMoney(total)],
      ],
    ),
    ...storageLines(purchase, delivery),
    formatTable(
      ["A million of", "Price", "dollars"],
      ELSEWHERE.map(([name, price, value]) => [name, price, value.toLocaleString("en")]),
    ),
  ].join("\n");
}

/** In dollars for a gigabyte and month. */
const STORAGE_PRICE = 0.75;
/** The gigabytes of a million acts of so many bytes. */
const toGigabytes = (bytes: number): number => bytes / 1_000;

function storageLines({ bytes, events }: ActRows, delivery: ActRows | undefined): string[] {
  const [standing, forEver] = [toGigabytes(bytes.standing), toGigabytes(bytes.forEver)];
  const dollars = (gigabytes: number) => `$${formatMoney(gigabytes * STORAGE_PRICE)}`;
  const sent = delivery ? events * delivery.bytes.standing : 0;
  return [
    "",
    `Storage costs $${STORAGE_PRICE} for a gigabyte and month: a million purchases take ${formatFigure(standing)} GB for 30 days, ${dollars(standing)}, and then`,
    `${formatFigure(forEver)} GB for ever, ${dollars(forEver)} a month. With an endpoint for every event, a purchase stores ${formatFigure(sent)} bytes more for 30 days.`,
    "",
  ];
}

// ---- Suspensions and calls -----------------------------------------------------------------------------------------------

const suspensionsTable = (suspensions: readonly Suspension[]): string =>
  formatTable(
    ["Agents", "Trips", "Rows read by the answer", "written", "Rows read in all", "written"],
    suspensions.map(({ kind, agents, trips, answer, all }) => [
      `${agents.toLocaleString("en")} ${kind}${agents === 1 ? "" : "s"}`,
      ...[trips, answer.read, answer.written, all.read, all.written].map(formatFigure),
    ]),
  );

function callsTable({ costs, far }: Counted): string {
  const hops = new Map(far.flatMap((one) => ("hops" in one ? [[one.name, one.hops] as const] : [])));
  const costOf = (outcome: Outcome) => ("cost" in outcome ? [outcome.cost] : []);
  const names = Object.keys(BUDGETS);
  const rows = costs
    .flatMap(costOf)
    .sort((one, other) => names.indexOf(one.name) - names.indexOf(other.name))
    .map(({ name, trips, rowsRead, rowsWritten, objects, queues }) => [
      `\`${name}\``,
      String(trips),
      String(hops.get(name) ?? ""),
      ...[rowsRead, rowsWritten, objects, queues].map(formatFigure),
    ]);
  return (
    "Hops are the trips and object calls that an answer waits for one after the other. A job has none.\n\n" +
    formatTable(["", "Trips", "Hops", "Rows read", "Rows written", "Object calls", "Queue sends"], rows)
  );
}
