// Who may import whom. From left to right: an arrow goes to the left or stays, never back up. scripts/imports.ts runs this file, which
// needs TypeScript 6: with a newer one dependency-cruiser reads no module and reports success.

// Below the features: what everything stands on, and the one way in.
const GROUND = [
  "core",
  "mail",
  "protocol",
  "db",
  "chain",
  "objects",
  "context.ts",
  "commit.ts",
  "call.ts",
  "http",
  "journal",
  "jobs",
];
// A feature reads the stores and states of features to its left, never to its right.
const FEATURES = [
  "customers",
  "verifiers",
  "principals",
  "ratings",
  "escrow",
  "intents",
  "identity",
  "agents",
  "cascades",
  "markets",
  "payments",
  "tasks",
  "facilitation",
  "disputes",
  "follower",
  "vaults",
  "networks",
  "promotion",
  "reports",
  "directory",
  "webhooks",
  "accounts",
  "sandbox",
];
// Above them: who calls, and what binds it all.
const TOP = ["auth", "app.ts", "cron.ts", "queue.ts", "worker.ts"];
const ORDER = [...GROUND, ...FEATURES, ...TOP];
// Clients, which stand beside the service.
const BESIDE = ["sdk", "console"];

const pathOf = (unit) => (unit.endsWith(".ts") ? `^src/${unit.replace(".", "\\.")}$` : `^src/${unit}/`);
const ANY_FEATURE = `^src/(${FEATURES.join("|")})/`;
// The files of a folder that speak HTTP; everything else in it is domain.
const EDGE = "[/-](routes|schema|responses)\\.ts$";
/** What routes answer; src/http/responses.ts makes answers. */
const RESPONSES = "^src/(?!http/)[a-z]+/responses\\.ts$|^src/http/response-parts\\.ts$";
const ROUTES = "[/-]routes\\.ts$";
const STORE = "[/-]store\\.ts$";
/** A package, also where node_modules is a link to another place. */
const npm = (name) => `(^|/)node_modules/${name}/`;

const rule = (name, comment, from, to) => ({ name, comment, severity: "error", from, to });

const order = ORDER.slice(0, -1).map((unit, position) =>
  rule(
    `${unit}-looks-left`,
    "Nothing imports what stands to its right.",
    { path: pathOf(unit) },
    { path: ORDER.slice(position + 1).map(pathOf) },
  ),
);

module.exports = {
  forbidden: [
    rule(
      "everything-has-its-place",
      "A new folder or file of src is put in order above before it may import anything.",
      { path: "^src/", pathNot: [...ORDER, ...BESIDE].map(pathOf) },
      {},
    ),
    rule("no-cycles", "Not of types alone either.", {}, { circular: true }),
    ...order,
    rule(
      "states-are-tables",
      "states.ts imports core alone.",
      { path: "/states\\.ts$" },
      { path: ".", pathNot: "^src/core/" },
    ),
    rule(
      "protocol-is-pure",
      "The wire contract knows jose, curves and hashes of @noble, the limits and how bytes are written.",
      { path: "^src/protocol/" },
      {
        path: ".",
        pathNot: [
          "^src/protocol/",
          "^src/core/(limits|encoding)\\.ts$",
          npm("jose"),
          npm("@noble/curves"),
          npm("@noble/hashes"),
        ],
      },
    ),
    rule(
      "routes-ask-services",
      "Routes never import a store, db, chain or objects.",
      { path: ROUTES },
      { path: [STORE, "^src/(db|chain|objects)/"] },
    ),
    rule(
      "domain-knows-no-http",
      "Services, stores and objects never see HTTP.",
      { path: [ANY_FEATURE, "^src/(jobs|objects|db|chain|journal|mail)/"], pathNot: EDGE },
      { path: "^src/(http|auth)/" },
    ),
    rule(
      "routes-see-the-face-of-http",
      "What a route is, what it answers and a client accepts, and the shapes that all share.",
      { path: ["^src/jobs/", "^src/journal/", ANY_FEATURE] },
      { path: "^src/http/", pathNot: "^src/http/(route|accept|answer|schemas|response-parts)\\.ts$" },
    ),
    rule(
      "responses-are-types",
      "No response is validated: the schemas are for the OpenAPI document, and the Worker carries none.",
      { path: "^src/", pathNot: RESPONSES },
      { path: RESPONSES, dependencyTypesNot: ["type-only"] },
    ),
    rule(
      "hono-at-the-edge",
      "Only http, app and worker know Hono.",
      { path: "^src/", pathNot: ["^src/http/", "^src/(app|worker)\\.ts$"] },
      { path: npm("hono") },
    ),
    rule(
      "routes-stay-home",
      "Routes belong to the app.",
      { path: "^src/", pathNot: ["^src/app\\.ts$"] },
      { path: ROUTES },
    ),
    rule(
      "derivations-have-a-place",
      "A password is derived only with a place in the bucket of its client's network.",
      { path: "^src/", pathNot: "^src/accounts/attempts\\.ts$" },
      { path: "^src/accounts/derivations\\.ts$" },
    ),
    rule(
      "drizzle-in-stores",
      "Only stores and db know Drizzle.",
      { path: "^src/", pathNot: ["^src/db/", STORE] },
      {
        path: npm("drizzle-orm"),
      },
    ),
    rule(
      "viem-in-chain",
      "Only chain and the SDK know viem.",
      { path: "^src/", pathNot: "^src/(chain|sdk)/" },
      {
        path: npm("viem"),
      },
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
      {
        dependencyTypes: ["npm-dev"],
        dependencyTypesNot: ["type-only"],
      },
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
