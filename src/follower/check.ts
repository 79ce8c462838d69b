// Compares what vaults hold at the last booked block with their lines (MKT-23). More came without an event and is booked as a deposit; less is a
// difference for the operator.
import { listEditionContracts } from "../chain/events.ts";
import type { BlockAt, EditionVault } from "../chain/gateway.ts";
import { hashDid } from "../chain/hashes.ts";
import { type Network, requireNetwork } from "../chain/networks.ts";
import { commitAll } from "../commit.ts";
import type { Deps } from "../context.ts";
import { Conflict } from "../core/retry.ts";
import { capBaseUnits } from "../core/text.ts";
import { commit, type ReadResults, readBatch, type Statement } from "../db/batch.ts";
import type { FollowerRow } from "../db/tables/chain.ts";
import type { EscrowRow, LedgerLine } from "../db/tables/money.ts";
import { type Booked, createEmptyVault, type Difference, toLineOfSight } from "../escrow/ledger.ts";
import { pickEditionContract } from "../escrow/states.ts";
import { type Alert, raiseAlert } from "../journal/alerts.ts";
import { recordBooked } from "./book.ts";
import { followNetwork } from "./follow.ts";
import { findNewestLines } from "./lines-store.ts";
import { rewindForReread } from "./rewind.ts";
import {
  findDifferencesOf,
  findEscrowsBookedLast,
  findEscrowsOfProviders,
  findFollower,
  findNextEscrows,
  moveFollower,
  noteVaults,
} from "./store.ts";

/** Escrows of one comparison that are next in turn; a provider has one for each environment and network. */
const ESCROWS_IN_TURN = 24;
/** Further escrows, whose vaults got lines last. */
const ESCROWS_BOOKED_LAST = 10;
/** How often a comparison is tried if other runs overtake it. */
const ATTEMPTS = 3;

/** Brings one provider's vault on a network up to date. Returns false if the chain could not be read to its head. */
export async function syncVault(deps: Deps, did: string, network: string, until: number): Promise<boolean> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    if ((await followNetwork(deps, network, until, { whole: true })) !== "level") return false;
    const checked = await compareOnce(deps, network, { escrows: findEscrowsOfProviders(deps.db, network, [did]) });
    if (checked !== "again") return checked === "checked";
  }
  return false;
}

/** Compares the vaults that got lines last, and the next ones of a network in the order of their providers. After the last one it starts again. */
export async function checkNextVaults(deps: Deps, network: string): Promise<void> {
  await compareOnce(deps, network, buildTurnReads(deps, network));
}

export const buildTurnReads = ({ db }: Deps, network: string) => ({
  next: findNextEscrows(db, network, ESCROWS_IN_TURN),
  last: findEscrowsBookedLast(db, network, ESCROWS_BOOKED_LAST),
});
type EscrowsInTurn = ReadResults<ReturnType<typeof buildTurnReads>>;

/** Returns the last provider of the vaults to compare if each balance equals its lines, otherwise null. */
export async function findLevelTurnEnd(
  deps: Deps,
  network: Network,
  at: BlockAt,
  { next, last }: EscrowsInTurn,
): Promise<string | null> {
  const { rows, checkedDid } = takeWholeProviders(next);
  const escrows = pickEscrowsOfNetwork(network, [...rows, ...last]);
  if (escrows.length === 0) return checkedDid;
  const sight = await compareBalances(deps, network, at, escrows);
  return typeof sight !== "string" && sight.booked.every(isVaultLevel) ? checkedDid : null;
}

type Page = { readonly rows: readonly EscrowRow[]; readonly checkedDid: string };

/** Takes whole providers only: the last one of a full page may have further rows. */
function takeWholeProviders(found: readonly EscrowRow[]): Page {
  if (found.length < ESCROWS_IN_TURN) return { rows: found, checkedDid: "" };
  const last = found.at(-1)?.did;
  const rows = found.filter(({ did }) => did !== last);
  return { rows, checkedDid: rows.at(-1)?.did ?? last ?? "" };
}

/** `escrows`: these are compared, and the turn stays where it is. */
type ChosenReads = ReturnType<typeof buildTurnReads> | { readonly escrows: ReturnType<typeof findEscrowsOfProviders> };

async function compareOnce(deps: Deps, name: string, chosen: ChosenReads): Promise<"checked" | "again" | "unread"> {
  const { db, chain } = deps;
  const network = requireNetwork(deps.config.networks, name);
  const { follower, ...found } = await readBatch(db, { follower: findFollower(db, name), ...chosen });
  if (!follower) return "unread";
  const { rows, checkedDid } =
    "escrows" in found ? { rows: found.escrows, checkedDid: follower.checkedDid } : takeWholeProviders(found.next);
  const escrows = pickEscrowsOfNetwork(network, [...rows, ...("last" in found ? found.last : [])]);
  if (escrows.length === 0 && follower.checkedDid === "") return "checked";
  const at = { number: follower.bookedBlock, hash: follower.bookedHash };
  const sight = await compareBalances(deps, network, at, escrows);
  if (typeof sight === "string") return sight;
  const { vaults, lines, balances, booked } = sight;
  const agreed = booked.every(isVaultLevel) || (await confirmBalances(chain, name, at, vaults, balances));
  if (agreed === false) return "unread";
  const strange = new Set<Booked>();
  if (network.fallback_rpc_url === undefined) {
    const reread = await rereadShortVault(deps, network, follower, { booked, lines });
    if (reread !== "noted") return reread;
    for (const [place, one] of booked.entries()) {
      const vault = vaults[place]?.vault ?? "";
      const explained = await isExplainedByTransfers(chain, network, { booked: one, vault, lines, at });
      if (explained === "unread") return "unread";
      if (!explained) strange.add(one);
    }
  }
  const believed = booked.filter((one) => !strange.has(one));
  const touched = believed
    .filter((one) => one.lines.length > 0)
    .map(({ vault: { did, contract } }) => ({ did, contract }));
  if (checkedDid === follower.checkedDid && believed.every(isVaultLevel) && strange.size === 0) return "checked";
  try {
    if (agreed === "unanswered") {
      const differences = booked.flatMap((one) => one.differences);
      await commit(db, [
        ...moveFollower(db, follower, { ...follower, checkedDid }),
        ...alertUnconfirmed(db, differences),
      ]);
      return "unread";
    }
    await commitAll(deps, [
      ...moveFollower(db, follower, { ...follower, checkedDid }),
      ...(touched.length > 0 ? noteVaults(db, follower, touched) : []),
      ...(await recordBooked(deps, network, believed, escrows)),
      ...[...strange].map(({ vault }) => raiseAlert(db, toUnexplainedAlert(vault))),
    ]);
    return "checked";
  } catch (thrown) {
    if (thrown instanceof Conflict) return "again";
    throw thrown;
  }
}

/** Reads the balances of vaults at a block, and compares them with their lines. */
async function compareBalances({ db, chain }: Deps, network: Network, at: BlockAt, escrows: readonly EscrowRow[]) {
  const { network: name } = network;
  const vaults = toUniqueVaults(network, escrows);
  const { lines } = await readBatch(db, {
    lines: findNewestLines(
      db,
      name,
      vaults.map(({ providerDidHash, contract }) => [providerDidHash, contract]),
    ),
  });
  const read = await chain.readVaults(name, at, vaults);
  if (!read.ok) return "unread";
  if (read.value.state === "forked") return "again";
  const { balances, time } = read.value;
  const booked = vaults.map(({ did, contract, vault }, place) => {
    const known = lines.find((line) => line.did === did && line.contract === contract);
    const held = capBaseUnits(balances[place] ?? 0n);
    const sight = { held, blockNumber: at.number, blockHash: at.hash, minedAt: time };
    return toLineOfSight(known ?? createEmptyVault({ did, network: name, contract }), sight, vault);
  });
  return { vaults, lines, balances, booked };
}

/** Whether a second reading has the same balances: the second node's, or another one of the only node (CHN-30). */
async function confirmBalances(
  chain: Deps["chain"],
  network: string,
  at: BlockAt,
  vaults: readonly EditionVault[],
  balances: readonly bigint[],
): Promise<boolean | "unanswered"> {
  const second = await chain.readVaultsAgain(network, at, vaults);
  if (second?.ok === false) return "unanswered";
  const read = second ?? (await chain.readVaults(network, at, vaults));
  return read.ok && read.value.state === "read" && read.value.balances.join() === balances.join();
}

/**
 * Reads the blocks from a vault's newest line on again, once, before it is noted that the vault holds less than its lines say: the only node may have
 * reported a movement that never happened.
 */
async function rereadShortVault(
  deps: Deps,
  network: Network,
  follower: FollowerRow,
  { booked, lines }: { readonly booked: readonly Booked[]; readonly lines: readonly LedgerLine[] },
): Promise<"noted" | "again" | "unread"> {
  const dids = booked.flatMap(({ differences }) => differences.map(({ did }) => did));
  if (dids.length === 0) return "noted";
  const { noted } = await readBatch(deps.db, { noted: findDifferencesOf(deps.db, network.network, dids) });
  const isNoted = (one: Difference): boolean =>
    noted.some(
      ({ did, contract, held, expected }) =>
        did === one.did && contract === one.contract && held === one.held && expected === one.expected,
    );
  const short = booked.find(({ differences }) => !differences.every(isNoted));
  const newest = lines.find((line) => line.did === short?.vault.did && line.contract === short.vault.contract);
  if (!newest) return "noted";
  const rereadFor = `line ${newest.number} of ${newest.did}`;
  if (follower.rereadFor === rereadFor) return "noted";
  const rewound = await rewindForReread(deps, network, follower, { number: newest.blockNumber - 1, rereadFor });
  return rewound === "beyond" ? "noted" : rewound === "rewound" ? "again" : "unread";
}

type SightedVault = {
  readonly booked: Booked;
  /** The address of the vault. */
  readonly vault: string;
  readonly lines: readonly LedgerLine[];
  readonly at: BlockAt;
};

/** Whether the token's own events explain what a single node claims that a vault holds beyond its lines. */
async function isExplainedByTransfers(
  chain: Deps["chain"],
  { network, first_block }: Network,
  { booked, vault, lines, at }: SightedVault,
): Promise<boolean | "unread"> {
  const enough = BigInt(booked.lines.reduce((sum, { amount }) => sum + amount, 0));
  if (enough === 0n) return true;
  const { did, contract } = booked.vault;
  const newest = lines.find((line) => line.did === did && line.contract === contract);
  const after = newest?.blockNumber ?? first_block - 1;
  const received = await chain.readReceived(network, { address: vault, after, to: at.number, enough });
  return received.ok ? received.value >= enough : "unread";
}

const toUnexplainedAlert = ({ did, network }: VaultOfLines): Alert => ({
  kind: "network",
  subject: `the vault of ${did} on ${network}`,
  message:
    "The node reports more in the vault than the contract's events and the token's transfers explain: the excess is not booked. An old transfer " +
    "is booked with the next event of the vault.",
});
type VaultOfLines = Booked["vault"];

/** Alerts that one of two nodes reports a difference. It is noted only once both do. */
const alertUnconfirmed = (db: Deps["db"], differences: readonly Difference[]): Statement[] =>
  differences.map(({ did, network, held, expected }) =>
    raiseAlert(db, {
      kind: "reconciliation",
      subject: `${did} on ${network}`,
      message:
        `According to one of two nodes the vault held ${held} base units, but should have held ${expected} according to its ledger lines. The other ` +
        "node does not answer, so no difference is recorded yet.",
    }),
  );

/** Each escrow once. An edition that is no longer configured can't be asked. */
const pickEscrowsOfNetwork = (network: Network, rows: readonly EscrowRow[]): EscrowRow[] => [
  ...new Map(
    rows
      .filter(
        (row) =>
          row.network === network.network && listEditionContracts(network).includes(pickEditionContract(row, network)),
      )
      .map((row) => [`${row.did} ${row.environment}`, row]),
  ).values(),
];

const isVaultLevel = ({ lines, differences }: Booked): boolean => lines.length === 0 && differences.length === 0;

/** One vault for both environments. */
const toUniqueVaults = (network: Network, escrows: readonly EscrowRow[]) => [
  ...new Map(
    escrows.map((row) => {
      const [did, contract] = [row.did, pickEditionContract(row, network)];
      return [`${did} ${contract}`, { did, contract, vault: row.vault, providerDidHash: hashDid(did) }] as const;
    }),
  ).values(),
];
