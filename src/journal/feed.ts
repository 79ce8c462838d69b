// Records a change in the directory (DIR-1, DIR-5): a record in the feed and the agent's current entry, in the batch of the change.
import type { AgentStatus, ChangeType, Environment } from "../core/vocabulary.ts";
import type { Database, Statement } from "../db/batch.ts";
import { dateEntry, insertChange, type NotedChanges, putEntry, recordAndMoveEntries } from "./directory-store.ts";

type DirectoryAgent = { readonly environment: Environment; readonly did: string };

/** Records a change of identity, scope, key or markets, after the statements that change the agent's row. `markets`: the codes of its ACTIVE ones. */
export const recordDirectoryChange = (
  db: Database,
  { environment, did }: DirectoryAgent,
  changeType: ChangeType,
  markets: readonly string[],
): Statement[] => {
  const listed = { environment, did };
  return [insertChange(db, listed, changeType), putEntry(db, listed, markets)];
};

/** Records a new published rating, or a change that the entry does not show. */
export const recordRatingChange = (
  db: Database,
  { environment, did }: DirectoryAgent,
  rating: { readonly agentRating?: number | null },
): Statement[] => {
  const listed = { environment, did };
  return [insertChange(db, listed, "updated"), dateEntry(db, listed, rating)];
};

/** Ends the agent's membership in an environment that it has left. Its entry has moved to the other environment already. */
export const recordDeparture = (db: Database, { environment, did }: DirectoryAgent): Statement =>
  insertChange(db, { environment, did }, "revoked");

/** Records one change for each agent, in order. `status`: null keeps the status of their entries. `noted`: the last numbers. */
export const recordDirectoryChanges = (
  db: Database,
  changeType: ChangeType,
  status: AgentStatus | null,
  each: readonly DirectoryAgent[],
  noted?: NotedChanges,
): Statement[] => recordAndMoveEntries(db, each, { changeType, status }, noted);
