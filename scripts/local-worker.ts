// The Worker on a laptop: its database brought up to date, then `wrangler dev` with its state, secrets and mails in one folder.
import { appendFileSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Network } from "../src/chain/networks.ts";
import { sha256Hex } from "../src/core/encoding.ts";
import { complaintIn, type Group, type Guard, plain, run, StackError, sleep, spawnGroup } from "./processes.ts";
import { type Secrets, writePrivately } from "./secrets.ts";

export type Workspace = { readonly dir: string; readonly guard: Guard; readonly signal: AbortSignal };
type WorkerOptions = Workspace & {
  readonly port: number;
  readonly networks: readonly Network[];
  readonly secrets: Secrets;
  /** What the Worker logs once it is ready. */
  readonly echo: (text: string) => void;
};

const root = join(import.meta.dirname, "..");
export const wrangler = join(root, "node_modules/wrangler/wrangler-dist/cli.js");
const READY_TIMEOUT_MS = 50_000;
const POLL_MS = 150;
const MINUTE_MS = 60_000;
const CRON = "* * * * *";

export const folders = (dir: string) => ({
  state: join(dir, "state"),
  temporary: join(dir, "tmp"),
  logs: join(dir, "logs"),
  mail: join(dir, "mail"),
  secrets: join(dir, "secrets.json"),
});

/** Applies what is new in migrations/ and seeds the demo platform. Both are skipped while nothing is new. */
export async function prepareDatabase(space: Workspace): Promise<void> {
  const { state, secrets } = folders(space.dir);
  const stamp = join(state, "prepared", migrationNames().at(-1) ?? "none");
  if (existsSync(stamp)) return;
  const options = { cwd: root, env: toolEnvironment(space.dir), guard: space.guard, signal: space.signal };
  const apply = ["d1", "migrations", "apply", "DB", "--local", "--persist-to", state];
  // A database of another branch, say: what it holds is for play, and the way out is quick.
  const failure = "the migrations could not be applied (`npm run reset` starts with an empty database)";
  await run(failure, [...node(wrangler), ...apply], options);
  const seed = [...node(join(root, "scripts/seed.ts")), state, secrets];
  await run("the demo platform could not be seeded", seed, options);
  mkdirSync(dirname(stamp), { recursive: true });
  writeFileSync(stamp, "");
}

/** Starts the Worker and waits until it answers. */
export async function startWorker(options: WorkerOptions): Promise<Group & { baseUrl: string }> {
  const { dir, port, guard, signal, echo } = options;
  const { state, temporary, logs } = folders(dir);
  const baseUrl = `http://127.0.0.1:${port}`;
  const envFile = join(dir, "worker.env");
  writePrivately(envFile, await environmentFile(baseUrl, options));
  for (const folder of [temporary, logs]) mkdirSync(folder, { recursive: true });
  const logFile = join(logs, "worker.log");
  rmSync(logFile, { force: true });

  const output = { text: "", ready: false };
  const listen = ["--local", "--ip", "127.0.0.1", "--port", String(port), "--inspector-port", "0"];
  const where = ["--persist-to", state, "--env-file", envFile, "--show-interactive-dev-session=false"];
  const group = spawnGroup([...node(wrangler), "dev", ...listen, ...where], {
    cwd: root,
    env: toolEnvironment(dir),
    onOutput: (text) => {
      appendFileSync(logFile, plain(text));
      if (output.ready) echo(text);
      else output.text += text;
    },
  });
  guard.add(-group.pid);
  try {
    await untilHealthy(baseUrl, group, () => output.text, signal);
  } catch (error) {
    await group.stop();
    throw error;
  }
  output.ready = true;
  return { ...group, baseUrl };
}

/** Fires the Cron Trigger on every full minute, as wrangler does not by itself. Returns what ends it. */
export function startCron(baseUrl: string, onFailure: (reason: string) => void): () => void {
  let timer: NodeJS.Timeout;
  const fire = async () => {
    plan();
    try {
      await fireCron(baseUrl);
    } catch (error) {
      onFailure(`the minute cron did not run: ${error instanceof Error ? error.message : String(error)}`);
    }
  };
  const plan = () => {
    timer = setTimeout(fire, MINUTE_MS - (Date.now() % MINUTE_MS));
  };
  plan();
  return () => clearTimeout(timer);
}

export async function fireCron(baseUrl: string): Promise<void> {
  const url = `${baseUrl}/cdn-cgi/local/scheduled?cron=${encodeURIComponent(CRON)}`;
  const response = await fetch(url, { signal: AbortSignal.timeout(MINUTE_MS) });
  const text = await response.text();
  if (!response.ok) throw new Error(`${response.status} ${text}`);
}

async function untilHealthy(baseUrl: string, group: Group, said: () => string, signal: AbortSignal): Promise<void> {
  const deadline = Date.now() + READY_TIMEOUT_MS;
  let ending: string | undefined;
  void group.ended.then((how) => {
    ending = how;
  });
  while (true) {
    signal.throwIfAborted();
    if (ending !== undefined) throw new StackError(`the Worker did not start: ${complaintIn(said()) ?? ending}`);
    // wrangler waits for an edit then; whoever starts the stack wants to know.
    if (/Build failed|runtime failed to start/i.test(said())) {
      throw new StackError(`the Worker does not build: ${buildErrorIn(said())}`);
    }
    if (await isHealthy(baseUrl)) return;
    if (Date.now() > deadline) {
      const reason = complaintIn(said()) ?? `no answer from ${baseUrl}/healthz`;
      throw new StackError(`the Worker was not ready after ${READY_TIMEOUT_MS / 1_000} s: ${reason}`);
    }
    await sleep(POLL_MS);
  }
}

/** Whether a service answers there. */
export async function isHealthy(baseUrl: string): Promise<boolean> {
  try {
    const response = await fetch(`${baseUrl}/healthz`, { signal: AbortSignal.timeout(5_000) });
    await response.arrayBuffer();
    return response.ok;
  } catch {
    return false;
  }
}

// The first line that says "failed" only counts; those after it name the file.
function buildErrorIn(output: string): string {
  const marked = plain(output)
    .split("\n")
    .filter((line) => line.includes("[ERROR]"))
    .map((line) => line.replace(/^.*\[ERROR\]\s*/, "").trim());
  return marked.find((line) => !/Build failed/i.test(line)) ?? marked[0] ?? "see the log";
}

/** Variables and secrets of the Worker, as an .env file. JSON stands in single quotes: nothing is escaped in there. */
async function environmentFile(baseUrl: string, { networks, secrets }: WorkerOptions): Promise<string> {
  const variables = {
    // The queue consumer and the cron have no request to take the address from.
    ISSUER: baseUrl,
    NETWORKS: JSON.stringify(networks),
    CA_KEYS: JSON.stringify(secrets.ca_keys),
    SERVICE_DID: secrets.service_did,
    NONCE_KEY: secrets.nonce_key,
    OPERATOR_KEY_HASHES: await sha256Hex(secrets.operator_key),
    CHAIN_REGISTRAR_KEY: secrets.chain.registrar.private_key,
  };
  return Object.entries(variables)
    .map(([name, value]) => `${name}='${value}'\n`)
    .join("");
}

/** What keeps the tools from calling anybody, and all they write inside the folder. */
function toolEnvironment(dir: string): NodeJS.ProcessEnv {
  const { temporary, logs } = folders(dir);
  mkdirSync(temporary, { recursive: true });
  return {
    ...process.env,
    WRANGLER_SEND_METRICS: "false",
    WRANGLER_SEND_ERROR_REPORTS: "false",
    // The banner is what looks for a newer version.
    WRANGLER_HIDE_BANNER: "true",
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

const migrationNames = (): string[] =>
  readdirSync(join(root, "migrations"))
    .filter((name) => name.endsWith(".sql"))
    .sort();
