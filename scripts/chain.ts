// Local chains for the dev stack and the tests (architecture, "Real parts"): starts anvil, deploys the contracts, and pays as a
// consumer would. It talks to loopback only: keys and money here are for play.
import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import {
  type Abi,
  concat,
  createTestClient,
  createWalletClient,
  encodeAbiParameters,
  encodeDeployData,
  getContractAddress,
  type Hex,
  http,
  keccak256,
  parseSignature,
  publicActions,
  type TransactionReceipt,
  TransactionReceiptNotFoundError,
  toHex,
} from "viem";
import { mnemonicToAccount, privateKeyToAccount } from "viem/accounts";
import { settlementAbi, tokenAbi } from "../src/chain/abi.ts";

export type AnvilAccount = { address: Hex; privateKey: Hex };
export type Anvil = {
  rpcUrl: string;
  chainId: number;
  port: number;
  pid: number;
  accounts: AnvilAccount[];
  /** Ends the process and waits until it has written its state. */
  stop: () => Promise<void>;
};
export type AnvilOptions = {
  chainId: number;
  /** 0: a free one. */
  port: number;
  /** A JSON file; the chain goes on where it was left. */
  statePath?: string;
  /** Seconds between blocks; without it every transaction has its own block at once. */
  blockTime?: number;
  /** Epoch seconds of the first block: a chain whose past a test can fill. */
  genesis?: number;
  quiet?: boolean;
};

export type Deployment = { settlementContract: Hex; token: Hex; vaultImplementation: Hex; deployBlock: number };
export type DeployOptions = {
  adminKey: Hex;
  registrarAddress: Hex;
  arbiterAddress: Hex;
  feeRecipient: Hex;
  /** What an earlier run returned; nothing is done while the chain still has it. */
  known?: Deployment;
};

export type Payment = {
  settlementContract: Hex;
  token: Hex;
  amount: bigint;
  providerDidHash: Hex;
  consumerDidHash: Hex;
};
export type IntentPayment = Payment & { intentHash: Hex };
export type AuthorizedPayment = IntentPayment & {
  from: Hex;
  salt: Hex;
  validAfter: bigint;
  validBefore: bigint;
  v: number;
  r: Hex;
  s: Hex;
};

type Artifact = { abi: Abi; bytecode: Hex };

// Public test keys: every anvil has them, and so has everybody else.
const DEV_MNEMONIC = "test test test test test test test test test test test junk";
const DEV_ACCOUNTS = 10;
const START_TIMEOUT_MS = 15_000;
const STATE_INTERVAL_SECONDS = 5;
// The deployer of CREATE2 contracts that anvil and the public networks have at the same address.
const CREATE2_DEPLOYER = "0x4e59b44847b379578588920cA78FbF26c0B4956C";
const SALT = keccak256(toHex("agent-accountability"));

/** Compiled contracts, by name, as scripts/contracts.ts wrote them. */
export const artifacts: Record<"SettlementContract" | "EscrowVault" | "TestUSDC", Artifact> = JSON.parse(
  readFileSync(join(import.meta.dirname, "../src/chain/contracts/artifacts.json"), "utf8"),
);

// ---- The node --------------------------------------------------------------------------------------------------------

/**
 * Starts anvil on loopback and waits until it answers. Rejects with one line of reason when it doesn't.
 * What outlives a restart with `statePath`: accounts, code, storage, nonces, blocks, transactions, receipts and logs, also after
 * a SIGKILL up to the last interval. What doesn't: `eth_call` at a block before the restart, and waiting transactions.
 */
export async function startAnvil(options: AnvilOptions): Promise<Anvil> {
  const { chainId, port: wanted, statePath, blockTime, genesis, quiet = true } = options;
  const args = ["--host", "127.0.0.1", "--port", String(wanted), "--chain-id", String(chainId)];
  args.push("--mnemonic", DEV_MNEMONIC, "--accounts", String(DEV_ACCOUNTS), "--hardfork", "prague");
  if (blockTime !== undefined) args.push("--block-time", String(blockTime));
  if (genesis !== undefined) args.push("--timestamp", String(genesis));
  if (statePath !== undefined) {
    mkdirSync(dirname(statePath), { recursive: true });
    args.push("--state", statePath, "--state-interval", String(STATE_INTERVAL_SECONDS));
  }
  const child = spawn(anvilBinary(), args, { stdio: ["ignore", "pipe", "pipe"] });
  // A parent that ends early takes its chain along; the signal lets it write its state.
  const onExit = () => child.kill("SIGTERM");
  process.once("exit", onExit);
  child.once("exit", () => process.off("exit", onExit));
  const port = await untilListening(child, wanted);
  if (quiet) child.stdout.resume();
  else child.stdout.pipe(process.stdout);
  return {
    rpcUrl: `http://127.0.0.1:${port}`,
    chainId,
    port,
    pid: child.pid ?? 0,
    accounts: devAccounts(),
    stop: () => stop(child),
  };
}

/** anvil's ten funded accounts. */
export function devAccounts(): AnvilAccount[] {
  return Array.from({ length: DEV_ACCOUNTS }, (_, addressIndex) => {
    const account = mnemonicToAccount(DEV_MNEMONIC, { addressIndex });
    return { address: account.address, privateKey: toHex(account.getHdKey().privateKey ?? new Uint8Array()) };
  });
}

// The package for this platform, as the npm package picks it: without npx and its shell in between, signals arrive.
export function anvilBinary(): string {
  const platform = { linux: "linux", darwin: "darwin", win32: "win32" }[process.platform as string] ?? process.platform;
  const arch = process.arch === "x64" ? "amd64" : process.arch;
  const require = createRequire(createRequire(import.meta.url).resolve("@foundry-rs/anvil/package.json"));
  const manifest = require.resolve(`@foundry-rs/anvil-${platform}-${arch}/package.json`);
  return join(dirname(manifest), "bin", process.platform === "win32" ? "anvil.exe" : "anvil");
}

// Read from its own words and not by asking the port: another node there would answer just as well.
function untilListening(child: ChildProcess, wanted: number): Promise<number> {
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
    // "close" and not "exit": only then all of its complaint has been read.
    child.once("close", (code) => {
      const inUse = /address already in use/i.test(complaint);
      fail(inUse ? `port ${wanted} is in use` : complaint.trim().split("\n").at(-1) || `it ended with code ${code}`);
    });
  });
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGTERM");
  await gone;
}

// ---- The contracts ---------------------------------------------------------------------------------------------------

/**
 * Deploys token and settlement contract by CREATE2: the same keys and code give the same addresses on every chain, and what
 * stands there already is left alone.
 */
export async function deployContracts(rpcUrl: string, options: DeployOptions): Promise<Deployment> {
  const { adminKey, registrarAddress, arbiterAddress, feeRecipient, known } = options;
  const client = clientFor(rpcUrl);
  if (
    known !== undefined &&
    (await hasCode(client, known.settlementContract)) &&
    (await hasCode(client, known.token))
  ) {
    return known;
  }
  const admin = privateKeyToAccount(adminKey).address;
  const token = await deploy(rpcUrl, adminKey, "TestUSDC", []);
  const settlement = await deploy(rpcUrl, adminKey, "SettlementContract", [
    admin,
    registrarAddress,
    arbiterAddress,
    feeRecipient,
    token.address,
  ]);
  const view = { address: settlement.address, abi: settlementAbi } as const;
  return {
    settlementContract: settlement.address,
    token: token.address,
    vaultImplementation: await client.readContract({ ...view, functionName: "vaultImplementation" }),
    deployBlock: settlement.block ?? (await firstBlockOf(client, settlement.address)),
  };
}

/** By CREATE2; another salt gives another contract of the same code. */
export async function deploy(
  rpcUrl: string,
  privateKey: Hex,
  name: "SettlementContract" | "TestUSDC",
  args: readonly unknown[],
  salt: Hex = SALT,
): Promise<{ address: Hex; block?: number }> {
  const bytecode = encodeDeployData({ ...artifacts[name], args });
  const address = getContractAddress({ opcode: "CREATE2", from: CREATE2_DEPLOYER, salt, bytecode });
  if (await hasCode(clientFor(rpcUrl), address)) return { address };
  const receipt = await send(rpcUrl, privateKey, CREATE2_DEPLOYER, concat([salt, bytecode]));
  return { address, block: Number(receipt.blockNumber) };
}

async function hasCode(client: Client, address: Hex): Promise<boolean> {
  return (await client.getCode({ address })) !== undefined;
}

// The constructor gives roles, so the first log of the contract stands in its first block.
async function firstBlockOf(client: Client, address: Hex): Promise<number> {
  const [first] = await client.getLogs({ address, fromBlock: 0n });
  return Number(first?.blockNumber ?? 0);
}

// ---- What a consumer does --------------------------------------------------------------------------------------------

/** Test money out of nowhere. `key` only pays the gas. */
export async function mintTestUsdc(rpcUrl: string, key: Hex, token: Hex, to: Hex, amount: bigint): Promise<Hex> {
  const { abi } = artifacts.TestUSDC;
  return write(rpcUrl, key, { address: token, abi, functionName: "mint", args: [to, amount] });
}

/** Lets `spender` (the settlement contract) take tokens of the key's account; without an amount, for ever. */
export async function approve(
  rpcUrl: string,
  key: Hex,
  token: Hex,
  spender: Hex,
  amount = 2n ** 256n - 1n,
): Promise<Hex> {
  return write(rpcUrl, key, { address: token, abi: tokenAbi, functionName: "approve", args: [spender, amount] });
}

/** The payment of AEA/P clients, without an intent (public clients, step 6). Resolves once it is mined. */
export async function pay(rpcUrl: string, key: Hex, payment: Payment): Promise<Hex> {
  const { settlementContract: address, token, amount, providerDidHash, consumerDidHash } = payment;
  const args = [token, amount, providerDidHash, consumerDidHash];
  return write(rpcUrl, key, { address, abi: settlementAbi, functionName: "pay", args });
}

/** A payment for one intent, out of the allowance. */
export async function payIntent(rpcUrl: string, key: Hex, payment: IntentPayment): Promise<Hex> {
  const { settlementContract: address, token, amount, providerDidHash, consumerDidHash, intentHash } = payment;
  const args = [token, amount, providerDidHash, consumerDidHash, intentHash];
  return write(rpcUrl, key, { address, abi: settlementAbi, functionName: "payIntent", args });
}

/** Signs the payer's EIP-3009 authorization for one payment; its nonce binds it to provider, consumer and intent. */
export async function signPayment(
  chainId: number,
  payerKey: Hex,
  payment: IntentPayment,
  terms: { salt?: Hex; validAfter?: bigint; validBefore?: bigint } = {},
): Promise<AuthorizedPayment> {
  const account = privateKeyToAccount(payerKey);
  const { salt = randomHash(), validAfter = 0n, validBefore = BigInt(Math.floor(Date.now() / 1_000)) + 3_600n } = terms;
  const { providerDidHash, consumerDidHash, intentHash } = payment;
  const bytes32 = { type: "bytes32" } as const;
  const nonce = keccak256(
    encodeAbiParameters([bytes32, bytes32, bytes32, bytes32], [providerDidHash, consumerDidHash, intentHash, salt]),
  );
  const signature = await account.signTypedData({
    domain: { name: "USD Coin", version: "2", chainId, verifyingContract: payment.token },
    types: {
      ReceiveWithAuthorization: [
        { name: "from", type: "address" },
        { name: "to", type: "address" },
        { name: "value", type: "uint256" },
        { name: "validAfter", type: "uint256" },
        { name: "validBefore", type: "uint256" },
        { name: "nonce", type: "bytes32" },
      ],
    },
    primaryType: "ReceiveWithAuthorization",
    message: {
      from: account.address,
      to: payment.settlementContract,
      value: payment.amount,
      validAfter,
      validBefore,
      nonce,
    },
  });
  const { r, s, yParity } = parseSignature(signature);
  return { ...payment, from: account.address, salt, validAfter, validBefore, v: 27 + yParity, r, s };
}

/** Submits a signed payment; the submitter pays the gas and nothing else. */
export async function submitAuthorized(rpcUrl: string, submitterKey: Hex, payment: AuthorizedPayment): Promise<Hex> {
  const p = payment;
  const args = [p.token, p.from, p.amount, p.providerDidHash, p.consumerDidHash, p.intentHash, p.salt] as const;
  return write(rpcUrl, submitterKey, {
    address: p.settlementContract,
    abi: settlementAbi,
    functionName: "payWithAuthorization",
    args: [...args, p.validAfter, p.validBefore, p.v, p.r, p.s],
  });
}

/** Signs as the payer and submits as anyone. */
export async function payWithAuthorization(
  rpcUrl: string,
  keys: { payerKey: Hex; submitterKey: Hex },
  payment: IntentPayment,
): Promise<Hex> {
  const chainId = await clientFor(rpcUrl).getChainId();
  return submitAuthorized(rpcUrl, keys.submitterKey, await signPayment(chainId, keys.payerKey, payment));
}

/** Buries what was mined under `count` more blocks. */
export async function mineBlocks(rpcUrl: string, count: number): Promise<void> {
  await clientFor(rpcUrl).mine({ blocks: count });
}

/** Sends any contract call and waits for its block. Throws viem's error where the contract refuses. */
export async function write(
  rpcUrl: string,
  key: Hex,
  call: { address: Hex; abi: Abi | readonly unknown[]; functionName: string; args: readonly unknown[] },
): Promise<Hex> {
  const wallet = createWalletClient({ account: privateKeyToAccount(key), ...transportFor(rpcUrl) });
  const client = clientFor(rpcUrl);
  const { request } = await client.simulateContract({ ...call, abi: call.abi as Abi, account: wallet.account });
  const hash = await wallet.writeContract({ ...request, account: wallet.account, chain: null });
  await receiptOf(client, hash);
  return hash;
}

async function send(rpcUrl: string, key: Hex, to: Hex, data: Hex): Promise<TransactionReceipt> {
  const wallet = createWalletClient({ account: privateKeyToAccount(key), ...transportFor(rpcUrl) });
  const hash = await wallet.sendTransaction({ to, data, chain: null });
  return receiptOf(clientFor(rpcUrl), hash);
}

/**
 * The receipt of a transaction, once it is mined. Asks for just that, many times: viem's own waiting follows the block number,
 * which a test takes back with evm_revert.
 */
export async function receiptOf(client: Client, hash: Hex, waitMs = 30_000): Promise<TransactionReceipt> {
  const until = Date.now() + waitMs;
  while (Date.now() < until) {
    const receipt = await client.getTransactionReceipt({ hash }).catch(absentReceipt);
    if (receipt !== undefined) return receipt;
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  throw new Error(`not mined after ${waitMs} ms: ${hash}`);
}

function absentReceipt(error: unknown): undefined {
  if (!(error instanceof TransactionReceiptNotFoundError)) throw error;
}

/** A viem client for whatever else a test wants to ask of a local chain. */
export function clientFor(rpcUrl: string) {
  return createTestClient({ mode: "anvil", ...transportFor(rpcUrl) }).extend(publicActions);
}

type Client = ReturnType<typeof clientFor>;

/** The chain answers at once; a process that starts many things on a busy machine may take long to notice. */
const PATIENCE_MS = 60_000;

function transportFor(rpcUrl: string) {
  const { hostname } = new URL(rpcUrl);
  if (!["127.0.0.1", "localhost", "[::1]"].includes(hostname)) throw new Error(`not a local chain: ${hostname}`);
  return { transport: http(rpcUrl, { retryCount: 0, timeout: PATIENCE_MS }), pollingInterval: 20, cacheTime: 0 };
}

function randomHash(): Hex {
  return toHex(crypto.getRandomValues(new Uint8Array(32)));
}
