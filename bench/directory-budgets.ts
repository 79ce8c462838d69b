// The budgets of the directory's routes (budgets.ts).
import { type Budget, KIB, read } from "./budget.ts";

export const DIRECTORY_BUDGETS: Readonly<Record<string, Budget>> = {
  // The key and its account 2, the last number and the latest end 2, and one row more than the page has: of a full page.
  "GET /v1/directory/agents (no filter)": read(25, 16 * KIB),
  "GET /v1/directory/agents (status=all)": read(27, 16 * KIB),
  "GET /v1/directory/agents (status=suspended)": read(25, 16 * KIB),
  // How many have each term, and two rows for each that has the rarest.
  "GET /v1/directory/agents (two capabilities)": read(12, 8 * KIB),
  "GET /v1/directory/agents (a role)": read(50, 16 * KIB),
  // A page of what is no term looks at a thousand entries at most, wherever the next that fits is.
  "GET /v1/directory/agents (a rating)": read(2_030, 16 * KIB),
  "GET /v1/directory/agents (304)": read(4, 0),
  "GET /v1/directory/agents/{did}": read(4, KIB),
  // Where it begins is found by two rows of what is noted of every sixteenth record.
  "GET /v1/directory/changes (100 from the first)": read(106, 24 * KIB),
  "GET /v1/directory/head": read(3, KIB),
};
