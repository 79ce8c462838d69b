// Compares what vaults hold with their lines, at the last booked block (MKT-23): more came without an event and is booked as a deposit, less
// is a difference for the operator.
import { editionsOf } from "../chain/events.ts";
import type { BlockAt, VaultOf } from "../chain/gateway.ts";
import { didHash } from "../chain/hashes.ts";
import { type Network, networkNamed } from "../chain/networks.ts";
import { commitAll } from "../commit.ts";
import type { Deps } from "../context.ts";
import { countedUnits } from "../core/money.ts";
import { Conflict } from "../core/retry.ts";
import { readBatch } from "../db/batch.ts";
import type { FollowerRow } from "../db/tables/chain.ts";
import type { EscrowRow } from "../db/tables/money.ts";
import { type Booked, emptyVault, lineOfSight } from "../escrow/ledger.ts";
import { editionOf } from "../escrow/states.ts";
import { bookedStatements } from "./book.ts";
import { followNetwork } from "./follow.ts";
import { findNewestLines } from "./lines-store.ts";
import { findEscrowsBehind, findEscrowsOfAll, findFollower, moveFollower, noteVaults } from "./store.ts";

/** Escrows of one comparison; a provider has one for each environment and network. */
const ESCROWS = 38;
/** How often a comparison that another run has overtaken is done again. */
const ATTEMPTS = 3;

/** Brings one provider's vault on a network up to date: false where the chain could not be read to its head. */
export async function syncVault(deps: Deps, did: string, network: string, until: number): Promise<boolean> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    if ((await followNetwork(deps, network, until, { whole: true })) !== "level") return false;
    const checked = await checkOnce(deps, network, (db) => ({ escrows: findEscrowsOfAll(db, network, [did]) }));
    if (checked !== "again") return checked === "checked";
  }
  return false;
}

/** The next vaults of a network, in the order of their providers; begins anew after the last one. */
export async function checkNextVaults(deps: Deps, network: string): Promise<void> {
  await checkOnce(deps, network, (db, follower) => ({
    escrows: findEscrowsBehind(db, follower.checkedDid, ESCROWS),
    next: pageOf,
  }));
}

type Page = { readonly rows: readonly EscrowRow[]; readonly checkedDid: string };

/** Whole providers alone: the last one of a full page may have further rows behind it. */
function pageOf(found: readonly EscrowRow[]): Page {
  if (found.length < ESCROWS) return { rows: found, checkedDid: "" };
  const last = found.at(-1)?.did;
  const rows = found.filter(({ did }) => did !== last);
  return { rows, checkedDid: rows.at(-1)?.did ?? last ?? "" };
}

type Chosen = {
  readonly escrows: ReturnType<typeof findEscrowsOfAll>;
  readonly next?: typeof pageOf;
};

async function checkOnce(
  deps: Deps,
  name: string,
  choose: (db: Deps["db"], follower: FollowerRow) => Chosen,
): Promise<"checked" | "again" | "unread"> {
  const { db, chain } = deps;
  const network = networkNamed(deps.config.networks, name);
  const { follower } = await readBatch(db, { follower: findFollower(db, name) });
  if (!follower) return "unread";
  const { escrows: chosen, next } = choose(db, follower);
  const found = (await readBatch(db, { escrows: chosen })).escrows;
  const { rows, checkedDid } = next ? next(found) : { rows: found, checkedDid: follower.checkedDid };
  // An edition that is not configured any more can't be asked.
  const escrows = rows.filter((row) => row.network === name && editionsOf(network).includes(editionOf(row, network)));
  const vaults = vaultsOf(network, escrows);
  if (vaults.length === 0 && follower.checkedDid === "") return "checked";
  const { lines } = await readBatch(db, {
    lines: findNewestLines(
      db,
      name,
      vaults.map(({ providerDidHash, contract }) => [providerDidHash, contract]),
    ),
  });
  const at = { number: follower.bookedBlock, hash: follower.bookedHash };
  const read = await chain.readVaults(name, at, vaults);
  if (!read.ok) return "unread";
  if (read.value.state === "forked") return "again";
  const { balances, time } = read.value;
  const booked = vaults.map(({ did, contract, vault }, place) => {
    const known = lines.find((line) => line.did === did && line.contract === contract);
    const held = countedUnits(balances[place] ?? 0n);
    const sight = { held, blockNumber: at.number, blockHash: at.hash, minedAt: time };
    return lineOfSight(known ?? emptyVault({ did, network: name, contract }), sight, vault);
  });
  if (!booked.every(isLevel) && !(await agrees(chain, name, at, vaults, balances))) return "unread";
  const touched = booked
    .filter((one) => one.lines.length > 0)
    .map(({ vault: { did, contract } }) => ({ did, contract }));
  if (checkedDid === follower.checkedDid && booked.every(isLevel)) return "checked";
  try {
    await commitAll(deps, [
      ...moveFollower(db, follower, { ...follower, checkedDid }),
      ...(touched.length > 0 ? noteVaults(db, follower, touched) : []),
      ...(await bookedStatements(deps, network, booked, escrows)),
    ]);
    return "checked";
  } catch (thrown) {
    if (thrown instanceof Conflict) return "again";
    throw thrown;
  }
}

/** What is booked or noted by a balance alone is said by both nodes, where there are two, or twice by the one (CHN-30). */
async function agrees(
  chain: Deps["chain"],
  network: string,
  at: BlockAt,
  vaults: readonly VaultOf[],
  balances: readonly bigint[],
): Promise<boolean> {
  const read = (await chain.readVaultsAgain(network, at, vaults)) ?? (await chain.readVaults(network, at, vaults));
  return read.ok && read.value.state === "read" && read.value.balances.join() === balances.join();
}

const isLevel = ({ lines, differences }: Booked): boolean => lines.length === 0 && differences.length === 0;

/** One for both environments. */
const vaultsOf = (network: Network, escrows: readonly EscrowRow[]) => [
  ...new Map(
    escrows.map((row) => {
      const [did, contract] = [row.did, editionOf(row, network)];
      return [`${did} ${contract}`, { did, contract, vault: row.vault, providerDidHash: didHash(did) }] as const;
    }),
  ).values(),
];
