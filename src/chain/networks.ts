// Parses the configured networks from the variable NETWORKS (CHN-13, CHN-26) and finds them by name or CAIP-2 id (HTTP-7). Parsing is strict,
// because a wrong address loses money.
import * as z from "zod";
import { ESCROW_BASE_THRESHOLD, TOKEN_DECIMALS_MAX } from "../core/limits.ts";
import { formatAmount, type MoneyFault, parseAmount } from "../core/text.ts";
import { isAddress } from "./hashes.ts";

const address = z.string().regex(/^0x[0-9a-fA-F]{40}$/);
const editionSchema = z.strictObject({ settlement_contract: address, authority: address });
const networkSchema = z.strictObject({
  /** Must not look like a CAIP-2 id, which could mean another network. */
  network: z.string().regex(/^[a-z0-9][a-z0-9-]*$/),
  chain_id: z.number().int().positive(),
  kind: z.enum(["testnet", "mainnet"]),
  rpc_url: z.url(),
  fallback_rpc_url: z.url().optional(),
  settlement_contract: address,
  /** The AccessManager that calls the functions which need a role (CHN-5). */
  authority: address,
  /** Editions in use before this one. Payments through them can still be facilitated and read. */
  earlier_editions: z.array(editionSchema).default([]),
  token: address,
  currency: z.string().regex(/^[A-Z]{3,6}$/),
  decimals: z.number().int().min(0).max(TOKEN_DECIMALS_MAX),
  /** The threshold of an unrated provider in whole units, equal to the contract's base of the token. */
  escrow_base: z
    .string()
    .regex(/^[0-9]{1,15}(\.[0-9]{1,18})?$/)
    .default(ESCROW_BASE_THRESHOLD),
  required_confirmations: z.number().int().min(1),
  /** No contract of the network took a payment before this block. */
  first_block: z.number().int().min(0).default(0),
  /** For a settlement of this amount or more, in whole units of the currency, the fallback node is asked too before it counts. */
  ask_twice_from: z
    .string()
    .regex(/^[0-9]{1,15}(\.[0-9]{1,2})?$/)
    .default("100.00"),
  /** Seconds between blocks; 0 if a block is mined only for a transaction, as anvil does. */
  block_seconds: z.number().min(0).default(2),
  explorer: z.url().optional(),
  /** Ids of scheduled calls that the operator expects. Other calls that the service did not schedule raise an alert (CHN-33). */
  expected_operations: z.array(z.string().regex(/^0x[0-9a-fA-F]{64}(:[1-9][0-9]{0,8})?$/)).default([]),
  /** The highest gas price that the service's own transactions pay, tip included. */
  max_fee_gwei: z.number().positive().default(100),
  /** The highest tip of a new transaction. A replacement may exceed it, up to the gas price: otherwise it could not unblock later nonces. */
  max_tip_gwei: z.number().positive().default(5),
  /** An alert is raised if the service's own account holds less than this. */
  low_gas_eth: z.number().positive().default(0.01),
});

export type Network = z.output<typeof networkSchema>;
/** A network as NETWORKS states it, before defaults. */
export type NetworkInput = z.input<typeof networkSchema>;

const networksSchema = z.array(networkSchema);

export function parseNetworks(text: string): readonly Network[] {
  const networks = parseStrictly(text);
  const faults = findNetworkFaults(networks);
  if (faults.length > 0) throw new Error(`NETWORKS: ${faults.join("; ")}`);
  refuseUnequalDecimals(networks);
  return networks;
}

/** Throws an error of one line without values, because a node's URL may contain a key (CHN-12). */
function parseStrictly(text: string): readonly Network[] {
  const parsed = networksSchema.safeParse(parseJsonText(text));
  if (parsed.success) return parsed.data;
  const lines = parsed.error.issues.map(({ path, message }) => `${path.join(".") || "the list"}: ${message}`);
  throw new Error(`NETWORKS: ${lines.join("; ")}`);
}

function parseJsonText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The parser's message is left out, because it quotes the text.
    throw new Error("NETWORKS: it is not JSON");
  }
}

/** Spending and volumes in one currency are added across networks, so its tokens must have the same decimals (HTTP-6). */
function refuseUnequalDecimals(networks: readonly Network[]): void {
  for (const { network, currency, decimals } of networks) {
    const other = networks.find((known) => known.currency === currency && known.decimals !== decimals);
    if (other === undefined) continue;
    const [one, two] = [`${decimals} decimals on ${network}`, `${other.decimals} on ${other.network}`];
    throw new Error(
      `${currency} has ${one} and ${two}: amounts in one currency are added, so its tokens must have the same`,
    );
  }
}

export const toCaip2 = (network: Pick<Network, "chain_id">): string => `eip155:${network.chain_id}`;

export const findNetwork = (networks: readonly Network[], nameOrCaip2: string): Network | null =>
  networks.find((known) => known.network === nameOrCaip2 || toCaip2(known) === nameOrCaip2) ?? null;

/** Finds the network that a stored row names. A network that was ever used stays configured, because amounts are read with its decimals. */
export function requireNetwork(networks: readonly Network[], name: string): Network {
  const network = networks.find((known) => known.network === name);
  if (!network) throw new Error(`the network ${name} is stored but no longer configured`);
  return network;
}

/** Returns the network with the edition of `contract` in place of the present one (CHN-22); null if the network has no such edition. */
export function selectEdition(network: Network, contract: string): Network | null {
  const { settlement_contract, authority, earlier_editions } = network;
  const edition = [{ settlement_contract, authority }, ...earlier_editions].find(
    (known) => known.settlement_contract.toLowerCase() === contract.toLowerCase(),
  );
  return edition ? { ...network, ...edition } : null;
}

/** True if both nodes are asked before a settlement of this many base units counts. */
export const needsBothNodes = (
  { ask_twice_from, decimals }: Pick<Network, "ask_twice_from" | "decimals">,
  units: number | bigint,
): boolean => BigInt(units) >= parseUnits(ask_twice_from, decimals);

/** Converts whole units, which have two decimals at most, to base units. */
const parseUnits = (text: string, decimals: number): bigint => {
  const [whole = "0", part = ""] = text.split(".");
  return (BigInt(whole + part.padEnd(2, "0")) * 10n ** BigInt(decimals)) / 100n;
};

const GWEI_PER_ETH = 1_000_000_000;
const WEI_PER_GWEI = 1_000_000_000n;

/** In wei. An account of the service that holds less is low on gas. */
export const computeGasThreshold = ({ low_gas_eth }: Pick<Network, "low_gas_eth">): bigint =>
  BigInt(Math.round(low_gas_eth * GWEI_PER_ETH)) * WEI_PER_GWEI;

export const formatTokenUnits = ({ decimals }: Pick<Network, "decimals">, units: number | bigint): string =>
  formatAmount(units, decimals);

/** Finds the currency of a stored sum. Its token has the same decimals on every network. */
export function requireCurrency(
  networks: readonly Network[],
  currency: string,
): Pick<Network, "currency" | "decimals"> {
  const network = networks.find((known) => known.currency === currency);
  if (!network) throw new Error(`the currency ${currency} is stored but no longer configured`);
  return network;
}

// ---- Faults -------------------------------------------------------------------------------------------------------------

// Judges NETWORKS by itself, without a chain (CHN-26). Each fault is a line that names the network and the member, but no node URL.

type Edition = { readonly settlement_contract: string; readonly authority: string };
type ConfiguredNetwork = Edition & {
  readonly network: string;
  readonly chain_id: number;
  readonly token: string;
  readonly decimals: number;
  readonly escrow_base: string;
  readonly earlier_editions: readonly Edition[];
};

export function findNetworkFaults(networks: readonly ConfiguredNetwork[]): string[] {
  return [...findAmbiguities(networks), ...networks.flatMap(findFaultsOfOne)];
}

/** Each name and each chain id (CAIP-2) must mean one network. */
function findAmbiguities(networks: readonly ConfiguredNetwork[]): string[] {
  return networks.flatMap(({ network, chain_id }, at) => {
    const before = networks.slice(0, at);
    const namesake = before.some((other) => other.network === network);
    const twin = before.find((other) => other.chain_id === chain_id);
    return [
      ...(namesake ? [`${network}: another network has the same name`] : []),
      ...(twin && !namesake ? [`${network}: the network ${twin.network} has the same chain id ${chain_id}`] : []),
    ];
  });
}

type Named = { readonly member: string; readonly address: string };

const listAddresses = ({ settlement_contract, authority, earlier_editions, token }: ConfiguredNetwork): Named[] => [
  { member: "settlement_contract", address: settlement_contract },
  { member: "authority", address: authority },
  { member: "token", address: token },
  ...earlier_editions.map((edition, at) => ({
    member: `earlier_editions.${at}.settlement_contract`,
    address: edition.settlement_contract,
  })),
];

function findFaultsOfOne(network: ConfiguredNetwork): string[] {
  const own = listAddresses(network);
  // Not checked for duplicates, because an authority may serve several editions.
  const authorities = network.earlier_editions.map(({ authority }, at) => ({
    member: `earlier_editions.${at}.authority`,
    address: authority,
  }));
  const faults = [
    ...[...own, ...authorities].flatMap(({ member, address }) => {
      if (!isAddress(address)) return [`${member}: the checksum (EIP-55) is wrong: a character is mistyped`];
      return /^0x0*$/.test(address) ? [`${member}: the zero address is not a contract`] : [];
    }),
    ...own.flatMap(({ member, address }, at) => {
      const same = own.slice(0, at).find((other) => other.address.toLowerCase() === address.toLowerCase());
      return same ? [`${member}: the address is the same as ${same.member}`] : [];
    }),
  ];
  const all = [...faults, ...findBaseFaults(network)];
  return all.map((fault) => `${network.network}: ${fault}`);
}

/** The threshold of an escrow must be a number of base units (HTTP-5). */
function findBaseFaults({ escrow_base, decimals }: ConfiguredNetwork): string[] {
  const counted = parseAmount(escrow_base, decimals);
  const fault = counted.ok ? (counted.units === 0 ? "too_small" : null) : counted.fault;
  return fault === null ? [] : [`escrow_base: with the token's ${decimals} decimals it is ${FAULT_WORDS[fault]}`];
}

const FAULT_WORDS: Readonly<Record<MoneyFault, string>> = {
  invalid_format: "finer than a base unit",
  too_big: "more than 2^53-1 base units, which are not counted",
  too_small: "zero",
};
