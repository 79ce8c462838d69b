// Contract section 2, Operator: the people who run the service. A bearer key whose SHA-256 stands in a secret.
import type { OperatorCall } from "../call.ts";
import { ServiceError } from "../core/errors.ts";
import { commit } from "../db/batch.ts";
import { depsOf } from "../http/deps.ts";
import { chargeAddress } from "../http/rate-limit.ts";
import { createRouter, type Router } from "../http/router.ts";
import { hashKey } from "./management-key.ts";

export const createOperatorRouter = (): Router<"operator"> =>
  createRouter("operator", async (incoming, run) => {
    const deps = depsOf(incoming.context);
    await chargeAddress(incoming.context, deps);
    const presented = /^Bearer (\S+)$/.exec(incoming.context.req.header("authorization") ?? "")?.[1];
    const hash = presented === undefined ? null : await hashKey(presented);
    // Hashes of high-entropy keys: how long the comparison takes tells nothing of a key.
    if (hash === null || !deps.config.operatorKeyHashes.has(hash)) throw new ServiceError("invalid_credentials");
    const call: OperatorCall = {
      surface: "operator",
      actor: { type: "operator", id: hash.slice(0, 12) },
      deps,
      db: deps.db,
      now: deps.clock.now(),
      requestId: incoming.context.get("requestId"),
      background: (work) => incoming.context.executionCtx.waitUntil(work),
      commit: (statements) => commit(deps.db, statements),
    };
    return run(call as never);
  });
