// Two projects over one tree: `*.test.ts` runs in workerd with the real bindings, `*.node.test.ts` in Node.
import { cloudflareTest } from "@cloudflare/vitest-plugin";
import { defineConfig } from "vitest/config";

/** The size of long tests (test/support/scale.ts). */
const provide = { scale: process.env["TEST_SCALE"] === "whole" ? 1 : 1 / 20 };

export default defineConfig({
  test: {
    // By default one core would do nothing.
    maxWorkers: 2,
    projects: [
      {
        plugins: [
          cloudflareTest(({ inject }) => ({
            wrangler: { configPath: "./wrangler.toml" },
            miniflare: { bindings: inject("workerBindings") },
          })),
        ],
        test: {
          name: "workerd",
          provide,
          include: ["test/**/*.test.ts"],
          exclude: ["test/**/*.node.test.ts"],
          globalSetup: ["./test/support/global-setup.ts"],
          testTimeout: 30_000,
          hookTimeout: 60_000,
        },
      },
      {
        test: {
          name: "node",
          provide,
          include: ["test/**/*.node.test.ts"],
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
    ],
  },
});
