// Routes without a credential: charged to the client's address.
import type { PublicCall } from "../call.ts";
import { commit } from "../db/batch.ts";
import { depsOf } from "../http/deps.ts";
import { chargeAddress } from "../http/rate-limit.ts";
import { createRouter, type Router } from "../http/router.ts";

export const createPublicRouter = (): Router<"public"> =>
  createRouter("public", async (incoming, run) => {
    const deps = depsOf(incoming.context);
    await chargeAddress(incoming.context, deps);
    const call: PublicCall = {
      surface: "public",
      deps,
      db: deps.db,
      now: deps.clock.now(),
      requestId: incoming.context.get("requestId"),
      background: (work) => incoming.context.executionCtx.waitUntil(work),
      commit: (statements) => commit(deps.db, statements),
    };
    return run(call as never);
  });
