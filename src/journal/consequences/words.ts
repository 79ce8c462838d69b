// The words of the table of consequences (table.ts).
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
} from "../../core/vocabulary.ts";
import type { MailKind } from "../../mail/kinds.ts";

import type { EventType } from "../events.ts";

type NamesIn<M> = {
  [K in keyof M]: M[K] extends { readonly _: { readonly name: infer N extends string } } ? N : never;
}[keyof M];
export type Table =
  | NamesIn<typeof import("../../db/tables/accounts.ts")>
  | NamesIn<typeof import("../../db/tables/agents.ts")>
  | NamesIn<typeof import("../../db/tables/chain.ts")>
  | NamesIn<typeof import("../../db/tables/directory.ts")>
  | NamesIn<typeof import("../../db/tables/disputes.ts")>
  | NamesIn<typeof import("../../db/tables/journal.ts")>
  | NamesIn<typeof import("../../db/tables/money.ts")>
  | NamesIn<typeof import("../../db/tables/principals.ts")>
  | NamesIn<typeof import("../../db/tables/spending.ts")>
  | NamesIn<typeof import("../../db/tables/webhooks.ts")>;

type Move<S extends string> = `${S | "none"} → ${S | "none"}`;
/** `none`: the row does not exist before or after. */
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
 * `unsigned version`: a new version of a DRAFT, which is not signed (IDN-19). `new revision`: a change that the platform did not make, which
 * is signed at the next reading, `signed` (IDN-18). `stale version`: a version that is signed alone; its whole document is signed at the next
 * reading.
 */
export type DocumentEffect = "unsigned version" | "new version" | "stale version" | "new revision" | "signed";

/** The last three are new values in the status list. */
export type CertificateEffect = "issued" | "replaced" | "replaced in 24 hours" | "suspended" | "reinstated" | "revoked";

/** A link is mailed at once, a notice by its job. */
export type Mail = "alerts to the operator" | Exclude<MailKind, "operator.alerts">;

/** The party that is affected; of an event, the party whose platform gets it. */
export type Party = "account" | "customer" | "principal" | "agent" | "provider" | "consumer";
/** One entry for each effect; a party that is not named has none. */
export type By<T> = { readonly [P in Party]?: readonly T[] };

export type Consequence = {
  /** The case; the cases of one row differ. */
  readonly when: string;
  readonly states: readonly StateChange[];
  /** Written tables that the other columns do not imply. */
  readonly tables: readonly Table[];
  readonly activity: readonly ActivityAction[] | { readonly none: string };
  readonly events: By<EventType>;
  readonly directory: By<ChangeType>;
  readonly document: By<DocumentEffect>;
  readonly certificate: By<CertificateEffect>;
  readonly alerts: readonly AlertKind[];
  readonly mails: readonly Mail[];
};
export type Cases = readonly Consequence[];

export const NONE = {};
/** No alert and no mail. */
export const NO_NOTICE = { alerts: [], mails: [] } as const;
/** No effect outside the listed tables. */
export const UNSEEN = { events: NONE, directory: NONE, document: NONE, certificate: NONE, ...NO_NOTICE } as const;

// Why nothing stands in the activity log.
export const BY_ITSELF = { none: "falls due by itself, and changes nobody's standing" } as const;
export const NO_EDIT = { none: "no change of anything that a platform manages" } as const;
export const NOTHING_NEW = { none: "nothing changes" } as const;

export const NOTHING = { states: [], tables: [], activity: NOTHING_NEW, ...UNSEEN } as const;
