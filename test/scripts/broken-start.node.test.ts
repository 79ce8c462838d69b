// `npm start` on a machine where something is missing or wrong prints one line that a person can act on, exits non-zero, and leaves no process. Each
// test uses a copy of the project with one broken part.
import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { copyOfProject, FREE_PORTS, launch, root } from "./commands.ts";
import { runningWith } from "./processes.ts";

const copies: string[] = [];
afterEach(() => {
  for (const copy of copies.splice(0)) rmSync(copy, { recursive: true, force: true });
});

function copyWithout(...missing: string[]): string {
  const copy = copyOfProject(...missing);
  copies.push(copy);
  return copy;
}

async function expectOneLine(copy: string, line: RegExp): Promise<void> {
  const options = { cwd: copy, env: { DEV_DIR: "" } };
  const command = launch(process.execPath, [join(copy, "scripts/start.ts"), ...FREE_PORTS], options);
  const code = await command.ended;
  expect(command.errors()).toMatch(line);
  expect(command.errors().trimEnd().split("\n")).toHaveLength(1);
  expect(code).toBe(1);
  // Chains and tools have the folder in their command line.
  expect(runningWith(copy)).toEqual([]);
}

describe("npm start", () => {
  test("names the migration that failed, and ends the chains that it had started", async () => {
    const copy = copyWithout();
    writeFileSync(join(copy, "migrations/0000_broken.sql"), "alter table no_such add column anything text;\n");
    await expectOneLine(
      copy,
      /^Cannot start: the database could not be prepared .*0000_broken\.sql: .*no such table: no_such/,
    );
    for (const network of ["base-sepolia", "base"]) {
      expect(existsSync(join(copy, ".dev/chain", `${network}.port`))).toBe(true);
    }
  });

  test("reports that anvil is missing", async () => {
    await expectOneLine(copyWithout("@foundry-rs"), /^Cannot start: anvil is missing[^\n]*npm ci/);
  });

  test("reports that wrangler is missing", async () => {
    await expectOneLine(copyWithout("wrangler"), /^Cannot start: [^\n]*wrangler[^\n]*npm ci/);
  });
});

// Root can read every folder, so under root the commands run as an unprivileged user, if that user can read the project.
const NOBODY = 65_534;
const isRoot = process.getuid?.() === 0;
const asStranger = isRoot ? { uid: NOBODY, env: { HOME: tmpdir() } } : {};
const canRun = !isRoot || spawnSync(process.execPath, [join(root, "scripts/start.ts"), "-h"], asStranger).status === 0;

describe.skipIf(!canRun)("a folder of another user", () => {
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

  test("is refused with one line if only a folder inside it is another user's", async () => {
    const dir = mkdtempSync(join(tmpdir(), "foreign-"));
    copies.push(dir);
    chmodSync(dir, 0o777);
    mkdirSync(join(dir, "state"), { mode: 0o555 });
    await expectRefusal(dir, join(dir, "state"));
  });
});
