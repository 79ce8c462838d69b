// The budgets of the directory's routes (budgets.ts).
import { type Budget, KIB, read } from "./budget.ts";

export const DIRECTORY_BUDGETS: Readonly<Record<string, Budget>> = {
  // A full page: the key and its account 2, the last number and the latest end 2, and one row more than the page has.
  "GET /v1/directory/agents (no filter)": read(25, 16 * KIB),
  "GET /v1/directory/agents (status=all)": read(27, 16 * KIB),
  "GET /v1/directory/agents (status=suspended)": read(25, 16 * KIB),
  // The number of entries with each term, and two rows for each entry with the rarest.
  "GET /v1/directory/agents (two capabilities)": read(12, 8 * KIB),
  "GET /v1/directory/agents (a role)": read(50, 16 * KIB),
  // A page by a filter without a term scans a thousand entries at most, wherever the next match is.
  "GET /v1/directory/agents (a rating)": read(2_030, 16 * KIB),
  "GET /v1/directory/agents (304)": read(4, 0),
  "GET /v1/directory/agents/{did}": read(4, KIB),
  // The start is found by two rows of the index of every sixteenth record.
  "GET /v1/directory/changes (100 from the first)": read(106, 24 * KIB),
  "GET /v1/directory/head": read(3, KIB),
};
