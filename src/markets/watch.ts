// Reads the contract again for a quarter of an hour after an operation (MKT-14, CHN-19): a reorganisation may have undone a registration.
// Then its markets wait again and leave the document, and the queue repeats the operation.
import { didHash } from "../chain/hashes.ts";
import { networkNamed } from "../chain/networks.ts";
import { nextCheck, splitKey } from "../chain/operations.ts";
import { findOperation, findUnchecked, noteCheck } from "../chain/store.ts";
import { commitAll } from "../commit.ts";
import type { Deps } from "../context.ts";
import { FIRST } from "../core/due.ts";
import { retryConflicts } from "../core/retry.ts";
import { type Environment, isFinal } from "../core/vocabulary.ts";
import { commit, readBatch, type Statement } from "../db/batch.ts";
import type { MarketRow } from "../db/tables/agents.ts";
import type { OperationRow } from "../db/tables/chain.ts";
import { setChainThreshold } from "../escrow/store.ts";
import { certificateIn } from "../identity/aid.ts";
import { findEscrows, findMarkets, findNewestVersion, findPublicAgent } from "../identity/store.ts";
import type { EachJob } from "../jobs/job.ts";
import { raiseAlert } from "../journal/alerts.ts";
import { documentChange } from "./document.ts";
import { updateMarket } from "./store.ts";

const KIND = "provider_split";

export const watchRegistrations: EachJob = {
  kind: "each",
  name: "watch_registrations",
  find: async ({ db }, after, limit) => {
    const { due } = await readBatch(db, { due: findUnchecked(db, KIND, Date.now(), after ?? FIRST, limit) });
    return due;
  },
  record: async (deps, id) => {
    const [network = "", did = ""] = id.split(" ");
    return watchRegistration(deps, network, did);
  },
};

async function watchRegistration(deps: Deps, network: string, did: string): Promise<boolean> {
  const { db, chain } = deps;
  const { operation } = await readBatch(db, { operation: findOperation(db, splitKey(network, did)) });
  if (operation?.status !== "done" || operation.nextCheckAt === null) return false;
  const read = await chain.readProvider(network, didHash(did));
  // A node that does not answer proves nothing: the next minute asks again.
  if (!read.ok) return false;
  const { registered, operationalWallet, threshold } = read.value;
  const { wallet } = operation.wanted;
  const stands = registered && (wallet == null || wallet === operationalWallet);
  if (stands && threshold === BigInt(operation.wanted["threshold"] ?? 0)) {
    const checks = operation.checks + 1;
    await commit(db, [noteCheck(db, operation, checks, nextCheck(checks, Date.now()))]);
    return true;
  }
  await retryConflicts(() => takeBack(deps, operation, did, stands, Number(threshold)));
  return true;
}

/** Undoes a state that the contract has lost. `stands`: only the threshold was lost. */
async function takeBack(
  deps: Deps,
  operation: OperationRow,
  did: string,
  stands: boolean,
  threshold: number,
): Promise<void> {
  const { db, config } = deps;
  const { network } = operation;
  const { found, newest, sandbox, production, escrows } = await readBatch(db, {
    found: findPublicAgent(db, did),
    newest: findNewestVersion(db, did),
    sandbox: findMarkets(db, did, "sandbox"),
    production: findMarkets(db, did, "production"),
    escrows: findEscrows(db, did, "sandbox"),
  });
  if (!found) throw new Error("an operation without its agent");
  const now = deps.clock.now();
  const { environment } = found.agent;
  const rows = { sandbox, production };
  const moved = stands
    ? []
    : [...sandbox, ...production].filter((row) => row.network === network && row.status === "ACTIVE");
  const waiting = moved.map(
    (row): MarketRow => ({ ...row, status: "PROVISIONING", reason: "reorganised", updatedAt: now }),
  );
  const ownMoved = moved.some((row) => row.environment === environment);
  const markets = rows[environment].map((row) => waiting.find((one) => isSame(one, row)) ?? row);
  const ownEscrows = environment === "sandbox" ? escrows : await escrowsOf(deps, did, environment);
  const certificate = newest && certificateIn(newest.content);
  const source = { ...found, certificate, markets, escrows: ownEscrows };
  await commitAll(deps, [
    noteCheck(db, operation, operation.checks, null),
    ...moved.flatMap((row, i) => updateMarket(db, row, waiting[i] ?? row)),
    ...(ownMoved && !isFinal(found.agent.status) ? await documentChange(deps, source, now) : []),
    ...thresholdGone(deps, did, network, threshold),
    raiseAlert(db, {
      kind: "chain_reorganised",
      subject: `${did} on ${networkNamed(config.networks, network).network}`,
      message: "A reorganisation undid the provider's registration or threshold; it is being repeated.",
    }),
  ]);
  for (const one of new Set(moved.map((row) => row.environment))) {
    await deps.env.CHAIN_QUEUE.send({ kind: "provision_market", did, environment: one, network });
  }
}

const isSame = (a: MarketRow, b: MarketRow): boolean =>
  a.environment === b.environment && a.market === b.market && a.network === b.network;

async function escrowsOf({ db }: Deps, did: string, environment: Environment) {
  return (await readBatch(db, { escrows: findEscrows(db, did, environment) })).escrows;
}

/** Writes the contract's present threshold, so that the job writes the threshold again (MKT-20). */
const thresholdGone = ({ db }: Deps, did: string, network: string, threshold: number): Statement[] =>
  (["sandbox", "production"] as const).map((environment) =>
    setChainThreshold(db, { did, environment, network }, threshold),
  );
