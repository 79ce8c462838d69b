// `npm start` on a machine where something is missing or wrong: one line that a person can act on, a non-zero exit, and
// no process left. Each time on a copy of the project with one broken part.
import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { copyOfProject, FREE_PORTS, launch, root } from "./commands.ts";
import { descendantsOf, stillRunning } from "./processes.ts";

const copies: string[] = [];
afterEach(() => {
  for (const copy of copies.splice(0)) rmSync(copy, { recursive: true, force: true });
});

function copyWithout(...missing: string[]): string {
  const copy = copyOfProject(...missing);
  copies.push(copy);
  return copy;
}

async function start(copy: string) {
  const command = launch(process.execPath, [join(copy, "scripts/start.ts"), ...FREE_PORTS], {
    cwd: copy,
    env: { DEV_DIR: "" },
  });
  const started = new Set<number>();
  const watch = setInterval(() => {
    for (const pid of descendantsOf(command.child.pid ?? 0)) started.add(pid);
  }, 50);
  const code = await command.ended;
  clearInterval(watch);
  return { code, errors: command.errors(), started: [...started] };
}

async function expectOneLine(copy: string, line: RegExp): Promise<number[]> {
  const { code, errors, started } = await start(copy);
  expect(errors).toMatch(line);
  expect(errors.trimEnd().split("\n")).toHaveLength(1);
  expect(code).toBe(1);
  await expect.poll(() => stillRunning(started), { timeout: 10_000 }).toEqual([]);
  return started;
}

describe("npm start", () => {
  test("names the migration that failed, and ends the chains that it had started", async () => {
    const copy = copyWithout();
    writeFileSync(join(copy, "migrations/9999_broken.sql"), "alter table no_such add column anything text;\n");
    const started = await expectOneLine(
      copy,
      /^Cannot start: the database could not be prepared .*9999_broken\.sql: .*no such table: no_such/,
    );
    expect(started.length).toBeGreaterThan(1);
  });

  test("reports that anvil is missing", async () => {
    await expectOneLine(copyWithout("@foundry-rs"), /^Cannot start: anvil is missing[^\n]*npm ci/);
  });

  test("reports that wrangler is missing", async () => {
    await expectOneLine(copyWithout("wrangler"), /^Cannot start: [^\n]*wrangler[^\n]*npm ci/);
  });
});

// Root can read every folder, so under root the commands run as the user nobody, if that user can read the project.
const NOBODY = 65_534;
const isRoot = process.getuid?.() === 0;
const asStranger = isRoot ? { uid: NOBODY, env: { HOME: tmpdir() } } : {};
const canRun = !isRoot || spawnSync(process.execPath, [join(root, "scripts/start.ts"), "-h"], asStranger).status === 0;

describe.skipIf(!canRun)("a folder that is somebody else's", () => {
  const commands = [
    ["start.ts", "Cannot start", FREE_PORTS],
    ["reset.ts", "Cannot reset", []],
  ] as const;

  function expectRefusal(dir: string, refused: string) {
    return Promise.all(
      commands.map(async ([script, cannot, options]) => {
        const command = launch(process.execPath, [join(root, "scripts", script), ...options, "--dir", dir], asStranger);
        expect(await command.ended).toBe(1);
        expect(command.output()).toMatch(/^[^\n]+\n$/);
        expect(command.output()).toContain(`${cannot}: ${refused} cannot be used (EACCES`);
        expect(command.output()).toContain("--dir <dir>");
      }),
    );
  }

  test("is refused with one line", async () => {
    const dir = mkdtempSync(join(tmpdir(), "foreign-"));
    copies.push(dir);
    chmodSync(dir, 0o555);
    await expectRefusal(dir, dir);
  });

  test("is refused with one line when only something in it is", async () => {
    const dir = mkdtempSync(join(tmpdir(), "foreign-"));
    copies.push(dir);
    chmodSync(dir, 0o777);
    mkdirSync(join(dir, "state"), { mode: 0o555 });
    await expectRefusal(dir, join(dir, "state"));
  });
});
