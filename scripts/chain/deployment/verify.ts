// Verifies a deployment on its chain: the code, the settings, who may call what, and that no other account may.
import { type Abi, type Hex, isAddressEqual, type Log, parseAbiItem, parseEventLogs, toFunctionSelector } from "viem";
import { authorityAbi, settlementAbi } from "../abi.ts";
import { artifacts } from "../deploy.ts";
import { ROLES } from "../roles.ts";
import type { Node } from "./node.ts";
import type { Plan } from "./plan.ts";
import { DeploymentError, type Settings } from "./settings.ts";

const FEE_BPS = 5;
const ROOT = 0n;
const WORD_DIGITS = 64;
/** Nodes limit how many blocks they search at once, so a search may take many requests. */
const SEARCHES_MAX = 64;

const ROLE_EVENTS = [
  parseAbiItem(
    "event RoleGranted(uint64 indexed roleId, address indexed account, uint32 delay, uint48 since, bool newMember)",
  ),
  parseAbiItem("event RoleRevoked(uint64 indexed roleId, address indexed account)"),
] as const;

/** @returns a line for each difference; none if everything is as wanted */
export async function findDifferences(
  node: Node,
  settings: Settings,
  plan: Plan,
  fromBlock: bigint,
): Promise<string[]> {
  const parts = [
    findCodeFaults(node, plan),
    findSettingFaults(node, settings, plan),
    findRoleFaults(node, settings, plan),
  ];
  return [...(await Promise.all(parts)).flat(), ...(await findMemberFaults(node, settings, plan, fromBlock))];
}

/** Checks that the code is the artifact's, and that the constructors wrote only the expected addresses into it. */
async function findCodeFaults({ client }: Node, { authority, contract }: Plan): Promise<string[]> {
  const vault = await client.readContract({
    address: contract,
    abi: settlementAbi,
    functionName: "vaultImplementation",
  });
  const wanted: [keyof typeof artifacts, Hex, readonly Hex[]][] = [
    ["AccessManager", authority, []],
    ["SettlementContract", contract, [authority, vault]],
    ["EscrowVault", vault, [contract]],
  ];
  const found = await Promise.all(wanted.map(([, address]) => client.getCode({ address })));
  return wanted.flatMap(([name, address, written], i) =>
    hasArtifactCode(name, found[i], written) ? [] : [`the code at ${address} is not that of ${name}`],
  );
}

function hasArtifactCode(name: keyof typeof artifacts, code: Hex | undefined, written: readonly Hex[]): boolean {
  const { deployedBytecode, immutables } = artifacts[name];
  const allowed = new Set(written.map((address) => address.slice(2).toLowerCase().padStart(WORD_DIGITS, "0")));
  let masked = code?.toLowerCase() ?? "";
  for (const start of immutables) {
    const from = 2 + 2 * start;
    if (!allowed.has(masked.slice(from, from + WORD_DIGITS))) return false;
    masked = masked.slice(0, from) + "0".repeat(WORD_DIGITS) + masked.slice(from + WORD_DIGITS);
  }
  return masked === deployedBytecode;
}

async function findSettingFaults({ client }: Node, settings: Settings, plan: Plan): Promise<string[]> {
  const read = (functionName: string, args: readonly unknown[] = []) =>
    client.readContract({ address: plan.contract, abi: settlementAbi as Abi, functionName, args });
  const wanted: [string, readonly unknown[], unknown][] = [
    ["authority", [], plan.authority],
    ["feeRecipient", [], settings.feeRecipient],
    ["feeBps", [], FEE_BPS],
    ["paused", [], false],
    ["baseOf", [settings.token], plan.base],
  ];
  const found = await Promise.all(wanted.map(([name, args]) => read(name, args)));
  return wanted.flatMap(([name, , value], i) =>
    textOf(found[i]) === textOf(value) ? [] : [`${name} is ${found[i]} and should be ${value}`],
  );
}

const textOf = (value: unknown): string => String(value).toLowerCase();

type Check = readonly [what: string, view: string, args: readonly unknown[], wanted: unknown];

async function findRoleFaults({ client }: Node, { keys, delays, deployer }: Settings, plan: Plan): Promise<string[]> {
  const checks: Check[] = [
    ...Object.entries(ROLES).flatMap(([label, { id, holder, delay }]): Check[] => [
      [`${label} of the ${holder}`, "hasRole", [id, keys[holder]], [true, delay === null ? 0 : delays[delay]]],
      [`${label} of the deployer`, "hasRole", [id, deployer], [false, 0]],
      [`the admin of ${label}`, "getRoleAdmin", [id], ROLES.OWNER.id],
      [`the guardian of ${label}`, "getRoleGuardian", [id], delay === null ? ROOT : ROLES.GUARDIAN.id],
      [`the delay of grants of ${label}`, "getRoleGrantDelay", [id], 0],
    ]),
    ["the root of the deployer", "hasRole", [ROOT, deployer], [false, 0]],
    ["the closing of the contract", "isTargetClosed", [plan.contract], false],
    ...listFunctionChecks(plan.contract, settlementAbi as Abi, (name) => {
      const role = Object.values(ROLES).find(({ functions }) => (functions as readonly string[]).includes(name));
      return role?.id ?? ROOT;
    }),
    ...listFunctionChecks(plan.authority, authorityAbi as Abi, (name) =>
      name === "grantRole" ? ROLES.OWNER.id : ROOT,
    ),
  ];
  const faults: string[] = [];
  // One call at a time, because public nodes limit requests.
  for (const [what, functionName, args, wanted] of checks) {
    const found = await client.readContract({ address: plan.authority, abi: authorityAbi as Abi, functionName, args });
    if (String(found) !== String(wanted)) faults.push(`${what} is ${found} and should be ${wanted}`);
  }
  return faults;
}

/** Checks that each function which changes state has its role of the table, or else the root, which has no holder. */
const listFunctionChecks = (target: Hex, abi: Abi, roleOf: (name: string) => bigint): Check[] =>
  abi.flatMap((entry): Check[] => {
    if (entry.type !== "function" || entry.stateMutability === "view" || entry.stateMutability === "pure") return [];
    const args = [target, toFunctionSelector(entry)];
    return [[`the role of ${entry.name}`, "getTargetFunctionRole", args, roleOf(entry.name)]];
  });

/** Finds accounts that hold a role and should not, from the events of grants and revocations. */
async function findMemberFaults(node: Node, { keys }: Settings, plan: Plan, fromBlock: bigint): Promise<string[]> {
  const logs = await readRoleLogs(node, plan.authority, fromBlock, await node.client.getBlockNumber());
  const members = new Map<string, { id: bigint; account: Hex }>();
  for (const { eventName, args } of parseEventLogs({ abi: ROLE_EVENTS, logs })) {
    const place = `${args.roleId} ${args.account}`;
    if (eventName === "RoleGranted") members.set(place, { id: args.roleId, account: args.account });
    else members.delete(place);
  }
  const expected = Object.values(ROLES);
  return [...members.values()].flatMap(({ id, account }) => {
    const isExpected = expected.some((role) => role.id === id && isAddressEqual(keys[role.holder], account));
    return isExpected ? [] : [`${account} has the role ${id} and should not`];
  });
}

async function readRoleLogs({ client }: Node, address: Hex, first: bigint, last: bigint): Promise<Log[]> {
  const waiting: [bigint, bigint][] = [[first, last]];
  const logs: Log[] = [];
  let searches = 0;
  for (let range = waiting.pop(); range !== undefined; range = waiting.pop()) {
    const [fromBlock, toBlock] = range;
    if (++searches > SEARCHES_MAX) {
      throw new DeploymentError(
        "the node searches too few blocks at once: name the block of the deployment with --from-block",
      );
    }
    try {
      logs.push(...(await client.getLogs({ address, events: ROLE_EVENTS, fromBlock, toBlock })));
    } catch (error) {
      if (fromBlock >= toBlock) throw error;
      const middle = (fromBlock + toBlock) / 2n;
      waiting.push([middle + 1n, toBlock], [fromBlock, middle]);
    }
  }
  return logs;
}
