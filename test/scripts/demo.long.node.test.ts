// The demo on a service on which it was played before.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Stack, startStack } from "../../scripts/stack.ts";
import { expectPlayed } from "./demo-facts.ts";
import { playDemo } from "./readme.ts";

const folder = mkdtempSync(join(tmpdir(), "demo-"));
let stack: Stack;

beforeAll(async () => {
  const ports = { service: 0, chain: 0, chainProduction: 0 };
  const { signal } = new AbortController();
  stack = await startStack({ dir: join(folder, ".dev"), ports, signal, log: () => undefined });
});

afterAll(async () => {
  await stack?.stop();
  rmSync(folder, { recursive: true, force: true });
});

describe("npm run demo", () => {
  it("plays the whole path to the refund of a dispute, twice on one service", async () => {
    for (let round = 0; round < 2; round++) {
      const { code, output } = await playDemo(folder);
      expect(code, output).toBe(0);
      await expectPlayed(stack.description, output);
    }
  });
});
