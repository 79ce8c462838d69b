// The commands for the keys of the CA against a running service (IDN-38): draw a new key, and check a secret before it is set.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { fireCron } from "../../scripts/local-worker.ts";
import { end, launch, root } from "./commands.ts";
import { databaseWith, type RunningStack, startIn } from "./runtime-kill.ts";

const DAY_MS = 86_400_000;

type Entry = { jwk: Record<string, string>; use: string };

const dir = mkdtempSync(join(tmpdir(), "ca-"));
let stack: RunningStack;
let current: Entry;
beforeAll(async () => {
  stack = await startIn(dir);
  [current] = JSON.parse(readFileSync(join(dir, "secrets.json"), "utf8")).ca_keys;
  await fireCron(stack.service.base_url);
  using database = databaseWith(dir, "d1", "authority_keys");
  while (database.prepare("select 1 from authority_keys where signed_until is not null").get() === undefined) {
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
});
afterAll(async () => {
  await end(stack.command, "SIGKILL");
  rmSync(dir, { recursive: true, force: true });
});

async function run(...args: string[]): Promise<{ code: number | null; output: string }> {
  const env = { OPERATOR_KEY: stack.service.operator_key };
  const command = launch(process.execPath, [join(root, "scripts/ca.ts"), ...args], { env });
  const code = await command.ended;
  return { code, output: command.output() };
}

const check = (keys: unknown, origin = stack.service.base_url) => {
  const file = join(dir, "next.json");
  writeFileSync(file, typeof keys === "string" ? keys : JSON.stringify(keys));
  return run("check", file, origin);
};

const drawn = async (use: string): Promise<Entry> => ({ ...JSON.parse((await run("new")).output), use });

describe("npm run ca", () => {
  test("accepts an added key, and a signing key that was published for a day", async () => {
    const next = await drawn("published");
    expect(next.jwk).toHaveProperty("d");
    expect(await check([current, next])).toEqual({ code: 0, output: "These keys may be set.\n" });
    const swapped = [
      { ...current, use: "published" },
      { ...next, use: "signing" },
    ];
    const early = await check(swapped);
    expect([early.code, early.output]).toEqual([1, expect.stringContaining("signs, but was never published")]);
    const { kid } = await thumbprintOf(next);
    using database = databaseWith(dir, "d1", "authority_keys");
    database.prepare("insert into authority_keys (kid, published_at) values (?, ?)").run(kid, Date.now() - DAY_MS);
    expect(await check(swapped)).toMatchObject({ code: 0 });
  });

  test("refuses a secret without a key that is needed, and prints until when it is needed", async () => {
    const { code, output } = await check([await drawn("signing")]);
    const { kid } = await thumbprintOf(current);
    expect(code).toBe(1);
    expect(output).toMatch(
      new RegExp(`^${kid} missing: certificates under it may be valid until 20\\d\\d-.*Z\\.$`, "m"),
    );
  });

  test("accepts a stolen key as revoked, with the next one signing at once", async () => {
    const { d: _, ...jwk } = current.jwk;
    expect(await check([await drawn("signing"), { jwk, use: "revoked" }])).toMatchObject({ code: 0 });
  });

  test("repeats no value of an invalid secret, and prints the usage for a wrong call", async () => {
    const bad = await check(JSON.stringify([{ ...current, use: "else" }]));
    expect(bad.code).toBe(2);
    expect(bad.output).toContain("CA_KEYS is not a list");
    expect(bad.output).not.toContain(current.jwk["d"]);
    expect(await run()).toMatchObject({ code: 2, output: expect.stringContaining("npm run ca check FILE URL") });
    expect((await check([current], "http://127.0.0.1:9")).code).toBe(2);
  });
});

async function thumbprintOf({ jwk }: Entry): Promise<{ kid: string }> {
  const { calculateJwkThumbprint } = await import("jose");
  return { kid: await calculateJwkThumbprint(jwk) };
}
