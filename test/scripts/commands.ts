// Runs the project's commands as a person does: as real processes, in the project or in a copy of it.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, symlinkSync } from "node:fs";
import { type IncomingMessage, request } from "node:http";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { readDescription } from "../../scripts/service.ts";
import type { ServiceDescription } from "../../scripts/stack.ts";

export type Command = {
  readonly child: ChildProcess;
  /** The output so far, of both streams. */
  readonly output: () => string;
  readonly errors: () => string;
  /** Resolves once the output matches, and rejects if the command ends before. */
  readonly untilOutput: (pattern: RegExp) => Promise<void>;
  readonly ended: Promise<number | null>;
};
type Place = { readonly cwd?: string; readonly env?: NodeJS.ProcessEnv; readonly uid?: number };

export const root = join(import.meta.dirname, "../..");
export const FREE_PORTS = ["--port", "0", "--chain-port", "0", "--chain-port-production", "0"];
const COPIED = ["scripts", "src", "migrations", "wrangler.toml", "package.json", "tsconfig.json"];

export function launch(file: string, args: readonly string[], { cwd = root, env = {}, uid }: Place = {}): Command {
  const user = uid === undefined ? {} : { uid, gid: uid };
  // A separate process group, so that a signal reaches everything that the command has started, but not the test.
  const options = { cwd, env: { ...process.env, ...env }, ...user, detached: true };
  const child = spawn(file, args, { ...options, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  let errors = "";
  let look = () => {};
  const onText = (text: string) => {
    output += text;
    look();
  };
  child.stdout.setEncoding("utf8").on("data", onText);
  child.stderr.setEncoding("utf8").on("data", (text) => {
    errors += text;
    onText(text);
  });
  const ended = new Promise<number | null>((resolve) => child.once("close", (code) => resolve(code)));
  const untilOutput = (pattern: RegExp) =>
    new Promise<void>((resolve, reject) => {
      const before = look;
      look = () => {
        before();
        if (pattern.test(output)) resolve();
      };
      look();
      void ended.then(() => reject(new Error(`it ended without ${pattern}: ${output}`)));
    });
  return { child, output: () => output, errors: () => errors, untilOutput, ended };
}

/** Runs a script of the project. */
export const runScript = (script: string, ...args: readonly string[]): Command =>
  launch(process.execPath, [join(root, "scripts", script), ...args]);

/** A line of a step, with the seconds so far. */
export const STEP = /^ +\d+\.\d s {2}(\w+) +\S.*$/;

/** The parts whose steps the command has named, in order. */
export const stepsOf = (command: Command): string[] =>
  command
    .output()
    .split("\n")
    .flatMap((line) => STEP.exec(line)?.[1] ?? []);

/** Ends the command and everything that it has started. */
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
  await command.untilOutput(/^Ready after /m);
  const description = readDescription(dir);
  if (description === null) throw new Error(command.output());
  return description;
}

/** The addresses at which a stack listens. */
export const urlsOf = ({ base_url, chains }: ServiceDescription): string[] => [
  base_url,
  ...Object.values(chains).map(({ rpc_url }) => rpc_url),
];

/**
 * Keeps the ports of a stack for its next start: for a minute after a listener has ended a connection (TIME_WAIT), the system gives its port to no
 * other program.
 */
export async function keepPorts(service: ServiceDescription): Promise<void> {
  for (const url of urlsOf(service)) {
    const { hostname, port } = new URL(url);
    const socket = connect(Number(port), hostname).on("error", () => undefined);
    await once(socket, "connect");
  }
}

/** Copies the project into a separate folder, without some of its packages. */
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

export async function readPlatform(service: ServiceDescription): Promise<Record<string, unknown>> {
  const response = await fetch(`${service.base_url}/v1/platform`, {
    headers: { "Service-Api-Key": service.sandbox_key },
  });
  if (response.status !== 200) throw new Error(await response.text());
  return (await response.json()) as Record<string, unknown>;
}

export const blockNumber = async ({ chain }: ServiceDescription): Promise<number> =>
  Number(await rpc(chain.rpc_url, "eth_blockNumber"));

export async function rpc(url: string, method: string, ...params: unknown[]): Promise<unknown> {
  const response = await fetch(url, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
  });
  return ((await response.json()) as { result: unknown }).result;
}

/** Requests an address under the name of another host. */
export async function readAs(host: string, url: string): Promise<{ body: string; type: string | undefined }> {
  const asked = request(url, { headers: { Host: host, "X-Forwarded-Host": host } }).end();
  const [answer] = (await once(asked, "response")) as [IncomingMessage];
  return { body: await text(answer), type: answer.headers["content-type"] };
}
