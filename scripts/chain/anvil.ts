// Starts and stops anvil on loopback: the node of a local chain for the dev stack and the tests.
import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { type Hex, toHex } from "viem";
import { mnemonicToAccount, privateKeyToAddress } from "viem/accounts";
import { atExit } from "../processes.ts";
import { createClient } from "./client.ts";

export type AnvilAccount = { address: Hex; privateKey: Hex };
export type Anvil = {
  rpcUrl: string;
  chainId: number;
  port: number;
  pid: number;
  accounts: readonly AnvilAccount[];
  /** Ends the process and waits until it has written its state. */
  stop: () => Promise<void>;
};
export type AnvilOptions = {
  chainId: number;
  /** 0 means any free port. */
  port: number;
  /** A JSON file from which a restarted chain continues. */
  statePath?: string;
  /** Seconds between blocks; without it each transaction is mined at once in its own block. */
  blockTime?: number;
  /** Epoch seconds of the first block, for tests that fill the chain's past. */
  genesis?: number;
  /** How many states are kept, in memory only. Without it, a chain of a thousand blocks may lose its contracts when it is rolled back. */
  states?: number;
  quiet?: boolean;
};

// Public test keys, which every anvil has.
const DEV_MNEMONIC = "test test test test test test test test test test test junk";
const DEV_ACCOUNTS = 10;
const START_TIMEOUT_MS = 60_000;
const STATE_INTERVAL_SECONDS = 5;

/**
 * Starts anvil on loopback and waits until it answers. Rejects with a one-line reason if it does not.
 * With `statePath`, a restart keeps accounts, code, storage, nonces, blocks, transactions, receipts and logs; after a SIGKILL, those up to the last
 * interval. It loses `eth_call` at a block before the restart, and waiting transactions.
 */
export async function startAnvil(options: AnvilOptions): Promise<Anvil> {
  const { chainId, port: wanted, statePath, blockTime, genesis, states: kept, quiet = true } = options;
  const args = ["--host", "127.0.0.1", "--port", String(wanted), "--chain-id", String(chainId)];
  args.push("--mnemonic", DEV_MNEMONIC, "--accounts", String(DEV_ACCOUNTS), "--hardfork", "prague");
  if (blockTime !== undefined) args.push("--block-time", String(blockTime));
  if (kept !== undefined) args.push("--prune-history", String(kept));
  if (genesis !== undefined) args.push("--timestamp", String(genesis));
  if (statePath !== undefined) {
    mkdirSync(dirname(statePath), { recursive: true });
    args.push("--state", statePath, "--state-interval", String(STATE_INTERVAL_SECONDS));
  }
  // anvil never deletes its past states, so they get a folder that is removed at exit. The folder is not among the temporary files, which may be on
  // a RAM disk.
  const home = join(homedir(), ".foundry", "anvil", "tmp");
  mkdirSync(home, { recursive: true });
  const states = mkdtempSync(join(home, "service-"));
  args.push("--cache-path", states);
  const child = spawn(findAnvilBinary(), args, { stdio: ["ignore", "pipe", "pipe"] });
  const forget = () => rmSync(states, { recursive: true, force: true });
  child.once("exit", forget);
  // A parent that ends early also ends its chain; the signal lets anvil write its state.
  child.once(
    "exit",
    atExit(() => {
      child.kill("SIGTERM");
      forget();
    }),
  );
  const port = await waitUntilListening(child, wanted);
  const rpcUrl = `http://127.0.0.1:${port}`;
  if (genesis === undefined) await syncClock(rpcUrl);
  if (quiet) child.stdout.resume();
  else child.stdout.pipe(process.stdout);
  return {
    rpcUrl,
    chainId,
    port,
    pid: child.pid ?? 0,
    accounts: devAccounts(),
    stop: () => stopProcess(child),
  };
}

/**
 * Moves a chain's clock forward to the machine's. anvil takes the time of its first block before it listens, so on a busy machine the chain
 * would stay seconds late.
 */
export async function syncClock(rpcUrl: string): Promise<void> {
  const client = createClient(rpcUrl);
  const second = () => Math.floor(Date.now() / 1_000);
  for (;;) {
    const before = second();
    const { timestamp } = await client.getBlock({ blockTag: "pending" });
    // If the second changed during the call, the block may have either.
    if (second() !== before) continue;
    const behind = before - Number(timestamp);
    if (behind > 0) await client.increaseTime({ seconds: behind });
    return;
  }
}

let accounts: readonly AnvilAccount[] | undefined;

/** anvil's ten funded accounts. Cached, because deriving the seed from the mnemonic blocks the process. */
export function devAccounts(): readonly AnvilAccount[] {
  accounts ??= deriveAccounts();
  return accounts;
}

function deriveAccounts(): AnvilAccount[] {
  const parent = mnemonicToAccount(DEV_MNEMONIC, { path: "m/44'/60'/0'/0" }).getHdKey();
  return Array.from({ length: DEV_ACCOUNTS }, (_, index) => {
    const privateKey = toHex(parent.deriveChild(index).privateKey ?? new Uint8Array());
    return { address: privateKeyToAddress(privateKey), privateKey };
  });
}

// Finds the binary of the package for this platform. Without npx and its shell in between, signals reach anvil.
export function findAnvilBinary(): string {
  const platform = { linux: "linux", darwin: "darwin", win32: "win32" }[process.platform as string] ?? process.platform;
  const arch = process.arch === "x64" ? "amd64" : process.arch;
  const require = createRequire(createRequire(import.meta.url).resolve("@foundry-rs/anvil/package.json"));
  const manifest = require.resolve(`@foundry-rs/anvil-${platform}-${arch}/package.json`);
  return join(dirname(manifest), "bin", process.platform === "win32" ? "anvil.exe" : "anvil");
}

// Reads anvil's output instead of asking the port, where another node might answer.
function waitUntilListening(child: ChildProcess, wanted: number): Promise<number> {
  return new Promise((resolve, reject) => {
    let said = "";
    let complaint = "";
    const fail = (reason: string) => {
      clearTimeout(timer);
      reject(new Error(`anvil did not start: ${reason}`));
    };
    const timer = setTimeout(() => {
      child.kill("SIGKILL");
      fail(`no answer after ${START_TIMEOUT_MS / 1_000} s`);
    }, START_TIMEOUT_MS);
    const onSaid = (chunk: unknown) => {
      said += String(chunk);
      const port = /Listening on 127\.0\.0\.1:(\d+)/.exec(said)?.[1];
      if (port === undefined) return;
      clearTimeout(timer);
      child.stdout?.off("data", onSaid);
      resolve(Number(port));
    };
    child.stdout?.on("data", onSaid);
    child.stderr?.on("data", (chunk) => {
      complaint += String(chunk);
    });
    child.once("error", (error) => fail(error.message));
    // "close", not "exit": only then has all of its error output been read.
    child.once("close", (code) => {
      const inUse = /address already in use/i.test(complaint);
      fail(inUse ? `port ${wanted} is in use` : complaint.trim().split("\n").at(-1) || `it ended with code ${code}`);
    });
  });
}

async function stopProcess(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGTERM");
  await gone;
}
