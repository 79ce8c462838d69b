// Authenticates a person's session (CRED-13 to CRED-15): an opaque bearer token, or the same token in a cookie. A browser sends the cookie with
// every request, so the cookie counts only without `Authorization`, and for changes only from the service's own pages.
import { isSessionToken, looksLikeSessionToken, SESSION_CHALLENGE } from "../accounts/links.ts";
import {
  findSessionOwner,
  guardSession,
  type SessionOwner,
  selectOwnerOfSession,
  touchSession,
} from "../accounts/session-store.ts";
import type { PersonCaller } from "../call.ts";
import { computeSha256Hex } from "../core/encoding.ts";
import { ServiceError } from "../core/errors.ts";
import { CONFIRMATION_MINUTES, HOUR_MS, MINUTE_MS, SESSION_IDLE_HOURS, SESSION_USE_MINUTES } from "../core/limits.ts";
import { requireProduction } from "../core/roles.ts";
import { type Environment, isEnvironment } from "../core/vocabulary.ts";
import { findVolumeRefusal } from "../core/volume.ts";
import { commit } from "../db/batch.ts";
import type { Tenant } from "../db/statement.ts";
import type { Credential, Entrance } from "../http/call.ts";
import type { Incoming } from "../http/incoming.ts";
import { readClientAddress } from "../http/rate-limit.ts";
import { readBearer } from "./access.ts";

export const sessionEntrance: Entrance = {
  presents: presentsSession,
  challenge: () => SESSION_CHALLENGE,
  check: checkSession,
};

export function presentsSession(incoming: Incoming): boolean {
  return readPresentedToken(incoming) !== null;
}

const COOKIE = /(?:^|;\s*)__Host-session=([^;]*)/;
const SAFE_METHODS: ReadonlySet<string> = new Set(["GET", "HEAD"]);

function readPresentedToken({ context: { req }, url, deps }: Incoming): string | null {
  const authorization = req.header("authorization");
  if (authorization !== undefined) {
    const token = readBearer(authorization) ?? "";
    return looksLikeSessionToken(token) ? token : null;
  }
  const cookie = COOKIE.exec(req.header("cookie") ?? "")?.[1];
  if (cookie === undefined) return null;
  const own = [url.origin, new URL(deps.config.issuer).origin];
  return SAFE_METHODS.has(req.method) || own.includes(req.header("origin") ?? "") ? cookie : null;
}

export async function checkSession(incoming: Incoming): Promise<Credential> {
  const token = readPresentedToken(incoming);
  if (token === null) throw new ServiceError("invalid_credentials", { message: describeMissingSession(incoming) });
  if (!isSessionToken(token))
    throw new ServiceError("invalid_credentials", { message: "This is not a session token." });
  const tokenHash = await computeSha256Hex(token);
  const environment = readEnvironment(incoming);
  const tenant: Tenant = { environment, platformId: selectOwnerOfSession(tokenHash) };
  return {
    quota: {
      of: "account",
      credential: toQuotaName(tokenHash, environment),
      accountOf: ({ owner }: FoundSession) => owner && toQuotaName(owner.platformId, environment),
    },
    keys: { space: environment, secret: token, platformId: tenant.platformId },
    reads: (db) => ({ owner: findSessionOwner(db, tokenHash) }),
    offsetOf: ({ owner }: FoundSession) => (environment === "sandbox" ? (owner?.clockOffsetMs ?? 0) : null),
    admit: async ({ owner }: FoundSession) => {
      const caller = admitSession(owner, environment, incoming);
      const { clock, config } = incoming.deps;
      const usedUp = findVolumeRefusal(
        owner?.volumeMarks ?? null,
        environment,
        config.volume[environment],
        clock.now(),
      );
      return { caller, platformId: caller.platformId, usedUp };
    },
    guards: (db) => [guardSession(db, tokenHash, incoming.deps.clock.now())],
    parts: { environment, tenant, session: { tokenHash }, clientAddress: readClientAddress(incoming.context) },
  };
}

/** Names the quota of an account in an environment, or the key under which a session finds it. */
export const toQuotaName = (of: string, environment: Environment): string => `${of} ${environment}`;

type FoundSession = { readonly owner: SessionOwner | null };

/** A wrong name is a fault of the call, which the router reports after the credential. */
function readEnvironment({ context }: Incoming): Environment {
  const named = context.req.header("service-environment");
  return isEnvironment(named) ? named : "sandbox";
}

/** Sessions end in real time: a test clock does not move them. */
function admitSession(owner: SessionOwner | null, environment: Environment, incoming: Incoming): PersonCaller {
  const { deps, route, background } = incoming;
  const now = deps.clock.now();
  if (!owner || owner.platformStatus === "CLOSED") {
    throw new ServiceError("invalid_credentials", { reason: "unknown session" });
  }
  if (now >= Math.min(owner.expiresAt, owner.usedAt + SESSION_IDLE_HOURS * HOUR_MS)) {
    throw new ServiceError("invalid_credentials", { message: "The session has ended; log in again." });
  }
  if (owner.platformStatus === "SUSPENDED") throw new ServiceError("account_suspended");
  const { platformId, email, accreditationTier, platformStatus, promotedAt } = owner;
  const caller: PersonCaller = {
    platformId,
    environment,
    actor: { type: "dashboard_admin", id: email },
    accreditationTier,
    platformStatus,
    promotedAt,
    inGrace: false,
    isConfirmed: now < owner.confirmedAt + CONFIRMATION_MINUTES * MINUTE_MS,
    sessionId: owner.sessionId,
    network: owner.network,
  };
  if (environment === "production" && !route.unpromoted) requireProduction("act", caller);
  const usedBefore = now - SESSION_USE_MINUTES * MINUTE_MS;
  if (owner.usedAt <= usedBefore) {
    background(commit(deps.db, [touchSession(deps.db, owner.tokenHash, now, usedBefore)]).catch(() => undefined));
  }
  return caller;
}

function describeMissingSession({ context: { req }, route }: Incoming): string {
  if (COOKIE.test(req.header("cookie") ?? "")) {
    return "A session cookie is accepted only without Authorization, and for changes only from the service's own origin.";
  }
  const also = route.surfaces.includes("management") ? "" : " This route does not accept a management key.";
  return `Log in at POST /v1/platform/sessions, and send the session_token as Authorization: Bearer.${also}`;
}
