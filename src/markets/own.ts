// Lists and removes a provider's own markets (MKT-11, MKT-13).

import { refuseFinal } from "../agents/revise.ts";
import type { MarketView } from "../agents/schema.ts";
import { toMarketView } from "../agents/views.ts";
import { type ManagementCall, type ManagementCaller, type Precheck, precheck, readPage } from "../call.ts";
import { findNetwork } from "../chain/networks.ts";
import { toSplitKey } from "../chain/split.ts";
import { recheckOperation } from "../chain/store.ts";
import { requireConfirmed } from "../core/confirmed.ts";
import { ServiceError } from "../core/errors.ts";
import { hashListing, type Page, toPage } from "../core/page.ts";
import { listMarketCodes, parseCertificate } from "../identity/aid.ts";
import { type AgentWithPrincipal, findEscrows, findMarkets, findNewestVersion } from "../identity/store.ts";
import { recordActivity } from "../journal/activity.ts";
import type { MarketsQuery } from "./agent-schema.ts";
import { signMarketChange } from "./document.ts";
import { deleteMarket, listMarketRows, refusePromoted } from "./store.ts";
import { diffWallets } from "./wallets.ts";

export const buildMarketReads = ({ db, environment }: ManagementCall, did: string) => ({
  markets: findMarkets(db, did, environment),
  escrows: findEscrows(db, did, environment),
  newest: findNewestVersion(db, did),
});

/** In production the wallet receives real money (CRED-30). */
export function refuseUnconfirmedWallet(caller: ManagementCaller): void {
  if (caller.environment === "production") requireConfirmed(caller);
}

/** Refuses the call before the faults of the removal are reported. */
export const precheckRemoval = (): Precheck =>
  precheck<Record<never, never>, ManagementCaller>({}, ({ caller }) => {
    refuseUnconfirmedWallet(caller);
    return [];
  });

export async function listMarkets(call: ManagementCall, did: string, query: MarketsQuery): Promise<Page<MarketView>> {
  const { db, environment } = call;
  const page = await readPage(call, query, hashListing("agent markets", [environment, did], {}));
  const [market = "", network = ""] = page.after?.id.split(" ") ?? [];
  const { rows } = await call.read({
    rows: listMarketRows(db, did, environment, { limit: page.limit, after: [market, network] }),
  });
  return toPage(
    rows,
    page,
    (row) => ({ at: 0, id: `${row.market} ${row.network}` }),
    (row) => toMarketView(call.deps.config, row),
  );
}

/** Removes a market. The vault and its balance stay: they belong to the provider, not to the market (MKT-13). */
export async function removeMarket(
  call: ManagementCall<AgentWithPrincipal>,
  did: string,
  market: string,
  network: string,
): Promise<null> {
  const { db, now, deps, environment } = call;
  const { object: found, newest, markets, escrows, caller } = await call.read(buildMarketReads(call, did));
  const { agent } = found;
  const name = findNetwork(deps.config.networks, network)?.network;
  const row = markets.find((candidate) => candidate.market === market && candidate.network === name);
  if (!row) throw new ServiceError("not_found");
  refuseUnconfirmedWallet(caller);
  refuseFinal(found, now);
  const left = markets.filter((candidate) => candidate !== row);
  const own = environment === agent.environment;
  const certificate = newest && parseCertificate(newest.content);
  await call.commit(
    [
      ...deleteMarket(db, row),
      // The market's wallet may be on its way to the contract.
      ...(row.status === "PROVISIONING" ? [recheckOperation(db, toSplitKey(row.network, did), Date.now())] : []),
      ...(own
        ? await signMarketChange(deps, { ...found, certificate, markets: left, escrows }, now)
        : [refusePromoted(db, agent)]),
      recordActivity(db, { platformId: agent.platformId, environment }, now, {
        action: "agent.markets_changed",
        actor: caller.actor,
        subject: { type: "agent", id: did },
        changes: {
          authorized_markets: { from: listMarketCodes(markets), to: listMarketCodes(left) },
          ...diffWallets(markets, left),
        },
      }),
    ],
    null,
  );
  return null;
}
