// Maps events to views.
import { toIso } from "../core/clock.ts";
import { decodeIdInstant } from "../core/ids.ts";
import { DAY_MS, EVENT_RETENTION_DAYS } from "../core/limits.ts";
import type { EventRow } from "../db/tables/journal.ts";
import type { EventView } from "./responses.ts";

/** Whether an event with this id may have been written before the instant `first`. `aheadMs`: how far the clock that dated it may have been ahead. */
export const mayBeOlder = (id: string, first: number, aheadMs: number): boolean =>
  (decodeIdInstant("evt", id) ?? first + aheadMs) - aheadMs < first;

/** Events from before this instant are no longer listed (EVT-17). */
export const computeOldestListed = (now: number): number => now - EVENT_RETENTION_DAYS * DAY_MS;

export type ViewedEvent = Pick<EventRow, "id" | "type" | "occurredAt" | "environment" | "object" | "previous">;

export const toEventView = ({ id, type, occurredAt, environment, object, previous }: ViewedEvent): EventView => ({
  id,
  type,
  occurred_at: toIso(occurredAt),
  environment,
  api_version: "v1",
  data: { object, ...(previous && { previous }) },
});
