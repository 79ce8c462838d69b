// Implements the chain gateway over JSON-RPC (CHN-9 to CHN-11). Order of trust: the node's chain id, the receipt's status and depth, the address
// that emitted a log, and only then the log's content. Imports only the ABI coding of viem, which keeps the Worker's startup short.
import { decodeFunctionResult, encodeFunctionData, isAddress } from "viem/utils";
import * as z from "zod";
import { settlementAbi } from "./abi.ts";
import { encodeExecution, planDelayed, toCallPlan } from "./delayed-calls.ts";
import { decodeEvents, quantity, type Receipt, receiptSchema } from "./events.ts";
import type {
  ChainGateway,
  ChainResult,
  Inclusion,
  ProviderOnChain,
  SettlementReading,
  SplitPlan,
  WalletChange,
  WantedSplit,
} from "./gateway.ts";
import { type Hash, parseTxHash } from "./hashes.ts";
import { readBlocks, readEvents } from "./logs.ts";
import type { Network } from "./networks.ts";
import { readNonces } from "./nonces.ts";
import { createRpc, type Rpc, type RpcReply, toUnavailable } from "./rpc.ts";
import {
  decodeBalance,
  encodeBalanceCall,
  encodeCodeCall,
  findVaults,
  isVaultCode,
  readReceived,
  readVaults,
} from "./vaults.ts";

const blockSchema = z.object({ timestamp: quantity });

type Hex = `0x${string}`;

type Pause = (ms: number) => Promise<unknown>;
const wait: Pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Creates the gateway for the configured networks. Tests of failing nodes replace `rpc`, and tests of waiting replace `pause`. */
export function createChainGateway(
  networks: readonly Network[],
  rpc: Rpc = createRpc(),
  pause: Pause = wait,
): ChainGateway {
  // Addresses are compared and encoded in lower case; the configuration may hold any case.
  const byName = new Map(networks.map((network) => [network.network, lowerCaseAddresses(network)]));

  function on<T>(name: string, operation: (network: Network) => Promise<ChainResult<T>>): Promise<ChainResult<T>> {
    const network = byName.get(name);
    return network === undefined ? Promise.resolve(toUnavailable(name, "unknown_network")) : operation(network);
  }

  /** Runs the operation at the second node only; null if the network has none. */
  function again<T>(
    name: string,
    operation: (network: Network) => Promise<ChainResult<T>>,
  ): Promise<ChainResult<T> | null> {
    const second = byName.get(name)?.fallback_rpc_url;
    return second === undefined
      ? Promise.resolve(null)
      : on(name, (network) => operation({ ...network, rpc_url: second }));
  }

  return {
    readSettlement: (name, txHash, providerDidHash) =>
      on(name, (network) => readSettlement(rpc, network, txHash, providerDidHash)),
    readSettlementAgain: (name, txHash, providerDidHash) =>
      again(name, (network) => readSettlement(rpc, network, txHash, providerDidHash)),
    readEvents: (name, after) => on(name, (network) => readEvents(rpc, network, after)),
    readVaults: async (name, at, vaults) => {
      const first = await on(name, (network) => readVaults(rpc, network, at, vaults));
      if (!first.ok || first.value.state === "read") return first;
      return (await again(name, (network) => readVaults(rpc, network, at, vaults))) ?? first;
    },
    readVaultsAgain: (name, at, vaults) => again(name, (network) => readVaults(rpc, network, at, vaults)),
    readReceived: (name, asked) => on(name, (network) => readReceived(rpc, network, asked)),
    readBlocks: (name, numbers) => on(name, (network) => readBlocks(rpc, network, numbers)),
    findVaults: (name, addresses) => on(name, (network) => findVaults(rpc, network, addresses)),
    readNonces: async (name, at, accounts) => {
      const first = await on(name, (network) => readNonces(rpc, network, at, accounts));
      const second = first.ok ? await again(name, (network) => readNonces(rpc, network, at, accounts)) : null;
      if (!first.ok || second === null) return first;
      if (!second.ok) return second;
      return { ok: true, value: first.value.map((count, n) => Math.min(count, second.value[n] ?? 0)) };
    },
    readBlocksAgain: (name, numbers) => again(name, (network) => readBlocks(rpc, network, numbers)),
    readProvider: (name, providerDidHash) => on(name, (network) => readProvider(rpc, network, providerDidHash)),
    planSplit: (name, wanted) => on(name, (network) => planSplit(rpc, network, wanted)),
    waitForReceipt: (name, txHash, waitMs) =>
      on(name, (network) => waitForReceipt({ rpc, pause }, network, txHash, waitMs)),
  };
}

const lowerCaseAddresses = (network: Network): Network => ({
  ...network,
  settlement_contract: network.settlement_contract.toLowerCase(),
  authority: network.authority.toLowerCase(),
  earlier_editions: network.earlier_editions.map(({ settlement_contract, authority }) => ({
    settlement_contract: settlement_contract.toLowerCase(),
    authority: authority.toLowerCase(),
  })),
  token: network.token.toLowerCase(),
});

async function planSplit(rpc: Rpc, network: Network, wanted: WantedSplit): Promise<ChainResult<SplitPlan>> {
  const { providerDidHash, operationalWallet, threshold } = wanted;
  const planned = (value: SplitPlan): ChainResult<SplitPlan> => ({ ok: true, value });
  if (operationalWallet !== null && !isAddress(operationalWallet, { strict: false })) {
    return planned({ state: "impossible", reason: "InvalidWallet" });
  }
  const wallet = operationalWallet?.toLowerCase() as Hex | undefined;
  const current = await readSplit(rpc, network, providerDidHash, wallet);
  if (!current.ok) return current;
  const { onChain, code } = current.value;
  if (onChain.operationalWallet !== wallet && isVaultCode(network, code)) {
    return planned({ state: "impossible", reason: "InvalidWallet" });
  }
  const [did, token] = [castToHex(providerDidHash), castToHex(network.token)];
  if (!onChain.registered) {
    if (wallet === undefined) return planned({ state: "impossible", reason: "UnknownProvider" });
    const args = [did, token, wallet, threshold] as const;
    const data = encodeFunctionData({ abi: settlementAbi, functionName: "registerProvider", args });
    return planned(toCallPlan(encodeExecution(network, data)));
  }
  let scheduled: WalletChange | null = null;
  if (wallet !== undefined && onChain.operationalWallet !== wallet) {
    const args = [did, token, castToHex(onChain.operationalWallet ?? ""), wallet] as const;
    const data = encodeFunctionData({ abi: settlementAbi, functionName: "setOperationalWallet", args });
    const by = await wanted.by();
    if (!by.ok) return by;
    const known = wanted.scheduled?.wallet === wallet ? wanted.scheduled : null;
    const act = await planDelayed(rpc, network, { by: by.value, data, known });
    if (!act.ok) return act;
    if (act.value.state !== "scheduled") return planned(act.value);
    scheduled = { wallet, ...act.value.until };
  }
  if (onChain.threshold === threshold) return planned({ state: "done", onChain: { ...onChain, scheduled } });
  const args = [did, token, threshold] as const;
  const data = encodeFunctionData({ abi: settlementAbi, functionName: "setThreshold", args });
  return planned(toCallPlan(encodeExecution(network, data)));
}

const POLL_MS = 250;
/** The first pause on a network without a block time. Each pause doubles, up to POLL_MS. */
const FIRST_POLL_MS = 10;

async function waitForReceipt(
  { rpc, pause }: { readonly rpc: Rpc; readonly pause: Pause },
  network: Network,
  txHash: string,
  waitMs: number,
): Promise<ChainResult<Inclusion>> {
  const until = Date.now() + waitMs;
  let pauseMs = network.block_seconds === 0 ? FIRST_POLL_MS : POLL_MS;
  for (;;) {
    const answer = await rpc(network, "read", [{ method: "eth_getTransactionReceipt", params: [txHash] }]);
    if (!answer.ok) return answer;
    const receipt = pickResult(answer.value[0]);
    if (typeof receipt === "object" && receipt !== null && "status" in receipt) {
      return { ok: true, value: { state: Number(receipt.status) === 1 ? "included" : "reverted" } };
    }
    if (Date.now() >= until) return { ok: true, value: { state: "waiting" } };
    await pause(Math.min(pauseMs, Math.max(until - Date.now(), 0)));
    pauseMs = Math.min(2 * pauseMs, POLL_MS);
  }
}

async function readSettlement(
  rpc: Rpc,
  network: Network,
  text: string,
  providerDidHash?: Hash,
): Promise<ChainResult<SettlementReading>> {
  const txHash = parseTxHash(text);
  if (txHash === undefined) return toReading({ state: "unknown" });
  const answer = await rpc(network, "read", [
    { method: "eth_getTransactionReceipt", params: [txHash] },
    { method: "eth_blockNumber", params: [] },
    ...(providerDidHash === undefined ? [] : [encodeBalanceCall(network, providerDidHash, "latest")]),
  ]);
  if (!answer.ok) return answer;
  const [receiptReply, headReply, heldReply] = answer.value;
  if (pickResult(receiptReply) === null) return readUnmined(rpc, network, txHash);
  const receipt = receiptSchema.safeParse(pickResult(receiptReply));
  const head = quantity.safeParse(pickResult(headReply));
  if (!receipt.success || !head.success) return toUnavailable(network.network, "bad_answer");
  // A receipt of another transaction is never believed (CHN-9).
  if (receipt.data.transactionHash.toLowerCase() !== txHash) return toUnavailable(network.network, "bad_answer");

  const blockNumber = Number(receipt.data.blockNumber);
  // The receipt itself proves that the head is at least its block, whatever another node of the same provider says.
  const confirmations = Math.max(Number(head.data), blockNumber) - blockNumber + 1;
  if (confirmations < network.required_confirmations) return toReading({ state: "pending", confirmations });
  const held = providerDidHash === undefined ? null : decodeBalance(heldReply);
  if (held === undefined) return toUnavailable(network.network, "bad_answer");
  if (Number(receipt.data.status) !== 1) return toReading({ state: "reverted" });

  const minedAt = await readBlockTime(rpc, network, receipt.data);
  if (!minedAt.ok) return minedAt;
  // The block disappeared between two requests, so a reorg is going on and nothing is final.
  if (minedAt.value === null) return toReading({ state: "pending", confirmations: 0 });
  return toReading({
    state: "mined",
    confirmations,
    blockNumber,
    blockHash: receipt.data.blockHash.toLowerCase(),
    minedAt: minedAt.value,
    settlements: decodeEvents(receipt.data.logs, network).filter((event) => event.kind === "settled"),
    held,
  });
}

async function readUnmined(rpc: Rpc, network: Network, txHash: Hex): Promise<ChainResult<SettlementReading>> {
  const answer = await rpc(network, "read", [{ method: "eth_getTransactionByHash", params: [txHash] }]);
  if (!answer.ok) return answer;
  return toReading(
    pickResult(answer.value[0]) === null ? { state: "unknown" } : { state: "pending", confirmations: 0 },
  );
}

async function readBlockTime(rpc: Rpc, network: Network, receipt: Receipt): Promise<ChainResult<number | null>> {
  const inLog = receipt.logs.find((log) => log.blockTimestamp)?.blockTimestamp;
  if (inLog) return { ok: true, value: Number(inLog) * 1_000 };
  const answer = await rpc(network, "read", [{ method: "eth_getBlockByHash", params: [receipt.blockHash, false] }]);
  if (!answer.ok) return answer;
  const block = blockSchema.nullable().safeParse(pickResult(answer.value[0]));
  if (!block.success) return toUnavailable(network.network, "bad_answer");
  return { ok: true, value: block.data === null ? null : Number(block.data.timestamp) * 1_000 };
}

async function readProvider(
  rpc: Rpc,
  network: Network,
  providerDidHash: string,
): Promise<ChainResult<ProviderOnChain>> {
  const answer = await readSplit(rpc, network, providerDidHash);
  return answer.ok ? { ok: true, value: answer.value.onChain } : answer;
}

/** Also reads the code at `wallet`: `0x` if no wallet is given or it has no code. */
async function readSplit(
  rpc: Rpc,
  network: Network,
  providerDidHash: string,
  wallet?: Hex,
): Promise<ChainResult<{ onChain: ProviderOnChain; code: Hex }>> {
  const to = network.settlement_contract;
  const [did, token] = [castToHex(providerDidHash), castToHex(network.token)];
  const view = (data: Hex) => ({ method: "eth_call", params: [{ to, data }, "latest"] });
  const answer = await rpc(network, "read", [
    view(encodeFunctionData({ abi: settlementAbi, functionName: "splitOf", args: [did, token] })),
    view(encodeFunctionData({ abi: settlementAbi, functionName: "vaultOf", args: [did] })),
    view(encodeFunctionData({ abi: settlementAbi, functionName: "escrowBalance", args: [did, token] })),
    ...(wallet === undefined ? [] : [encodeCodeCall(wallet)]),
  ]);
  if (!answer.ok) return answer;
  const [split, vault, balance, code = "0x"] = answer.value.map((reply) => castToHex(String(pickResult(reply))));
  if (split === undefined || vault === undefined || balance === undefined || !/^0x[0-9a-f]*$/i.test(code))
    return toUnavailable(network.network, "bad_answer");
  try {
    const [holder, threshold] = decodeFunctionResult({ abi: settlementAbi, functionName: "splitOf", data: split });
    const registered = !/^0x0*$/.test(holder);
    return {
      ok: true,
      value: {
        onChain: {
          registered,
          operationalWallet: registered ? holder.toLowerCase() : null,
          threshold,
          vault: decodeFunctionResult({ abi: settlementAbi, functionName: "vaultOf", data: vault }).toLowerCase(),
          balance: decodeFunctionResult({ abi: settlementAbi, functionName: "escrowBalance", data: balance }),
        },
        code,
      },
    };
  } catch {
    // The configured address holds no contract, or another one.
    return toUnavailable(network.network, "bad_answer");
  }
}

function toReading(value: SettlementReading): ChainResult<SettlementReading> {
  return { ok: true, value };
}

function pickResult(reply: RpcReply | undefined): unknown {
  return reply?.ok === true ? reply.result : undefined;
}

// The gateway takes plain strings; the ABI coder checks their form and length.
function castToHex(text: string): Hex {
  return text as Hex;
}
