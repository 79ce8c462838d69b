// Rules for the query plans of SQLite. They find a scan of a growing table, or a sort without an index, before it is slow.

/** An exception: a step that a plan may have, the statements that may have it, and why. */
type Exception = { readonly step: RegExp; readonly in: RegExp; readonly because: string };

const ANY = /^/;

const EXCEPTIONS: readonly Exception[] = [
  { step: /^SCAN (CONSTANT ROW|\d+-ROW VALUES CLAUSE|\d+ CONSTANT ROWS?)$/, in: ANY, because: "no table at all" },
  { step: /^SCAN (\(subquery-\d+\)|listed)$/, in: ANY, because: "rows that a step of its own has found" },
  { step: / VIRTUAL TABLE INDEX /, in: /json_each\(/, because: "a list that came as a parameter" },
  { step: /^SCAN released$/, in: /^update "spend_sums"/, because: "one row for each spender of a slice of intents" },
  {
    step: /^USE TEMP B-TREE FOR GROUP BY$/,
    in: /^update "spend_sums"/,
    because: "the spenders of a slice of intents",
  },
  {
    step: /^SCAN half$/,
    in: /with recursive half\(low, size\)/,
    because: "a search by halves: one row for each doubling",
  },
  {
    step: /^SCAN ids$/,
    in: /with recursive ids \(id, n\)/,
    because: "one row for each endpoint of a slice, whose own rows are passed over",
  },
  {
    step: /^SCAN walks USING COVERING INDEX walks_relisting$/,
    in: /exists \(select 1 from walks where relisting = 1\)/,
    because: "whether there is any: one row of a partial index",
  },
  {
    step: /^SCAN first$/,
    in: /from directory_changes where environment = \? order by seq limit 1\) first/,
    because: "the oldest record: one row",
  },
  {
    step: /^SCAN (events|last)$/,
    in: /from events order by seq desc limit 1\) last/,
    because: "one row, from the end of the key",
  },
  { step: /^SCAN newest$/, in: /from status_lists order by list_id desc limit 1/, because: "the newest list: one row" },
  {
    step: /^SCAN status_lists$/,
    in: /from status_lists order by list_id desc limit 1|order by "status_lists"."list_id" desc limit \?/,
    because: "one row, from the end of the key",
  },
  {
    step: /^USE TEMP B-TREE FOR LAST TERM OF ORDER BY$/,
    in: /status = 'PROVISIONING'/,
    because: "sorts what is due at one and the same instant",
  },
  {
    step: /^SCAN chain$/,
    in: /from json_each\(\(select delegators from agents/,
    because: "an agent and its delegators: at most six",
  },
  {
    step: /^SCAN ledger_differences USING INDEX ledger_differences_newest$/,
    in: /order by "ledger_differences"."found_at" desc/,
    because: "a page in the order of the index: it ends at its limit",
  },
  {
    step: /^(USE TEMP B-TREE FOR ORDER BY|SCAN [rw])$/,
    in: /from directory_term_counts c/,
    because: "the words of a filter, and the entries of a term that few have: their number is bounded",
  },
  { step: /^SCAN jobs$/, in: ANY, because: "one row for each job of the code" },
  {
    step: /^SCAN f$/,
    in: /followers f cross join spend_holds h/,
    because: "one row for each network of the configuration",
  },
  { step: /^SCAN registered_editions$/, in: ANY, because: "one row for each network of the configuration" },
  {
    step: /^SCAN e$/,
    in: /^insert into "walks".* from escrows e/s,
    because: "all escrows of a network, once for an edition",
  },
  { step: /^SCAN authority_keys$/, in: ANY, because: "one row for each key of the CA: one or two a year" },
  {
    step: /^SCAN (platforms|verifiers)$/,
    in: /order by "(platforms"."platform_id|verifiers"."verifier_id)" desc limit \?/,
    because: "a page in the order of the key: it ends at its limit",
  },
  {
    step: /^(SCAN alerts USING INDEX alerts_open|USE TEMP B-TREE FOR ORDER BY)$/,
    in: /from "alerts" where \(?acknowledged_at is null/,
    because: "the open alerts, one for each thing",
  },
  {
    step: /^SCAN alerts USING INDEX alerts_by_time$/,
    in: /"acknowledged_at" is not null/,
    because: "a page of what is acknowledged: only the open ones are passed over",
  },
  {
    step: /^SCAN alerts USING INDEX alerts_unmailed$/,
    in: ANY,
    because: "a partial index of the alerts that no mail has named: at most those of one hour",
  },
  // ---- Searches by a network, an environment or an account alone -------------------------------------------------------------
  {
    step: /^SEARCH (webhook_endpoints|management_keys|account_links|documents|seen_devices|activity_heads)\b/,
    in: ANY,
    because:
      "an account has few: 20 endpoints, two keys and those in their grace, its links, 50 files and the devices of a quarter",
  },
  { step: /^SEARCH sessions\b/, in: ANY, because: "the sessions of one account, which the rate of its log-ins bounds" },
  {
    step: /^SEARCH (activity_entries|directory_changes) USING PRIMARY KEY/,
    in: /select (coalesce\()?max\(seq\)(, 0\)| \+ 1)? from (activity_entries|directory_changes)/,
    because: "the last entry or change: one row, from the end of the key",
  },
  {
    step: /^SEARCH directory_entries USING (COVERING )?INDEX directory_entries_unindexed/,
    in: ANY,
    because: "a partial index of the entries whose terms a job has not written yet",
  },
  {
    step: /^SEARCH activity_entries USING PRIMARY KEY/,
    in: /^delete from "activity_entries"/,
    because: "an account that was never verified has a handful",
  },
  {
    step: /^SEARCH events USING COVERING INDEX events_by_tenant/,
    in: /union all select seq from events not indexed/,
    because: "the events of an account that is erased: the limit stands outside of both selects",
  },
  {
    step: /^SEARCH r USING COVERING INDEX sqlite_autoindex_receipts_1/,
    in: /^insert into "followers"/,
    because: "once, when a network is read for the first time",
  },
  {
    step: /^SEARCH payment_intents USING INDEX payment_intents_waiting/,
    in: ANY,
    because: "a partial index of the intents whose payments were lost within the hour",
  },
  { step: /^SEARCH key_acts USING/, in: ANY, because: "what keys of a network did lately, and the calls that wait" },
  {
    step: /^SEARCH (agents|escrows)( EXISTS)? USING (COVERING )?INDEX (agents_stopped_by_operator|agents_disputed|escrows_holding)\b/,
    in: /exists \(select 1 from/,
    because: "a partial index, of which the first row decides",
  },
  {
    step: /^SEARCH principals USING COVERING INDEX principals_by_(status|customer)/,
    in: /^(update "principals" set "account_stopped"|insert into "walks")/,
    because: "all principals of an account that stops or returns, once",
  },
];

const BAD = /^SCAN |USE TEMP B-TREE/;

/** Columns with few distinct values. A search only by these reads a large part of the table, unless a limit ends it. */
const WIDE: ReadonlySet<string> = new Set(["network", "environment", "platform_id"]);

/** Tables with such a column as the primary key: a search reads one row. */
const ONE_ROW: ReadonlySet<string> = new Set([
  ...["account_volumes", "activity_chains", "directory_feeds", "followers", "mainnet_trials", "network_standings"],
  ...["passwords", "platforms", "registered_editions"],
]);

function isWide(step: string, sql: string): boolean {
  const [, name = "", searched, terms] = /^SEARCH (\w+) (.*)\((.*)\)/.exec(step) ?? [];
  const columns = terms?.split(" AND ").map((term) => /^(\w+)=\?$/.exec(term)?.[1]);
  if (!columns?.every((column) => column !== undefined && WIDE.has(column)) || isLimited(name, sql)) return false;
  return !(searched?.includes("PRIMARY KEY") && tablesOf(name, sql).some((table) => ONE_ROW.has(table)));
}

/** True if each select that reads the table has a limit of its own. */
function isLimited(name: string, sql: string): boolean {
  const reads = [...sql.matchAll(new RegExp(`(?:from|join|,) +"?(?:\\w+"? +(?:as +)?"?)?${name}"?(?!\\w)`, "gi"))];
  return (
    reads.length > 0 &&
    reads.every(({ index, 0: read }) => /\blimit\b/i.test(restOfSelect(sql.slice(index + read.length))))
  );
}

/** The text up to the bracket that closes the select, without selects in brackets of their own. */
function restOfSelect(text: string): string {
  let rest = text;
  for (let before = ""; before !== rest; ) {
    before = rest;
    rest = rest.replace(/\([^()]*\)/g, "");
  }
  return rest.split(")")[0] ?? "";
}

/** The tables that the name may stand for, because one statement may use an alias twice. */
const tablesOf = (name: string, sql: string): string[] => [
  name,
  ...[...sql.matchAll(new RegExp(`(?:from|join|,) +"?(\\w+)"? +(?:as +)?"?${name}"?(?!\\w)`, "gi"))].map(
    ([, table = ""]) => table,
  ),
];

/** The steps of a statement's plan that no exception allows. */
export const planFaults = (sql: string, steps: readonly string[]): string[] =>
  steps.filter(
    (step) =>
      (BAD.test(step) || isWide(step, sql)) &&
      !EXCEPTIONS.some((exception) => exception.step.test(step) && exception.in.test(sql)),
  );

/** The statement that explains another one, and values for its parameters, which do not affect the plan. */
export const explainStatement = (sql: string): { sql: string; params: null[] } => ({
  sql: `explain query plan ${sql}`,
  // `?1` names a parameter that was bound before.
  params: Array.from({ length: sql.split(/\?(?!\d)/).length - 1 }, () => null),
});
