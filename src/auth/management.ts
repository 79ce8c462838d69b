// Specification 5, platform to service: the management key. It is checked in the first trip of the call, beside the reads
// that it allows: a revoked key fails at its next call, and authentication costs no trip of its own.
import type { ManagementCall, ManagementCaller } from "../call.ts";
import { type ErrorCode, ServiceError } from "../core/errors.ts";
import { present, type Reads, readTogether } from "../db/batch.ts";
import { findOutcome } from "../db/outcomes.ts";
import { depsOf } from "../http/deps.ts";
import { openIdempotency, Replay } from "../http/idempotency.ts";
import { commitWithOutcome, type Performance, perform } from "../http/perform.ts";
import { chargeAddress, chargeCredential } from "../http/rate-limit.ts";
import { createRouter, type Incoming, type Router } from "../http/router.ts";
import { findKeyOwner, type KeyOwner, ownerOf } from "../platform/store.ts";
import { hashKey, parseManagementKey } from "./management-key.ts";

/** `missing` is the code for a call without a key: the directory answers `unauthorized`. */
export const createManagementRouter = (missing: ErrorCode = "invalid_credentials"): Router<"management"> =>
  createRouter("management", async (incoming, run, turnOf) => {
    const deps = depsOf(incoming.context);
    const { managementKeyHeaders, managementKeyBrands } = deps.config;
    const rawKey = presentedKey(incoming, managementKeyHeaders);
    const environment = rawKey === null ? null : parseManagementKey(rawKey, managementKeyBrands);
    if (rawKey === null || environment === null) {
      await chargeAddress(incoming.context, deps);
      if (rawKey !== null) throw new ServiceError("invalid_credentials");
      throw new ServiceError(missing, {
        message: `Send the management key in the header ${managementKeyHeaders[0]}.`,
      });
    }
    const keyHash = await hashKey(rawKey);
    await chargeCredential(incoming.context, deps, keyHash);
    const performance: Performance = {
      env: deps.env,
      db: deps.db,
      now: deps.clock.now(),
      idempotency: await openIdempotency(incoming, environment, rawKey),
      successStatus: incoming.definition.status,
      background: (work) => incoming.context.executionCtx.waitUntil(work),
      owner: null,
      turn: Promise.resolve(),
      endTurn: () => undefined,
    };
    const scope = { environment, platformId: ownerOf(keyHash) };
    const call: ManagementCall = {
      surface: "management",
      deps,
      db: deps.db,
      now: performance.now,
      requestId: incoming.context.get("requestId"),
      background: performance.background,
      environment,
      scope,
      async read<R extends Reads>(reads: R) {
        const { db, now, idempotency } = performance;
        const own = {
          owner: findKeyOwner(db, keyHash),
          outcome: idempotency ? findOutcome(db, scope.platformId, idempotency.requestKey, now) : null,
        };
        const [who, found] = await readTogether(db, present(own), reads);
        // Anybody can make up a well-formed key: one that nobody owns is no credential to charge.
        if (!isKnown(who.owner, environment)) await chargeAddress(incoming.context, deps);
        const caller = toCaller(who.owner, environment, now);
        performance.owner = caller.platformId;
        if (who.outcome) throw new Replay(who.outcome);
        await performance.turn;
        return { ...found, caller };
      },
      commit: (statements, view) => commitWithOutcome(performance, statements, view),
      endTurn: () => performance.endTurn(),
    };
    return perform(performance, turnOf, () => run(call as never));
  });

function presentedKey(incoming: Incoming, headers: readonly string[]): string | null {
  for (const name of headers) {
    const value = incoming.context.req.header(name);
    if (value !== undefined) return value.trim();
  }
  return null;
}

const isKnown = (owner: KeyOwner | null, environment: string): owner is KeyOwner => owner?.environment === environment;

function toCaller(owner: KeyOwner | null, environment: "sandbox" | "production", now: number): ManagementCaller {
  if (!isKnown(owner, environment)) throw new ServiceError("invalid_credentials", { reason: "unknown key" });
  if (owner.expiresAt !== null && owner.expiresAt <= now) {
    throw new ServiceError("invalid_credentials", { reason: "revoked key" });
  }
  if (owner.platformStatus === "SUSPENDED" || owner.platformStatus === "CLOSED")
    throw new ServiceError("account_suspended");
  return {
    platformId: owner.platformId,
    environment,
    actor: { type: "management_api", id: owner.keyPrefix },
    accreditationTier: owner.accreditationTier,
  };
}
