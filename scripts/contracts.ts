// Compiles the contracts (CHN-1 to CHN-7) and writes the files that the rest of the tree uses:
// src/chain/abi.ts for the Worker, scripts/chain/abi.ts and artifacts.json for scripts and tests, and a digest of all inputs and outputs.
// `--check` writes nothing and exits non-zero if the committed files are stale. It compiles only if the digest changed, or with `--whole`.
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { buildStandardInput, readSource, resolveImport, SETTINGS } from "./chain/solidity.ts";

type AbiInput = { readonly name: string; readonly type: string };
type AbiEntry = { readonly type: string; readonly name?: string; readonly inputs?: readonly AbiInput[] };
type SolcMessage = { severity: string; formattedMessage: string; sourceLocation?: { file: string } };
type SolcContract = {
  abi: readonly AbiEntry[];
  evm: {
    bytecode: { object: string };
    deployedBytecode: { object: string; immutableReferences?: Record<string, { start: number }[]> };
  };
};
type SolcOutput = { errors?: SolcMessage[]; contracts?: Record<string, Record<string, SolcContract>> };

const root = join(import.meta.dirname, "..");
const folder = join(root, "src/chain/contracts");
const workerAbiFile = join(root, "src/chain/abi.ts");
const abiFile = join(root, "scripts/chain/abi.ts");
const artifactsFile = join(folder, "artifacts.json");
const ACCESS_MANAGER = "@openzeppelin/contracts/access/manager/AccessManager.sol";
const ARTIFACTS: Readonly<Record<string, string>> = {
  SettlementContract: "SettlementContract.sol",
  EscrowVault: "EscrowVault.sol",
  TestUSDC: "TestUSDC.sol",
  AccessManager: ACCESS_MANAGER,
};
// Tokens and wallets that only tests use.
const testFolder = join(root, "test/chain/contracts");
const testArtifactsFile = join(testFolder, "artifacts.json");
const TEST_ARTIFACTS: Readonly<Record<string, string>> = Object.fromEntries(
  [
    ...["UsdcLike", "EurcLike", "UsdcProxy", "ReentrantToken", "SmartWallet"],
    ...["SwallowingToken", "TakingToken", "LongToken"],
  ].map((name) => [name, "UsdcLike.sol"]),
);

// The functions of TestUSDC that the Worker and the clients of the chain call.
const TOKEN_FUNCTIONS = new Set([
  "allowance",
  "approve",
  "authorizationState",
  "balanceOf",
  "decimals",
  "receiveWithAuthorization",
  "symbol",
  "transfer",
]);

// The part of the contracts' interfaces that the Worker uses, because it is uploaded with each version of the service. It includes every error.
const WORKER_ENTRIES = new Set([
  "escrowBalance",
  "payOut",
  "registerProvider",
  "releaseSurplus",
  "reserveOf",
  "authority",
  "baseOf",
  "canCall",
  "cancel",
  "commitmentOf",
  "decimals",
  "execute",
  "feeBps",
  "feeRecipient",
  "getNonce",
  "getRoleGrantDelay",
  "getSchedule",
  "getTargetAdminDelay",
  "grantRole",
  "hasRole",
  "listToken",
  "paused",
  "revokeRole",
  "schedule",
  "setFeeBps",
  "setFeeRecipient",
  "setGrantDelay",
  "setLowThreshold",
  "setRefundTo",
  "setOperationalWallet",
  "setReserve",
  "setRoleAdmin",
  "setRoleGuardian",
  "setTargetAdminDelay",
  "setTargetClosed",
  "setTargetFunctionRole",
  "setThreshold",
  "splitOf",
  "symbol",
  "unpause",
  "vaultOf",
  "EscrowDeposited",
  "FeeRecipientSet",
  "FeeSet",
  "OperationCanceled",
  "OperationExecuted",
  "OperationScheduled",
  "OperationalWalletSet",
  "OperationalWalletConfirmed",
  "PaidOut",
  "Paused",
  "ProviderRegistered",
  "RefundToSet",
  "Refunded",
  "ReserveSet",
  "RoleAdminChanged",
  "RoleGrantDelayChanged",
  "RoleGranted",
  "RoleGuardianChanged",
  "RoleRevoked",
  "Settled",
  "SettlementRecorded",
  "SurplusReleased",
  "TargetAdminDelayUpdated",
  "TargetClosed",
  "TargetFunctionRoleUpdated",
  "ThresholdSet",
  "TokenListed",
  "Unpaused",
]);

const digestFile = join(folder, "compiled.sha256");
const check = process.argv.includes("--check");
const isCurrent = (): boolean => existsSync(digestFile) && readFileSync(digestFile, "utf8") === `${computeDigest()}\n`;
if (check && !process.argv.includes("--whole") && isCurrent()) process.exit(0);

// Imported here, because loading the compiler takes a second.
const { default: solc } = await import("solc");
const contracts = compile(folder, ARTIFACTS);
const outputs = new Map([
  [workerAbiFile, printAbiModule(contracts, ({ type, name }) => type === "error" || WORKER_ENTRIES.has(name ?? ""))],
  [abiFile, printAbiModule(contracts, () => true)],
  [artifactsFile, printArtifacts(contracts)],
  [testArtifactsFile, printArtifacts(compile(testFolder, TEST_ARTIFACTS))],
]);

const staleFiles = [...outputs].filter(([file, text]) => !existsSync(file) || readFileSync(file, "utf8") !== text);
if (check) {
  const behind = [...staleFiles.map(([file]) => file), ...(isCurrent() ? [] : [digestFile])];
  for (const file of behind) console.error(`${file} is not current: run \`node scripts/contracts.ts\``);
  process.exit(behind.length === 0 ? 0 : 1);
}
for (const [file, text] of staleFiles) writeFileSync(file, text);
writeFileSync(digestFile, `${computeDigest()}\n`);
console.log(staleFiles.length === 0 ? "contracts: nothing changed" : `contracts: wrote ${staleFiles.length} file(s)`);

/** Hashes every source and library, the compiler version, its settings, this script, and the generated files. */
function computeDigest(): string {
  const inputs = [
    ...Object.values(ARTIFACTS).map((entry) => buildStandardInput(folder, entry)),
    ...Object.values(TEST_ARTIFACTS).map((entry) => buildStandardInput(testFolder, entry)),
  ];
  const { version } = JSON.parse(readFileSync(join(root, "node_modules/solc/package.json"), "utf8"));
  const files = [import.meta.filename, workerAbiFile, abiFile, artifactsFile, testArtifactsFile];
  const texts = files.map((file) => (existsSync(file) ? readFileSync(file, "utf8") : ""));
  return createHash("sha256")
    .update(JSON.stringify([version, inputs, texts]))
    .digest("hex");
}

function compile(folder: string, wanted: Readonly<Record<string, string>>): Map<string, SolcContract> {
  const names = readdirSync(folder)
    .filter((name) => name.endsWith(".sol"))
    .sort();
  const library = Object.values(wanted).filter((file) => file.startsWith("@"));
  const sources = Object.fromEntries(
    [...names, ...library].map((name) => [name, { content: readSource(folder, name) }]),
  );
  const input = JSON.stringify({ language: "Solidity", sources, settings: SETTINGS });
  const output: SolcOutput = JSON.parse(solc.compile(input, { import: resolveImport }));
  // A warning in our own files is a fault; libraries may have warnings.
  const faults = (output.errors ?? []).filter(
    ({ severity, sourceLocation }) => severity === "error" || !sourceLocation?.file.startsWith("@"),
  );
  if (faults.length > 0) {
    for (const fault of faults) console.error(fault.formattedMessage);
    process.exit(1);
  }
  const compiled = new Map<string, SolcContract>();
  for (const [name, file] of Object.entries(wanted)) {
    const contract = output.contracts?.[file]?.[name];
    if (contract === undefined) throw new Error(`the compiler returned no ${name}`);
    compiled.set(name, contract);
  }
  return compiled;
}

function printAbiModule(compiled: Map<string, SolcContract>, isUsed: (entry: AbiEntry) => boolean): string {
  const token = abiOf(compiled, "TestUSDC").filter(
    ({ type, name }) => (type === "function" && TOKEN_FUNCTIONS.has(name ?? "")) || name === "Transfer",
  );
  const usedToken = token.filter(isUsed);
  return [
    "// Generated by scripts/contracts.ts from src/chain/contracts/*.sol; do not edit.",
    `export const settlementAbi = ${printAbi(abiOf(compiled, "SettlementContract").filter(isUsed))} as const;`,
    "// OpenZeppelin's AccessManager, through which what needs a role is called.",
    `export const authorityAbi = ${printAbi(abiOf(compiled, "AccessManager").filter(isUsed))} as const;`,
    ...(usedToken.length === 0
      ? []
      : [
          "// The part of ERC-20 and EIP-3009 that is used on a settlement token.",
          `export const tokenAbi = ${printAbi(usedToken)} as const;`,
        ]),
    "",
  ].join("\n");
}

function printArtifacts(compiled: Map<string, SolcContract>): string {
  const entries = [...compiled].map(([name, { abi, evm }]) => {
    const { object, immutableReferences = {} } = evm.deployedBytecode;
    const places = Object.values(immutableReferences).flat();
    // The places, words of 32 bytes, at which the constructor writes its immutables into the deployed code.
    const immutables = places.map(({ start }) => start).sort((one, other) => one - other);
    return [name, { abi, bytecode: `0x${evm.bytecode.object}`, deployedBytecode: `0x${object}`, immutables }];
  });
  return `${JSON.stringify(Object.fromEntries(entries), withoutInternalType, 2)}\n`;
}

function abiOf(compiled: Map<string, SolcContract>, name: string): readonly AbiEntry[] {
  const contract = compiled.get(name);
  if (contract === undefined) throw new Error(`no contract ${name}`);
  return contract.abi;
}

// One entry a line, so that diffs show the changed entries.
function printAbi(abi: readonly AbiEntry[]): string {
  return `[\n${abi.map((entry) => `  ${JSON.stringify(entry, withoutInternalType)},`).join("\n")}\n]`;
}

// The compiler's internal type names are left out.
function withoutInternalType(key: string, value: unknown): unknown {
  return key === "internalType" ? undefined : value;
}
