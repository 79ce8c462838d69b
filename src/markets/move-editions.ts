// Moves providers to a new edition of the contract (CHN-22, MKT-22): another address in the configuration, where no provider is registered yet.
// A provider's markets wait until the new contract has its split; the balance in the earlier edition's vault stays there.
import { requireNetwork } from "../chain/networks.ts";
import { commitAll } from "../commit.ts";
import type { Deps } from "../context.ts";
import { BEFORE_FIRST_DUE } from "../core/due.ts";
import { MINUTE_MS } from "../core/limits.ts";
import { retryConflicts } from "../core/retry.ts";
import { isEnvironment, isFinal } from "../core/vocabulary.ts";
import { commit, readBatch, type Statement } from "../db/batch.ts";
import type { MarketRow } from "../db/tables/agents.ts";
import type { EditionRow } from "../db/tables/chain.ts";
import { parseCertificate } from "../identity/aid.ts";
import { findEscrows, findMarkets, findNewestVersion, findPublicAgent } from "../identity/store.ts";
import type { EachJob } from "../jobs/job.ts";
import { signMarketChange } from "./document.ts";
import { endMove, findEditions, findMoves, planMoves } from "./editions-store.ts";
import type { Provisioning } from "./settle.ts";
import { updateMarket } from "./store.ts";
import { NO_CHANGE, pickAskedWallet } from "./wallets.ts";

export const moveEditions: EachJob = {
  kind: "each",
  name: "move_editions",
  find: async (deps, after, limit) => {
    const { db } = deps;
    const from = after ?? BEFORE_FIRST_DUE;
    const { editions, moves } = await readBatch(db, { editions: findEditions(db), moves: findMoves(db, from, limit) });
    const plans = findNewPlans(deps, editions);
    if (plans.length === 0) return moves;
    await commit(
      db,
      plans.flatMap((plan) => planMoves(db, plan)),
    );
    return (await readBatch(db, { moves: findMoves(db, from, limit) })).moves;
  },
  record: (deps, id) => {
    const [network = "", did = "", environment = ""] = id.split(" ");
    if (!isEnvironment(environment)) return Promise.resolve(false);
    return retryConflicts(() => moveEdition(deps, { did, environment, network }));
  },
};

/** During a rollout, a Worker with the earlier configuration may still register providers in the earlier edition, so all are scanned again. */
const PLANS = 2;
const BETWEEN_PLANS_MS = 10 * MINUTE_MS;

function findNewPlans({ config }: Deps, editions: readonly EditionRow[]): EditionRow[] {
  const now = Date.now();
  return config.networks.flatMap(({ network, settlement_contract }) => {
    const contract = settlement_contract.toLowerCase();
    const known = editions.find((row) => row.network === network);
    const plan = { network, contract, plannedAt: now };
    if (known?.contract !== contract) return [{ ...plan, plans: 1 }];
    if (known.plans >= PLANS || now < known.plannedAt + BETWEEN_PLANS_MS) return [];
    return [{ ...plan, plans: known.plans + 1 }];
  });
}

/** Makes the provider's open markets wait, and lets the queue register it. Safe to run at any time and twice. */
async function moveEdition(deps: Deps, job: Provisioning): Promise<boolean> {
  const { db, config, env } = deps;
  const { did, environment, network } = job;
  const { found, newest, markets, escrows } = await readBatch(db, {
    found: findPublicAgent(db, did),
    newest: findNewestVersion(db, did),
    markets: findMarkets(db, did, environment),
    escrows: findEscrows(db, did, environment),
  });
  const escrow = escrows.find((row) => row.network === network);
  const present = requireNetwork(config.networks, network).settlement_contract.toLowerCase();
  const moved = !found || !escrow || escrow.contract === present || escrow.contract === "";
  const own = markets.filter((row) => row.network === network);
  const open = own.filter((row) => row.status === "ACTIVE");
  const waiting = own.filter((row) => row.status === "PROVISIONING");
  if (moved || isFinal(found.agent.status) || open.length + waiting.length === 0) {
    await commit(db, [endMove(db, job)]);
    return false;
  }
  const statements: Statement[] = [];
  if (open.length > 0) {
    const now = deps.clock.now();
    const after = new Map(open.map((row) => [row, toWaitingRow(row, now)]));
    const source = {
      ...found,
      certificate: newest && parseCertificate(newest.content),
      markets: markets.map((row) => after.get(row) ?? row),
      escrows,
    };
    const documented: Statement[] =
      environment === found.agent.environment ? await signMarketChange(deps, source, now) : [];
    statements.push(...[...after].flatMap(([before, row]) => updateMarket(db, before, row)), ...documented);
  }
  // If this message is lost, resume_market_provisioning finds the waiting markets.
  await commitAll(deps, [...statements, endMove(db, job)]);
  await env.CHAIN_QUEUE.send({ kind: "provision_market", ...job });
  return true;
}

/** The market waits with the wallet that it asks for: the first wallet in a contract has no delay. */
const toWaitingRow = (row: MarketRow, updatedAt: number): MarketRow => ({
  ...row,
  ...NO_CHANGE,
  operationalWallet: pickAskedWallet(row) ?? row.operationalWallet,
  status: "PROVISIONING",
  reason: "new_edition",
  updatedAt,
});
