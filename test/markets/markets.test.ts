// The public list of markets, which comes from the configuration (MKT-1 to MKT-3).
import { beforeAll, describe, expect, it } from "vitest";
import { findCoveringMarkets, REGIONS } from "../../src/markets/jurisdictions.ts";
import { createWorld, type World } from "../support/world.ts";

let world: World;
beforeAll(async () => {
  world = await createWorld();
});

const list = (query = "") => world.call("GET", `/v1/markets${query}`, { key: null });

describe("the list of markets", () => {
  it("is public, open to any origin, and reads no database", async () => {
    world.meter.reset();
    const reply = await list();
    expect(reply.status).toBe(200);
    expect(reply.headers.get("access-control-allow-origin")).toBe("*");
    expect(world.meter.reading.trips).toBe(0);
  });

  it("names every jurisdiction, EU and GLOBAL once for each currency, with the networks that settle it", async () => {
    const { body } = await list("?limit=100");
    const { jurisdictions, networks } = world.deps.config;
    const codes = body.data.map(({ market }: { market: string }) => market);
    expect(codes).toEqual([...jurisdictions, "EU", "GLOBAL"].map((jurisdiction) => `${jurisdiction}-USDC`).sort());
    expect(body.data.at(0)).toEqual({
      market: "AT-USDC",
      jurisdiction: "AT",
      currency: "USDC",
      networks: networks.map((network) => ({
        network: network.network,
        caip2: `eip155:${network.chain_id}`,
        chain_id: network.chain_id,
        kind: network.kind,
        settlement_contract: network.settlement_contract,
        token: network.token,
        decimals: 6,
        required_confirmations: 1,
        explorer: null,
      })),
    });
    expect([body.has_more, body.next_cursor]).toEqual([false, null]);
  });

  it("comes in consecutive pages of 20", async () => {
    const first = await list();
    expect([first.body.data.length, first.body.has_more]).toEqual([20, true]);
    const second = await list(`?cursor=${first.body.next_cursor}`);
    const all = await list("?limit=100");
    expect([...first.body.data, ...second.body.data]).toEqual(all.body.data);
    expect([second.body.has_more, second.body.next_cursor]).toEqual([false, null]);
  });

  for (const query of ["?cursor=nonsense", "?limit=101", "?sort=name"]) {
    it(`${query} is 422 validation_failed`, async () => {
      const reply = await list(query);
      expect([reply.status, reply.body.code]).toEqual([422, "validation_failed"]);
    });
  }
});

describe("the markets that cover a buyer", () => {
  it("are its country's market, then its region's, then the world's", () => {
    expect(findCoveringMarkets("DE", "USDC")).toEqual(["DE-USDC", "EU-USDC", "GLOBAL-USDC"]);
    expect(findCoveringMarkets("US", "USDC")).toEqual(["US-USDC", "GLOBAL-USDC"]);
  });

  it("the EU has 27 members, without Britain, Norway and Switzerland", () => {
    expect(REGIONS["EU"]?.size).toBe(27);
    for (const country of ["GB", "NO", "CH"]) expect(REGIONS["EU"]?.has(country)).toBe(false);
  });
});
