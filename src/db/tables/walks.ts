// Table of walks: work on many rows that continues slice by slice until nothing is left.
import { sql } from "drizzle-orm";
import { index, integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";
import type { Actor, AnnouncementKind, CascadeTrigger, Environment, SuspensionReason } from "../../core/vocabulary.ts";
import type { PrincipalReport } from "./principals.ts";

/** Each kind of walk keeps its own values for its slices. */
export type WalkPayloads = {
  /** The subject is a principal or an account some of whose agents have to follow in their own rows (PRN-17). */
  readonly cascade: { readonly reason: SuspensionReason; readonly actor: Actor };
  /** The subject is an endpoint. The events after the position, up to `toSeq`, are queued once more. */
  readonly replay: { readonly platformId: string; readonly environment: Environment; readonly toSeq: number };
  /** The subject is an announcement. The accounts after the position get their notices. */
  readonly announcement: { readonly kind: AnnouncementKind };
  /** The subject is a principal, which its agents have still to state. The actor reactivates agents; null if that was not requested. */
  readonly restatement: Actor | null;
  /** The subject names a network, a provider and an environment. One slice moves the provider to the new edition (MKT-22). */
  readonly edition_move: null;
};
export type WalkKind = keyof WalkPayloads;

/** Any run may continue a walk. Its row exists until its last slice. */
export const walks = sqliteTable(
  "walks",
  {
    kind: text().$type<WalkKind>().notNull(),
    subject: text().notNull(),
    /** Increases whenever a running walk begins again, so that a slice that was read before is refused. */
    startedAt: integer().notNull(),
    afterAt: integer().notNull(),
    afterId: text().notNull(),
    trigger: text().$type<CascadeTrigger>(),
    /** For a principal that moved with others: the moves that are still to be reported, in order; null once they are. */
    report: text({ mode: "json" }).$type<readonly PrincipalReport[]>(),
    /** True if a restatement also lists each running agent again, because readers may have seen it stopped without a record of it (DIR-15). */
    relisting: integer({ mode: "boolean" }),
    payload: text({ mode: "json" }).$type<WalkPayloads[WalkKind]>(),
  },
  (t) => [
    primaryKey({ columns: [t.kind, t.subject] }),
    index("walks_by_start").on(t.kind, t.startedAt, t.subject),
    // Begins with a column that is equal in all its rows: whether any row exists is then an equality, which reads no row if none does.
    index("walks_relisting").on(t.relisting, t.subject).where(sql`relisting = 1`),
  ],
);
type WalkRow = typeof walks.$inferSelect;
export type Walk<Kind extends WalkKind> = Omit<WalkRow, "kind" | "trigger" | "payload"> & {
  readonly kind: Kind;
  readonly trigger: Kind extends "cascade" ? CascadeTrigger : null;
  readonly payload: WalkPayloads[Kind];
};
export type CascadeRow = Walk<"cascade">;
