// A client of a local chain. It connects only to loopback; keys and money here are for tests.
import {
  type Abi,
  createTestClient,
  createWalletClient,
  type Hex,
  http,
  publicActions,
  type TransactionReceipt,
  TransactionReceiptNotFoundError,
} from "viem";
import { privateKeyToAccount } from "viem/accounts";

/** Long, because the caller may be busy for many seconds. */
const NODE_TIMEOUT_MS = 60_000;

export async function mineBlocks(rpcUrl: string, count: number): Promise<void> {
  await createClient(rpcUrl).mine({ blocks: count });
}

/** Sends any contract call and waits for its block. Throws viem's error if the contract refuses. */
export async function callContract(
  rpcUrl: string,
  key: Hex,
  call: { address: Hex; abi: Abi | readonly unknown[]; functionName: string; args: readonly unknown[] },
): Promise<Hex> {
  const wallet = createWalletClient({ account: privateKeyToAccount(key), ...createTransport(rpcUrl) });
  const client = createClient(rpcUrl);
  const { request } = await client.simulateContract({ ...call, abi: call.abi as Abi, account: wallet.account });
  const hash = await wallet.writeContract({ ...request, account: wallet.account, chain: null });
  await awaitReceipt(client, hash);
  return hash;
}

export async function sendData(rpcUrl: string, key: Hex, to: Hex, data: Hex): Promise<TransactionReceipt> {
  const wallet = createWalletClient({ account: privateKeyToAccount(key), ...createTransport(rpcUrl) });
  const hash = await wallet.sendTransaction({ to, data, chain: null });
  return awaitReceipt(createClient(rpcUrl), hash);
}

/**
 * Waits for the receipt of a transaction. Polls for the receipt alone: viem's own waiting follows the block number, which a test lowers with
 * evm_revert.
 */
export async function awaitReceipt(client: Client, hash: Hex, waitMs = 30_000): Promise<TransactionReceipt> {
  const until = Date.now() + waitMs;
  while (Date.now() < until) {
    const receipt = await client.getTransactionReceipt({ hash }).catch(ignoreMissingReceipt);
    if (receipt !== undefined) return receipt;
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  throw new Error(`not mined after ${waitMs} ms: ${hash}`);
}

function ignoreMissingReceipt(error: unknown): undefined {
  if (!(error instanceof TransactionReceiptNotFoundError)) throw error;
}

export function createClient(rpcUrl: string) {
  return createTestClient({ mode: "anvil", ...createTransport(rpcUrl) }).extend(publicActions);
}

export type Client = ReturnType<typeof createClient>;

function createTransport(rpcUrl: string) {
  const { hostname } = new URL(rpcUrl);
  if (!["127.0.0.1", "localhost", "[::1]"].includes(hostname)) throw new Error(`not a local chain: ${hostname}`);
  return { transport: http(rpcUrl, { retryCount: 0, timeout: NODE_TIMEOUT_MS }), pollingInterval: 20, cacheTime: 0 };
}
