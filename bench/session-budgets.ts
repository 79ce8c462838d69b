// The budgets of log-ins, sessions and TOTP, and of an account's profile (bench/budgets.ts). Objects: an attempt is counted for its client and for
// its account before it is judged, and released afterwards.
import { type Budget, EACH, job, KIB, mutation, read } from "./budget.ts";

export const SESSION_BUDGETS: Readonly<Record<string, Budget>> = {
  "POST /v1/platform/sessions": mutation(9, 9, 250, { objects: 4 }),
  "POST /v1/platform/sessions (a new device)": mutation(6, 11, 250, { objects: 4 }),
  "POST /v1/platform/sessions (a code)": mutation(6, 12, 250, { objects: 4 }),
  "GET /v1/platform/sessions": read(6, KIB),
  "DELETE /v1/platform/sessions": mutation(10, 5, 0),
  "DELETE /v1/platform/sessions/{session_id}": mutation(8, 5, 0),
  "DELETE /v1/platform/sessions/current": mutation(5, 5, 0),
  "POST /v1/platform/sessions/current/confirm": mutation(8, 1, 100, { objects: 4, queues: 0 }),
  "POST /v1/platform/sessions/current/confirm (a code)": mutation(8, 2, 100, { objects: 4, queues: 0 }),
  // Refused on the first trip.
  "POST /v1/platform/keys/rotate (to be confirmed)": read(5, 300),
  "PATCH /v1/platform (a proposal)": mutation(15, 11, 4 * KIB),
  // Includes the link and the count of its mail.
  "PATCH /v1/platform (a contact)": mutation(11, 9, 4 * KIB),
  "POST /v1/operator/platforms/{platform_id}/decision (a name)": mutation(11, 14, 4 * KIB),
  // Each agent costs its own row and its newest version with their indexes, read once and written once, and the directory's record.
  "POST /v1/operator/platforms/{platform_id}/decision (a name, with ten agents)": mutation(105, 74, 4 * KIB),
  "POST /v1/platform/totp": mutation(9, 2, KIB, { objects: 4, queues: 0 }),
  "POST /v1/platform/totp/confirm": mutation(12, 8, 100, { objects: 4 }),
  "DELETE /v1/platform/totp": mutation(12, 8, 0, { objects: 4 }),
  // Ends all sessions, and both logs get an entry.
  "POST /v1/operator/platforms/{platform_id}/totp/remove": mutation(7, 13, 200),
  ...job("reseal_totp_secrets", { ...EACH, trips: 2, rowsRead: 4 }, { trips: 6, rowsRead: 9, rowsWritten: 4 }),
};
