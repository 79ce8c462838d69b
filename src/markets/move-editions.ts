// Takes providers to a new edition of the contract (CHN-22, MKT-22): it is another address in the configuration, where nobody is registered yet. A
// provider's markets wait until the new contract has its split; what the vault of the earlier edition holds stays there.
import { networkNamed } from "../chain/networks.ts";
import { commitAll } from "../commit.ts";
import type { Deps } from "../context.ts";
import { type Due, FIRST } from "../core/due.ts";
import { retryConflicts } from "../core/retry.ts";
import { isEnvironment, isFinal } from "../core/vocabulary.ts";
import { commit, readBatch, type Statement } from "../db/batch.ts";
import type { MarketRow } from "../db/tables/agents.ts";
import { findOlderEditions, noteEdition } from "../escrow/store.ts";
import { certificateIn } from "../identity/aid.ts";
import { findEscrows, findMarkets, findNewestVersion, findPublicAgent } from "../identity/store.ts";
import type { EachJob } from "../jobs/job.ts";
import { documentChange } from "./document.ts";
import type { Provisioning } from "./settle.ts";
import { updateMarket } from "./store.ts";
import { askedWallet, NO_CHANGE } from "./wallets.ts";

export const moveEditions: EachJob = {
  kind: "each",
  name: "move_editions",
  find: async ({ db, config }, after, limit) => {
    const [from = "", contract = "", did = "", environment = ""] = (after ?? FIRST).id.split(" ");
    // An edition has no instant at which it was due: the job states no lag.
    const now = Date.now();
    const due: Due[] = [];
    for (const { network, settlement_contract } of [...config.networks].sort((a, b) =>
      a.network < b.network ? -1 : 1,
    )) {
      if (network < from) continue;
      const key = network === from ? { contract, did, environment: environment as MarketRow["environment"] } : NOWHERE;
      const ranges = findOlderEditions(db, { network, contract: settlement_contract.toLowerCase() }, key, limit);
      const found = await readBatch(db, Object.fromEntries(ranges.map((range, n) => [String(n), range])));
      for (const row of Object.values(found).flat())
        due.push({ at: now, id: `${network} ${row.contract} ${row.did} ${row.environment}` });
    }
    return due.slice(0, limit);
  },
  record: (deps, id) => {
    const [network = "", , did = "", environment = ""] = id.split(" ");
    if (!isEnvironment(environment)) return Promise.resolve(false);
    return retryConflicts(() => moveEdition(deps, { did, environment, network }));
  },
};

const NOWHERE = { contract: "", did: "", environment: "" as MarketRow["environment"] };

/** Its open markets wait, and the queue registers it. Safe to run at any time and twice. */
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
  const present = networkNamed(config.networks, network).settlement_contract.toLowerCase();
  if (!found || !escrow || escrow.contract === present || escrow.contract === "") return false;
  const own = markets.filter((row) => row.network === network);
  const open = own.filter((row) => row.status === "ACTIVE");
  const waiting = own.filter((row) => row.status === "PROVISIONING");
  if (isFinal(found.agent.status) || open.length + waiting.length === 0) {
    await commit(db, [noteEdition(db, escrow, present)]);
    return true;
  }
  if (open.length > 0) {
    const now = deps.clock.now();
    const after = new Map(open.map((row) => [row, again(row, now)]));
    const source = {
      ...found,
      certificate: newest && certificateIn(newest.content),
      markets: markets.map((row) => after.get(row) ?? row),
      escrows,
    };
    const documented: Statement[] =
      environment === found.agent.environment ? await documentChange(deps, source, now) : [];
    await commitAll(deps, [...[...after].flatMap(([before, row]) => updateMarket(db, before, row)), ...documented]);
  }
  await env.CHAIN_QUEUE.send({ kind: "provision_market", ...job });
  return true;
}

/** With the wallet that it asks for: a first one in a contract does not wait. */
const again = (row: MarketRow, updatedAt: number): MarketRow => ({
  ...row,
  ...NO_CHANGE,
  operationalWallet: askedWallet(row) ?? row.operationalWallet,
  status: "PROVISIONING",
  reason: "new_edition",
  updatedAt,
});
