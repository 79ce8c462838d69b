// Reads the reports of an agent as its platform, and makes the purchases that they show.
import { expectStatus, type Json, type World } from "../support/world.ts";

export type Report = "overview" | "tasks" | "transactions" | "events";
export const LISTS = ["tasks", "transactions", "events"] as const satisfies readonly Report[];

export const pathOf = (did: string, report: Report, query = ""): string =>
  `/v1/agents/${did}/${report}${query === "" ? "" : `?${query}`}`;

export const report = async (of: World, did: string, name: Report, query = "", key = of.key): Promise<Json> =>
  expectStatus(await of.call("GET", pathOf(did, name, query), { key }), 200);

export const taskIds = async (of: World, did: string, query = ""): Promise<string[]> =>
  (await report(of, did, "tasks", query)).data.map(({ task_id }: Json) => task_id);

/** The type of an event, and the most specific id of its object. */
export const told = ({ type, data: { object } }: Json): [string, string] => [
  type,
  object.task_id ?? object.transaction_id ?? object.intent_id ?? object.did,
];

/** Reads all entries of a list, page by page. */
export async function wholeList(of: World, did: string, name: Report, query: string): Promise<Json[]> {
  const found: Json[] = [];
  for (let cursor = ""; ; ) {
    const page = await report(of, did, name, `${query}${cursor}`);
    found.push(...page.data);
    if (!page.has_more) return found;
    cursor = `&cursor=${page.next_cursor}`;
  }
}
