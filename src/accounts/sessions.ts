// The sessions of an account, for its owner (CRED-27): listed with the device and network of each log-in, and ended one by one, or all but the
// calling one. Ending another session also ends the links that it may have requested.
import { type PersonCaller, readPage, type SessionCall } from "../call.ts";
import { toIso } from "../core/clock.ts";
import { hashListing, toPage } from "../core/page.ts";
import { recordActivity } from "../journal/activity.ts";
import { endLinks, LINKS_OF_SESSIONS } from "./link-store.ts";
import type { SessionsQuery } from "./session-schema.ts";
import { countOtherSessions, deleteSession, deleteSessions, findSession, listSessions } from "./session-store.ts";

/** Sessions live in real time: a test clock does not move them. */
const readRealTime = ({ deps }: SessionCall): number => deps.clock.now();

export async function getSessions(call: SessionCall, query: SessionsQuery) {
  const { db, session, tenant } = call;
  const page = await readPage(call, query, hashListing("sessions", [], {}));
  const { rows } = await call.read({ rows: listSessions(db, tenant.platformId, readRealTime(call), page) });
  return toPage(
    rows,
    page,
    ({ createdAt, sessionId }) => ({ at: createdAt, id: sessionId }),
    ({ tokenHash, sessionId, createdAt, usedAt, device, network }) => ({
      session_id: sessionId,
      created_at: toIso(createdAt),
      last_used_at: toIso(usedAt),
      device,
      network,
      current: tokenHash === session.tokenHash,
    }),
  );
}

export async function logOut(call: SessionCall): Promise<void> {
  const { caller } = await call.read({});
  await endNamedSession(call, caller, { sessionId: caller.sessionId, tokenHash: call.session.tokenHash });
}

/** The named session may be the calling one, which then logs out. */
export async function endSession(
  call: SessionCall<string>,
  sessionId: string,
): Promise<{ readonly isCurrent: boolean }> {
  const { caller, object: tokenHash } = await call.read({});
  await endNamedSession(call, caller, { sessionId, tokenHash });
  return { isCurrent: tokenHash === call.session.tokenHash };
}

export const findNamedSession = (call: SessionCall, { session_id }: { session_id: string }) =>
  findSession(call.db, call.tenant.platformId, session_id, readRealTime(call));

async function endNamedSession(
  call: SessionCall,
  { platformId, actor }: PersonCaller,
  { sessionId, tokenHash }: { readonly sessionId: string; readonly tokenHash: string },
): Promise<void> {
  const { db, environment } = call;
  const subject = { type: "session", id: sessionId };
  const entry = { action: "session.ended", actor, subject } as const;
  const now = readRealTime(call);
  // A person who logs out may still wait for a mail.
  const ended = tokenHash === call.session.tokenHash ? [] : [endLinks(db, platformId, LINKS_OF_SESSIONS, now)];
  const recorded = recordActivity(db, { platformId, environment }, now, entry);
  await call.commit([...deleteSession(db, tokenHash), ...ended, recorded], null);
}

export async function endOtherSessions(call: SessionCall): Promise<void> {
  const { db, session, tenant, environment } = call;
  const now = readRealTime(call);
  const { caller, others } = await call.read({ others: countOtherSessions(db, tenant.platformId, session.tokenHash) });
  const { platformId, actor } = caller;
  const ended = [
    deleteSessions(db, platformId, session.tokenHash),
    recordActivity(db, { platformId, environment }, now, {
      action: "session.ended",
      actor,
      subject: { type: "platform", id: platformId },
      changes: { sessions: { from: others + 1, to: 1 } },
    }),
  ];
  // A session that has logged out may have left links open.
  await call.commit([endLinks(db, platformId, LINKS_OF_SESSIONS, now), ...(others === 0 ? [] : ended)], null);
}
