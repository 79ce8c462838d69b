// Writes the files that explorers need to show the contracts' sources: for each contract the compiler's standard JSON input with only its own
// sources, and a file with address, compiler and constructor arguments.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { encodeAbiParameters, type Hex } from "viem";
import { artifacts } from "../deploy.ts";
import { buildStandardInput } from "../solidity.ts";
import type { Plan } from "./plan.ts";
import type { Settings } from "./settings.ts";

const FOLDER = join(import.meta.dirname, "../../../src/chain/contracts");
const FILES = {
  AccessManager: "@openzeppelin/contracts/access/manager/AccessManager.sol",
  SettlementContract: "SettlementContract.sol",
  EscrowVault: "EscrowVault.sol",
} as const;

export async function writeExplorerFiles(out: string, settings: Settings, plan: Plan, vault: Hex): Promise<string[]> {
  // Loaded only when it is needed, because it is large.
  const { default: solc } = await import("solc");
  const compiler = `v${/^[\d.]+\+commit\.[0-9a-f]+/.exec(solc.version())?.[0]}`;
  mkdirSync(out, { recursive: true });
  const contracts: [keyof typeof FILES, Hex, readonly unknown[]][] = [
    ["AccessManager", plan.authority, [settings.deployer]],
    ["SettlementContract", plan.contract, [plan.authority, settings.feeRecipient, settings.token, plan.base]],
    ["EscrowVault", vault, []],
  ];
  return contracts.flatMap(([name, address, args]) => {
    const constructor_ = artifacts[name].abi.find(({ type }) => type === "constructor");
    const inputs = constructor_?.type === "constructor" ? constructor_.inputs : [];
    const description = {
      chain_id: settings.target.chain_id,
      address,
      contract: `${FILES[name]}:${name}`,
      compiler,
      license: "Apache-2.0",
      constructor_arguments: encodeAbiParameters(inputs, args).slice(2),
    };
    return [
      write(join(out, `${name}.json`), { ...description, ...(name === "AccessManager" && { license: "MIT" }) }),
      write(join(out, `${name}.input.json`), buildStandardInput(FOLDER, FILES[name])),
    ];
  });
}

function write(file: string, content: unknown): string {
  writeFileSync(file, `${JSON.stringify(content, null, 2)}\n`);
  return file;
}
