// Describes the effect of an act in the words of test/consequences/table.ts, from the difference of all tables.

import { CERTIFICATE_STATUS } from "../../src/protocol/status-list.ts";
import type { Consequence, Party, Table } from "../consequences/words.ts";
import { entryFaults } from "./directory.ts";
import { type Change, type Difference, differenceMadeBy } from "./snapshot.ts";
import { env, type Json, type World } from "./world.ts";

/** The parties of an act, as DIDs or ids of principals. */
export type Parties = { readonly [P in Party]?: readonly string[] };
type ByParty = { readonly [party: string]: readonly string[] };
export type Seen = {
  readonly [Column in "states" | "tables" | "activity" | "alerts" | "mails"]: readonly string[];
} & { readonly [Column in "events" | "directory" | "document" | "certificate"]: ByParty };

const HOUR_MS = 3_600_000;

/**
 * Tables with a column of their own, and tables that the queue or the blocks of other files may change at any time: the marks of the outbox and the
 * follower, and the rows that jobs make for the directory.
 */
const NOT_LISTED: ReadonlySet<string> = new Set<Table>([
  "activity_entries",
  "events",
  "directory_changes",
  "directory_entries",
  "directory_terms",
  "directory_term_counts",
  "directory_hashes",
  "directory_feeds",
  "aids",
  "aid_versions",
  "certificates",
  "alerts",
  "alert_mails",
  "notices",
  "outbox",
  "followers",
  "network_standings",
  "booked_blocks",
]);

/** Plays the act, which returns its parties, and describes its effect. */
export async function observe(world: World, act: () => Promise<Parties>): Promise<Seen> {
  let parties: Parties = {};
  const difference = await differenceMadeBy(world, async () => {
    parties = await act();
  });
  const of = (table: Table): readonly Change[] => difference.get(table) ?? [];
  const records = of("directory_changes").filter(isKept(difference));
  await checkEntries(records, of("directory_entries"));
  return {
    states: statesIn(difference),
    tables: [...difference.keys()].filter((name) => !NOT_LISTED.has(name)).sort(),
    activity: actionsIn(of("activity_entries").filter(outlives(difference)), parties),
    events: byParty(parties, eventsIn(of("events"), await platformsOf(parties))),
    directory: byParty(
      parties,
      added(records).map((row) => [row.did, row.change_type]),
    ),
    document: byParty(parties, documentsIn(difference)),
    certificate: byParty(parties, of("certificates").flatMap(certificateEffects)),
    // Alerts of one kind on several networks count once.
    alerts: [
      ...new Set(
        of("alerts")
          .filter(isRaised)
          .map(({ after }) => after.kind),
      ),
    ],
    mails: mailsIn(difference),
  };
}

/** False for a record that was pruned. */
const isKept = (difference: Difference) => {
  const pruned = new Map(
    (difference.get("directory_feeds") ?? []).map(({ after }) => [after.environment, after.pruned_to]),
  );
  return ({ before, after }: Change): boolean => after !== null || before.seq > (pruned.get(before.environment) ?? 0);
};

/** Checks that each record has an entry that equals the agent's row at the record's instant, and that no entry changes without a record. */
async function checkEntries(records: readonly Change[], entries: readonly Change[]): Promise<void> {
  const listed = Map.groupBy(added(records), ({ did }) => did);
  const faults = await entryFaults(env.DB, [...listed.keys()]);
  const silent = entries.filter(({ before, after }) => {
    const own = listed.get((after ?? before).did) ?? [];
    return (
      after === null ||
      !own.some((row) => row.occurred_at === after.updated_at && row.environment === after.environment)
    );
  });
  if (faults.length + silent.length > 0) throw new Error(`the directory: ${JSON.stringify({ faults, silent })}`);
}

/** The row in the form of `observe`, without the reason of a missing entry, which no table has. */
export const expectedOf = (row: Consequence): Seen => ({
  states: row.states.toSorted(),
  tables: row.tables.toSorted(),
  activity: "none" in row.activity ? [] : row.activity.toSorted(),
  events: sorted(row.events),
  directory: sorted(row.directory),
  document: sorted(row.document),
  certificate: sorted(row.certificate),
  alerts: row.alerts,
  mails: row.mails.toSorted(),
});

const sorted = (by: ByParty): ByParty =>
  Object.fromEntries(Object.entries(by).map(([party, effects]) => [party, effects.toSorted()]));

// ---- Rows that are only added --------------------------------------------------------------------------------------------

function added(changes: readonly Change[]): Json[] {
  const touched = changes.find(({ before }) => before !== null);
  if (touched) throw new Error(`a row that must never change has changed: ${JSON.stringify(touched)}`);
  return changes.map(({ after }) => after);
}

/** False for the log of an account that is itself removed. */
const outlives = (difference: Difference) => {
  const removed = (difference.get("platforms") ?? []).filter(({ after }) => after === null);
  const ids = new Set(removed.map(({ before }) => before.platform_id));
  return ({ before, after }: Change): boolean => after !== null || !ids.has(before.platform_id);
};

const OF_ACCOUNT: ReadonlySet<string> = new Set(["api_key", "session", "document", "dispute", "webhook_endpoint"]);

function actionsIn(changes: readonly Change[], parties: Parties): string[] {
  // A key, a session, a document, a dispute and an endpoint concern their account.
  const entries = added(changes).map(
    (row): Effect => [OF_ACCOUNT.has(row.subject_type) ? row.platform_id : row.subject_id, row.action],
  );
  if (new Set(entries.map(String)).size < entries.length) throw new Error(`written twice: ${entries.join("; ")}`);
  return Object.values(byParty(parties, entries)).flat().sort();
}

type Effect = readonly [id: string, effect: string];

/** The parties whose platforms get an event: the agent or principal of the object, or both parties of a shared one. */
function eventsIn(changes: readonly Change[], owners: ReadonlyMap<string, string>): Effect[] {
  const rows = added(changes).map((row) => ({ ...row, object: JSON.parse(row.object) }));
  const texts = rows.map(({ platform_id, environment, type, object }) =>
    JSON.stringify([platform_id, environment, type, object]),
  );
  if (new Set(texts).size < texts.length) throw new Error("one platform got an event twice");
  return rows.flatMap(({ type, object, platform_id }): Effect[] => {
    const shared = object.provider_did !== undefined;
    const named = shared
      ? [object.provider_did, object.consumer_did]
      : [object.did ?? object.principal_id ?? object.platform_id ?? platform_id];
    const concerned = named.filter((id) => owners.get(id) === platform_id);
    if (concerned.length === 0) throw new Error(`a platform got ${type}, which does not concern it`);
    return concerned.map((id) => [id, type]);
  });
}

/** Notices that wait for their job, links, which are mailed at once, and the hour of an alert's mail. */
function mailsIn(difference: Difference): string[] {
  const fresh = (table: Table): Json[] =>
    (difference.get(table) ?? []).flatMap(({ before, after }) => (before === null ? [after] : []));
  return [
    ...fresh("notices").map(({ kind }): string => kind),
    ...fresh("account_links").map(({ kind }): string => MAIL_OF_LINK[kind] ?? kind),
    ...(difference.has("alert_mails") ? ["alerts to the operator"] : []),
  ].sort();
}

// ---- Rows that change ----------------------------------------------------------------------------------------------------

const STATES: readonly (readonly [table: Table, noun: string, state: (row: Json) => string])[] = [
  ["platforms", "account", ({ status }) => status],
  ["customers", "customer", ({ status }) => status],
  ["principals", "principal", ({ status }) => status],
  ["agents", "agent", ({ status }) => status],
  ["agent_markets", "market", ({ status }) => status],
  ["escrows", "escrow", ({ state }) => state],
  ["payment_intents", "intent", ({ status }) => status],
  ["tasks", "task", ({ status }) => status],
  ["disputes", "dispute", ({ status }) => status],
  ["webhook_endpoints", "webhook", ({ status }) => status],
  ["chain_operations", "chain operation", ({ status }) => status],
  ["alerts", "alert", ({ acknowledged_at }) => (acknowledged_at === null ? "open" : "acknowledged")],
];

function statesIn(difference: Difference): string[] {
  const moves = STATES.flatMap(([table, noun, state]) =>
    (difference.get(table) ?? []).map(({ before, after }) => {
      const [from, to] = [before, after].map((row) => (row === null ? "none" : state(row)));
      return from === to ? "" : `${noun} ${from} → ${to}`;
    }),
  );
  return [...new Set(moves.filter((move) => move !== ""))].sort();
}

/** The version and revision of the agent's row, and the documents that were signed from them. */
function documentsIn(difference: Difference): Effect[] {
  const of = (table: Table, did: string) =>
    (difference.get(table) ?? []).filter(({ before, after }) => (after ?? before).did === did);
  const dids = new Set(
    (["agents", "aids", "aid_versions"] as const).flatMap((table) =>
      (difference.get(table) ?? []).map(({ before, after }): string => (after ?? before).did),
    ),
  );
  return [...dids].flatMap((did) => {
    const [agent] = of("agents", did);
    const [whole] = of("aids", did);
    const signed = added(of("aid_versions", did)).map(({ version }) => version);
    const [from, to] = [agent?.before ?? { version: 0, revision: 0 }, agent?.after ?? { version: 0, revision: 0 }];
    const [versions, revisions] = [to.version - from.version, to.revision - from.revision];
    const effect = effectOf({ versions, revisions, signed: signed.length, whole: whole !== undefined });
    if (versions > 0 && whole && whole.after.revision !== to.revision) throw new Error("another revision was signed");
    return Array.from({ length: Math.max(versions, 1) }, (): Effect => [did, effect]).filter(([, one]) => one !== "");
  });
}

type Numbers = {
  readonly versions: number;
  readonly revisions: number;
  readonly signed: number;
  readonly whole: boolean;
};

function effectOf({ versions, revisions, signed, whole }: Numbers): string {
  if (versions === 0 && revisions === 0 && signed === 0) return whole ? "signed" : "";
  if (versions === 0 && revisions === 1 && signed === 0 && !whole) return "new revision";
  if (versions === revisions && signed === 0 && !whole) return "unsigned version";
  if (versions === revisions && signed === versions) return whole ? "new version" : "stale version";
  throw new Error(`an effect without a name: ${JSON.stringify({ versions, revisions, signed, whole })}`);
}

const LISTED: Readonly<Record<number, string>> = {
  [CERTIFICATE_STATUS.valid]: "reinstated",
  [CERTIFICATE_STATUS.suspended]: "suspended",
  [CERTIFICATE_STATUS.invalid]: "revoked",
};

function certificateEffects({ before, after }: Change): Effect[] {
  if (after === null) throw new Error("a certificate is gone");
  if (before === null) return [[after.did, "issued"]];
  const hours = (after.replaced_at - Date.now()) / HOUR_MS;
  const later = hours > 23 && hours <= 24 ? "replaced in 24 hours" : `replaced in ${hours} hours`;
  const replaced = hours <= 0 ? "replaced" : later;
  return [
    ...(before.replaced_at === after.replaced_at ? [] : [[after.did, replaced] as const]),
    ...(before.listed_status === after.listed_status ? [] : [[after.did, LISTED[after.listed_status] ?? "?"] as const]),
  ];
}

/** True for a new alert, and for one that was raised again. */
const isRaised = ({ before, after }: Change): boolean => before === null || after.seen > before.seen;

// ---- Parties -------------------------------------------------------------------------------------------------------------

/** Groups the effects by party; several agents of one party must have the same effects. */
function byParty(parties: Parties, effects: readonly Effect[]): ByParty {
  const known = Object.values(parties).flat();
  const stranger = effects.find(([id]) => !known.includes(id));
  if (stranger) throw new Error(`somebody else is concerned: ${stranger.join(" ")}`);
  const all = Object.entries(parties).map(([party, ids]) => {
    const lists = ids.map((id) =>
      effects
        .filter(([of]) => of === id)
        .map(([, effect]) => effect)
        .sort(),
    );
    const [first = []] = lists;
    if (lists.some((list) => JSON.stringify(list) !== JSON.stringify(first))) throw new Error(`unequal: ${party}`);
    return [party, first] as const;
  });
  return Object.fromEntries(all.filter(([, list]) => list.length > 0));
}

async function platformsOf(parties: Parties): Promise<Map<string, string>> {
  const { results } = await env.DB.prepare(
    `select did as id, platform_id from agents union all select principal_id, platform_id from principals
     union all select platform_id, platform_id from platforms`,
  ).all<{ id: string; platform_id: string }>();
  const ids = new Set(Object.values(parties).flat());
  return new Map(results.filter(({ id }) => ids.has(id)).map(({ id, platform_id }) => [id, platform_id]));
}

/** The links whose mail has another name. */
const MAIL_OF_LINK: Readonly<Record<string, string>> = {
  change_email: "verify_new_email",
  confirm_contact: "verify_contact",
};
