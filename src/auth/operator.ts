// Contract section 2, Operator: the people who run the service. A bearer key whose SHA-256 stands in a secret, or the token of
// Cloudflare Access, which names the person.
import type { Actor, OperatorCall } from "../call.ts";
import type { Deps } from "../context.ts";
import { ServiceError } from "../core/errors.ts";
import { commit } from "../db/batch.ts";
import type { AppContext } from "../http/app-env.ts";
import { depsOf } from "../http/deps.ts";
import { chargeAddress } from "../http/rate-limit.ts";
import { createRouter, type Router } from "../http/router.ts";
import { hashKey } from "./management-key.ts";

export const createOperatorRouter = (): Router<"operator"> =>
  createRouter("operator", async (incoming, run) => {
    const deps = depsOf(incoming.context);
    await chargeAddress(incoming.context, deps);
    const call: OperatorCall = {
      surface: "operator",
      actor: { type: "operator", id: await identify(incoming.context, deps) },
      deps,
      db: deps.db,
      now: deps.clock.now(),
      requestId: incoming.context.get("requestId"),
      background: (work) => incoming.context.executionCtx.waitUntil(work),
      commit: (statements) => commit(deps.db, statements),
    };
    return run(call as never);
  });

/**
 * A key that is presented decides alone, good or bad. Access puts its token on every request, also on those that bring a key, and
 * the key is the way in when Access is down.
 */
async function identify({ req }: AppContext, deps: Deps): Promise<Actor["id"]> {
  const authorization = req.header("authorization");
  if (authorization !== undefined) return identifyByKey(authorization, deps.config.operatorKeyHashes);
  const token = req.header("cf-access-jwt-assertion");
  if (token === undefined) throw new ServiceError("invalid_credentials");
  if (deps.access === null) throw new ServiceError("invalid_credentials", { reason: "Access token: Access is off" });
  return deps.access(token);
}

async function identifyByKey(authorization: string, hashes: ReadonlySet<string>): Promise<Actor["id"]> {
  const presented = /^Bearer (\S+)$/.exec(authorization)?.[1];
  const hash = presented === undefined ? null : await hashKey(presented);
  // Hashes of high-entropy keys: how long the comparison takes tells nothing of a key.
  if (hash === null || !hashes.has(hash)) throw new ServiceError("invalid_credentials");
  return hash.slice(0, 12);
}
