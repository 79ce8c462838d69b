// Deploys the contracts to a local chain.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Abi, concat, encodeDeployData, getContractAddress, type Hex, keccak256, toHex } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { authorityAbi, settlementAbi } from "./abi.ts";
import { type Client, callContract, createClient, sendData } from "./client.ts";
import { type Delays, encodeRoleCalls, type Keys, NO_DELAYS } from "./roles.ts";

export type Deployment = {
  settlementContract: Hex;
  authority: Hex;
  token: Hex;
  vaultImplementation: Hex;
  deployBlock: number;
};
export type DeployOptions = {
  /** Pays for the deployment and holds no role afterwards. */
  deployerKey: Hex;
  keys: Keys;
  feeRecipient: Hex;
  /** Without delays, every call is executed at once. */
  delays?: Delays;
  /** The token, if it is not the test token. */
  token?: Hex;
  /** The threshold of an unrated provider, in base units; by default that of the test token. */
  base?: bigint;
  /** Another salt deploys further contracts of the same code. */
  salt?: Hex;
  /** The result of an earlier run; nothing is deployed while the chain still has it. */
  known?: Deployment;
};

type Artifact = {
  abi: Abi;
  bytecode: Hex;
  deployedBytecode: Hex;
  /** Byte offsets at which the constructor writes its immutables into the deployed bytecode, as words of 32 bytes. */
  immutables: readonly number[];
};

// The deployer of CREATE2 contracts, which has this address on anvil and on the public networks.
export const CREATE2_DEPLOYER = "0x4e59b44847b379578588920cA78FbF26c0B4956C";
export const SALT = keccak256(toHex("agent-accountability"));

/** The threshold of an unrated provider in the test token, in base units. */
export const TEST_BASE = 15_000_000n;

/** The compiled contracts by name, as scripts/contracts.ts wrote them. */
export const artifacts: Record<"AccessManager" | "SettlementContract" | "EscrowVault" | "TestUSDC", Artifact> =
  JSON.parse(readFileSync(join(import.meta.dirname, "../../src/chain/contracts/artifacts.json"), "utf8"));

/**
 * Deploys token, authority and settlement contract by CREATE2: the same keys and code give the same addresses on every chain, and existing
 * contracts are kept.
 */
export async function deployContracts(rpcUrl: string, options: DeployOptions): Promise<Deployment> {
  const { deployerKey, keys, feeRecipient, delays = NO_DELAYS, base = TEST_BASE, salt, known } = options;
  const client = createClient(rpcUrl);
  if (
    known !== undefined &&
    (await hasCode(client, known.settlementContract)) &&
    (await hasCode(client, known.token))
  ) {
    return known;
  }
  const deployer = privateKeyToAccount(deployerKey).address;
  const token = options.token ?? (await deploy(rpcUrl, deployerKey, "TestUSDC", [], salt)).address;
  const { address: authority } = await deploy(rpcUrl, deployerKey, "AccessManager", [deployer], salt);
  const args = [authority, feeRecipient, token, base];
  const settlement = await deploy(rpcUrl, deployerKey, "SettlementContract", args, salt);
  const manager = { address: authority, abi: authorityAbi } as const;
  const [isRoot] = await client.readContract({ ...manager, functionName: "hasRole", args: [0n, deployer] });
  if (isRoot) {
    const calls = encodeRoleCalls(authority, settlement.address, deployer, keys, delays);
    await callContract(rpcUrl, deployerKey, { ...manager, functionName: "multicall", args: [calls] });
  }
  const view = { address: settlement.address, abi: settlementAbi } as const;
  return {
    settlementContract: settlement.address,
    authority,
    token,
    vaultImplementation: await client.readContract({ ...view, functionName: "vaultImplementation" }),
    deployBlock: settlement.block ?? (await findFirstBlock(client, settlement.address)),
  };
}

/** Deploys a contract by CREATE2, unless it exists already. */
export async function deploy(
  rpcUrl: string,
  privateKey: Hex,
  name: "AccessManager" | "SettlementContract" | "TestUSDC",
  args: readonly unknown[],
  salt: Hex = SALT,
): Promise<{ address: Hex; block?: number }> {
  const { address, data } = encodeCreation(name, args, salt);
  if (await hasCode(createClient(rpcUrl), address)) return { address };
  const receipt = await sendData(rpcUrl, privateKey, CREATE2_DEPLOYER, data);
  return { address, block: Number(receipt.blockNumber) };
}

/** Returns the data with which the CREATE2 deployer creates a contract, and the address of that contract. */
export function encodeCreation(
  name: "AccessManager" | "SettlementContract" | "TestUSDC",
  args: readonly unknown[],
  salt: Hex,
): { address: Hex; data: Hex } {
  const bytecode = encodeDeployData({ ...artifacts[name], args });
  const address = getContractAddress({ opcode: "CREATE2", from: CREATE2_DEPLOYER, salt, bytecode });
  return { address, data: concat([salt, bytecode]) };
}

async function hasCode(client: Client, address: Hex): Promise<boolean> {
  return (await client.getCode({ address })) !== undefined;
}

// The constructor lists a token, so the contract's first log is in its first block.
async function findFirstBlock(client: Client, address: Hex): Promise<number> {
  const [first] = await client.getLogs({ address, fromBlock: 0n });
  return Number(first?.blockNumber ?? 0);
}
