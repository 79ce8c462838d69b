// The one way in. `openCall` chooses the entrance, checks the credential, charges the limiter, and requests the locks of the Idempotency-Key and of the
// agent together with the first trip, so that they cost a distant caller no hop. The handler runs with its two trips, and runs again after a conflict
// (under the lock of its object), under another clock, or when others held the agent's lock. The outcome is stored for a retry.
import type { AnyCall, ReadOptions, Surface } from "../call.ts";
import { commitAll } from "../commit.ts";
import { measureAhead } from "../core/clock.ts";
import { ServiceError } from "../core/errors.ts";
import { CONFLICT_TRIES, Conflict } from "../core/retry.ts";
import { type Database, type ReadResults, type Reads, readBatch, readTogether, type Statement } from "../db/batch.ts";
import { findOutcome, type IdempotencyOwner, type Outcome } from "../db/outcomes.ts";
import { type HeldLock, RETRY_WAIT_MS, takeLock } from "../objects/locks.ts";
import { type Idempotency, lockKey, openIdempotency, recordOutcome } from "./idempotency.ts";
import type { Incoming } from "./incoming.ts";
import { chargeAccount, chargeAddress, chargeAgent, refuseExhausted } from "./rate-limit.ts";
import { addsVolume } from "./route.ts";
import { keepRefusal, Replay, replayAnswer } from "./stored-outcomes.ts";

export type Entrance = {
  readonly presents: (incoming: Incoming) => boolean;
  /** Checks the credential as far as possible without the database. Throws 401. */
  readonly check: (incoming: Incoming) => Promise<Credential>;
  /** The challenge of a 401 (RFC 9110, 11.6.1); null if no credential is required. */
  readonly challenge: (incoming: Incoming) => string | null;
};
export type Entrances = { readonly [S in Surface]: Entrance };

/** A well-formed credential. The first trip finds its owner. */
export type Credential = {
  readonly quota: Quota;
  /** The owner of the Idempotency-Keys, and the secret that seals their answers. Null: the surface takes none. */
  readonly keys: IdempotencyOwner | null;
  readonly reads: (db: Database, now: number) => Reads;
  /** The offset of the caller's own clock; null in production and for callers without a platform (ACC-9). */
  readonly offsetOf: (who: never) => number | null;
  readonly admit: (who: never, now: number) => Promise<Admission>;
  /** Conditions that must still hold at the write. A call with its agent's lock is guarded by the rows of agent and principal (AGT-18, AGT-28). */
  readonly guards?: (db: Database) => readonly Statement[];
  /** Refuses a proof that was used before, unless a stored outcome answers the call (PRF-9). */
  readonly settle?: () => Promise<void>;
  readonly parts: object;
};
/** The quota that a call is charged to (HTTP-29). An account is charged once the first trip has found it; `accountOf`: null if it is unknown. */
export type Quota =
  | { readonly of: "address" }
  | { readonly of: "agent"; readonly did: string }
  | { readonly of: "account"; readonly credential: string; readonly accountOf: (who: never) => string | null };

export type Admission = {
  readonly caller: object | null;
  readonly platformId: string | null;
  /** The refusal of a credential that has ended; a stored outcome may still be answered. */
  readonly ended?: ServiceError | undefined;
  /** The refusal of calls that add to the account's volume when that is used up for the day (EVT-35). */
  readonly usedUp?: ServiceError | undefined;
};

/** The order in which a request's credentials are tried (CRED-2). */
const PRECEDENCE: readonly Surface[] = ["agent", "management", "session", "verifier", "operator", "public"];
const CREDENTIALED = PRECEDENCE.filter((surface) => surface !== "public");

type Handle = (call: AnyCall) => Promise<unknown>;

/** `admitted`: the credential that `admitBeforeBody` has checked and charged. */
export async function openCall(
  entrances: Entrances,
  incoming: Incoming,
  handle: Handle,
  admitted?: Credential,
): Promise<unknown> {
  const surface = chooseSurface(entrances, incoming);
  incoming.context.set("challenge", joinChallenges(entrances, incoming));
  const credential = admitted ?? (await checkCredential(entrances[surface], incoming));
  const { deps, background, lockedDid } = incoming;
  const idempotency = credential.keys && (await openIdempotency(incoming, credential.keys));
  const keyLock = idempotency ? lockKey(deps.env, idempotency) : null;
  const agentLock = lockedDid === null ? null : takeLock(deps.env, lockedDid);
  // The first trip runs at the same time and awaits the locks, where their failures are handled.
  keyLock?.catch(() => undefined);
  agentLock?.catch(() => undefined);
  const release = (held: Promise<HeldLock | null> | null) => {
    if (held) background(held.then((lock) => lock?.[Symbol.dispose]()).catch(() => undefined));
  };
  const unlock = () => {
    release(locks.agent);
    release(locks.turn);
  };
  const locks: Locks = { key: keyLock, agent: agentLock, turn: null, unlock };
  const { db } = incoming;
  const run: Run = {
    incoming,
    surface,
    credential,
    idempotency,
    locks,
    db,
    locked: false,
    offset: 0,
    platformId: null,
    contended: false,
    charged: admitted !== undefined,
  };
  try {
    return await runAttempts(run, handle);
  } finally {
    unlock();
    if (keyLock) background(keyLock.then((giveBack) => giveBack()).catch(() => undefined));
  }
}

/** Refuses a caller before a large body is read, so that only admitted callers can fill the memory of an isolate. It costs a trip of its own. */
export async function admitBeforeBody(
  entrances: Entrances,
  incoming: Incoming,
): Promise<{ readonly credential: Credential; readonly owner: string }> {
  const { deps, db } = incoming;
  const entrance = entrances[chooseSurface(entrances, incoming)];
  incoming.context.set("challenge", joinChallenges(entrances, incoming));
  const credential = await checkCredential(entrance, incoming);
  const wall = deps.clock.now();
  const who = (await readBatch(db, credential.reads(db, wall))) as never;
  const clock = wall + (credential.offsetOf(who) ?? 0);
  const { ended, platformId } = await admitCharged(incoming, credential, who, clock);
  if (ended) throw ended;
  return { credential, owner: platformId ?? "" };
}

export const presentsCredential = (entrances: Entrances, incoming: Incoming): boolean =>
  incoming.context.req.header("cookie") !== undefined ||
  CREDENTIALED.some((surface) => entrances[surface].presents(incoming));

function chooseSurface(entrances: Entrances, incoming: Incoming): Surface {
  const allowed = PRECEDENCE.filter((surface) => incoming.route.surfaces.includes(surface));
  const presented = allowed.find((surface) => entrances[surface].presents(incoming));
  const surface = presented ?? allowed.at(-1);
  if (surface === undefined) throw new Error(`${incoming.route.operationId} names no surface`);
  return surface;
}

const joinChallenges = (entrances: Entrances, incoming: Incoming): string =>
  PRECEDENCE.filter((surface) => incoming.route.surfaces.includes(surface))
    .flatMap((surface) => entrances[surface].challenge(incoming) ?? [])
    .join(", ");

/** Charges an unusable credential, or a call without one, to the address (HTTP-29). An account's credential is charged when it is admitted. */
async function checkCredential(entrance: Entrance, incoming: Incoming): Promise<Credential> {
  const { context, deps } = incoming;
  let credential: Credential;
  try {
    credential = await entrance.check(incoming);
  } catch (refusal) {
    await chargeAddress(context, deps);
    throw refusal;
  }
  const { quota } = credential;
  if (quota.of === "address") await chargeAddress(context, deps);
  else if (quota.of === "agent") await chargeAgent(context, deps, quota.did);
  else refuseExhausted(context, deps, quota.credential);
  return credential;
}

/** Admits a caller and charges its account. A credential that does not count (401) is charged to the address. */
async function admitCharged(
  { context, deps }: Incoming,
  { quota, admit }: Credential,
  who: never,
  clock: number,
): Promise<Admission> {
  if (quota.of !== "account") return admit(who, clock);
  const judged = await admit(who, clock).catch((thrown: unknown) => ({ thrown }));
  const refusal = "thrown" in judged ? judged.thrown : judged.ended;
  const isUnknown = refusal instanceof ServiceError && refusal.status === 401;
  const account = isUnknown ? null : quota.accountOf(who);
  await (account === null ? chargeAddress(context, deps) : chargeAccount(context, deps, quota.credential, account));
  if ("thrown" in judged) throw judged.thrown;
  return judged;
}

type Run = {
  readonly incoming: Incoming;
  readonly surface: Surface;
  readonly credential: Credential;
  readonly idempotency: Idempotency | null;
  readonly locks: Locks;
  db: Database;
  /** True once the agent's lock is held: from then on only writers without the lock can change the rows that the call reads. */
  locked: boolean;
  offset: number;
  platformId: string | null;
  contended: boolean;
  /** True once the caller is charged: a call is charged once, however often it is decided. */
  charged: boolean;
};

type Locks = {
  readonly key: Promise<unknown> | null;
  readonly agent: Promise<HeldLock | null> | null;
  /** The lock of the object that the call changes; requested after a conflict. */
  turn: Promise<HeldLock | null> | null;
  readonly unlock: () => void;
};

/** The reading is void: another clock rules the call, or others held the agent's lock meanwhile. */
class ReadAgain extends Error {
  constructor() {
    super("each reading of the call named another clock");
  }
}

const applyRefusalMap = ({ incoming: { route, url } }: Run, refusal: ServiceError): ServiceError =>
  route.mapRefusal?.(refusal, url.searchParams) ?? refusal;

async function runAttempts(run: Run, handle: Handle): Promise<unknown> {
  for (let tried = 1; ; tried++) {
    try {
      return await handle(buildCall(run));
    } catch (thrown) {
      if (thrown instanceof Replay) return await replayAnswer(run, thrown.outcome);
      if (thrown instanceof ReadAgain && tried < CONFLICT_TRIES) continue;
      if (thrown instanceof Conflict && tried < CONFLICT_TRIES) {
        run.contended = true;
        await waitForTurn(run);
        continue;
      }
      if (thrown instanceof Conflict)
        throw applyRefusalMap(run, new ServiceError("service_busy", { headers: { "Retry-After": "1" } }));
      if (isUnknownToReplica(run, thrown)) {
        run.db = run.incoming.deps.db;
        continue;
      }
      if (!(thrown instanceof ServiceError)) throw thrown;
      const refusal = applyRefusalMap(run, thrown);
      await keepRefusal(run, refusal);
      throw refusal;
    }
  }
}

/** Answers calls that conflict at one object as if they came one after the other (HTTP-42). A call that holds its agent's lock does not wait. */
async function waitForTurn({ incoming, locks, platformId }: Run): Promise<void> {
  const id = Object.values(incoming.context.req.param())[0] ?? platformId;
  if (locks.turn !== null || id === null || (await locks.agent)) return;
  locks.turn = takeLock(incoming.deps.env, id, RETRY_WAIT_MS);
  await locks.turn;
}

/** A replica may not have received the row yet. */
const isUnknownToReplica = ({ db, incoming }: Run, thrown: unknown): boolean =>
  db !== incoming.deps.db && thrown instanceof ServiceError && thrown.code === "not_found";

function buildCall(run: Run): AnyCall {
  const { incoming, surface, credential, locks } = run;
  const { deps, background, requestId, readObject } = incoming;
  const call: unknown = {
    surface,
    deps,
    db: run.db,
    now: deps.clock.now() + run.offset,
    ahead: measureAhead(deps.clock) + run.offset,
    requestId,
    contended: run.contended,
    background,
    read: (reads: Reads, options?: ReadOptions<ReadResults<Reads>>) =>
      readFirstTrip(run, deps.clock.now(), { ...reads, ...readObject?.(call as AnyCall) }, options),
    commit: (statements: readonly Statement[], view: unknown, owner?: string) =>
      commitSecondTrip(run, statements, view, owner),
    unlock: locks.unlock,
    ...credential.parts,
  };
  return call as AnyCall;
}

async function readFirstTrip<R extends Reads>(
  run: Run,
  wall: number,
  reads: R,
  options: ReadOptions<ReadResults<R>> = {},
) {
  const { credential, idempotency, db } = run;
  const platformId = credential.keys?.platformId;
  const own = {
    ...credential.reads(db, wall),
    ...(idempotency &&
      platformId !== undefined && {
        outcome: findOutcome(db, platformId, idempotency.requestKey, wall),
      }),
  };
  const [rows, found] = await readTogether(db, own, reads);
  const { outcome = null } = rows as { outcome?: Outcome | null };
  const who = rows as never;
  const offset = credential.offsetOf(who);
  run.incoming.context.set("sandboxOffset", offset ?? 0);
  const clock = wall + (offset ?? 0);
  const first = !run.charged;
  run.charged = true;
  const {
    caller,
    platformId: owner,
    ended,
    usedUp,
  } = await (first ? admitCharged(run.incoming, credential, who, clock) : credential.admit(who, clock));
  run.platformId = owner;
  if (outcome && (!ended || run.incoming.route.endsKey)) throw new Replay(outcome);
  if (ended) throw ended;
  if (usedUp && addsVolume(run.incoming.route, run.incoming.validBody)) throw usedUp;
  await credential.settle?.();
  const stale = await awaitLocks(run);
  const ruling = offset === null ? 0 : (options.clock?.(found) ?? offset);
  if (stale || ruling !== run.offset) {
    run.offset = ruling;
    throw new ReadAgain();
  }
  if ("object" in found && found.object === null) throw new ServiceError("not_found");
  return { ...found, caller } as ReadResults<R> & { caller: never };
}

/** Returns whether others held the agent's lock while this call read. The commit's guard catches a change that ended just before. */
async function awaitLocks(run: Run): Promise<boolean> {
  await run.locks.key;
  if (run.locked || run.locks.agent === null) return false;
  run.locked = true;
  return (await run.locks.agent)?.waited ?? true;
}

/** Writes the effect and the outcome for a retry in one batch (IDM-3). */
async function commitSecondTrip(
  run: Run,
  statements: readonly Statement[],
  view: unknown,
  owner?: string,
): Promise<void> {
  const { idempotency, incoming, credential } = run;
  const platformId = run.platformId ?? owner ?? null;
  const { deps, route, background } = incoming;
  const kept =
    idempotency && platformId !== null
      ? await recordOutcome(deps.db, idempotency, platformId, { status: route.status, view }, deps.clock.now())
      : [];
  const guards = incoming.lockedDid === null ? (credential.guards?.(deps.db) ?? []) : [];
  await commitAll(deps, [...guards, ...statements, ...kept], background);
}
