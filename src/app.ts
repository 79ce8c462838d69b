// The whole service as one Hono app: binds the routes to the entrances, and answers unknown paths and methods (HTTP-20, HTTP-21).
import { HonoBase } from "hono/hono-base";
import { TrieRouter } from "hono/router/trie-router";
import { computeRetentionMs } from "./accounts/erase.ts";
import { accountStatusRoutes, reviewRoutes } from "./accounts/operator-routes.ts";
import {
  accountRoutes,
  documentRoutes,
  keyRoutes,
  noticeRoutes,
  pageRoutes,
  usageRoutes,
} from "./accounts/platform-routes.ts";
import { passwordRoutes, sessionRoutes, signUpRoutes, totpRoutes } from "./accounts/session-routes.ts";
import { checkAccountSealKeys } from "./accounts/totp.ts";
import { agentRoutes } from "./agents/routes.ts";
import { publicEntrance } from "./auth/access.ts";
import { agentEntrance } from "./auth/agent.ts";
import { keyConfiguration, managementEntrance } from "./auth/management.ts";
import { accessConfiguration, operatorEntrance } from "./auth/operator.ts";
import { sessionEntrance } from "./auth/session.ts";
import { verifierEntrance } from "./auth/verifier.ts";
import { customerStandingRoutes, principalStandingRoutes } from "./cascades/routes.ts";
import { type Deps, type Env, refuseFaultyNetworks } from "./context.ts";
import { ServiceError } from "./core/errors.ts";
import { createId } from "./core/ids.ts";
import { memoizeBy } from "./core/retry.ts";
import { customerRoutes } from "./customers/routes.ts";
import { directoryRoutes } from "./directory/routes.ts";
import { disputeRoutes, operatorDisputeRoutes } from "./disputes/routes.ts";
import { facilitationRoutes } from "./facilitation/routes.ts";
import { followerRoutes } from "./follower/routes.ts";
import { type AppContext, type AppEnv, findDeps } from "./http/app-env.ts";
import type { Entrances } from "./http/call.ts";
import { answerPreflight, findMethods, setCommonHeaders } from "./http/headers.ts";
import { bindService } from "./http/openapi.ts";
import { chargeAddress } from "./http/rate-limit.ts";
import { toErrorResponse } from "./http/responses.ts";
import type { Route } from "./http/route.ts";
import { bindRoute } from "./http/router.ts";
import { replicaConfiguration } from "./http/shared-cache.ts";
import { resolverRoutes } from "./identity/resolver-routes.ts";
import { authorityRoutes, handshakeRoutes, identityRoutes } from "./identity/routes.ts";
import { jobRoutes } from "./jobs/routes.ts";
import { activityRoutes, alertRoutes, eventRoutes, operatorLogRoutes } from "./journal/routes.ts";
import { marketRoutes } from "./markets/routes.ts";
import { NETWORKS_PATH, networkRoutes } from "./networks/routes.ts";
import { paymentRoutes } from "./payments/routes.ts";
import { principalRoutes } from "./principals/routes.ts";
import { promotionRoutes } from "./promotion/routes.ts";
import { ratingMethods } from "./ratings/method.ts";
import { ratingRoutes } from "./ratings/routes.ts";
import { reportRoutes } from "./reports/routes.ts";
import { sandboxRoutes } from "./sandbox/routes.ts";
import { taskRoutes } from "./tasks/routes.ts";
import { vaultRoutes } from "./vaults/routes.ts";
import { verifierRoutes } from "./verifiers/routes.ts";
import { checkResolver } from "./webhooks/post.ts";
import { webhookRoutes } from "./webhooks/routes.ts";
import { checkSealKeys } from "./webhooks/secrets.ts";

/** Every operation: the OpenAPI document, the method table, and the tests' matrices read this list. */
export const ROUTES: readonly Route[] = [
  ...accountRoutes,
  ...signUpRoutes,
  ...sessionRoutes,
  ...passwordRoutes,
  ...totpRoutes,
  ...pageRoutes,
  ...keyRoutes,
  ...documentRoutes,
  ...reviewRoutes,
  ...usageRoutes,
  ...sandboxRoutes,
  ...activityRoutes,
  ...eventRoutes,
  ...webhookRoutes,
  ...noticeRoutes,
  ...accountStatusRoutes,
  ...verifierRoutes,
  ...principalRoutes,
  ...principalStandingRoutes,
  ...customerRoutes,
  ...customerStandingRoutes,
  ...agentRoutes,
  ...promotionRoutes,
  ...reportRoutes,
  ...identityRoutes,
  ...resolverRoutes,
  ...handshakeRoutes,
  ...authorityRoutes,
  ...marketRoutes,
  ...ratingRoutes,
  ...directoryRoutes,
  ...paymentRoutes,
  ...followerRoutes,
  ...vaultRoutes,
  ...taskRoutes,
  ...facilitationRoutes,
  ...disputeRoutes,
  ...operatorDisputeRoutes,
  ...jobRoutes,
  ...networkRoutes,
  ...alertRoutes,
  ...operatorLogRoutes,
];

const ENTRANCES: Entrances = {
  management: managementEntrance,
  session: sessionEntrance,
  agent: agentEntrance,
  verifier: verifierEntrance,
  operator: operatorEntrance,
  public: publicEntrance,
};

/** Parses what features read from Env, so that a wrong configuration fails the first call and not the hundredth. */
export const checkConfiguration = memoizeBy((env: Env): true => {
  for (const parse of [
    keyConfiguration,
    accessConfiguration,
    ratingMethods,
    replicaConfiguration,
    computeRetentionMs,
    checkSealKeys,
    checkAccountSealKeys,
    checkResolver,
  ])
    parse(env);
  return true;
});

/** Tests pass `deps` for their own clock and `routes` for a route of their own. */
export function createApp(
  deps?: Deps,
  routes: readonly Route[] = ROUTES,
  entrances: Entrances = ENTRANCES,
): HonoBase<AppEnv> {
  // One router only: Hono's default also carries one that compiles all routes into an expression at the first call.
  const app = new HonoBase<AppEnv>({ router: new TrieRouter() });
  app.use(async (context, next) => {
    const requestId = createId("req", Date.now());
    context.set("requestId", requestId);
    if (deps) context.set("deps", deps);
    try {
      const { env, config } = findDeps(context);
      checkConfiguration(env);
      if (context.req.path !== NETWORKS_PATH) refuseFaultyNetworks(config);
      if (context.req.method === "HEAD") await refuseHead(routes, context);
      await next();
    } catch (thrown) {
      // Hono passes only instances of Error to onError; any other thrown value ends here.
      context.res = toErrorResponse(thrown, requestId, context);
    }
    setCommonHeaders(context, routes);
  });
  app.onError((thrown, context) => toErrorResponse(thrown, context.get("requestId"), context));
  app.notFound(async (context) => {
    const requestId = context.get("requestId");
    const allowed = findMethods(routes, context.req.path);
    if (allowed.length === 0) {
      const message = "The path does not exist: see /docs for the paths of this service.";
      return toErrorResponse(new ServiceError("not_found", { message }), requestId, context);
    }
    const allowing = answerPreflight(routes, context.req.method, context.req.path, allowed);
    if (allowing) return allowing;
    const refusal = new ServiceError("method_not_allowed", { headers: { Allow: allowed.join(", ") } });
    return toErrorResponse(refusal, requestId, context);
  });
  for (const route of routes) bindRoute(app, route, entrances);
  // Requests that no route matched are charged here, because no surface charges them.
  app.use(async (context, next) => {
    await chargeAddress(context, findDeps(context));
    await next();
  });
  bindService(app);
  return app;
}

async function refuseHead(routes: readonly Route[], context: AppContext): Promise<void> {
  const allowed = findMethods(routes, context.req.path);
  if (!allowed.includes("GET") || allowed.includes("HEAD")) return;
  await chargeAddress(context, findDeps(context));
  throw new ServiceError("method_not_allowed", { headers: { Allow: allowed.join(", ") } });
}
