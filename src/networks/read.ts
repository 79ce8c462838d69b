// Lists the networks for operators (CHN-32): one trip, another one if calls wait, and then one request to each node, all at once.
import { type OperatorCall, readPage } from "../call.ts";
import {
  computeCallExpiry,
  computeOldestUnexpired,
  describeCall,
  encodeCancellation,
  isCancellableByGuardian,
  type NameProvider,
} from "../chain/acts.ts";
import { computeLagSeconds, findClosure } from "../chain/availability.ts";
import { type Followed, findFollowedNetworks } from "../chain/availability-store.ts";
import type { Hash } from "../chain/hashes.ts";
import { findLiveFaults, WEI_DECIMALS } from "../chain/live-faults.ts";
import {
  type EditionFacts,
  type NetworkFacts,
  type NodeFacts,
  type RoleFacts,
  readNetworkFacts,
  type SignerAddresses,
} from "../chain/network-facts.ts";
import { computeGasThreshold, formatTokenUnits, type Network, toCaip2 } from "../chain/networks.ts";
import { SIGNER_ROLES, SIGNERS, type SignerName, type SignerRole } from "../chain/sign.ts";
import { toIso } from "../core/clock.ts";
import { SCHEDULED_SHOWN_MAX } from "../core/limits.ts";
import { hashListing, toPage } from "../core/page.ts";
import { formatAmount } from "../core/text.ts";
import { type Database, type Read, readBatch } from "../db/batch.ts";
import type { KeyActRow } from "../db/tables/chain.ts";
import { countScheduled, findScheduled } from "../follower/act-store.ts";
import { toProviderNames } from "../follower/acts.ts";
import { findProvidersByHash } from "../follower/lines-store.ts";
import { createSigner } from "../objects/signers.ts";
import type { NetworkPage, NetworkState } from "./responses.ts";
import type { NetworkQuery } from "./schema.ts";

export async function getNetworks(call: OperatorCall, query: NetworkQuery): Promise<NetworkPage> {
  const { db, deps, read } = call;
  const page = await readPage(call, query, hashListing("operator_networks", [], {}));
  const rest = deps.config.networks
    .filter(({ network }) => network > (page.after?.id ?? ""))
    .toSorted((one, other) => (one.network < other.network ? -1 : 1));
  const { data: networks, ...place } = toPage(
    rest,
    page,
    ({ network }) => ({ at: 0, id: network }),
    (one) => one,
  );
  const names = networks.map(({ network }) => network);
  // This read also authenticates the caller, before a node is asked.
  const now = Date.now();
  const { followed, ...waiting } = await read({
    followed: findFollowedNetworks(db, names),
    ...buildScheduledReads(db, names, computeOldestUnexpired(now)),
  });
  const nameOf = await readProviderNames(db, networks, waiting);
  const facts = await readNetworkFacts(networks, await readSignerAddresses(deps.env, names));
  const data = facts.map(({ network, ...seen }) => ({
    network: network.network,
    caip2: toCaip2(network),
    configured: toConfiguredView(network),
    ...toChainView(network, seen),
    scheduled: toScheduledView(network, waiting, nameOf),
    follower: toFollowerView(network, followed, now),
    faults: findLiveFaults(network, seen, now),
  }));
  return { data, ...place, configuration_fault: deps.config.networksFault };
}

/** A key has one address on all networks. */
async function readSignerAddresses(
  env: OperatorCall["deps"]["env"],
  [network = ""]: readonly string[],
): Promise<SignerAddresses> {
  const [registrar, arbiter] = await Promise.all(SIGNERS.map((signer) => readSignerAddress(env, signer, network)));
  return { registrar: registrar ?? null, arbiter: arbiter ?? null };
}

/** Null if the secret is not a valid key. */
async function readSignerAddress(
  env: OperatorCall["deps"]["env"],
  signer: SignerName,
  network: string,
): Promise<string | null> {
  const address = await createSigner(env, signer, network)
    .address()
    .catch(() => null);
  return address?.ok ? address.value : null;
}

const toConfiguredView = (network: Network): NetworkState["configured"] => ({
  chain_id: network.chain_id,
  kind: network.kind,
  settlement_contract: network.settlement_contract,
  authority: network.authority,
  earlier_editions: network.earlier_editions,
  token: network.token,
  currency: network.currency,
  decimals: network.decimals,
  escrow_base: network.escrow_base,
  required_confirmations: network.required_confirmations,
  first_block: network.first_block,
  ask_twice_from: network.ask_twice_from,
  block_seconds: network.block_seconds,
  expected_operations: network.expected_operations,
  explorer: network.explorer ?? null,
  max_fee_gwei: network.max_fee_gwei,
  max_tip_gwei: network.max_tip_gwei,
  low_gas_eth: network.low_gas_eth,
});

type OnChain = Pick<NetworkState, "node" | "fallback_node" | "token" | "editions" | "signers">;

const toChainView = (network: Network, { node, fallback, token, editions, accounts }: NetworkFacts): OnChain => ({
  node: toNodeView(node),
  fallback_node: fallback && toNodeView(fallback),
  token: token && { has_code: token.hasCode, decimals: token.decimals, symbol: token.symbol },
  editions: editions.map((edition) => toEditionView(network, edition)),
  signers: SIGNERS.map((signer) => {
    const { address, wei } = accounts[signer];
    const balance = wei === null ? null : formatAmount(wei, WEI_DECIMALS);
    return { signer, address, balance_eth: balance, low_gas: wei === null ? null : wei < computeGasThreshold(network) };
  }),
});

const toNodeView = ({ chainId, head }: NodeFacts): NetworkState["node"] => ({
  chain_id: chainId,
  head_block: head?.number ?? null,
  head_at: head && toIso(head.time),
});

function toEditionView(network: Network, facts: EditionFacts): NetworkState["editions"][number] {
  const delayOf = (role: SignerRole) => facts.roles.find((one) => one.role === role)?.delay ?? null;
  return {
    settlement_contract: facts.contract,
    authority: facts.namedAuthority,
    has_code: facts.hasCode,
    fee_bps: facts.feeBps,
    fee_recipient: facts.feeRecipient,
    paused: facts.paused,
    token_base: facts.base === null ? null : formatTokenUnits(network, facts.base),
    wallet_delay_seconds: delayOf("REGISTRAR_DELAYED"),
    payout_delay_seconds: delayOf("ARBITER_DELAYED"),
    admin_delay_seconds: facts.adminDelay,
    roles: facts.roles.map(toRoleView),
  };
}

const toRoleView = ({
  role,
  held,
  delay,
  grantDelay,
}: RoleFacts): NetworkState["editions"][number]["roles"][number] => ({
  role,
  holder: SIGNER_ROLES[role].holder,
  held,
  delay_seconds: delay,
  grant_delay_seconds: grantDelay,
});

/** A list and a count for each network, by its name. */
type WaitingCalls = { readonly [read: string]: unknown };
const [LISTED, COUNTED] = ["calls on ", "count on "];

const buildScheduledReads = (db: Database, names: readonly string[], readySince: number) =>
  Object.fromEntries(
    names.flatMap((name): [string, Read<readonly KeyActRow[] | number>][] => [
      [LISTED + name, findScheduled(db, name, readySince, SCHEDULED_SHOWN_MAX)],
      [COUNTED + name, countScheduled(db, name, readySince)],
    ]),
  );

const pickCalls = ({ network }: Network, waiting: WaitingCalls) => waiting[LISTED + network] as readonly KeyActRow[];

/** Looks up the providers that waiting calls name. */
async function readProviderNames(
  db: Database,
  networks: readonly Network[],
  waiting: WaitingCalls,
): Promise<NameProvider> {
  const hashes = new Set<Hash>();
  const note: NameProvider = (hash) => {
    hashes.add(hash);
    return hash;
  };
  for (const network of networks) for (const call of pickCalls(network, waiting)) describeEffect(network, call, note);
  if (hashes.size === 0) return toProviderNames([]);
  return toProviderNames((await readBatch(db, { providers: findProvidersByHash(db, [...hashes]) })).providers);
}

/** The calls that wait in the authorities, as the follower has read them. */
function toScheduledView(network: Network, waiting: WaitingCalls, nameOf: NameProvider): NetworkState["scheduled"] {
  const calls = pickCalls(network, waiting).map((call) => toCallView(network, call, nameOf));
  return { count: waiting[COUNTED + network.network] as number, calls };
}

function describeEffect(network: Network, { caller, target, data }: KeyActRow, nameOf: NameProvider): string | null {
  if (caller === null || target === null || data === null) return null;
  return `It ${describeCall(network, { caller, target, data }, nameOf)}.`;
}

function toCallView(
  network: Network,
  row: KeyActRow,
  nameOf: NameProvider,
): NetworkState["scheduled"]["calls"][number] {
  const { operationId, authority, caller, target, data, asked, txHash, minedAt, readyAt } = row;
  if (operationId === null || caller === null || target === null || readyAt === null)
    throw new Error("unreachable: a scheduled call has all of these");
  const call = data === null ? null : { caller, target, data };
  return {
    operation_id: operationId,
    ...{ authority, caller, target, data },
    effect: describeEffect(network, row, nameOf),
    asked_for: asked,
    tx_hash: txHash,
    scheduled_at: toIso(minedAt),
    executable_from: toIso(readyAt),
    executable_until: toIso(computeCallExpiry(readyAt)),
    guardian_cancels: call && isCancellableByGuardian(network, call),
    cancellation: call && { to: authority, data: encodeCancellation(call) },
  };
}

function toFollowerView({ network }: Network, followed: readonly Followed[], now: number): NetworkState["follower"] {
  const one = followed.find((each) => each.network === network);
  return {
    read_through: one && one.readThrough > 0 ? toIso(one.readThrough) : null,
    lag_seconds: one ? computeLagSeconds(one, now) : null,
    head_block: one?.headBlock || null,
    booked_block: one?.bookedBlock ?? null,
    closed: one ? findClosure(one, now) : null,
  };
}
