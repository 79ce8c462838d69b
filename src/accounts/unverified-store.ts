// Deletes accounts that never began (ACC-10, ACC-12).
import { type SQL, sql } from "drizzle-orm";
import type { Database, Statement } from "../db/batch.ts";
import { deleteEntries } from "../journal/activity-store.ts";
import { deleteChains } from "../journal/chain-store.ts";
import { deleteVolumes } from "../journal/volume-store.ts";
import { deleteLinksOfAccounts } from "./link-store.ts";
import { deletePasswordsOfAccounts } from "./password-store.ts";
import { deletePlatforms } from "./store.ts";

/** Deletes all their rows. The accounts themselves go last, because the other rows are found through them. */
export const deleteUnverified = (db: Database, those: SQL): Statement[] => [
  deletePasswordsOfAccounts(db, those),
  deleteLinksOfAccounts(db, those),
  deleteEntries(db, those),
  ...deleteChains(db, those),
  deleteVolumes(db, those),
  deletePlatforms(db, those),
];

/** Deletes one account if it still waits for its verification. */
export const deleteIfUnverified = (db: Database, platformId: string): Statement[] =>
  deleteUnverified(
    db,
    sql`(select platform_id from platforms where platform_id = ${platformId} and status = 'EMAIL_PENDING')`,
  );
