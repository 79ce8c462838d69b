// Two projects over one tree: `*.test.ts` runs in workerd with the real bindings, `*.node.test.ts` in Node. `*.long.*` runs in
// `npm run test:long` alone.
import { configDefaults, defineConfig } from "vitest/config";
import { markStores } from "./test/support/issued.ts";
import { keepFilesInMemory } from "./test/support/memory.ts";
import { FixedOrder } from "./test/support/order.ts";
import { sharedRuntimes } from "./test/support/runtimes.ts";
import { SLOTS } from "./test/support/slots.ts";

const whole = process.env["TEST_SCALE"] === "whole";
/** The size of property tests and matrices (test/support/scale.ts). */
const provide = { scale: whole ? 1 : 1 / 20 };
const exclude = [...configDefaults.exclude, ...(whole ? [] : ["test/**/*.long.*"])];

/** Bundled into one module each, because a runtime would load a thousand modules otherwise. */
const LIBRARIES = [
  "@cfworker/json-schema",
  "@noble/curves/nist",
  "@noble/curves/secp256k1",
  "@noble/hashes/sha3.js",
  "canonicalize",
  "drizzle-orm",
  "drizzle-orm/batch",
  "drizzle-orm/d1",
  "drizzle-orm/sqlite-core",
  "fast-check",
  "hono",
  "hono/hono-base",
  "hono/router/trie-router",
  "hono/utils/accept",
  "jose",
  "jose/errors",
  "viem",
  "viem/accounts",
  "viem/utils",
  "zod",
];

keepFilesInMemory();

/** Ends a test that hangs. It is far longer than any test takes on a busy machine. */
const GUARD_MS = whole ? 14_400_000 : 900_000;

const inNode = {
  provide,
  isolate: false,
  sequence: { groupOrder: 1 },
  testTimeout: GUARD_MS,
  hookTimeout: GUARD_MS,
};

export default defineConfig({
  test: {
    maxWorkers: SLOTS,
    reporters: ["./test/support/reporter.ts"],
    // The service logs what it refuses: that helps only where a test fails.
    silent: "passed-only",
    sequence: { sequencer: FixedOrder },
    projects: [
      {
        plugins: [...sharedRuntimes("./wrangler.toml"), markStores()],
        test: {
          name: "workerd",
          provide,
          include: ["test/**/*.test.ts"],
          exclude: [...exclude, "test/**/*.node.test.ts"],
          globalSetup: ["./test/support/global-setup.ts"],
          setupFiles: ["./test/support/seed.ts", "./test/support/each-file.ts"],
          isolate: false,
          deps: { optimizer: { ssr: { enabled: true, include: LIBRARIES } } },
          // The files of a project follow each other, so that a runtime goes on with the next one.
          sequence: { groupOrder: 0 },
          testTimeout: GUARD_MS,
          hookTimeout: GUARD_MS,
        },
      },
      {
        test: {
          ...inNode,
          name: "node",
          include: ["test/**/*.node.test.ts"],
          exclude: [...configDefaults.exclude, "test/**/*.long.*"],
          setupFiles: ["./test/support/seed.ts", "./test/support/time-limits.ts"],
        },
      },
      // These wait for real stacks, so their time limits are real.
      ...(whole
        ? [
            {
              test: {
                ...inNode,
                name: "stacks",
                include: ["test/**/*.long.node.test.ts"],
                setupFiles: ["./test/support/seed.ts"],
              },
            },
          ]
        : []),
    ],
  },
});
