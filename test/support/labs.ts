// Runs in Node: chains that one test file stops, rolls back and makes faulty. A lab starts at its first call, so that a run only pays for the labs
// that it uses. Its contracts have the addresses that the same keys and code give on every chain.
import { getContractAddress, type Hex } from "viem";
import { createClient } from "../../scripts/chain/client.ts";
import { deploy, encodeCreation, SALT } from "../../scripts/chain/deploy.ts";
import { DELAYS, type Delays } from "../../scripts/chain/roles.ts";
import { deployAgain, roleAccounts, startEphemeralChain } from "../../scripts/ephemeral.ts";
import type { NetworkInput } from "../../src/chain/networks.ts";
import { computeBaseThreshold } from "../../src/escrow/threshold.ts";
import { createFrom } from "../chain/test-contracts.ts";
import { startSpoilingNode } from "./spoiling-node.ts";

type Plan = {
  readonly network: string;
  readonly chainId: number;
  readonly confirmations: number;
  /** The age of its first block. */
  readonly beganSecondsAgo?: number;
  readonly delays?: Delays;
  readonly states?: number;
  /** USDC by default. */
  readonly currency?: "USDC" | "EURC" | "WETH";
};

const DAY_SECONDS = 86_400;
/** The salt of a second deployment of the contracts, at other addresses. */
export const OTHER_SALT: Hex = `0x${"07".repeat(32)}`;

/** The file that a lab belongs to. Other files also read `lab`, `lab-euro` and `lab-delayed`, and do not change them. */
export const LABS: Readonly<Record<string, Omit<Plan, "network"> & { readonly of: string }>> = {
  lab: { of: "facilitation/on-chain", chainId: 31337, confirmations: 3, beganSecondsAgo: 5 * DAY_SECONDS },
  "lab-signer": { of: "objects/chain-signer", chainId: 31338, confirmations: 1 },
  "lab-markets": { of: "markets/on-chain", chainId: 31339, confirmations: 1 },
  "lab-moved": { of: "facilitation/mined-again", chainId: 31340, confirmations: 1 },
  "lab-wallets": { of: "markets/wallets", chainId: 31341, confirmations: 1 },
  "lab-replaced": { of: "objects/replaced-calls", chainId: 31342, confirmations: 1 },
  "lab-waiting": { of: "markets/waiting-consequences", chainId: 31343, confirmations: 1 },
  "lab-delayed": { of: "markets/delayed-wallets", chainId: 31344, confirmations: 1, delays: DELAYS },
  "lab-follower": { of: "follower/reorganised", chainId: 31345, confirmations: 3 },
  "lab-long": { of: "facilitation/long-token", chainId: 31376, confirmations: 1, currency: "WETH" },
  "lab-euro": { of: "payments/currencies", chainId: 31346, confirmations: 1, currency: "EURC" },
  "lab-reversed": { of: "follower/reversed", chainId: 31347, confirmations: 3 },
  "lab-anew": { of: "follower/facilitated-again", chainId: 31348, confirmations: 3 },
  "lab-closed": { of: "payments/closed-networks", chainId: 31350, confirmations: 3, beganSecondsAgo: 600 },
  "lab-money": { of: "follower/money-histories", chainId: 31360, confirmations: 2, states: 2_000 },
  "lab-bound": { of: "follower/replaced-payments", chainId: 31361, confirmations: 3 },
  "lab-split": { of: "follower/wallets", chainId: 31362, confirmations: 3, delays: DELAYS },
  "lab-vaults": { of: "markets/unanswered-wallets", chainId: 31363, confirmations: 1 },
  "lab-doubted": { of: "follower/two-nodes", chainId: 31364, confirmations: 3 },
  "lab-lied": { of: "follower/lies", chainId: 31372, confirmations: 3 },
  "lab-lies": { of: "follower/lying-nodes", chainId: 31371, confirmations: 3 },
  "lab-once": { of: "follower/one-lie", chainId: 31381, confirmations: 3 },
  "lab-crowded": { of: "follower/crowded", chainId: 31391, confirmations: 3 },
  "lab-quiet": { of: "follower/quiet", chainId: 31392, confirmations: 3 },
  "lab-raced": { of: "follower/reversal-races", chainId: 31365, confirmations: 3 },
  "lab-award": { of: "disputes/delayed-awards", chainId: 31366, confirmations: 1, delays: DELAYS },
  "lab-editions": { of: "markets/move-editions", chainId: 31368, confirmations: 3 },
  "lab-repaid": { of: "disputes/repeated-payouts", chainId: 31370, confirmations: 1, delays: DELAYS },
  "lab-repeated": { of: "disputes/repeated-cuts", chainId: 31373, confirmations: 1, delays: DELAYS },
  "lab-turned": { of: "disputes/turned-awards", chainId: 31374, confirmations: 3 },
  "lab-ended": { of: "follower/ended-offers", chainId: 31375, confirmations: 1 },
  "lab-keys": { of: "follower/acts", chainId: 31369, confirmations: 3, delays: DELAYS },
  "lab-stalled": { of: "disputes/stalled-awards", chainId: 31367, confirmations: 1, delays: DELAYS },
};

/** Labs that have a second deployment of the contracts. */
const TWO_EDITIONS: ReadonlySet<string> = new Set(["lab", "lab-editions"]);

export type Lab = {
  readonly entry: NetworkInput;
  /** The chain without the faults of the node in front of it. */
  readonly honestUrl: string;
  readonly stop: () => Promise<void>;
};

export async function planLab(plan: Plan): Promise<Lab> {
  let started: ReturnType<typeof startLab> | undefined;
  const rpcUrl = () => {
    started ??= startLab(plan);
    return started.then((anvil) => anvil.rpcUrl);
  };
  const [node, honest] = await Promise.all([startSpoilingNode(rpcUrl), startSpoilingNode(rpcUrl)]);
  const stop = async () => {
    node.stop();
    honest.stop();
    await (await started)?.stop();
  };
  return { entry: { ...plannedEntry(plan, plan.currency), rpc_url: node.url }, honestUrl: honest.url, stop };
}

async function startLab({ currency = "USDC", beganSecondsAgo, ...plan }: Plan) {
  const chain = await startEphemeralChain({
    ...plan,
    kind: "testnet",
    ...(beganSecondsAgo !== undefined && { genesis: Math.floor(Date.now() / 1_000) - beganSecondsAgo }),
    ...(currency !== "USDC" && { money: { ...plannedMoney[currency], create: TOKENS[currency] } }),
  });
  const planned = plannedEntry(plan, currency);
  for (const name of ["settlement_contract", "authority", "token"] as const) {
    if (chain.entry[name].toLowerCase() !== planned[name].toLowerCase())
      throw new Error(`${plan.network}: ${name} is not where it was planned`);
  }
  if (TWO_EDITIONS.has(plan.network)) await deployOthers(chain.anvil.rpcUrl, planned.token as Hex);
  return chain.anvil;
}

// ---- Addresses -----------------------------------------------------------------------------------------------------------

type Create = (rpcUrl: string, deployer: Hex) => Promise<Hex>;
const TOKENS: Readonly<Record<"EURC" | "WETH", Create>> = {
  EURC: (rpcUrl, deployer) => createFrom(createClient(rpcUrl), deployer, "EurcLike"),
  WETH: (rpcUrl, deployer) => createFrom(createClient(rpcUrl), deployer, "LongToken"),
};
/** The address of the token, which the deployer's first transaction creates. */
const created = () => getContractAddress({ from: roleAccounts().admin.address, nonce: 0n });

type Named = Pick<Plan, "network" | "chainId" | "confirmations">;
type Money = Pick<NetworkInput, "currency" | "decimals" | "escrow_base"> & { readonly token: Hex };
type Contracts = { readonly settlement_contract: Hex; readonly authority: Hex };

const plannedMoney: Readonly<Record<NonNullable<Plan["currency"]>, Money>> = {
  USDC: { currency: "USDC", decimals: 6, token: encodeCreation("TestUSDC", [], SALT).address },
  EURC: { currency: "EURC", decimals: 8, token: created() },
  WETH: { currency: "WETH", decimals: 18, escrow_base: "0.008", token: created() },
};
const plannedContracts = {
  USDC: contractsFor(plannedMoney.USDC, SALT),
  EURC: contractsFor(plannedMoney.EURC, SALT),
  WETH: contractsFor(plannedMoney.WETH, SALT),
};

const plannedEntry = ({ network, chainId, confirmations }: Named, currency: Plan["currency"] = "USDC") => ({
  network,
  chain_id: chainId,
  kind: "testnet" as const,
  rpc_url: "",
  ...plannedContracts[currency],
  ...plannedMoney[currency],
  required_confirmations: confirmations,
  block_seconds: 0,
});

function contractsFor({ token, ...money }: Money, salt: Hex): Contracts {
  const { admin, feeRecipient } = roleAccounts();
  const authority = encodeCreation("AccessManager", [admin.address], salt).address;
  const args = [authority, feeRecipient.address, token, BigInt(computeBaseThreshold(money))];
  return { settlement_contract: encodeCreation("SettlementContract", args, salt).address, authority };
}

/** The second deployment on `lab`, with the same code as the service's contracts. */
export function otherContracts(): { otherToken: Hex; otherContract: Hex; otherAuthority: Hex } {
  const { settlement_contract: otherContract, authority: otherAuthority } = contractsFor(plannedMoney.USDC, OTHER_SALT);
  return { otherToken: encodeCreation("TestUSDC", [], OTHER_SALT).address, otherContract, otherAuthority };
}

async function deployOthers(rpcUrl: string, token: Hex): Promise<void> {
  await deploy(rpcUrl, roleAccounts().admin.privateKey, "TestUSDC", [], OTHER_SALT);
  await deployAgain(rpcUrl, token, OTHER_SALT);
}
