// The vocabulary of the table of consequences (table.ts).
import type {
  ActivityAction,
  AgentStatus,
  AlertKind,
  ChangeType,
  CustomerStatus,
  DisputeStatus,
  EscrowState,
  IntentStatus,
  MarketStatus,
  OperationStatus,
  PlatformStatus,
  PrincipalStatus,
  TaskStatus,
  WebhookStatus,
} from "../../src/core/vocabulary.ts";
import type { EventType } from "../../src/journal/events.ts";
import type { MailKind } from "../../src/mail/kinds.ts";

type NamesIn<M> = {
  [K in keyof M]: M[K] extends { readonly _: { readonly name: infer N extends string } } ? N : never;
}[keyof M];
export type Table =
  | NamesIn<typeof import("../../src/db/tables/accounts.ts")>
  | NamesIn<typeof import("../../src/db/tables/agents.ts")>
  | NamesIn<typeof import("../../src/db/tables/chain.ts")>
  | NamesIn<typeof import("../../src/db/tables/directory.ts")>
  | NamesIn<typeof import("../../src/db/tables/disputes.ts")>
  | NamesIn<typeof import("../../src/db/tables/journal.ts")>
  | NamesIn<typeof import("../../src/db/tables/money.ts")>
  | NamesIn<typeof import("../../src/db/tables/principals.ts")>
  | NamesIn<typeof import("../../src/db/tables/spending.ts")>
  | NamesIn<typeof import("../../src/db/tables/walks.ts")>
  | NamesIn<typeof import("../../src/db/tables/webhooks.ts")>;

type Move<S extends string> = `${S | "none"} → ${S | "none"}`;
/** `none`: the row does not exist before, or after. */
export type StateChange =
  | `account ${Move<PlatformStatus>}`
  | `customer ${Move<CustomerStatus>}`
  | `principal ${Move<PrincipalStatus>}`
  | `agent ${Move<AgentStatus>}`
  | `market ${Move<MarketStatus>}`
  | `escrow ${Move<EscrowState>}`
  | `intent ${Move<IntentStatus>}`
  | `task ${Move<TaskStatus>}`
  | `dispute ${Move<DisputeStatus>}`
  | `webhook ${Move<WebhookStatus>}`
  | `chain operation ${Move<OperationStatus>}`
  | `alert ${Move<"open" | "acknowledged">}`;

/**
 * `unsigned version`: a new version of a DRAFT, which is not signed (IDN-19). `new revision`: a change that the platform did not make, which is
 * signed at the next read, `signed` (IDN-18). `stale version`: only the version is signed now, and its whole document at the next read.
 */
export type DocumentEffect = "unsigned version" | "new version" | "stale version" | "new revision" | "signed";

/** The last three are new values in the status list. */
export type CertificateEffect = "issued" | "replaced" | "replaced in 24 hours" | "suspended" | "reinstated" | "revoked";

/** A link is mailed at once, and a notice by its job. */
export type Mail = "alerts to the operator" | Exclude<MailKind, "operator.alerts">;

/** The party that is affected. An event goes to the platform of the party. */
export type Party = "account" | "customer" | "principal" | "agent" | "provider" | "consumer";
/** One entry for each effect. A party that is not named has none. */
export type By<T> = { readonly [P in Party]?: readonly T[] };

export type Consequence = {
  /** The case. The cases of one row differ in it. */
  readonly when: string;
  readonly states: readonly StateChange[];
  /** Tables that are written but not implied by the other columns. */
  readonly tables: readonly Table[];
  readonly activity: readonly ActivityAction[] | { readonly none: string };
  readonly events: By<EventType>;
  readonly directory: By<ChangeType>;
  readonly document: By<DocumentEffect>;
  readonly certificate: By<CertificateEffect>;
  readonly alerts: readonly AlertKind[];
  readonly mails: readonly Mail[];
};

type Effects = Omit<Consequence, "when">;
/** A row as it is written: it states only what happens. */
export type Case = { readonly when: string } & Partial<Effects>;
export type Cases = readonly Case[];

// Reasons why there is no entry in the activity log.
export const BY_ITSELF = { none: "falls due by itself, and changes nobody's standing" } as const;
export const NO_EDIT = { none: "no change of anything that a platform manages" } as const;
const NOTHING_NEW = { none: "nothing changes" } as const;

const NOTHING: Effects = {
  states: [],
  tables: [],
  activity: NOTHING_NEW,
  events: {},
  directory: {},
  document: {},
  certificate: {},
  alerts: [],
  mails: [],
};

/** Fills in what the rows leave out. A row that changes something must state its activity, or why there is none. */
export const completeRows = <K extends string>(rows: Readonly<Record<K, Cases>>): Record<K, Consequence[]> =>
  Object.fromEntries(
    Object.entries<Cases>(rows).map(([name, cases]) => [name, cases.map((row) => completeRow(name, row))]),
  ) as Record<K, Consequence[]>;

function completeRow(name: string, row: Case): Consequence {
  const isEmpty = Object.keys(row).length === 1;
  if (!isEmpty && row.activity === undefined) throw new Error(`${name}, ${row.when}: no activity, and no reason`);
  return { ...NOTHING, ...row };
}
