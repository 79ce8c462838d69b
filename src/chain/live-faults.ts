// Judges a network by what its chain says (CHN-31). Each fault is one line that names configuration members and addresses, but no node URL.
// Pure. networks.ts judges the configuration by itself.
import { FOLLOWER_LOST_SECONDS, SECOND_MS } from "../core/limits.ts";
import { formatAmount, parseAmount } from "../core/text.ts";
import type { EditionFacts, NetworkFacts, NodeFacts, RoleFacts, TokenFacts } from "./network-facts.ts";
import { computeGasThreshold, formatTokenUnits, type Network } from "./networks.ts";
import { ATTEMPT_TIMEOUT_MS } from "./rpc.ts";
import { SIGNER_ROLES, SIGNERS } from "./sign.ts";

/** `now`: real time, in epoch milliseconds. */
export function findLiveFaults(network: Network, facts: NetworkFacts, now: number): string[] {
  const { node, fallback, token, editions } = facts;
  return [
    ...findNodeFaults(network, "node", node, now),
    ...(fallback ? findNodeFaults(network, "fallback node", fallback, now) : []),
    ...(token ? findTokenFaults(network, token) : []),
    ...editions.flatMap((edition, place) => findEditionFaults(network, edition, place, facts)),
    ...findAccountFaults(network, facts),
  ];
}

const REASON_WORDS: Readonly<Record<NonNullable<NodeFacts["reason"]>, string>> = {
  timeout: `did not answer within ${ATTEMPT_TIMEOUT_MS / SECOND_MS} s`,
  unreachable: "cannot be reached, or refuses to answer",
  bad_answer: "does not answer each call of a JSON-RPC batch as a node does",
  contradiction: "contradicts itself",
  wrong_chain: "is on another chain",
  unknown_network: "is not configured",
};

function findNodeFaults({ chain_id, block_seconds }: Network, name: string, node: NodeFacts, now: number): string[] {
  const { reason, chainId, head } = node;
  if (reason === "wrong_chain") return [`chain_id is ${chain_id} in NETWORKS, the ${name} says ${chainId}`];
  if (reason !== null) return [`the ${name} ${REASON_WORDS[reason]}`];
  const old = head === null ? 0 : Math.floor((now - head.time) / SECOND_MS);
  const standsStill = block_seconds > 0 && old > FOLLOWER_LOST_SECONDS;
  return standsStill ? [`the newest block of the ${name} is ${old} s old`] : [];
}

function findTokenFaults(network: Network, { hasCode, decimals }: TokenFacts): string[] {
  if (!hasCode) return [`no contract code at token ${network.token}`];
  if (decimals === null) return [`token ${network.token} is not a token: it has no decimals`];
  if (decimals === network.decimals) return [];
  return [`decimals is ${network.decimals} in NETWORKS, the token says ${decimals}`];
}

function findEditionFaults(network: Network, facts: EditionFacts, place: number, { accounts }: NetworkFacts): string[] {
  const earlier = network.earlier_editions[place - 1];
  const { settlement_contract, authority } = earlier ?? network;
  const prefix = earlier ? `earlier_editions.${place - 1}.` : "";
  const contract = `${prefix}settlement_contract ${settlement_contract}`;
  const manager = `${prefix}authority ${authority}`;
  if (!facts.hasCode) return [`no contract code at ${contract}`];
  if (!isSettlementContract(facts)) {
    return [`${contract} is ${facts.decimals === null ? "another contract" : "a token"}, not a settlement contract`];
  }
  if (facts.namedAuthority !== authority.toLowerCase()) {
    return [`${prefix}authority is ${authority} in NETWORKS, the contract says ${facts.namedAuthority}`];
  }
  if (!facts.authorityHasCode) return [`no contract code at ${manager}`];
  if (facts.roles.some(({ grantDelay }) => grantDelay === null)) return [`${manager} is not an AccessManager`];
  // An earlier edition takes no new payments; one under the same authority has the same holders.
  const isTold = earlier?.authority.toLowerCase() === network.authority.toLowerCase();
  return [
    ...(earlier ? [] : findSettingFaults(network, facts)),
    ...(isTold ? [] : facts.roles.flatMap((role) => findHolderFaults(role, accounts, prefix))),
    ...facts.roles.flatMap((role) => findClosedFunctions(role, prefix)),
  ];
}

const isSettlementContract = ({ feeBps, feeRecipient, paused, base, namedAuthority }: EditionFacts): boolean =>
  [feeBps, feeRecipient, paused, base, namedAuthority].every((fact) => fact !== null);

function findSettingFaults(network: Network, { paused, base }: EditionFacts): string[] {
  const counted = parseAmount(network.escrow_base, network.decimals);
  const wanted = counted.ok ? BigInt(counted.units) : 0n;
  const amounts = `${formatTokenUnits(network, base ?? 0n)} in the contract, the service counts with ${formatTokenUnits(network, wanted)}`;
  return [
    ...(paused ? ["the settlement contract is paused: it takes no payments"] : []),
    ...(base === 0n ? ["the settlement contract does not take the token"] : []),
    ...(base !== 0n && base !== wanted ? [`the threshold of an unrated provider is ${amounts}`] : []),
  ];
}

function findHolderFaults({ role, held }: RoleFacts, accounts: NetworkFacts["accounts"], prefix: string): string[] {
  const { holder } = SIGNER_ROLES[role];
  const key = `the ${holder}'s key, ${accounts[holder].address},`;
  return held === false ? [`${key} does not hold the role ${role}${formatPlace(prefix)}`] : [];
}

const findClosedFunctions = ({ role, closed }: RoleFacts, prefix: string): string[] =>
  closed.map((name) => `the role ${role} may not call ${name}${formatPlace(prefix)}`);

const formatPlace = (prefix: string): string => (prefix === "" ? "" : ` at ${prefix}authority`);

function findAccountFaults(network: Network, { accounts }: NetworkFacts): string[] {
  const least = computeGasThreshold(network);
  return SIGNERS.flatMap((signer) => {
    const { address, wei } = accounts[signer];
    if (address === null) return [`the ${signer}'s secret is not a key`];
    if (wei === null || wei >= least) return [];
    const [has, needed] = [wei, least].map((amount) => formatAmount(amount, WEI_DECIMALS));
    return [`the ${signer}'s account ${address} holds ${has} for gas, less than low_gas_eth ${needed}`];
  });
}

/** The native coin has 18 decimals on every EVM network. */
export const WEI_DECIMALS = 18;
