// Reads a public network and sends the deployer's transactions. Nothing that is printed contains the node's URL or a key (CHN-12).
import {
  BaseError,
  createPublicClient,
  createWalletClient,
  type Hex,
  http,
  type TransactionReceipt,
  WaitForTransactionReceiptTimeoutError,
} from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { DeploymentError, type Settings } from "./settings.ts";

/** A node on this machine is polled more often. */
const POLL_MS = { local: 50, remote: 2_000 };
const MINED_WITHIN_MS = 180_000;
const TIMEOUT_MS = 30_000;
/** Shorter parts of a URL are words, not keys. */
const SECRET_CHARS = 8;

export type Node = ReturnType<typeof connect>;

export function connect({ rpcUrl, deployerKey }: Pick<Settings, "rpcUrl" | "deployerKey">) {
  const transport = http(rpcUrl, { timeout: TIMEOUT_MS });
  const pollingInterval = rpcUrl.startsWith("http://") ? POLL_MS.local : POLL_MS.remote;
  const client = createPublicClient({ transport, pollingInterval, cacheTime: 0 });
  const wallet = createWalletClient({ account: privateKeyToAccount(deployerKey), transport });
  return { client, wallet, pollingInterval };
}

/** Sends a transaction and waits for its block. Calls `onSent` before it waits. */
export async function sendAndWait(
  { client, wallet }: Node,
  call: { readonly to: Hex; readonly data: Hex },
  onSent: (hash: Hex) => void,
): Promise<TransactionReceipt> {
  const hash = await wallet.sendTransaction({ ...call, chain: null });
  onSent(hash);
  try {
    return await client.waitForTransactionReceipt({ hash, timeout: MINED_WITHIN_MS });
  } catch (error) {
    if (!(error instanceof WaitForTransactionReceiptTimeoutError)) throw error;
    throw new DeploymentError(`${hash} is not in a block yet: run this again to continue from there`);
  }
}

/** Waits until no transaction of the deployer is pending. An interrupted run may have left one, which must not be sent twice. */
export async function waitUntilIdle({ client, wallet, pollingInterval }: Node, waitMs = MINED_WITHIN_MS) {
  await waitUntil(
    pollingInterval,
    waitMs,
    "a transaction of the deployer waits for a block: run this again later",
    async () => {
      const { address } = wallet.account;
      const [mined, sent] = await Promise.all([
        client.getTransactionCount({ address, blockTag: "latest" }),
        client.getTransactionCount({ address, blockTag: "pending" }),
      ]);
      return sent <= mined;
    },
  );
}

export async function waitUntil(pollMs: number, waitMs: number, fault: string, holds: () => Promise<boolean>) {
  const end = Date.now() + waitMs;
  while (!(await holds())) {
    if (Date.now() > end) throw new DeploymentError(fault);
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
}

/** Returns a function that removes the node's URL, the parts of it that may be keys, and the deployer's key from a text. */
export function createRedactor(env: NodeJS.ProcessEnv): (text: string) => string {
  const [rpcUrl = "", key = ""] = [env["RPC_URL"], env["DEPLOYER_KEY"]];
  const secrets = [rpcUrl, key, key.replace(/^0x/, "")];
  if (URL.canParse(rpcUrl)) {
    const { href, host, hostname, username, password, pathname, search, searchParams } = new URL(rpcUrl);
    const parts = [...pathname.split("/"), ...searchParams.values(), username, password];
    secrets.push(href, host, hostname, pathname, search, ...parts.flatMap((part) => [part, decodePart(part)]));
  }
  const hidden = secrets.filter((secret) => secret.length >= SECRET_CHARS).sort((a, b) => b.length - a.length);
  return (text) =>
    hidden.reduce(
      (rest, secret) => rest.replace(new RegExp(secret.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), "gi"), "…"),
      text,
    );
}

function decodePart(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** Says in one line why something failed. viem's long message contains the node's URL and the request. */
export function describeError(error: unknown): string[] {
  if (error instanceof DeploymentError) return [...error.faults];
  if (!(error instanceof BaseError)) return [error instanceof Error ? error.message : String(error)];
  const cause = error.walk();
  const details = cause instanceof BaseError ? cause.details : cause instanceof Error ? cause.message : "";
  return [[error.shortMessage, details].filter(Boolean).join(" ").replace(/\s+/g, " ")];
}
