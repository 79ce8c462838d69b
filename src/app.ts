// The whole service as one Hono app: mounts the routers, answers unknown paths and methods, prints the OpenAPI document.
import { OpenAPIHono } from "@hono/zod-openapi";
import { marketRoutes } from "./agents/market-routes.ts";
import { publicAgentRoutes } from "./agents/public-routes.ts";
import { agentRoutes } from "./agents/routes.ts";
import type { Deps } from "./context.ts";
import { ServiceError } from "./core/errors.ts";
import { newId } from "./core/ids.ts";
import type { AppEnv } from "./http/app-env.ts";
import { depsOf } from "./http/deps.ts";
import { docsAsset, docsPage, docsStart } from "./http/docs.ts";
import { describeService } from "./http/openapi.ts";
import { chargeAddress, rateHeaders } from "./http/rate-limit.ts";
import { errorResponse, jsonResponse } from "./http/responses.ts";
import type { Registered, Router, Surface } from "./http/router.ts";
import { marketListingRoutes } from "./markets/routes.ts";
import { paymentRoutes } from "./payments/routes.ts";
import { operatorPlatformRoutes, platformRoutes } from "./platform/routes.ts";
import { principalRoutes } from "./principals/routes.ts";
import { ratingRoutes } from "./ratings/routes.ts";
import { taskRoutes } from "./tasks/routes.ts";
import { transactionRoutes } from "./transactions/routes.ts";
import { verifyRoutes } from "./verify/routes.ts";

const ROUTERS: readonly Router<Surface>[] = [
  platformRoutes,
  operatorPlatformRoutes,
  principalRoutes,
  agentRoutes,
  marketRoutes,
  publicAgentRoutes,
  verifyRoutes,
  marketListingRoutes,
  paymentRoutes,
  transactionRoutes,
  taskRoutes,
  ratingRoutes,
] as never;

/** Every operation with its surface: the credential matrix of the tests and the method table below read it. */
export const OPERATIONS: readonly Registered[] = ROUTERS.flatMap((router) => router.registered);

/** `deps` is for tests that bring their own clock. */
export function createApp(deps?: Deps): OpenAPIHono<AppEnv> {
  const app = new OpenAPIHono<AppEnv>();

  app.use(async (context, next) => {
    const requestId = newId("req", Date.now());
    context.set("requestId", requestId);
    if (deps) context.set("deps", deps);
    try {
      await next();
    } catch (thrown) {
      // Hono hands over errors; whatever else is thrown ends here.
      context.res = errorResponse(thrown, requestId);
    }
    const { headers } = context.res;
    headers.set("Request-Id", requestId);
    headers.set("X-Content-Type-Options", "nosniff");
    headers.set("Strict-Transport-Security", "max-age=31536000; includeSubDomains");
    if (!headers.has("Cache-Control")) headers.set("Cache-Control", "no-store");
    const rate = context.get("rate");
    if (rate) for (const [name, value] of Object.entries(rateHeaders(rate))) headers.set(name, value);
    if (isOpenToAnyOrigin(context.req.method, context.req.path)) headers.set("Access-Control-Allow-Origin", "*");
  });
  app.onError((thrown, context) => errorResponse(thrown, context.get("requestId")));
  app.notFound((context) => {
    const allowed = methodsOf(context.req.path);
    if (allowed.length === 0) return errorResponse(new ServiceError("not_found"), context.get("requestId"));
    if (context.req.method === "OPTIONS" && isOpenToAnyOrigin("GET", context.req.path)) {
      return new Response(null, {
        status: 204,
        headers: {
          Allow: allowed.join(", "),
          "Access-Control-Allow-Methods": "GET",
          "Access-Control-Allow-Headers": "Accept, If-None-Match",
        },
      });
    }
    const refusal = new ServiceError("method_not_allowed", { headers: { Allow: allowed.join(", ") } });
    return errorResponse(refusal, context.get("requestId"));
  });

  for (const router of ROUTERS) app.route("/", router.app);
  // What comes here is of no surface, which would charge it.
  app.use(async (context, next) => {
    await chargeAddress(context, depsOf(context));
    await next();
  });
  app.get("/openapi.json", (context) =>
    jsonResponse(200, describeService(app, new URL(context.req.url).origin), {
      "Cache-Control": "public, max-age=300",
    }),
  );
  app.get("/healthz", () => jsonResponse(200, { status: "ok" }));
  app.get("/", (context) => context.redirect("/docs"));
  app.get("/docs", () => docsPage());
  app.get("/docs/", (context) => context.redirect("/docs"));
  app.get("/docs/start.js", () => docsStart());
  app.get("/docs/:asset", async (context) => {
    const asset = await docsAsset(context.env.ASSETS, context.req.param("asset"), context.req.url);
    return asset ?? errorResponse(new ServiceError("not_found"), context.get("requestId"));
  });
  return app;
}

type PathRule = { pattern: RegExp; method: string; cors: boolean };
const OWN: readonly PathRule[] = ["/", "/openapi.json", "/healthz", "/docs"].map((path) => ({
  pattern: new RegExp(`^${path.replace(".", "\\.")}$`),
  method: "GET",
  cors: path === "/openapi.json",
}));
const RULES: readonly PathRule[] = [
  ...OWN,
  ...OPERATIONS.map(({ definition }) => ({
    pattern: new RegExp(`^${definition.path.replace(/[.]/g, "\\.").replace(/\{\w+\}/g, "[^/]+")}$`),
    method: definition.method.toUpperCase(),
    cors: definition.cors === true,
  })),
];

const methodsOf = (path: string): string[] => [
  ...new Set(RULES.filter((rule) => rule.pattern.test(path)).map((rule) => rule.method)),
];

const isOpenToAnyOrigin = (method: string, path: string): boolean => {
  const wanted = method === "HEAD" || method === "OPTIONS" ? "GET" : method;
  return RULES.some((rule) => rule.cors && rule.method === wanted && rule.pattern.test(path));
};
