// Judges NETWORKS by itself, without a chain (CHN-26). Each fault is a line that names the network and the member, but no node URL.
import { type MoneyFault, parseAmount } from "../core/money.ts";
import { isAddress } from "./hashes.ts";

type Edition = { readonly settlement_contract: string; readonly authority: string };
type Network = Edition & {
  readonly network: string;
  readonly chain_id: number;
  readonly token: string;
  readonly decimals: number;
  readonly escrow_base: string;
  readonly earlier_editions: readonly Edition[];
};

export function findNetworkFaults(networks: readonly Network[]): string[] {
  return [...findAmbiguities(networks), ...networks.flatMap(findFaultsOfOne)];
}

/** Each name and each chain id (CAIP-2) must mean one network. */
function findAmbiguities(networks: readonly Network[]): string[] {
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

const listAddresses = ({ settlement_contract, authority, earlier_editions, token }: Network): Named[] => [
  { member: "settlement_contract", address: settlement_contract },
  { member: "authority", address: authority },
  { member: "token", address: token },
  ...earlier_editions.map((edition, at) => ({
    member: `earlier_editions.${at}.settlement_contract`,
    address: edition.settlement_contract,
  })),
];

function findFaultsOfOne(network: Network): string[] {
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
function findBaseFaults({ escrow_base, decimals }: Network): string[] {
  const counted = parseAmount(escrow_base, decimals);
  const fault = counted.ok ? (counted.units === 0 ? "too_small" : null) : counted.fault;
  return fault === null ? [] : [`escrow_base: with the token's ${decimals} decimals it is ${FAULT_WORDS[fault]}`];
}

const FAULT_WORDS: Readonly<Record<MoneyFault, string>> = {
  invalid_format: "finer than a base unit",
  too_big: "more than 2^53-1 base units, which are not counted",
  too_small: "zero",
};
