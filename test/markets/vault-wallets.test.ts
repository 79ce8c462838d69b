// No escrow's vault may be a wallet (MKT-24): the provider's own before it exists, and any other by its code, in every edition. Nodes that fail or
// lie are in unanswered-wallets.test.ts.
import { beforeAll, describe, expect, inject, it } from "vitest";
import { hashDid } from "../../src/chain/hashes.ts";
import { faultsOf } from "../agents/support.ts";
import {
  account,
  chainOf,
  networksWith,
  ownContract,
  plannedClone,
  vaultImplementationOf,
  vaultOf,
} from "../support/chain.ts";
import { dumpDatabase } from "../support/variants.ts";
import { createWorld, expectStatus, type Json, type Reply, type World } from "../support/world.ts";
import { market, marketsPath, openMarkets } from "./support.ts";

/** The lab has two editions: the other one came first, or comes next. */
const LAB = "lab";
const FIELD = "markets.0.operational_wallet";

let world: World;
/** A world of another platform. */
let other: World;
/** Services whose configuration gives the lab two editions, in either order. */
let upgraded: World;
let upgrading: World;
beforeAll(async () => {
  world = await createWorld();
  other = await createWorld();
  const { otherContract, otherAuthority } = inject("lab");
  const next = { settlement_contract: otherContract, authority: otherAuthority };
  const networks = (change: (present: Json) => Json) =>
    JSON.stringify(
      (JSON.parse(networksWith(LAB)) as Json[]).map((network) =>
        network.network === LAB ? { ...network, ...change(network) } : network,
      ),
    );
  upgrading = await createWorld({ NETWORKS: networks(() => ({ earlier_editions: [next] })) });
  upgraded = await createWorld({
    NETWORKS: networks(({ settlement_contract, authority }) => ({
      ...next,
      earlier_editions: [{ settlement_contract, authority }],
    })),
  });
});

const ask = (did: string, wallet: string, of = world, extra: Json = {}): Promise<Reply> =>
  openMarkets(of, did, [market({ operational_wallet: wallet, ...extra })]);
const fieldsOf = (reply: Reply): string[] =>
  faultsOf(reply)
    .map(([field]: string[]) => String(field))
    .sort();

/** Expects the refusal, and that nothing was written or sent to the contract. */
async function refused(act: () => Promise<Reply>, fields: readonly string[] = [FIELD]): Promise<Reply> {
  const before = await dumpDatabase();
  const reply = await act();
  expect([reply.status, reply.body.code, fieldsOf(reply)]).toEqual([422, "validation_failed", fields]);
  expect(await dumpDatabase()).toEqual(before);
  return reply;
}

const holds = async (did: string, network = "base-sepolia") => {
  const read = await world.deps.chain.readProvider(network, hashDid(did));
  return read.ok && read.value.registered;
};

describe("the provider's own vault, which does not exist yet", () => {
  it.each([
    ["sandbox", (of: World) => of.key],
    ["production", (of: World) => of.liveKey],
  ])("is refused at once for its first market (%s)", async (_environment, keyOf) => {
    const { did } = await world.agent("PROVIDER");
    const markets = [market({ operational_wallet: await vaultOf(did) })];
    const { body } = await refused(() =>
      world.call("POST", marketsPath(did), { key: keyOf(world), body: { markets } }),
    );
    expect(body.field_errors).toMatchObject([{ field: FIELD, code: "invalid_value", message: /vault/ }]);
    expect(await holds(did)).toBe(false);
    // Any other wallet opens it.
    expect(expectStatus(await ask(did, account(8)), 200).markets).toMatchObject([{ status: "ACTIVE" }]);
  });

  it("is refused for every edition, whichever is the present one", async () => {
    for (const of of [upgrading, upgraded]) {
      const { did } = await of.agent("PROVIDER");
      for (const contract of [chainOf(LAB).settlement_contract, inject("lab").otherContract]) {
        const vault = await vaultOf(did, LAB, contract);
        await refused(() => ask(did, vault, of, { network: LAB }));
      }
      expect(expectStatus(await ask(did, account(8), of, { network: LAB }), 200).markets).toMatchObject([
        { status: "ACTIVE" },
      ]);
    }
  });
});

describe("another agent's vault", () => {
  it.each([
    ["another provider's", () => world],
    ["another platform's", () => other],
  ])("is refused at once: %s", async (_whose, owner) => {
    const { did: elder } = await owner().provider();
    const vault = await vaultOf(elder);
    const { did } = await world.agent("PROVIDER");
    await refused(() => ask(did, vault));
    await refused(() => ask(did, `0x${vault.slice(2).toUpperCase()}`));
    expect(await holds(did)).toBe(false);
    // It is also refused as a replacement for a wallet that the contract has.
    expectStatus(await ask(did, account(8)), 200);
    await refused(() => ask(did, vault));
    await refused(() =>
      world.call("POST", marketsPath(did), {
        key: world.liveKey,
        body: { markets: [market({ operational_wallet: vault, network: "eip155:84532" })] },
      }),
    );
    const { data } = expectStatus(await world.call("GET", marketsPath(did)), 200);
    expect(data).toMatchObject([{ status: "ACTIVE", operational_wallet: account(8).toLowerCase() }]);
  });

  it("is refused for an earlier edition too", async () => {
    const { did: elder } = await upgrading.agent("PROVIDER");
    expectStatus(await ask(elder, account(8), upgrading, { network: LAB }), 200);
    const vault = await vaultOf(elder, LAB);
    const { did } = await upgraded.agent("PROVIDER");
    await refused(() => ask(did, vault, upgraded, { network: LAB }));
    // It is refused only on its own network: on others there is nothing at this address.
    expect(expectStatus(await ask(did, vault, upgraded), 200).markets).toMatchObject([{ status: "ACTIVE" }]);
  });

  it("is refused even if it was never registered, and so is the code of all vaults", async () => {
    const { did } = await world.agent("PROVIDER");
    const implementation = await vaultImplementationOf();
    const { address, make } = plannedClone(implementation);
    await make();
    await refused(() => ask(did, address));
    await refused(() => ask(did, implementation));
  });

  it("is refused together with all other faults of a body, well-formed or not", async () => {
    const { did: elder } = await world.provider();
    const { did } = await world.agent("PROVIDER");
    const [foreign, own] = [await vaultOf(elder), await vaultOf(did, "base")];
    const markets = [
      market({ market: "KP-USDC", operational_wallet: foreign }),
      market({ market: "DE-EURC", network: "base", operational_wallet: own }),
      market({ market: "AT-USDC", network: "base", operational_wallet: chainOf("base").token }),
    ];
    const fields = [
      FIELD,
      "markets.0.market",
      "markets.1.market",
      "markets.1.operational_wallet",
      "markets.2.operational_wallet",
      // A network has only one wallet.
      "markets.2.operational_wallet",
    ].sort();
    await refused(() => openMarkets(world, did, markets), fields);
    const malformed = [...markets, { market: "EU-USDC", network: "base-sepolia", operational_wallet: "0x12" }];
    await refused(() => openMarkets(world, did, malformed), [...fields, "markets.3.operational_wallet"].sort());
  });
});

describe("a contract that is not a vault", () => {
  it("may be a wallet: a smart account, even as a minimal clone", async () => {
    const clone = plannedClone(chainOf().token);
    await clone.make();
    const { did } = await world.agent("PROVIDER");
    for (const wallet of [clone.address, ownContract().authority.toLowerCase()]) {
      const { markets } = expectStatus(await ask(did, wallet), 200);
      expect(markets).toMatchObject([{ status: "ACTIVE", operational_wallet: wallet }]);
    }
  });
});
