// The configured chains, from the variable NETWORKS (CHN-13, CHN-26), found by name or CAIP-2 (HTTP-7). Parsed strictly, because a wrong address
// would lose money.
import * as z from "zod";
import { ESCROW_BASE_THRESHOLD, TOKEN_DECIMALS_MAX } from "../core/limits.ts";
import { formatAmount } from "../core/money.ts";
import { faultsOfNetworks } from "./network-faults.ts";

const address = z.string().regex(/^0x[0-9a-fA-F]{40}$/);
const editionSchema = z.strictObject({ settlement_contract: address, authority: address });
const networkSchema = z.strictObject({
  /** A name that is no CAIP-2 id, which would be found as another network. */
  network: z.string().regex(/^[a-z0-9][a-z0-9-]*$/),
  chain_id: z.number().int().positive(),
  kind: z.enum(["testnet", "mainnet"]),
  rpc_url: z.url(),
  fallback_rpc_url: z.url().optional(),
  settlement_contract: address,
  /** The AccessManager through which what needs a role is called (CHN-5). */
  authority: address,
  /** Contracts that served before this one: what was paid through them stays facilitable and readable. */
  earlier_editions: z.array(editionSchema).default([]),
  token: address,
  currency: z.string().regex(/^[A-Z]{3,6}$/),
  decimals: z.number().int().min(0).max(TOKEN_DECIMALS_MAX),
  /** The threshold of an unrated provider, in whole units: the contract's base of the token. */
  escrow_base: z
    .string()
    .regex(/^[0-9]{1,15}(\.[0-9]{1,18})?$/)
    .default(ESCROW_BASE_THRESHOLD),
  required_confirmations: z.number().int().min(1),
  /** The block before which none of its contracts took a payment. */
  first_block: z.number().int().min(0).default(0),
  /** From this amount on, in whole units of its currency, a settlement is asked of the fallback node too before it counts. */
  ask_twice_from: z
    .string()
    .regex(/^[0-9]{1,15}(\.[0-9]{1,2})?$/)
    .default("100.00"),
  /** How far its blocks are apart; 0 where a block is mined for a transaction alone, as anvil does. */
  block_seconds: z.number().min(0).default(2),
  explorer: z.url().optional(),
  /** The ids of scheduled calls that people of the configuration make: whatever else is scheduled by others than the service is told (CHN-33). */
  expected_operations: z.array(z.string().regex(/^0x[0-9a-fA-F]{64}(:[1-9][0-9]{0,8})?$/)).default([]),
  /** The highest price of a unit of gas that the service's own transactions pay, tip included. */
  max_fee_gwei: z.number().positive().default(100),
  /** The highest tip of a new transaction. A replacement has to raise it, up to the price: else nothing behind it would be mined. */
  max_tip_gwei: z.number().positive().default(5),
  /** Below this balance of the service's own account an alert is raised. */
  low_gas_eth: z.number().positive().default(0.01),
});

/** One network of the configuration. */
export type Network = z.output<typeof networkSchema>;
/** One network as NETWORKS writes it. */
export type NetworkInput = z.input<typeof networkSchema>;

const networksSchema = z.array(networkSchema);

export function parseNetworks(text: string): readonly Network[] {
  const networks = read(text);
  const faults = faultsOfNetworks(networks);
  if (faults.length > 0) throw new Error(`NETWORKS: ${faults.join("; ")}`);
  refuseUnequalDecimals(networks);
  return networks;
}

/** One line, without the values: a node's address may carry a key (CHN-12). */
function read(text: string): readonly Network[] {
  const parsed = networksSchema.safeParse(jsonOf(text));
  if (parsed.success) return parsed.data;
  const lines = parsed.error.issues.map(({ path, message }) => `${path.join(".") || "the list"}: ${message}`);
  throw new Error(`NETWORKS: ${lines.join("; ")}`);
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The parser's own message quotes the text.
    throw new Error("NETWORKS: it is not JSON");
  }
}

/** Spending and volumes of one currency are added on all its networks, so its tokens have the same decimals (HTTP-6). */
function refuseUnequalDecimals(networks: readonly Network[]): void {
  for (const { network, currency, decimals } of networks) {
    const other = networks.find((known) => known.currency === currency && known.decimals !== decimals);
    if (other === undefined) continue;
    const [one, two] = [`${decimals} decimals on ${network}`, `${other.decimals} on ${other.network}`];
    throw new Error(
      `${currency} has ${one} and ${two}: amounts in one currency are added, so its tokens have the same`,
    );
  }
}

export const caip2Of = (network: Pick<Network, "chain_id">): string => `eip155:${network.chain_id}`;

/** By name or CAIP-2; null when the configuration has no such network. */
export const findNetwork = (networks: readonly Network[], nameOrCaip2: string): Network | null =>
  networks.find((known) => known.network === nameOrCaip2 || caip2Of(known) === nameOrCaip2) ?? null;

/** The network that a stored row names. One that was ever used stays configured, because amounts are read by its decimals. */
export function networkNamed(networks: readonly Network[], name: string): Network {
  const network = networks.find((known) => known.network === name);
  if (!network) throw new Error(`the network ${name} is stored and not configured any more`);
  return network;
}

/** The network with the edition of the contract that took a payment in the place of the present one (CHN-22); null: it is none of its own. */
export function onEdition(network: Network, contract: string): Network | null {
  const { settlement_contract, authority, earlier_editions } = network;
  const edition = [{ settlement_contract, authority }, ...earlier_editions].find(
    (known) => known.settlement_contract.toLowerCase() === contract.toLowerCase(),
  );
  return edition ? { ...network, ...edition } : null;
}

/** Whether a settlement of so many base units is asked of both nodes before it counts. */
export const asksTwice = (
  { ask_twice_from, decimals }: Pick<Network, "ask_twice_from" | "decimals">,
  units: number | bigint,
): boolean => BigInt(units) >= parseUnits(ask_twice_from, decimals);

/** Of a number of whole units, which has two decimals at most. */
const parseUnits = (text: string, decimals: number): bigint => {
  const [whole = "0", part = ""] = text.split(".");
  return (BigInt(whole + part.padEnd(2, "0")) * 10n ** BigInt(decimals)) / 100n;
};

const GWEI_PER_ETH = 1_000_000_000;
const WEI_PER_GWEI = 1_000_000_000n;

/** Wei: an account of the service that holds less is short of gas. */
export const leastGasOf = ({ low_gas_eth }: Pick<Network, "low_gas_eth">): bigint =>
  BigInt(Math.round(low_gas_eth * GWEI_PER_ETH)) * WEI_PER_GWEI;

/** Base units of the network's token, in whole units of its currency. */
export const amountOn = ({ decimals }: Pick<Network, "decimals">, units: number | bigint): string =>
  formatAmount(units, decimals);

/** The currency of a stored sum, with the decimals that its token has on every network. */
export function currencyNamed(networks: readonly Network[], currency: string): Pick<Network, "currency" | "decimals"> {
  const network = networks.find((known) => known.currency === currency);
  if (!network) throw new Error(`the currency ${currency} is stored and not configured any more`);
  return network;
}
