// `npm start`: the whole service on this machine, until Ctrl-C. Options: --port, --chain-port, --chain-port-production (0 picks a free one) and --dir
// for the state; PORT, CHAIN_PORT, CHAIN_PORT_PRODUCTION and DEV_DIR set the same.
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { DEFAULT_DIR } from "./local-worker.ts";
import { StackError, stripColours, toErrorLine, toShortPath } from "./processes.ts";
import {
  type Ports,
  progressLines,
  type ServiceDescription,
  type Stack,
  secondsRun,
  startStack,
  USUAL_PORTS,
} from "./stack.ts";

// Log lines that are left out: the cron that this command fires, and the table of bindings.
const NOISE = /\/cdn-cgi\/local\/scheduled|^env\.|^Binding {2}|^Your Worker has access|^⎔ Connection status/;
const USAGE = `npm start -- [--port <n>] [--chain-port <n>] [--chain-port-production <n>] [--dir <folder>]
  or PORT (${USUAL_PORTS.service}), CHAIN_PORT (${USUAL_PORTS.chain}), CHAIN_PORT_PRODUCTION (${USUAL_PORTS.chainProduction}) and DEV_DIR (.dev); a port of 0 picks a free one.`;
const abort = new AbortController();
// npm dies of a signal without passing it on to the process that its shell runs: then the parent of this process changes.
const PARENT_CHECK_MS = 300;
const parent = process.ppid;
let starting: Promise<Stack> | undefined;
let stopping = false;
let stoppingSince = 0;
// A terminal's Ctrl-C reaches this process twice: directly, and from npm.
const SAME_SIGNAL_MS = 1_000;

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, onSignal);
if (process.env["npm_lifecycle_event"] !== undefined) setInterval(stopWithParent, PARENT_CHECK_MS).unref();
try {
  const { dir, ports, help } = readOptions();
  if (help) {
    console.log(USAGE);
    process.exit();
  }
  starting = startStack({ dir, ports, signal: abort.signal, log, progress: progressLines(console.log) });
  const stack = await starting;
  print(stack.description, dir);
  for (const fault of stack.networkFaults) console.error(`Network ${fault}`);
  const reason = await stack.broken;
  if (!stopping) {
    console.error(reason);
    process.exitCode = 1;
    await stop();
  }
} catch (error) {
  if (!stopping) {
    const line = toErrorLine(error);
    console.error(line === null ? error : `Cannot start: ${line}`);
    process.exitCode = 1;
  }
}

// The first signal ends every part in order; a second one exits at once.
function onSignal(): void {
  if (stopping && performance.now() - stoppingSince < SAME_SIGNAL_MS) return;
  if (stopping) process.exit(130);
  console.log("\nStopping…");
  void stop();
}

function stopWithParent(): void {
  if (process.ppid !== parent && !stopping) void stop();
}

async function stop(): Promise<void> {
  stopping = true;
  stoppingSince = performance.now();
  abort.abort();
  const stack = await starting?.catch(() => undefined);
  await stack?.stop();
  process.exit();
}

function readOptions(): { dir: string; ports: Ports; help: boolean } {
  const { env } = process;
  const { values } = parseOptions();
  return {
    help: values.help,
    dir: resolve(values.dir || env["DEV_DIR"] || DEFAULT_DIR),
    ports: {
      service: toPort(values.port ?? env["PORT"]),
      chain: toPort(values["chain-port"] ?? env["CHAIN_PORT"]),
      chainProduction: toPort(values["chain-port-production"] ?? env["CHAIN_PORT_PRODUCTION"]),
    },
  };
}

function parseOptions() {
  const text = { type: "string" } as const;
  const help = { type: "boolean", short: "h", default: false } as const;
  const options = { port: text, "chain-port": text, "chain-port-production": text, dir: text, help };
  try {
    return parseArgs({ options });
  } catch (error) {
    throw new StackError(error instanceof Error ? error.message : String(error));
  }
}

function toPort(given: string | undefined): number | null {
  if (given === undefined || given === "") return null;
  const port = Number(given);
  if (!/^\d+$/.test(given) || port > 65_535) throw new StackError(`${given} is no port`);
  return port;
}

function log(text: string): void {
  const lines = text.split("\n").filter((line) => !NOISE.test(stripColours(line)));
  if (lines.some((line) => line.trim() !== "")) process.stdout.write(lines.join("\n"));
}

function print(service: ServiceDescription, dir: string): void {
  const rows: [string, string][] = [
    ["Service", service.base_url],
    ["Reference", `${service.base_url}/docs`],
    ["Sandbox key", `${service.sandbox_key}   (header Service-Api-Key)`],
    ["Operator key", `${service.operator_key}   (header Authorization: Bearer …)`],
    ...Object.values(service.chains).flatMap((chain): [string, string][] => [
      [chain.network, `${chain.rpc_url}   (chain ${chain.chain_id})`],
      ["", `contract ${chain.settlement_contract}`],
      ["", `token    ${chain.token}   (anybody may mint)`],
    ]),
    ["Mails", toShortPath(service.mail_dir)],
    ["For scripts", toShortPath(join(dir, "service.json"))],
  ];
  console.log(`\n${rows.map(([name, value]) => `  ${name.padEnd(14)}${value}`).join("\n")}\n`);
  console.log(
    `Ready after ${secondsRun()} s; the minute cron runs every minute. Ctrl-C ends it, npm run reset forgets its state.\n`,
  );
}
