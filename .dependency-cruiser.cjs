// Who may import whom: docs of the tree say it in words, this file makes it fail. scripts/imports.ts runs it.
// It needs TypeScript 6: with a newer one it reads no module and reports success.

// From left to right: a feature reads the stores and states of features to its left, never to its right.
const FEATURES = [
  "activity",
  "platform",
  "markets",
  "customers",
  "principals",
  "ratings",
  "agents",
  "escrow",
  "payments",
  "transactions",
  "tasks",
  "disputes",
  "verify",
  "directory",
  "webhooks",
];
const ANY_FEATURE = `^src/(${FEATURES.join("|")})/`;
const LAYERS = ["auth", "chain", "console", "core", "db", "flows", "http", "objects", "protocol", "sdk"];
// The files of a feature that speak HTTP; everything else in it is domain.
// `public-routes.ts` is a routes file as well.
const EDGE_FILE = "[/-](routes|schema)\\.ts$";
const ROUTES = "[/-]routes\\.ts$";
const STORE = "[/-]store\\.ts$";
const HONO = "^(node_modules/)?(hono|@hono)/";

const rule = (name, comment, from, to) => ({ name, comment, severity: "error", from, to });

const featureOrder = FEATURES.slice(0, -1).map((feature, position) =>
  rule(
    `${feature}-looks-left`,
    "A feature imports nothing of the features to its right.",
    { path: `^src/${feature}/` },
    { path: `^src/(${FEATURES.slice(position + 1).join("|")})/` },
  ),
);

module.exports = {
  forbidden: [
    rule(
      "every-folder-has-its-place",
      "A new folder is put in order above before anything in it may import.",
      { path: "^src/[^/]+/", pathNot: `^src/(${[...LAYERS, ...FEATURES].join("|")})/` },
      {},
    ),
    rule(
      "no-cycles",
      "Cycles of types alone cost nothing and are allowed.",
      {},
      { circular: true, viaOnly: { dependencyTypesNot: ["type-only"] } },
    ),
    rule(
      "core-is-the-floor",
      "core imports nothing of src.",
      { path: "^src/core/" },
      { path: "^src/", pathNot: "^src/core/" },
    ),
    rule(
      "states-are-tables",
      "states.ts imports core alone.",
      { path: "/states\\.ts$" },
      { path: ".", pathNot: "^src/core/" },
    ),
    rule(
      "protocol-is-pure",
      "The wire contract knows jose and the limits.",
      { path: "^src/protocol/" },
      { path: ".", pathNot: ["^src/protocol/", "^src/core/limits\\.ts$", "^node_modules/jose/"] },
    ),
    rule(
      "routes-ask-services",
      "Routes never import a store, db, chain or objects.",
      { path: ROUTES },
      { path: [STORE, "^src/(db|chain|objects)/"] },
    ),
    rule(
      "domain-knows-no-http",
      "Services, stores, flows and objects never see HTTP.",
      { path: [ANY_FEATURE, "^src/(flows|objects|db|chain)/"], pathNot: EDGE_FILE },
      { path: ["^src/(http|auth|console)/", HONO] },
    ),
    rule(
      "hono-at-the-edge",
      "Only http, auth, console, app, routes and schemas know Hono.",
      { path: "^src/", pathNot: ["^src/(http|auth|console)/", "^src/app\\.ts$", EDGE_FILE] },
      { path: HONO, dependencyTypesNot: ["type-only"] },
    ),
    rule(
      "services-do-not-chat",
      "What several resources do together is a flow; a service reads stores.",
      { path: ANY_FEATURE, pathNot: ROUTES },
      { path: `${ANY_FEATURE}service\\.ts$`, pathNot: "^src/$1/" },
    ),
    rule(
      "routes-stay-home",
      "Routes belong to the app: nothing else imports them.",
      { path: "^src/", pathNot: ["^src/app\\.ts$", ROUTES] },
      { path: ROUTES },
    ),
    rule(
      "features-below-flows",
      "A flow stands above the features it joins; only routes, cron and the queue call it.",
      { path: ANY_FEATURE, pathNot: ROUTES },
      { path: "^src/flows/" },
    ),
    ...featureOrder,
    rule(
      "drizzle-in-stores",
      "Only stores and db know Drizzle.",
      { path: "^src/", pathNot: ["^src/db/", STORE] },
      { path: "^node_modules/drizzle-orm/" },
    ),
    rule(
      "viem-in-chain",
      "Only chain and the SDK know viem.",
      { path: "^src/", pathNot: "^src/(chain|sdk)/" },
      { path: "^node_modules/viem/" },
    ),
    rule(
      "sdk-stands-alone",
      "The SDK is published: of src it may import the protocol alone.",
      { path: "^src/sdk/" },
      { path: "^src/", pathNot: "^src/(sdk|protocol)/" },
    ),
    rule(
      "console-is-a-client",
      "The console is a client of the SDK like any other.",
      { path: "^src/console/" },
      { path: "^src/", pathNot: "^src/(console|sdk)/" },
    ),
    rule(
      "src-stands-alone",
      "The Worker imports no script or test.",
      { path: "^src/" },
      { path: "^(scripts|test|bench)/" },
    ),
    rule(
      "no-dev-dependency-in-src",
      "What the Worker imports is a dependency, not a tool.",
      { path: "^src/" },
      { dependencyTypes: ["npm-dev"], dependencyTypesNot: ["type-only"] },
    ),
    rule("resolvable", "Every import leads somewhere.", {}, { couldNotResolve: true, pathNot: "^cloudflare:" }),
  ],
  options: {
    doNotFollow: { path: "node_modules" },
    exclude: { path: "\\.json$" },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: "tsconfig.json" },
    enhancedResolveOptions: {
      exportsFields: ["exports"],
      conditionNames: ["import", "types", "node", "default"],
      mainFields: ["module", "main", "types"],
    },
  },
};
