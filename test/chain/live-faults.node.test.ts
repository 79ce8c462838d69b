// Tests how networks are judged by their chains (CHN-31), with real faults on a real chain: one line for each fault, one request to each node, and
// no node's address.
import type { Abi, Hex } from "viem";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { authorityAbi } from "../../scripts/chain/abi.ts";
import { checkNetworks } from "../../scripts/chain/check-networks.ts";
import { deploy, deployContracts } from "../../scripts/chain/deploy.ts";
import { DELAYS, type Delays, NO_DELAYS, ROLES } from "../../scripts/chain/roles.ts";
import { addressesOf } from "../../scripts/ephemeral.ts";
import { findLiveFaults } from "../../src/chain/live-faults.ts";
import { readNetworkFacts, type SeenNetwork, type SignerAddresses } from "../../src/chain/network-facts.ts";
import type { Network } from "../../src/chain/networks.ts";
import { type AskNode, createAskNode } from "../../src/chain/rpc.ts";
import { buildWorld, proxyTo, type SpoilingNode, startSilentNode, THRESHOLD, useWorld, type World } from "./support.ts";
import { createTestContract } from "./test-contracts.ts";

const SALT = `0x${"07".repeat(32)}` as const;

let world: World;
let production: World;
let otherToken: Hex;
let earlier: { settlement_contract: Hex; authority: Hex };
const proxies: SpoilingNode[] = [];
useWorld(async (built) => {
  world = built;
  const { anvil, people, chain } = world;
  const { admin, feeRecipient } = people;
  ({ address: otherToken } = await deploy(anvil.rpcUrl, admin.privateKey, "TestUSDC", [], SALT));
  const deployed = await deployContracts(anvil.rpcUrl, {
    deployerKey: admin.privateKey,
    keys: addressesOf(people),
    feeRecipient: feeRecipient.address,
    token: chain.token,
    salt: SALT,
  });
  earlier = { settlement_contract: deployed.settlementContract, authority: deployed.authority };
}, DELAYS);
beforeAll(async () => {
  production = await buildWorld(8_453);
});
afterAll(() => production?.stop());
afterEach(() => {
  for (const proxy of proxies.splice(0)) proxy.close();
});

const signers = (change: Partial<SignerAddresses> = {}): SignerAddresses => ({
  registrar: world.people.registrar.address,
  arbiter: world.people.arbiter.address,
  ...change,
});
const networkWith = (change: Partial<Network> = {}): Network => ({ ...world.network, block_seconds: 0, ...change });
async function look(change: Partial<Network> = {}, keys: Partial<SignerAddresses> = {}, ask = createAskNode()) {
  const [seen] = await readNetworkFacts([networkWith(change)], signers(keys), ask);
  if (!seen) throw new Error("no network was read");
  return { seen, faults: judge(seen) };
}
const judge = ({ network, ...facts }: SeenNetwork, now = Date.now()) => findLiveFaults(network, facts, now);
const faultsWith = async (change: Partial<Network> = {}, keys: Partial<SignerAddresses> = {}) =>
  (await look(change, keys)).faults;
/** An address without code. */
const EMPTY = `0x${"1234".repeat(10)}`;

describe("a network without faults", () => {
  test("has no line, and shows its contract, its token, its roles with their delays, and its accounts", async () => {
    const { seen, faults } = await look({ earlier_editions: [earlier], fallback_rpc_url: world.anvil.rpcUrl });
    expect(faults).toEqual([]);
    const head = Number(await world.client.getBlockNumber());
    const node = {
      reason: null,
      chainId: 84_532,
      head: { number: head, hash: expect.any(String), time: expect.any(Number) },
    };
    expect([seen.node, seen.fallback]).toEqual([node, node]);
    expect(seen.token).toEqual({ hasCode: true, decimals: 6, symbol: "USDC" });
    const role = (name: string, delay = 0) => ({ role: name, held: true, delay, grantDelay: 0, closed: [] });
    const edition = (contract: string, authority: string, delays: Delays) => ({
      contract,
      hasCode: true,
      decimals: null,
      feeBps: 5,
      feeRecipient: world.people.feeRecipient.address.toLowerCase(),
      paused: false,
      base: THRESHOLD,
      namedAuthority: authority.toLowerCase(),
      authorityHasCode: true,
      adminDelay: 0,
      roles: [
        role("REGISTRAR"),
        role("REGISTRAR_DELAYED", delays.wallet),
        role("ARBITER"),
        role("ARBITER_DELAYED", delays.payOut),
      ],
    });
    expect(seen.editions).toEqual([
      edition(world.chain.settlementContract, world.chain.authority, DELAYS),
      edition(earlier.settlement_contract, earlier.authority, NO_DELAYS),
    ]);
    const { registrar } = world.people;
    expect(seen.accounts.registrar).toEqual({
      address: registrar.address,
      wei: await world.client.getBalance({ address: registrar.address }),
    });
  });

  test("is read in one request to each node", async () => {
    const [first, second] = [await proxyTo(world.anvil.rpcUrl), await proxyTo(world.anvil.rpcUrl)];
    proxies.push(first, second);
    const change = { rpc_url: first.url, fallback_rpc_url: second.url, earlier_editions: [earlier] };
    expect(await faultsWith(change)).toEqual([]);
    expect([first.requests.length, second.requests]).toEqual([1, [["eth_chainId", "eth_getBlockByNumber"]]]);
  });
});

describe("a node", () => {
  test("on another chain is reported in one line, and what it says of the contract is ignored", async () => {
    const { seen, faults } = await look({ rpc_url: production.anvil.rpcUrl });
    expect(faults).toEqual(["chain_id is 84532 in NETWORKS, the node says 8453"]);
    expect([seen.node.chainId, seen.token, seen.editions]).toEqual([8_453, null, []]);
  });

  test("that is the fallback on another chain is reported in one line, and the first node still counts", async () => {
    const { seen, faults } = await look({ fallback_rpc_url: production.anvil.rpcUrl });
    expect(faults).toEqual(["chain_id is 84532 in NETWORKS, the fallback node says 8453"]);
    expect(seen.editions).toHaveLength(1);
  });

  test("that is missing, is silent, or is no node, is reported in a line that does not name it", async () => {
    const silent = await startSilentNode(world.anvil.rpcUrl);
    const page = await proxyTo(world.anvil.rpcUrl, () => "<html>secret-key</html>");
    const busy = await proxyTo(world.anvil.rpcUrl, (body) =>
      JSON.stringify(
        (JSON.parse(body) as { id: number }[]).map((reply) =>
          reply.id < 4 ? reply : { id: reply.id, error: { code: -32_005, message: "limit exceeded, see secret-key" } },
        ),
      ),
    );
    proxies.push(silent, page, busy);
    expect(await faultsWith({ rpc_url: "http://127.0.0.1:1/secret-key" })).toEqual([
      "the node cannot be reached, or refuses to answer",
    ]);
    const { faults } = await look({ rpc_url: `${silent.url}/secret-key` }, {}, createAskNode(fetch, silent.limit));
    expect([faults, silent.limits]).toEqual([["the node did not answer within 4 s"], [4_000]]);
    const incomplete = "the node does not answer each call of a JSON-RPC batch as a node does";
    for (const { url } of [page, busy])
      expect(await faultsWith({ rpc_url: `${url}/secret-key` })).toEqual([incomplete]);
  });

  test("that stands still is reported by the age of its newest block, if blocks come by themselves", async () => {
    const { seen } = await look({ block_seconds: 2 });
    const at = seen.node.head?.time ?? 0;
    expect(judge(seen, at + 120_000)).toEqual([]);
    expect(judge(seen, at + 500_000)).toEqual(["the newest block of the node is 500 s old"]);
    expect(judge({ ...seen, network: networkWith() }, at + 500_000)).toEqual([]);
  });

  test("that fails or is silent delays no other network", async () => {
    const silent = await startSilentNode(world.anvil.rpcUrl);
    proxies.push(silent);
    const networks = ["http://127.0.0.1:1", silent.url, world.anvil.rpcUrl].map((rpc_url) => networkWith({ rpc_url }));
    const ask: AskNode = (url, calls) =>
      createAskNode(fetch, url === silent.url ? silent.limit : undefined)(url, calls);
    const seen = await readNetworkFacts(networks, signers(), ask);
    expect(seen.map((one) => judge(one).length)).toEqual([1, 1, 0]);
  });
});

describe("a contract", () => {
  const authorityLine = (address: string): string =>
    `authority is ${address} in NETWORKS, the contract says ${world.chain.authority.toLowerCase()}`;
  const FAULTY: [string, () => Partial<Network>, () => string][] = [
    ["no contract", () => ({ settlement_contract: EMPTY }), () => `no contract code at settlement_contract ${EMPTY}`],
    [
      "a token as the contract",
      () => ({ settlement_contract: otherToken }),
      () => `settlement_contract ${otherToken} is a token, not a settlement contract`,
    ],
    [
      "another edition's authority as the contract",
      () => ({ settlement_contract: earlier.authority }),
      () => `settlement_contract ${earlier.authority} is another contract, not a settlement contract`,
    ],
    ["no authority", () => ({ authority: EMPTY }), () => authorityLine(EMPTY)],
    ["another edition's authority", () => ({ authority: earlier.authority }), () => authorityLine(earlier.authority)],
    [
      "a token that it does not take",
      () => ({ token: otherToken }),
      () => "the settlement contract does not take the token",
    ],
    ["a token without code", () => ({ token: EMPTY }), () => `no contract code at token ${EMPTY}`],
    [
      "a token that is another contract",
      () => ({ token: earlier.authority }),
      () => `token ${earlier.authority} is not a token: it has no decimals`,
    ],
    ["other decimals", () => ({ decimals: 8 }), () => "decimals is 8 in NETWORKS, the token says 6"],
    [
      "an earlier edition without code",
      () => ({ earlier_editions: [{ ...earlier, settlement_contract: EMPTY }] }),
      () => `no contract code at earlier_editions.0.settlement_contract ${EMPTY}`,
    ],
  ];
  test.each(FAULTY)("is reported by member and address if NETWORKS has %s", async (_name, change, line) => {
    expect(await faultsWith(change())).toContain(line());
  });

  test("with decimals counts as a token, whatever else it can do", async () => {
    const euro = await createTestContract(world, "EurcLike", []);
    expect(await faultsWith({ settlement_contract: euro })).toEqual([
      `settlement_contract ${euro} is a token, not a settlement contract`,
    ]);
  });

  test("that is paused is reported, but a paused earlier edition is not", async () => {
    await world.act("guardian", "pause", []);
    expect(await faultsWith()).toEqual(["the settlement contract is paused: it takes no payments"]);
    const present = {
      ...earlier,
      earlier_editions: [
        { ...earlier, settlement_contract: world.chain.settlementContract, authority: world.chain.authority },
      ],
    };
    expect(await faultsWith(present)).toEqual([]);
  });

  test("whose threshold of an unrated provider is not the service's is reported with both values", async () => {
    const { admin, feeRecipient } = world.people;
    const cheap = await deployContracts(world.anvil.rpcUrl, {
      deployerKey: admin.privateKey,
      keys: addressesOf(world.people),
      feeRecipient: feeRecipient.address,
      token: world.chain.token,
      base: 10_000_000n,
      salt: `0x${"08".repeat(32)}`,
    });
    expect(await faultsWith({ settlement_contract: cheap.settlementContract, authority: cheap.authority })).toEqual([
      "the threshold of an unrated provider is 10.00 in the contract, the service counts with 15.00",
    ]);
  });
});

describe("a key of the service", () => {
  const withoutRoles = (holder: "registrar" | "arbiter", address: string) =>
    [holder.toUpperCase(), `${holder.toUpperCase()}_DELAYED`].map(
      (role) => `the ${holder}'s key, ${address}, does not hold the role ${role}`,
    );

  test.each(["registrar", "arbiter"] as const)("that is not the %s's is reported for each role", async (holder) => {
    const { address } = world.people.stranger;
    expect(await faultsWith({}, { [holder]: address })).toEqual(withoutRoles(holder, address));
  });

  test("without its role at the authority of an earlier edition is reported with that edition", async () => {
    const { admin, registrar, stranger } = world.people;
    const forgotten = await deployContracts(world.anvil.rpcUrl, {
      deployerKey: admin.privateKey,
      keys: { ...addressesOf(world.people), registrar: stranger.address },
      feeRecipient: world.people.feeRecipient.address,
      token: world.chain.token,
      salt: `0x${"09".repeat(32)}`,
    });
    const edition = { settlement_contract: forgotten.settlementContract, authority: forgotten.authority };
    expect(await faultsWith({ earlier_editions: [edition] })).toEqual(
      withoutRoles("registrar", registrar.address).map((line) => `${line} at earlier_editions.0.authority`),
    );
  });

  test("is reported once its role was revoked", async () => {
    const { arbiter } = world.people;
    const args = [ROLES.ARBITER_DELAYED.id, arbiter.address] as const;
    await world.sendTo("arbiter", world.chain.authority, authorityAbi as Abi, "renounceRole", args);
    expect(await faultsWith()).toEqual([
      `the arbiter's key, ${arbiter.address}, does not hold the role ARBITER_DELAYED`,
    ]);
  });

  test("is reported with the functions that its role does not open", async () => {
    // In this edition, the roles have holders but no functions.
    const { admin } = world.people;
    const salt = `0x${"0a".repeat(32)}` as const;
    const { address: authority } = await deploy(
      world.anvil.rpcUrl,
      admin.privateKey,
      "AccessManager",
      [admin.address],
      salt,
    );
    const args = [authority, admin.address, world.chain.token, THRESHOLD];
    const { address } = await deploy(world.anvil.rpcUrl, admin.privateKey, "SettlementContract", args, salt);
    for (const { id, holder } of Object.values(ROLES)) {
      await world.sendTo("admin", authority, authorityAbi as Abi, "grantRole", [id, world.people[holder].address, 0]);
    }
    expect(await faultsWith({ settlement_contract: address, authority })).toEqual([
      "the role REGISTRAR may not call registerProvider",
      "the role REGISTRAR may not call setThreshold",
      "the role REGISTRAR_DELAYED may not call setOperationalWallet",
      "the role REGISTRAR_DELAYED may not call setLowThreshold",
      "the role ARBITER may not call setReserve",
      "the role ARBITER_DELAYED may not call payOut",
    ]);
  });

  test("is reported if it is no key or is low on gas", async () => {
    const { registrar } = world.people;
    await world.client.setBalance({ address: registrar.address, value: 9_000_000_000_000_000n });
    expect(await faultsWith({}, { arbiter: null })).toEqual([
      `the registrar's account ${registrar.address} holds 0.009 for gas, less than low_gas_eth 0.01`,
      "the arbiter's secret is not a key",
    ]);
  });
});

test("a script reports the faults of each network with its name, and nothing of a healthy one", async () => {
  const { network } = production;
  const input = { ...network, block_seconds: 0, rpc_url: world.anvil.rpcUrl };
  expect(await checkNetworks([networkWith(), input], signers())).toEqual([
    "base: chain_id is 8453 in NETWORKS, the node says 84532",
  ]);
});
