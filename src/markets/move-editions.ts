// Moves providers to a new edition of the contract (CHN-22, MKT-22): another address in the configuration, where no provider is registered yet.
// A provider's markets wait until the new contract has its split; the balance in the earlier edition's vault stays there.
import { requireNetwork } from "../chain/networks.ts";
import type { Deps } from "../context.ts";
import { BEFORE_FIRST_DUE } from "../core/clock.ts";
import { MINUTE_MS } from "../core/limits.ts";
import { isFinal } from "../core/vocabulary.ts";
import { commit, readBatch, type Statement } from "../db/batch.ts";
import type { MarketRow } from "../db/tables/agents.ts";
import type { EditionRow } from "../db/tables/chain.ts";
import { parseCertificate } from "../identity/aid.ts";
import { findEscrows, findMarkets, findNewestVersion, findPublicAgent } from "../identity/store.ts";
import type { EachJob } from "../jobs/job.ts";
import { buildWalkJob, type WalkDefinition } from "../jobs/walk.ts";
import { findWalk, findWalks } from "../jobs/walk-store.ts";
import { signMarketChange } from "./own.ts";
import type { Provisioning } from "./settle.ts";
import { findEditions, planMoves, updateMarket } from "./store.ts";
import { NO_CHANGE, pickAskedWallet } from "./wallets.ts";

function readMove({ db }: Deps, subject: string) {
  const { did, environment } = parseMove(subject);
  return readBatch(db, {
    walk: findWalk(db, "edition_move", subject),
    provider: findPublicAgent(db, did),
    newest: findNewestVersion(db, did),
    markets: findMarkets(db, did, environment),
    escrows: findEscrows(db, did, environment),
  });
}
type MoveReads = Awaited<ReturnType<typeof readMove>>;

/** Each provider is a walk of one slice: its open markets wait, and the queue registers it. */
const editionMove: WalkDefinition<"edition_move", MoveReads> = {
  kind: "edition_move",
  job: "move_editions",
  slices: 1,
  readSlice: readMove,
  buildSlice: async (deps, { subject }, found) => {
    const move = parseMove(subject);
    const statements = await makeMarketsWait(deps, move, found);
    if (statements === null) return { statements: [], next: null };
    // If this message is lost, resume_market_provisioning finds the waiting markets.
    return {
      statements,
      next: null,
      notify: () => deps.env.CHAIN_QUEUE.send({ kind: "provision_market", ...move }),
    };
  },
};

function parseMove(subject: string): Provisioning {
  const [network = "", did = "", environment = ""] = subject.split(" ");
  return { network, did, environment: environment === "production" ? "production" : "sandbox" };
}

export const moveEditions: EachJob = {
  ...buildWalkJob(editionMove),
  find: async (deps, after, limit) => {
    const { db } = deps;
    const moves = findWalks(db, "edition_move", after ?? BEFORE_FIRST_DUE, limit);
    const found = await readBatch(db, { editions: findEditions(db), moves });
    const plans = findNewPlans(deps, found.editions);
    if (plans.length === 0) return found.moves;
    await commit(
      db,
      plans.flatMap((plan) => planMoves(db, plan)),
    );
    return (await readBatch(db, { moves })).moves;
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

/** Returns null if the provider has no market to move. */
async function makeMarketsWait(
  deps: Deps,
  { environment, network }: Provisioning,
  { provider, newest, markets, escrows }: MoveReads,
): Promise<Statement[] | null> {
  const { db, config } = deps;
  const escrow = escrows.find((row) => row.network === network);
  const present = requireNetwork(config.networks, network).settlement_contract.toLowerCase();
  const moved = !provider || !escrow || escrow.contract === present || escrow.contract === "";
  const own = markets.filter((row) => row.network === network);
  const open = own.filter((row) => row.status === "ACTIVE");
  const waiting = own.filter((row) => row.status === "PROVISIONING");
  if (moved || isFinal(provider.agent.status) || open.length + waiting.length === 0) return null;
  if (open.length === 0) return [];
  const now = deps.clock.now();
  const after = new Map(open.map((row) => [row, toWaitingRow(row, now)]));
  const source = {
    ...provider,
    certificate: newest && parseCertificate(newest.content),
    markets: markets.map((row) => after.get(row) ?? row),
    escrows,
  };
  const documented: Statement[] =
    environment === provider.agent.environment ? await signMarketChange(deps, source, now) : [];
  return [...[...after].flatMap(([before, row]) => updateMarket(db, before, row)), ...documented];
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
