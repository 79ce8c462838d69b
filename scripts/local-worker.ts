// The Worker on a laptop: migrates its database, then runs `wrangler dev` with state, secrets and mails in one folder. The repository's own stack
// also writes the files that `wrangler dev` finds by itself, so that a person can run it directly.

import { appendFileSync, cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type { NetworkInput } from "../src/chain/networks.ts";
import { computeSha256Hex } from "../src/core/encoding.ts";
import type { Door } from "./door.ts";
import { migrationNames } from "./migration-files.ts";
import {
  findComplaint,
  type Group,
  type Guard,
  run,
  StackError,
  spawnGroup,
  stripColours,
  toShortPath,
} from "./processes.ts";
import { type Secrets, writePrivately } from "./secrets.ts";

/** Receives each step as it begins: the part of the stack, and the action. */
export type Progress = (part: string, doing: string) => void;
export type Workspace = {
  readonly dir: string;
  readonly guard: Guard;
  readonly signal: AbortSignal;
  readonly secrets: Secrets;
  readonly progress: Progress;
};
type WorkerOptions = Workspace & {
  /** The service's port, which passes connections to the Worker once it is ready. */
  readonly door: Door;
  readonly networks: readonly NetworkInput[];
  /** Receives what the Worker logs once it is ready. */
  readonly echo: (text: string) => void;
};
/** The output of wrangler so far, and the function to call whenever there is more. */
type WranglerOutput = { text: string; onText: () => void };
/** The last applied migration of a state, and its demo platform. */
type PreparedState = { readonly migration: string; readonly platform: string };

const root = join(import.meta.dirname, "..");
export const wrangler = join(root, "node_modules/wrangler/wrangler-dist/cli.js");
/** The folder of wrangler's builds, which does not depend on the state's folder. */
export const SCRATCH = join(root, ".wrangler/tmp");
const READY_TIMEOUT_MS = 180_000;
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
export const EVERY_MINUTE = "* * * * *";
export const EVERY_HOUR = "0 * * * *";
// wrangler replaces a runtime that died. The runtime at the public port then knows no Worker, and every request waits for ever.
const CRASH = /The Workers runtime crashed/;
const READY = /Ready on http:\/\/127\.0\.0\.1:(\d+)/;
// wrangler would wait for an edit, but the caller must learn of the failure.
const FAILED_BUILD = /Build failed[\s\S]*\[ERROR\].*\n|runtime failed to start.*\n/i;

export const folders = (dir: string) => ({
  state: join(dir, "state"),
  temporary: join(dir, "tmp"),
  logs: join(dir, "logs"),
  mail: join(dir, "mail"),
  secrets: join(dir, "secrets.json"),
});

/** The default folder of a stack. */
export const DEFAULT_DIR = join(root, ".dev");
/** The files next to wrangler.toml that `wrangler dev` reads and writes by default. */
const BARE = { variables: join(root, ".dev.vars"), state: join(root, ".wrangler/state") };
const BARE_MARK = "# Written by `npm start` for `wrangler dev` alone; `npm run reset` removes it.\n";
const DATABASES = "v3/d1";

/** Applies new migrations and seeds the demo platform. Both are skipped if nothing is new. */
export async function prepareDatabase(space: Workspace): Promise<void> {
  const { state } = folders(space.dir);
  const wanted: PreparedState = {
    migration: migrationNames().at(-1) ?? "",
    platform: space.secrets.platform.platform_id,
  };
  await prepareState(space, state, wanted);
  if (isRepositoryStack(space.dir)) await prepareBareState(space, wanted);
}

async function prepareState(space: Workspace, state: string, wanted: PreparedState): Promise<void> {
  const prepared = readPreparedState(state);
  if (prepared?.migration === wanted.migration && prepared.platform === wanted.platform) return;
  const options = { cwd: root, env: toolEnvironment(space.dir), guard: space.guard, signal: space.signal };
  space.progress("database", `applying migrations in ${toShortPath(state)}, and seeding the demo platform`);
  // The database may belong to another branch: it holds only test data, and a reset is quick.
  const failure = "the database could not be prepared (`npm run reset` starts with an empty one)";
  await run(failure, [...node(join(root, "scripts/database.ts")), state, folders(space.dir).secrets], options);
  writeFileSync(preparedFile(state), JSON.stringify(wanted));
}

/** Prepares a separate database, because two runtimes lock each other out of one. It begins as a copy of the stack's. */
async function prepareBareState(space: Workspace, wanted: PreparedState): Promise<void> {
  const prepared = readPreparedState(BARE.state);
  // The stack's folder was removed by hand, so the agents of this database have certificates by keys that no longer exist.
  const isOrphan = prepared !== null && prepared.platform !== wanted.platform;
  if (isOrphan) rmSync(BARE.state, { recursive: true });
  if (existsSync(join(BARE.state, DATABASES))) return prepareState(space, BARE.state, wanted);
  cpSync(join(folders(space.dir).state, DATABASES), join(BARE.state, DATABASES), { recursive: true });
  writeFileSync(preparedFile(BARE.state), JSON.stringify(wanted));
}

/** Removes the files that the repository's own stack wrote for `wrangler dev`, but no file that a person wrote. */
export function removeBareFiles(dir: string): void {
  if (!isRepositoryStack(dir)) return;
  if (isWrittenByStart(BARE.variables)) rmSync(BARE.variables);
  if (readPreparedState(BARE.state) !== null) rmSync(BARE.state, { recursive: true });
}

const isRepositoryStack = (dir: string): boolean => resolve(dir) === DEFAULT_DIR;

/** Writes secrets and networks for `wrangler dev`, unless a person wrote that file. */
function writeBareVariables({ dir, echo }: WorkerOptions, variables: string): void {
  if (!isRepositoryStack(dir)) return;
  if (!existsSync(BARE.variables) || isWrittenByStart(BARE.variables))
    writePrivately(BARE.variables, `${BARE_MARK}${variables}`);
  else
    echo(
      `${toShortPath(BARE.variables)} is not from npm start and stays as it is: wrangler dev alone has what it says.\n`,
    );
}

const isWrittenByStart = (file: string): boolean => readOr(file, "").startsWith(BARE_MARK);

const preparedFile = (state: string): string => join(state, "prepared.json");

function readPreparedState(state: string): PreparedState | null {
  try {
    return JSON.parse(readOr(preparedFile(state), "null"));
  } catch {
    return null;
  }
}

function readOr(file: string, absent: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return absent;
  }
}

/** Starts the Worker and waits until it answers. */
export async function startWorker(options: WorkerOptions): Promise<Group & { baseUrl: string }> {
  const { dir, door, guard, signal, echo } = options;
  const { state, temporary, logs } = folders(dir);
  const baseUrl = `http://127.0.0.1:${door.port}`;
  const envFile = join(dir, "worker.env");
  const variables = await environmentFile(baseUrl, options);
  writePrivately(envFile, variables);
  writeBareVariables(options, variables);
  for (const folder of [temporary, logs]) mkdirSync(folder, { recursive: true });
  const logFile = join(logs, "worker.log");
  rmSync(logFile, { force: true });

  const said: WranglerOutput = { text: "", onText: () => undefined };
  let isReady = false;
  const crash = Promise.withResolvers<string>();
  const listen = ["--local", "--ip", "127.0.0.1", "--port", "0", "--inspector-port", "0"];
  const where = ["--persist-to", state, "--env-file", envFile, "--show-interactive-dev-session=false"];
  const group = spawnGroup([...node(wrangler), "dev", ...listen, ...where], {
    cwd: root,
    env: toolEnvironment(dir),
    onOutput: (text) => {
      appendFileSync(logFile, stripColours(text));
      if (CRASH.test(text)) crash.resolve("its runtime died");
      else if (isReady) echo(text);
      else {
        said.text += stripColours(text);
        said.onText();
      }
    },
  });
  guard.add(-group.pid);
  const ended = Promise.race([group.ended, crash.promise]);
  try {
    door.leadTo(await awaitReady(said, ended, signal));
    await requireHealthy(baseUrl, signal);
  } catch (error) {
    await group.stop();
    throw error;
  }
  isReady = true;
  return { ...group, ended, baseUrl };
}

/** Fires the Cron Triggers every full minute and hour, because wrangler does not. Returns the function that stops it. */
export function startCron(baseUrl: string, onFailure: (reason: string) => void): () => void {
  let timer: NodeJS.Timeout;
  let stopped = false;
  const fire = async () => {
    plan();
    try {
      if (Date.now() % HOUR_MS < MINUTE_MS) await fireCron(baseUrl, EVERY_HOUR);
      await fireCron(baseUrl);
    } catch (error) {
      if (stopped) return;
      onFailure(`the minute cron did not run: ${error instanceof Error ? error.message : String(error)}`);
    }
  };
  const plan = () => {
    timer = setTimeout(fire, MINUTE_MS - (Date.now() % MINUTE_MS));
  };
  plan();
  return () => {
    stopped = true;
    clearTimeout(timer);
  };
}

export async function fireCron(baseUrl: string, cron = EVERY_MINUTE): Promise<void> {
  const url = `${baseUrl}/cdn-cgi/local/scheduled?cron=${encodeURIComponent(cron)}`;
  const response = await fetch(url, { signal: AbortSignal.timeout(MINUTE_MS) });
  const text = await response.text();
  if (!response.ok) throw new Error(`${response.status} ${text}`);
}

/** Waits until wrangler prints the port at which the Worker answers. */
async function awaitReady(said: WranglerOutput, ended: Promise<string>, signal: AbortSignal): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const refuse = (reason: string) => reject(new StackError(reason));
  const onAbort = () => reject(signal.reason);
  const timer = setTimeout(() => {
    refuse(
      `the Worker was not ready after ${READY_TIMEOUT_MS / 1_000} s: ${findComplaint(said.text) ?? "it said nothing"}`,
    );
  }, READY_TIMEOUT_MS);
  signal.addEventListener("abort", onAbort);
  void ended.then((how) => refuse(`the Worker did not start: ${findComplaint(said.text) ?? how}`));
  said.onText = () => {
    if (FAILED_BUILD.test(said.text)) refuse(`the Worker does not build: ${findBuildError(said.text)}`);
    const port = READY.exec(said.text)?.[1];
    if (port !== undefined) resolve(Number(port));
  };
  try {
    signal.throwIfAborted();
    return await promise;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", onAbort);
  }
}

async function requireHealthy(baseUrl: string, signal: AbortSignal): Promise<void> {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(READY_TIMEOUT_MS)]);
  const response = await fetch(`${baseUrl}/healthz`, { signal: limit });
  await response.arrayBuffer();
  if (!response.ok) throw new StackError(`the Worker is not healthy: ${baseUrl}/healthz answers ${response.status}`);
}

/** True if a service answers at the address. */
export async function isHealthy(baseUrl: string): Promise<boolean> {
  try {
    const response = await fetch(`${baseUrl}/healthz`, { signal: AbortSignal.timeout(5_000) });
    await response.arrayBuffer();
    return response.ok;
  } catch {
    return false;
  }
}

// The first line with "failed" has only a count; later lines name the file.
function findBuildError(output: string): string {
  const marked = stripColours(output)
    .split("\n")
    .filter((line) => line.includes("[ERROR]"))
    .map((line) => line.replace(/^.*\[ERROR\]\s*/, "").trim());
  return marked.find((line) => !/Build failed/i.test(line)) ?? marked[0] ?? "see the log";
}

/** Writes variables and secrets of the Worker as an .env file. JSON is in single quotes, inside which nothing is escaped. */
async function environmentFile(baseUrl: string, { networks, secrets }: WorkerOptions): Promise<string> {
  const variables = {
    // The queue consumer and the cron have no request from which they could take the address.
    ISSUER: baseUrl,
    NETWORKS: JSON.stringify(networks),
    CA_KEYS: JSON.stringify(secrets.ca_keys),
    SERVICE_DID: secrets.service_did,
    NONCE_KEY: secrets.nonce_key,
    OPERATOR_KEY_HASHES: await computeSha256Hex(secrets.operator_key),
    CHAIN_REGISTRAR_KEY: secrets.chain.registrar.private_key,
    CHAIN_ARBITER_KEY: secrets.chain.arbiter.private_key,
    WEBHOOK_SEAL_KEYS: secrets.webhook_seal_keys,
    ACCOUNT_SEAL_KEYS: secrets.account_seal_keys,
  };
  return Object.entries(variables)
    .map(([name, value]) => `${name}='${value}'\n`)
    .join("");
}

/** The environment that keeps the tools offline and their files inside the folder. */
function toolEnvironment(dir: string): NodeJS.ProcessEnv {
  const { temporary, logs } = folders(dir);
  mkdirSync(temporary, { recursive: true });
  return {
    ...process.env,
    WRANGLER_SEND_METRICS: "false",
    WRANGLER_SEND_ERROR_REPORTS: "false",
    // The banner would look for a newer version.
    WRANGLER_HIDE_BANNER: "true",
    // Warnings report crashes, so the level may be more verbose but not less.
    WRANGLER_LOG: process.env["WRANGLER_LOG"] === "debug" ? "debug" : "log",
    CLOUDFLARE_CF_FETCH_ENABLED: "false",
    WRANGLER_LOG_PATH: logs,
    WRANGLER_REGISTRY_PATH: join(dir, "registry"),
    WRANGLER_CACHE_DIR: join(dir, "cache"),
    TMPDIR: temporary,
  };
}

const node = (script: string): string[] => {
  if (!existsSync(script)) throw new StackError(`${script} is missing: run \`npm ci\``);
  return [process.execPath, "--no-warnings", script];
};
