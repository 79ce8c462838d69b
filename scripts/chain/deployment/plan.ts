// Reads from the chain alone which steps of a deployment are done, so that the next run continues an interrupted one.
import { type Abi, encodeFunctionData, formatEther, formatUnits, type Hex, parseUnits } from "viem";
import { authorityAbi, tokenAbi } from "../abi.ts";
import { CREATE2_DEPLOYER, encodeCreation } from "../deploy.ts";
import { encodeRoleCalls, ROLES } from "../roles.ts";
import type { Node } from "./node.ts";
import { DeploymentError, type Settings } from "./settings.ts";

export type Step = { readonly title: string; readonly done: boolean; readonly to: Hex; readonly data: Hex };
export type Plan = {
  readonly authority: Hex;
  readonly contract: Hex;
  readonly symbol: string;
  readonly decimals: number;
  /** In base units. */
  readonly base: bigint;
  readonly balance: bigint;
  /** The cold keys that are plain accounts, not contracts. */
  readonly coldAccounts: readonly ColdKey[];
  readonly head: bigint;
  readonly steps: readonly Step[];
};

/** The code of the CREATE2 deployer on every network. A deployer with other code could create other contracts from the same data. */
const CREATE2_DEPLOYER_CODE =
  "0x7fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffe03601600081602082378035828234f58015156039578182fd5b8082525050506014600cf3";
/** The code of a plain account: none, or a delegation (EIP-7702), with which its key still controls the account. */
const ACCOUNT_CODE = /^0x(?:ef0100.*)?$/i;
/** The keys that are a Safe where money is real. */
const COLD_KEYS = ["owner", "admin"] as const;
type ColdKey = (typeof COLD_KEYS)[number];
/** The most base units that the service can count (HTTP-5). */
const BASE_MAX = BigInt(Number.MAX_SAFE_INTEGER);

export async function readPlan({ client }: Node, settings: Settings): Promise<Plan> {
  const { target, deployer, keys, feeRecipient, token, delays, salt } = settings;
  const chainId = await client.getChainId();
  if (chainId !== target.chain_id) {
    throw new DeploymentError(`the node is of chain ${chainId}; ${target.network} is ${target.chain_id}`);
  }
  const codeOf = (address: Hex) => client.getCode({ address });
  if ((await codeOf(CREATE2_DEPLOYER)) !== CREATE2_DEPLOYER_CODE) {
    throw new DeploymentError(`${CREATE2_DEPLOYER} is not the deployer of CREATE2 contracts on this chain`);
  }
  const { symbol, decimals } = await readToken({ client }, token);
  const base = parseBase(settings.base, decimals);
  const authority = encodeCreation("AccessManager", [deployer], salt);
  const contract = encodeCreation("SettlementContract", [authority.address, feeRecipient, token, base], salt);
  const [authorityCode, contractCode, ...coldCodes] = await Promise.all(
    [authority.address, contract.address, ...COLD_KEYS.map((name) => keys[name])].map(codeOf),
  );
  const manager = { address: authority.address, abi: authorityAbi } as const;
  const handedOver =
    authorityCode !== undefined &&
    !(await client.readContract({ ...manager, functionName: "hasRole", args: [0n, deployer] }))[0];
  if (handedOver && contractCode === undefined) {
    throw new DeploymentError(
      `the authority ${authority.address} of this deployer was handed over with another contract: give the settings of that run, or another --salt`,
    );
  }
  const calls = encodeRoleCalls(authority.address, contract.address, deployer, keys, delays);
  const handOver = encodeFunctionData({ abi: authorityAbi as Abi, functionName: "multicall", args: [calls] });
  return {
    ...{ authority: authority.address, contract: contract.address, symbol, decimals, base },
    balance: await client.getBalance({ address: deployer }),
    coldAccounts: COLD_KEYS.filter((_, at) => ACCOUNT_CODE.test(coldCodes[at] ?? "0x")),
    head: await client.getBlockNumber(),
    steps: [
      toStep(`AccessManager at ${authority.address}`, authorityCode !== undefined, CREATE2_DEPLOYER, authority.data),
      toStep(`SettlementContract at ${contract.address}`, contractCode !== undefined, CREATE2_DEPLOYER, contract.data),
      toStep(
        `the roles, and the deployer gives up the root (${calls.length} calls in one)`,
        handedOver,
        authority.address,
        handOver,
      ),
    ],
  };
}

const toStep = (title: string, done: boolean, to: Hex, data: Hex): Step => ({ title, done, to, data });

async function readToken({ client }: Pick<Node, "client">, token: Hex) {
  const contract = { address: token, abi: tokenAbi } as const;
  try {
    const symbol = await client.readContract({ ...contract, functionName: "symbol" });
    return { symbol, decimals: await client.readContract({ ...contract, functionName: "decimals" }) };
  } catch (error) {
    if ((await client.getCode({ address: token })) !== undefined) throw error;
    throw new DeploymentError(`TOKEN_ADDRESS ${token} has no code on this chain`);
  }
}

function parseBase(text: string, decimals: number): bigint {
  const places = text.split(".")[1]?.length ?? 0;
  if (places > decimals) throw new DeploymentError(`TOKEN_BASE has ${places} decimals, the token ${decimals}`);
  const base = parseUnits(text, decimals);
  if (base === 0n || base > BASE_MAX) throw new DeploymentError("TOKEN_BASE is zero, or too large");
  return base;
}

/** Returns why a plan is refused although each setting is valid. */
export function findObjections(plan: Plan, { target, keys, allowEoaAdmin }: Settings): string[] {
  if (target.kind !== "mainnet" || allowEoaAdmin) return [];
  return plan.coldAccounts.map(
    (name) =>
      `the ${name} ${keys[name]} is an account with a key and not a contract such as a Safe: --allow-eoa-admin accepts it nevertheless`,
  );
}

export function describePlan(plan: Plan, settings: Settings): string[] {
  const { target, deployer, keys, feeRecipient, token, delays } = settings;
  const hours = (seconds: number) => (seconds === 0 ? "at once" : `after ${seconds / 3_600} h`);
  const kindOf = (name: ColdKey) => (plan.coldAccounts.includes(name) ? "an account with a key" : "a contract");
  return [
    `Network         ${target.network}, chain ${target.chain_id}, block ${plan.head}`,
    `Deployer        ${deployer}, ${formatEther(plan.balance)} ETH; keeps nothing`,
    `Token           ${token}, ${plan.symbol} with ${plan.decimals} decimals`,
    `Base            ${formatUnits(plan.base, plan.decimals)} ${plan.symbol}, the threshold of an unrated provider`,
    `Fee recipient   ${feeRecipient}`,
    ...Object.entries(ROLES).map(
      ([label, { functions, holder, delay }]) =>
        `${label.padEnd(18)}${keys[holder]}  ${functions.join(", ") || "grants and revocations"}: ${hours(delay === null ? 0 : delays[delay])}`,
    ),
    ...COLD_KEYS.map((name) => `The ${name} is ${kindOf(name)}.`),
    "Plan",
    ...plan.steps.map(({ title, done }, i) => `  ${i + 1}. ${title}${done ? " (already done)" : ""}`),
  ];
}
