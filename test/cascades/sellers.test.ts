// The events of a cascade show each seller as GET shows it, with any markets and vaults, and each seller's rows are read once (PRN-17).
import { and, eq } from "drizzle-orm";
import { beforeAll, describe, expect, it } from "vitest";
import { commit } from "../../src/db/batch.ts";
import { agentMarkets } from "../../src/db/tables/agents.ts";
import { events } from "../../src/db/tables/journal.ts";
import { insertMarket } from "../../src/markets/store.ts";
import { account } from "../support/chain.ts";
import { COPY_DID, copyRow } from "../support/copies.ts";
import { withoutLocks } from "../support/orders.ts";
import { createWorld, expectStatus, type Json, type World } from "../support/world.ts";

let world: World;
let principalId: string;
beforeAll(async () => {
  world = await createWorld();
});

const marketsPath = (did: string) => `/v1/agents/${did}/scope/authorized_markets`;
const market = (code: string, network = "base-sepolia") => ({ market: code, network, operational_wallet: account(8) });
const openOf = async (of: World, did: string, ...markets: Json[]) =>
  expectStatus(await of.call("POST", marketsPath(did), { body: { markets } }), 200);
const open = (did: string, ...markets: Json[]) => openOf(world, did, ...markets);
const remove = async (did: string, code: string) =>
  expect((await world.call("DELETE", `${marketsPath(did)}/${code}?network=base-sepolia`)).status).toBe(204);

const seller = async (...markets: Json[]): Promise<string> => {
  const { did } = await world.agent("PROVIDER", { principal_id: principalId });
  if (markets.length > 0) await open(did, ...markets);
  return did;
};

/** Copies a seller with all rows that a slice touches. The places of the copies' certificates are in a list of their own. */
async function copySeller(did: string, to: number): Promise<void> {
  const vary = { did: COPY_DID };
  for (const table of ["agents", "agent_markets", "escrows"]) await copyRow(table, `did = '${did}'`, vary, { to });
  await copyRow("certificates", `did = '${did}'`, { ...vary, list_id: `-${to}`, idx: "i" }, { to });
}

const suspend = async () => expectStatus(await world.call("POST", `/v1/principals/${principalId}/suspend`), 200);

/** The object of the newest event about an agent. */
const told = async (did: string): Promise<unknown> => {
  const own = await world.deps.db
    .select()
    .from(events)
    .where(and(eq(events.type, "agent.status_changed"), eq(events.agentDid, did)));
  return own.at(-1)?.object;
};

const soles = async (did: string): Promise<Json> => {
  const rows = await world.deps.db.select().from(agentMarkets).where(eq(agentMarkets.did, did));
  return Object.fromEntries(rows.map(({ market: code, sole }) => [code, sole]));
};

describe("the suspension of a principal with sellers", () => {
  const CASES: Record<string, () => Promise<string>> = {
    "no market": () => seller(),
    "one market": () => seller(market("DE-USDC")),
    "two markets on one vault": () => seller(market("DE-USDC"), market("EU-USDC")),
    "two vaults": () => seller(market("DE-USDC"), market("DE-USDC", "base")),
    "a second market that came later": async () => {
      const did = await seller(market("EU-USDC"));
      await open(did, market("DE-USDC"));
      return did;
    },
    "one of two markets": async () => {
      const did = await seller(market("DE-USDC"), market("EU-USDC"));
      await remove(did, "DE-USDC");
      return did;
    },
    "a vault and no market": async () => {
      const did = await seller(market("DE-USDC"));
      await remove(did, "DE-USDC");
      return did;
    },
  };

  it.each(Object.entries(CASES))("reports a seller with %s as GET shows it", async (_what, arrange) => {
    principalId = await world.principal();
    const did = await arrange();
    await suspend();
    const shown = expectStatus(await world.call("GET", `/v1/agents/${did}`), 200);
    expect(shown.status).toBe("SUSPENDED");
    expect(await told(did)).toEqual(shown);
  });

  // For each seller its row twice, its certificate, its market and its vault. The rest is for the principal and for the slice's sequence numbers of
  // events and directory records.
  it.each([1, 3, 12])("reads five rows for each of %i sellers with a market and a vault", async (count) => {
    principalId = await world.principal();
    const did = await seller(market("DE-USDC"));
    if (count > 1) await copySeller(did, count - 1);
    world.meter.reset();
    await suspend();
    const { trips, rowsRead, rowsWritten } = world.meter.reading;
    expect(trips).toBe(2);
    expect(rowsRead).toBe(5 * count + (count < 3 ? 13 : 17));
    expect(rowsWritten).toBeLessThanOrEqual(12 + 14 * count);
  });
});

describe("a seller's only market", () => {
  it("is marked so until another one is opened", async () => {
    principalId = await world.principal();
    const did = await seller(market("DE-USDC"));
    expect(await soles(did)).toEqual({ "DE-USDC": true });
    await open(did, market("AT-USDC"));
    expect(await soles(did)).toEqual({ "AT-USDC": false, "DE-USDC": false });
    await open(did, market("AT-USDC", "base"));
    expect(Object.values(await soles(did))).not.toContain(true);
  });

  it("is neither of two that are opened at once", async () => {
    principalId = await world.principal();
    const did = await seller();
    // The second market is requested between the reading of the first and its commit.
    world.meter.beforeBatch(2, () => openOf(withoutLocks(world), did, market("EU-USDC")));
    await open(did, market("DE-USDC"));
    expect(await soles(did)).toEqual({ "DE-USDC": false, "EU-USDC": false });
  });

  it("is not marked so by a reading from before another one was opened", async () => {
    principalId = await world.principal();
    const did = await seller();
    const wish = async () => {
      const [row] = await world.deps.db.select().from(agentMarkets).where(eq(agentMarkets.did, did));
      if (row) await commit(world.deps.db, insertMarket(world.deps.db, { ...row, market: "EU-USDC" }));
    };
    // Between the reading after the chain's answer and its commit.
    world.meter.beforeBatch(5, wish);
    await open(did, market("DE-USDC"));
    expect(await soles(did)).toEqual({ "DE-USDC": false, "EU-USDC": false });
  });
});
