// Checks the events that a file's tests made the service write: each must match the OpenAPI document's schema of its type, as an endpoint would get
// it.
import { openDatabase } from "../../src/db/batch.ts";
import { events } from "../../src/db/tables/journal.ts";
import { toEventView } from "../../src/journal/event-read.ts";
import { checkEvent } from "./openapi.ts";

/** Throws for the first event that does not match. */
export async function checkEvents(d1: D1Database): Promise<void> {
  for (const row of await openDatabase(d1).select().from(events)) checkEvent(toEventView(row));
}
