// The project's commands as a person runs them: real processes, in the project or in a copy of it.
import { type ChildProcess, spawn } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { claimPort } from "../../scripts/processes.ts";
import { readDescription } from "../../scripts/service.ts";
import type { ServiceDescription } from "../../scripts/stack.ts";

export type Command = {
  readonly child: ChildProcess;
  /** The output so far, of both streams. */
  readonly output: () => string;
  readonly errors: () => string;
  readonly ended: Promise<number | null>;
};
type Place = { readonly cwd?: string; readonly env?: NodeJS.ProcessEnv; readonly uid?: number };

export const root = join(import.meta.dirname, "../..");
export const FREE_PORTS = ["--port", "0", "--chain-port", "0", "--chain-port-production", "0"];
const COPIED = ["scripts", "src", "migrations", "wrangler.toml", "package.json", "tsconfig.json"];

export function launch(file: string, args: readonly string[], { cwd = root, env = {}, uid }: Place = {}): Command {
  const user = uid === undefined ? {} : { uid, gid: uid };
  // A process group of its own: a signal to it reaches all that the command has started, and nothing of the test.
  const options = { cwd, env: { ...process.env, ...env }, ...user, detached: true };
  const child = spawn(file, args, { ...options, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  let errors = "";
  child.stdout.setEncoding("utf8").on("data", (text) => {
    output += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text) => {
    output += text;
    errors += text;
  });
  const ended = new Promise<number | null>((resolve) => child.once("close", (code) => resolve(code)));
  return { child, output: () => output, errors: () => errors, ended };
}

/** Ends the command and what it has started. */
export async function end(command: Command, signal: NodeJS.Signals = "SIGTERM"): Promise<void> {
  try {
    process.kill(-(command.child.pid ?? 0), signal);
  } catch {
    // The group has ended already.
  }
  await command.ended;
}

/** Waits until a stack runs from the folder. */
export async function described(command: Command, dir: string): Promise<ServiceDescription> {
  let ended = false;
  void command.ended.then(() => {
    ended = true;
  });
  while (true) {
    const description = readDescription(dir);
    if (description !== null) return description;
    if (ended) throw new Error(command.output());
    await sleep(100);
  }
}

/** Copies the project into a folder of its own, without some of its packages. */
export function copyOfProject(...missing: string[]): string {
  const copy = mkdtempSync(join(tmpdir(), "project-"));
  for (const name of COPIED) cpSync(join(root, name), join(copy, name), { recursive: true });
  const packages = join(copy, "node_modules");
  mkdirSync(packages);
  for (const name of readdirSync(join(root, "node_modules"))) {
    if (!missing.includes(name)) symlinkSync(join(root, "node_modules", name), join(packages, name));
  }
  return copy;
}

export const freePort = (): Promise<number> => claimPort(0, "");
