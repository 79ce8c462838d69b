// The whole service on a laptop: two chains with their contracts, the database, the Worker, its cron and its mails. All state is in one folder, so
// that a stack continues where it stopped, and every process that it starts ends with it.
import { existsSync, readFileSync, rmSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Hex } from "viem";
import type { NetworkInput } from "../src/chain/networks.ts";
import { type Anvil, devAccounts, findAnvilBinary, startAnvil } from "./chain/anvil.ts";
import { checkNetworks } from "./chain/check-networks.ts";
import { createClient } from "./chain/client.ts";
import { deployContracts } from "./chain/deploy.ts";
import { type Door, openDoor, requireFreePort } from "./door.ts";
import {
  folders,
  type Progress,
  prepareDatabase,
  SCRATCH,
  startCron,
  startWorker,
  type Workspace,
  wrangler,
} from "./local-worker.ts";
import { startMailbox } from "./mailbox.ts";
import { isAlive, requireFolder, StackError, startGuard, toShortPath } from "./processes.ts";
import { loadOrCreateSecrets, type Secrets, writePrivately } from "./secrets.ts";

/** 0: any free port. null: the port of the first start, or the usual one at a first start. */
export type Ports = {
  readonly service: number | null;
  readonly chain: number | null;
  readonly chainProduction: number | null;
};
export const USUAL_PORTS = { service: 8_787, chain: 8_545, chainProduction: 8_546 } as const;
export type StackOptions = {
  readonly dir: string;
  /** 0 picks a free port. */
  readonly ports: Ports;
  /** Aborts a stack that is still starting. */
  readonly signal: AbortSignal;
  /** Receives the Worker's log and the stack's own warnings. */
  readonly log: (text: string) => void;
  readonly progress?: Progress;
};

/** One chain as scripts see it. The accounts are anvil's own: funded, with published keys. */
export type ChainDescription = {
  rpc_url: string;
  chain_id: number;
  network: string;
  settlement_contract: Hex;
  authority: Hex;
  token: Hex;
  accounts: { address: Hex; private_key: Hex }[];
};
/** The content of .dev/service.json while a stack runs. */
export type ServiceDescription = {
  base_url: string;
  sandbox_key: string;
  operator_key: string;
  /** The testnet, where the sandbox key's agents settle. */
  chain: ChainDescription;
  chains: Record<string, ChainDescription>;
  mail_dir: string;
};
export type Stack = {
  readonly description: ServiceDescription;
  /** Faults of the chains' contracts, one line each (CHN-31). */
  readonly networkFaults: readonly string[];
  /** Resolves with the reason if a part ends unexpectedly. */
  readonly broken: Promise<string>;
  readonly stop: () => Promise<void>;
};

type ChainPlan = { network: string; chainId: number; kind: NetworkInput["kind"]; port: keyof Ports };
type StartedChain = { plan: ChainPlan; anvil: Anvil };
type RunningChain = { anvil: Anvil; network: NetworkInput; description: ChainDescription };

const SANDBOX_CHAIN = { network: "base-sepolia", chainId: 84_532, kind: "testnet", port: "chain" } as const;
const CHAINS: readonly ChainPlan[] = [
  SANDBOX_CHAIN,
  { network: "base", chainId: 8_453, kind: "mainnet", port: "chainProduction" },
];
const CURRENCY = { currency: "USDC", decimals: 6 } as const;
const GAS_MONEY = 100n * 10n ** 18n;
const WATCH_MS = 500;

/** Everything that a stack writes into its folder; a reset removes only these. */
export const OWNED = [
  ...["secrets.json", "service.json", "worker.env", "port", "lock"],
  ...["state", "chain", "mail", "logs", "tmp", "registry", "cache"],
] as const;

const PORT_HINTS: Record<keyof Ports, string> = {
  service: "PORT=<n>, or npm start -- --port <n>",
  chain: "CHAIN_PORT=<n>, or npm start -- --chain-port <n>",
  chainProduction: "CHAIN_PORT_PRODUCTION=<n>, or npm start -- --chain-port-production <n>",
};

export async function startStack(options: StackOptions): Promise<Stack> {
  const { dir, ports, signal, log, progress = () => undefined } = options;
  await using cleanup = new AsyncDisposableStack();
  lockFolder(dir);
  cleanup.defer(() => unlockFolder(dir));
  const door = await openServiceDoor(dir, ports.service, log);
  cleanup.defer(door.close);
  const chainPorts = await chooseChainPorts(dir, ports, log);
  requireTools();
  if (!existsSync(folders(dir).secrets)) progress("secrets", "drawing them");
  const secrets = await loadOrCreateSecrets(folders(dir).secrets);
  const guard = startGuard();
  cleanup.defer(() => guard.close());
  const space: Workspace = { dir, guard, signal, secrets, progress };

  // Removes the files of the last run, or of a crash.
  for (const folder of [folders(dir).temporary, folders(dir).logs]) rmSync(folder, { recursive: true, force: true });
  const [chains] = await awaitAll([startChains(space, chainPorts, cleanup), prepareDatabase(space)]);
  signal.throwIfAborted();
  const networks = chains.map(({ network }) => network);
  progress("service", `building the Worker and starting it on port ${door.port}`);
  const worker = await startWorker({ ...space, door, networks, echo: log });
  cleanup.defer(() => worker.stop());
  cleanup.defer(startCron(worker.baseUrl, (reason) => log(`${reason}\n`)));
  const workerLog = join(folders(dir).logs, "worker.log");
  cleanup.defer(startMailbox(folders(dir).temporary, folders(dir).mail, workerLog));

  const description = describeService(dir, worker.baseUrl, secrets, chains);
  writePrivately(descriptionFile(dir), description);
  cleanup.defer(() => rmSync(descriptionFile(dir), { force: true }));
  const watch = watchChains(chains);
  cleanup.defer(watch.stop);
  const { registrar, arbiter } = secrets.chain;
  const networkFaults = await checkNetworks(networks, { registrar: registrar.address, arbiter: arbiter.address });
  const ended = worker.ended.then((how) => `the Worker ended (${how}): see ${toShortPath(workerLog)}`);
  signal.throwIfAborted();
  const kept = cleanup.move();
  return { description, networkFaults, broken: Promise.race([ended, watch.broken]), stop: () => kept.disposeAsync() };
}

/** Writes a line for each step as it begins, with the seconds that this process has run. */
export const progressLines =
  (write: (line: string) => void): Progress =>
  (part, doing) =>
    write(`${secondsRun().padStart(6)} s  ${part.padEnd(10)} ${doing}`);

export const secondsRun = (): string => (performance.now() / 1_000).toFixed(1);

export const descriptionFile = (dir: string): string => join(dir, "service.json");

/** The process that runs a stack from this folder; null if there is none. */
export function findRunningStack(dir: string): number | null {
  const file = join(dir, "lock");
  if (!existsSync(file)) return null;
  const pid = Number(readFileSync(file, "utf8"));
  return isAlive(pid) && isNode(pid) ? pid : null;
}

/** Signed data names the service's address, so the port of the first start is used again unless another is requested. */
async function openServiceDoor(dir: string, wanted: number | null, log: (text: string) => void): Promise<Door> {
  const file = join(dir, "port");
  const first = firstPort(file);
  const again = !wanted && first !== null ? await openDoor(first, "").catch(() => null) : null;
  const door = again ?? (await openDoor(wanted ?? USUAL_PORTS.service, PORT_HINTS.service));
  if (first === null) writeFileSync(file, String(door.port));
  else if (door.port !== first) {
    const names = `Agents of this folder have certificates that name http://127.0.0.1:${first}: they work at PORT=${first} alone.`;
    log(`${names} npm run reset forgets them.\n`);
  }
  return door;
}

/** Uses the chain's first port again if it is free and no other is requested. With 0, anvil binds a free port and prints it. */
async function chooseChainPorts(dir: string, ports: Ports, log: (text: string) => void): Promise<Map<string, number>> {
  const chosen = new Map<string, number>();
  for (const { network, port } of CHAINS) {
    const first = !ports[port] ? firstPort(chainPortFile(dir, network)) : null;
    if (first !== null && (await isFree(first))) {
      chosen.set(network, first);
      continue;
    }
    if (first !== null) log(`Port ${first} of ${network} is in use: the chain takes another this time.\n`);
    const wanted = ports[port] ?? USUAL_PORTS[port];
    await requireFreePort(wanted, PORT_HINTS[port]);
    chosen.set(network, wanted);
  }
  return chosen;
}

const isFree = (port: number): Promise<boolean> =>
  requireFreePort(port, "").then(
    () => true,
    () => false,
  );

const chainPortFile = (dir: string, network: string): string => join(dir, "chain", `${network}.port`);

const firstPort = (file: string): number | null => (existsSync(file) ? Number(readFileSync(file, "utf8")) : null);

function lockFolder(dir: string): void {
  const pid = findRunningStack(dir);
  if (pid !== null) throw new StackError(`a service is already running from ${toShortPath(dir)} (process ${pid})`);
  requireOwnFolder(dir);
  requireFolder(SCRATCH, [], "wrangler builds the Worker there, so make it yours");
  rmSync(descriptionFile(dir), { force: true });
  writeFileSync(join(dir, "lock"), String(process.pid));
}

export const requireOwnFolder = (dir: string): void =>
  requireFolder(dir, OWNED, "make it yours, or choose another folder with DEV_DIR=<dir> or --dir <dir>");

function unlockFolder(dir: string): void {
  unlinkSync(join(dir, "lock"));
}

// After a crash another program may have the number. If the system does not report the command line, the process counts as the stack's.
function isNode(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("node");
  } catch {
    return true;
  }
}

async function startChains(
  { dir, guard, secrets, progress }: Workspace,
  ports: ReadonlyMap<string, number>,
  cleanup: AsyncDisposableStack,
): Promise<RunningChain[]> {
  progress("chains", `starting ${CHAINS.map(({ network }) => network).join(" and ")}`);
  const started = await awaitAll(
    CHAINS.map(async (plan): Promise<StartedChain> => {
      const { network, chainId } = plan;
      const statePath = join(dir, "chain", `${network}.json`);
      const anvil = await startAnvil({ chainId, port: ports.get(network) ?? 0, statePath }).catch(throwStackError);
      cleanup.defer(anvil.stop);
      guard.add(anvil.pid);
      if (firstPort(chainPortFile(dir, network)) === null)
        writeFileSync(chainPortFile(dir, network), String(anvil.port));
      return { plan, anvil };
    }),
  );
  progress("contracts", "deploying what is not there yet");
  return awaitAll(started.map((chain) => setUpChain(chain, secrets)));
}

async function setUpChain({ plan, anvil }: StartedChain, secrets: Secrets): Promise<RunningChain> {
  const { owner, admin, registrar, arbiter, guardian, fee_recipient: feeRecipient } = secrets.chain;
  const client = createClient(anvil.rpcUrl);
  for (const { address } of [owner, admin, registrar, arbiter, guardian]) {
    const balance = await client.getBalance({ address });
    if (balance < GAS_MONEY / 2n) await client.setBalance({ address, value: GAS_MONEY });
  }
  const { settlementContract, authority, token } = await deployContracts(anvil.rpcUrl, {
    deployerKey: admin.private_key,
    keys: {
      owner: owner.address,
      admin: admin.address,
      registrar: registrar.address,
      arbiter: arbiter.address,
      guardian: guardian.address,
    },
    feeRecipient: feeRecipient.address,
  });
  const place = { network: plan.network, chain_id: plan.chainId, rpc_url: anvil.rpcUrl };
  const contracts = { settlement_contract: settlementContract, authority, token };
  const accounts = devAccounts().map(({ address, privateKey }) => ({ address, private_key: privateKey }));
  return {
    anvil,
    // On a chain of one node, one block is as final as it gets.
    network: { ...place, ...contracts, ...CURRENCY, kind: plan.kind, required_confirmations: 1, block_seconds: 0 },
    description: { ...place, ...contracts, accounts },
  };
}

function describeService(
  dir: string,
  baseUrl: string,
  secrets: Secrets,
  chains: readonly RunningChain[],
): ServiceDescription {
  const described = Object.fromEntries(chains.map(({ description }) => [description.network, description]));
  const chain = described[SANDBOX_CHAIN.network];
  if (chain === undefined) throw new Error("the sandbox chain is not among the chains");
  return {
    base_url: baseUrl,
    sandbox_key: secrets.platform.sandbox_key,
    operator_key: secrets.operator_key,
    chain,
    chains: described,
    mail_dir: folders(dir).mail,
  };
}

function watchChains(chains: readonly RunningChain[]): { broken: Promise<string>; stop: () => void } {
  let timer: NodeJS.Timeout | undefined;
  const broken = new Promise<string>((resolve) => {
    timer = setInterval(() => {
      const dead = chains.find(({ anvil }) => !isAlive(anvil.pid));
      if (dead) resolve(`the chain ${dead.network.network} ended`);
    }, WATCH_MS);
  });
  return { broken, stop: () => clearInterval(timer) };
}

function throwStackError(error: unknown): never {
  throw new StackError(error instanceof Error ? error.message : String(error));
}

const TOOLS: Readonly<Record<string, () => string>> = { anvil: findAnvilBinary, wrangler: () => wrangler };

/** Checks the packages that the stack needs before anything is started. */
function requireTools(): void {
  for (const [name, find] of Object.entries(TOOLS)) {
    if (!isInstalled(find)) throw new StackError(`${name} is missing for this platform: run \`npm ci\``);
  }
}

function isInstalled(find: () => string): boolean {
  try {
    return existsSync(find());
  } catch {
    return false;
  }
}

/** Waits for all even if one fails, so that everything that was started can be ended. */
async function awaitAll<T extends readonly unknown[] | []>(
  promises: T,
): Promise<{ -readonly [K in keyof T]: Awaited<T[K]> }> {
  await Promise.allSettled(promises);
  return Promise.all(promises);
}
