// Deploys the contracts to a local chain.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Abi, concat, encodeDeployData, getContractAddress, type Hex, keccak256, toHex } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { settlementAbi } from "../../src/chain/contracts/abi.ts";
import { type Client, clientFor, send } from "./client.ts";

export type Deployment = { settlementContract: Hex; token: Hex; vaultImplementation: Hex; deployBlock: number };
export type DeployOptions = {
  adminKey: Hex;
  registrarAddress: Hex;
  arbiterAddress: Hex;
  feeRecipient: Hex;
  /** The result of an earlier run; nothing is deployed while the chain still has it. */
  known?: Deployment;
};

type Artifact = { abi: Abi; bytecode: Hex };

// The deployer of CREATE2 contracts that anvil and the public networks have at the same address.
const CREATE2_DEPLOYER = "0x4e59b44847b379578588920cA78FbF26c0B4956C";
const SALT = keccak256(toHex("agent-accountability"));

/** Compiled contracts, by name, as scripts/contracts.ts wrote them. */
export const artifacts: Record<"SettlementContract" | "EscrowVault" | "TestUSDC", Artifact> = JSON.parse(
  readFileSync(join(import.meta.dirname, "../../src/chain/contracts/artifacts.json"), "utf8"),
);

/**
 * Deploys token and settlement contract by CREATE2: the same keys and code give the same addresses on every chain, and deployed contracts
 * are kept.
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
