// The whole service as one Hono app: binds the routes to the entrances, answers unknown paths and methods.
import { Hono } from "hono";
import { accountRoutes } from "./accounts/routes.ts";
import { agentRoutes } from "./agents/routes.ts";
import { agentEntrance } from "./auth/agent.ts";
import { keyConfiguration, managementEntrance } from "./auth/management.ts";
import { accessConfiguration, operatorEntrance } from "./auth/operator.ts";
import { publicEntrance } from "./auth/public.ts";
import type { Deps, Env } from "./context.ts";
import { ServiceError } from "./core/errors.ts";
import { newId } from "./core/ids.ts";
import { memoizeBy } from "./core/memo.ts";
import { facilitationRoutes } from "./facilitation/routes.ts";
import type { AppEnv } from "./http/app-env.ts";
import type { Entrances } from "./http/call.ts";
import { depsOf } from "./http/deps.ts";
import { bindService } from "./http/docs.ts";
import { decorate } from "./http/headers.ts";
import { methodsOf, preflight } from "./http/methods.ts";
import { chargeAddress } from "./http/rate-limit.ts";
import { replicaConfiguration } from "./http/replicas.ts";
import { errorResponse } from "./http/responses.ts";
import type { Route } from "./http/route.ts";
import { bindRoute } from "./http/router.ts";
import { handshakeRoutes } from "./identity/handshake-routes.ts";
import { identityRoutes } from "./identity/routes.ts";
import { jobRoutes } from "./jobs/routes.ts";
import { alertRoutes } from "./journal/alert-routes.ts";
import { marketRoutes } from "./markets/routes.ts";
import { paymentRoutes } from "./payments/routes.ts";
import { principalRoutes } from "./principals/routes.ts";
import { ratingMethods } from "./ratings/method.ts";
import { ratingRoutes } from "./ratings/routes.ts";
import { taskRoutes } from "./tasks/routes.ts";

/** Every operation: the OpenAPI document, the method table, and the tests' matrices read this list. */
export const ROUTES: readonly Route[] = [
  ...accountRoutes,
  ...principalRoutes,
  ...agentRoutes,
  ...identityRoutes,
  ...handshakeRoutes,
  ...marketRoutes,
  ...ratingRoutes,
  ...paymentRoutes,
  ...taskRoutes,
  ...facilitationRoutes,
  ...jobRoutes,
  ...alertRoutes,
];

const ENTRANCES: Entrances = {
  management: managementEntrance,
  agent: agentEntrance,
  operator: operatorEntrance,
  public: publicEntrance,
};

/** What features read from Env. A service that is set up wrongly refuses its first call, not its hundredth. */
export const checkConfiguration = memoizeBy((env: Env): true => {
  for (const parse of [keyConfiguration, accessConfiguration, ratingMethods, replicaConfiguration]) parse(env);
  return true;
});

/** `deps` is for tests that bring their own clock; `routes` for those that bring a route. */
export function createApp(deps?: Deps, routes: readonly Route[] = ROUTES): Hono<AppEnv> {
  const app = new Hono<AppEnv>();
  app.use(async (context, next) => {
    const requestId = newId("req", Date.now());
    context.set("requestId", requestId);
    if (deps) context.set("deps", deps);
    try {
      checkConfiguration(depsOf(context).env);
      // A GET that changes something is no HEAD: its proof would cover nothing of the effect.
      if (context.req.method === "HEAD") refuseHead(routes, context.req.path);
      await next();
    } catch (thrown) {
      // Hono hands over errors; whatever else is thrown ends here.
      context.res = errorResponse(thrown, requestId, context);
    }
    decorate(context, routes);
  });
  app.onError((thrown, context) => errorResponse(thrown, context.get("requestId"), context));
  app.notFound(async (context) => {
    const requestId = context.get("requestId");
    const allowed = methodsOf(routes, context.req.path);
    if (allowed.length === 0) {
      const message = "There is no such path: see /docs for those that there are.";
      return errorResponse(new ServiceError("not_found", { message }), requestId, context);
    }
    const allowing = preflight(routes, context.req.method, context.req.path, allowed);
    if (allowing) return allowing;
    const refusal = new ServiceError("method_not_allowed", { headers: { Allow: allowed.join(", ") } });
    return errorResponse(refusal, requestId, context);
  });
  for (const route of routes) bindRoute(app, route, ENTRANCES);
  // What comes here is of no surface, which would charge it.
  app.use(async (context, next) => {
    await chargeAddress(context, depsOf(context));
    await next();
  });
  bindService(app);
  return app;
}

function refuseHead(routes: readonly Route[], path: string): void {
  const allowed = methodsOf(routes, path);
  if (allowed.includes("GET") && !allowed.includes("HEAD")) {
    throw new ServiceError("method_not_allowed", { headers: { Allow: allowed.join(", ") } });
  }
}
