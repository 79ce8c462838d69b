// `npm start` on a machine where something is missing or wrong: one line that a person can act on, a non-zero exit, and nothing
// left running. Each time on a copy of the project, with one thing of it broken.
import { spawn } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { descendantsOf, stillRunning } from "./processes.ts";

const root = join(import.meta.dirname, "../..");
const OPTIONS = ["--port", "0", "--chain-port", "0", "--chain-port-production", "0", "--dir"];
const COPIED = ["scripts", "src", "migrations", "wrangler.toml", "package.json", "tsconfig.json"];

const copies: string[] = [];
afterEach(() => {
  for (const copy of copies.splice(0)) rmSync(copy, { recursive: true, force: true });
});

/** The project without some of its packages. */
function copyOfProject(...missing: string[]): string {
  const copy = mkdtempSync(join(tmpdir(), "broken-"));
  copies.push(copy);
  for (const name of COPIED) cpSync(join(root, name), join(copy, name), { recursive: true });
  const packages = join(copy, "node_modules");
  mkdirSync(packages);
  for (const name of readdirSync(join(root, "node_modules"))) {
    if (!missing.includes(name)) symlinkSync(join(root, "node_modules", name), join(packages, name));
  }
  return copy;
}

async function start(copy: string) {
  const script = join(copy, "scripts/start.ts");
  const child = spawn(process.execPath, [script, ...OPTIONS, join(copy, ".dev")], { cwd: copy });
  let output = "";
  const started = new Set<number>();
  const watch = setInterval(() => {
    for (const pid of descendantsOf(child.pid ?? 0)) started.add(pid);
  }, 50);
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
  }
  const code = await new Promise((resolve) => child.once("close", resolve));
  clearInterval(watch);
  return { code, output, started: [...started] };
}

async function expectOneLine(copy: string, line: RegExp): Promise<number[]> {
  const { code, output, started } = await start(copy);
  expect(output).toMatch(line);
  expect(output.trimEnd().split("\n")).toHaveLength(1);
  expect(code).toBe(1);
  await expect.poll(() => stillRunning(started), { timeout: 10_000 }).toEqual([]);
  return started;
}

describe("npm start", () => {
  test("names the migration that failed, and ends the chains that it had started", async () => {
    const copy = copyOfProject();
    writeFileSync(join(copy, "migrations/9999_broken.sql"), "alter table no_such add column anything text;\n");
    const started = await expectOneLine(
      copy,
      /^Cannot start: the migrations could not be applied .*no such table: no_such/,
    );
    expect(started.length).toBeGreaterThan(1);
  });

  test("says that anvil is missing", async () => {
    await expectOneLine(copyOfProject("@foundry-rs"), /^Cannot start: anvil is missing[^\n]*npm ci/);
  });

  test("says that wrangler is missing", async () => {
    await expectOneLine(copyOfProject("wrangler"), /^Cannot start: [^\n]*wrangler[^\n]*npm ci/);
  });
});
