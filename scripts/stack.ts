// The whole service on a laptop: two chains with their contracts, the database, the Worker, its cron and its mails. All state is
// in one folder, so that a stack goes on where it was left; whatever it starts ends with it.
import { existsSync, mkdirSync, readFileSync, rmSync, unlinkSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import type { Hex } from "viem";
import type { Network } from "../src/chain/networks.ts";
import { type Anvil, anvilBinary, clientFor, deployContracts, devAccounts, startAnvil } from "./chain.ts";
import { folders, prepareDatabase, startCron, startWorker, type Workspace, wrangler } from "./local-worker.ts";
import { startMailbox } from "./mailbox.ts";
import { claimPort, type Guard, isAlive, StackError, startGuard } from "./processes.ts";
import { loadOrCreateSecrets, type Secrets, writePrivately } from "./secrets.ts";

export type Ports = { readonly service: number; readonly chain: number; readonly chainProduction: number };
export type StackOptions = {
  readonly dir: string;
  /** 0: a free one. */
  readonly ports: Ports;
  /** Aborting it makes a stack that is still starting end again. */
  readonly signal: AbortSignal;
  /** What the Worker logs, and what goes wrong beside it. */
  readonly log: (text: string) => void;
};

/** One chain as scripts see it. The accounts are anvil's own: funded, and known to everybody. */
export type ChainDescription = {
  rpc_url: string;
  chain_id: number;
  network: string;
  settlement_contract: Hex;
  token: Hex;
  accounts: { address: Hex; private_key: Hex }[];
};
/** What .dev/service.json says of a running stack. */
export type ServiceDescription = {
  base_url: string;
  sandbox_key: string;
  operator_key: string;
  /** The testnet: where the sandbox key's agents settle. */
  chain: ChainDescription;
  chains: Record<string, ChainDescription>;
  mail_dir: string;
};
export type Stack = {
  readonly description: ServiceDescription;
  /** Resolves with the reason when a part ends that nobody asked to end. */
  readonly broken: Promise<string>;
  readonly stop: () => Promise<void>;
};

type ChainPlan = { network: string; chainId: number; kind: Network["kind"]; port: keyof Ports };
type RunningChain = { anvil: Anvil; network: Network; description: ChainDescription };

const SANDBOX_CHAIN = { network: "base-sepolia", chainId: 84_532, kind: "testnet", port: "chain" } as const;
const CHAINS: readonly ChainPlan[] = [
  SANDBOX_CHAIN,
  { network: "base", chainId: 8_453, kind: "mainnet", port: "chainProduction" },
];
const CURRENCY = { currency: "USDC", decimals: 6 } as const;
const GAS_MONEY = 100n * 10n ** 18n;
const WATCH_MS = 500;

/** Everything that a stack writes into its folder; a reset removes these and nothing else. */
export const OWNED = [
  ...["secrets.json", "service.json", "worker.env", "port", "lock"],
  ...["state", "chain", "mail", "logs", "tmp", "registry", "cache"],
] as const;

const PORT_HINTS: Record<keyof Ports, string> = {
  service: "PORT=<n> or --port <n>",
  chain: "CHAIN_PORT=<n> or --chain-port <n>",
  chainProduction: "CHAIN_PORT_PRODUCTION=<n> or --chain-port-production <n>",
};

export async function startStack(options: StackOptions): Promise<Stack> {
  const { dir, ports, signal, log } = options;
  await using cleanup = new AsyncDisposableStack();
  lock(dir);
  cleanup.defer(() => unlock(dir));
  const servicePort = await claimServicePort(dir, ports.service, log);
  for (const { port } of CHAINS) await claimPort(ports[port], PORT_HINTS[port]);
  requireTools();
  const secrets = await loadOrCreateSecrets(folders(dir).secrets);
  const guard = startGuard();
  cleanup.defer(() => guard.close());
  const space: Workspace = { dir, guard, signal };

  // The last run's, or what a crash has left.
  for (const folder of [folders(dir).temporary, folders(dir).logs]) rmSync(folder, { recursive: true, force: true });
  const [chains] = await allSettled([startChains(options, guard, secrets, cleanup), prepareDatabase(space)]);
  signal.throwIfAborted();
  const networks = chains.map(({ network }) => network);
  const worker = await startWorker({ ...space, port: servicePort, networks, secrets, echo: log });
  cleanup.defer(() => worker.stop());
  cleanup.defer(startCron(worker.baseUrl, (reason) => log(`${reason}\n`)));
  cleanup.defer(startMailbox(folders(dir).temporary, folders(dir).mail));

  const description = describe(dir, worker.baseUrl, secrets, chains);
  writePrivately(descriptionFile(dir), description);
  cleanup.defer(() => rmSync(descriptionFile(dir), { force: true }));
  const watch = watchChains(chains);
  cleanup.defer(watch.stop);
  const ended = worker.ended.then((how) => `the Worker ended (${how}): see ${join(folders(dir).logs, "worker.log")}`);
  signal.throwIfAborted();
  const kept = cleanup.move();
  return { description, broken: Promise.race([ended, watch.broken]), stop: () => kept.disposeAsync() };
}

export const descriptionFile = (dir: string): string => join(dir, "service.json");

/** The process that runs a stack from this folder, if one does. */
export function runningFrom(dir: string): number | null {
  const file = join(dir, "lock");
  if (!existsSync(file)) return null;
  const pid = Number(readFileSync(file, "utf8"));
  return isAlive(pid) && isNode(pid) ? pid : null;
}

/** A folder as a person would type it. */
export const shown = (path: string): string => {
  const short = relative(process.cwd(), path);
  return short === "" || short.startsWith("..") ? path : short;
};

/** What the service signs names its address: the port of the first start is taken again where any will do. */
async function claimServicePort(dir: string, wanted: number, log: (text: string) => void): Promise<number> {
  const file = join(dir, "port");
  const first = existsSync(file) ? Number(readFileSync(file, "utf8")) : null;
  const again = wanted === 0 && first !== null ? await claimPort(first, "").catch(() => null) : null;
  const port = again ?? (await claimPort(wanted, PORT_HINTS.service));
  if (first === null) writeFileSync(file, String(port));
  else if (port !== first) {
    const names = `Agents of this folder have certificates that name http://127.0.0.1:${first}: they work at PORT=${first} alone.`;
    log(`${names} npm run reset forgets them.\n`);
  }
  return port;
}

function lock(dir: string): void {
  const pid = runningFrom(dir);
  if (pid !== null) throw new StackError(`a service is already running from ${shown(dir)} (process ${pid})`);
  mkdirSync(dir, { recursive: true });
  rmSync(descriptionFile(dir), { force: true });
  writeFileSync(join(dir, "lock"), String(process.pid));
}

function unlock(dir: string): void {
  unlinkSync(join(dir, "lock"));
}

// After a crash the number may belong to another program. Where the system doesn't tell, it counts as ours.
function isNode(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("node");
  } catch {
    return true;
  }
}

async function startChains(
  { dir, ports }: StackOptions,
  guard: Guard,
  secrets: Secrets,
  cleanup: AsyncDisposableStack,
): Promise<RunningChain[]> {
  return allSettled(
    CHAINS.map(async (plan) => {
      const statePath = join(dir, "chain", `${plan.network}.json`);
      const anvil = await startAnvil({ chainId: plan.chainId, port: ports[plan.port], statePath }).catch(explain);
      cleanup.defer(anvil.stop);
      guard.add(anvil.pid);
      return setUpChain(plan, anvil, secrets);
    }),
  );
}

async function setUpChain(plan: ChainPlan, anvil: Anvil, secrets: Secrets): Promise<RunningChain> {
  const { admin, registrar, arbiter, fee_recipient: feeRecipient } = secrets.chain;
  const client = clientFor(anvil.rpcUrl);
  for (const { address } of [admin, registrar, arbiter]) {
    const balance = await client.getBalance({ address });
    if (balance < GAS_MONEY / 2n) await client.setBalance({ address, value: GAS_MONEY });
  }
  const { settlementContract, token } = await deployContracts(anvil.rpcUrl, {
    adminKey: admin.private_key,
    registrarAddress: registrar.address,
    arbiterAddress: arbiter.address,
    feeRecipient: feeRecipient.address,
  });
  const place = { network: plan.network, chain_id: plan.chainId, rpc_url: anvil.rpcUrl };
  const contracts = { settlement_contract: settlementContract, token };
  const accounts = devAccounts().map(({ address, privateKey }) => ({ address, private_key: privateKey }));
  return {
    anvil,
    // One block is as final as it gets on a chain of one node.
    network: { ...place, ...contracts, ...CURRENCY, kind: plan.kind, required_confirmations: 1 },
    description: { ...place, ...contracts, accounts },
  };
}

function describe(dir: string, baseUrl: string, secrets: Secrets, chains: readonly RunningChain[]): ServiceDescription {
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

function explain(error: unknown): never {
  throw new StackError(error instanceof Error ? error.message : String(error));
}

const TOOLS: Readonly<Record<string, () => string>> = { anvil: anvilBinary, wrangler: () => wrangler };

/** What the packages bring, before anything is started with it. */
function requireTools(): void {
  for (const [name, find] of Object.entries(TOOLS)) {
    if (!isThere(find)) throw new StackError(`${name} is missing for this platform: run \`npm ci\``);
  }
}

function isThere(find: () => string): boolean {
  try {
    return existsSync(find());
  } catch {
    return false;
  }
}

/** Waits for all even when one fails: what each has started must be known before it can be ended. */
async function allSettled<T extends readonly unknown[] | []>(
  promises: T,
): Promise<{ -readonly [K in keyof T]: Awaited<T[K]> }> {
  await Promise.allSettled(promises);
  return Promise.all(promises);
}
