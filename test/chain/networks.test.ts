// Tests the configuration of networks (CHN-13, CHN-26), and that a currency with different decimals is refused, because its amounts are added
// (HTTP-6).
import { describe, expect, it } from "vitest";
import {
  findNetwork,
  type NetworkInput,
  parseNetworks,
  requireCurrency,
  requireNetwork,
} from "../../src/chain/networks.ts";
import { buildCheckedDeps } from "../../src/context.ts";
import { networksWith } from "../support/chain.ts";
import { createWorld, env, type Json } from "../support/world.ts";

const CONTRACT = `0x${"ab".repeat(20)}`;
const NETWORK: NetworkInput = {
  network: "optimism",
  chain_id: 10,
  kind: "mainnet",
  rpc_url: "https://node.example",
  settlement_contract: CONTRACT,
  authority: `0x${"ef".repeat(20)}`,
  token: `0x${"cd".repeat(20)}`,
  currency: "USDC",
  decimals: 6,
  required_confirmations: 3,
};
/** Defaults: the network is followed from its first block, and its blocks come by themselves. */
const FOLLOWED = { first_block: 0, block_seconds: 2 };
const parse = (...networks: unknown[]) => parseNetworks(JSON.stringify(networks));
const messageOf = (act: () => unknown): string => {
  try {
    act();
  } catch (thrown) {
    return (thrown as Error).message;
  }
  throw new Error("nothing was refused");
};
const configured = (): NetworkInput[] => JSON.parse(networksWith());

describe("the configuration of networks", () => {
  it("is all that the service needs to offer another network", async () => {
    const optimism = { ...NETWORK, explorer: "https://explorer.example" };
    const world = await createWorld({ NETWORKS: JSON.stringify([...configured(), optimism]) });
    const { body } = await world.call("GET", "/v1/markets?limit=100", { key: null });
    const { rpc_url: _private, authority: _inside, currency: _market, ...shown } = optimism;
    const { networks } = body.data.find(({ market }: Json) => market === "GLOBAL-USDC");
    expect(networks.find(({ network }: Json) => network === "optimism")).toEqual({
      ...shown,
      caip2: "eip155:10",
    });
  });

  it("has default bounds of fees if it states none", () => {
    const usual = {
      max_fee_gwei: 100,
      max_tip_gwei: 5,
      low_gas_eth: 0.01,
      ask_twice_from: "100.00",
      escrow_base: "15.00",
    };
    const none = { earlier_editions: [], expected_operations: [] };
    expect(parse(NETWORK)[0]).toEqual({ ...NETWORK, ...usual, ...FOLLOWED, ...none });
    const bounds = { max_fee_gwei: 7, max_tip_gwei: 0.5, low_gas_eth: 1 };
    expect(parse({ ...NETWORK, ...bounds })[0]).toMatchObject(bounds);
  });

  const REQUIRED = Object.keys(NETWORK);
  it.each(REQUIRED)("is refused without %s", (name) => {
    expect(() => parse({ ...NETWORK, [name]: undefined })).toThrow(name);
  });

  it.each<[string, unknown]>([
    ["chain_id", 0],
    ["kind", "devnet"],
    ["rpc_url", "node.example"],
    ["fallback_rpc_url", "node.example"],
    ["settlement_contract", CONTRACT.slice(0, -1)],
    ["authority", "0x"],
    ["earlier_editions", [{ settlement_contract: CONTRACT }]],
    ["expected_operations", [CONTRACT]],
    ["token", "USDC"],
    ["currency", "usdc"],
    ["decimals", 19],
    ["escrow_base", "-1"],
    ["escrow_base", 15],
    ["required_confirmations", 0],
    ["max_fee_gwei", 0],
    ["max_tip_gwei", -1],
    ["low_gas_eth", "0.01"],
  ])("is refused if %s is %j", (name, value) => {
    expect(() => parse({ ...NETWORK, [name]: value })).toThrow(name);
  });

  it("is refused with an unknown member, such as a misspelt bound", () => {
    expect(() => parse({ ...NETWORK, max_fee_gwie: 1 })).toThrow("max_fee_gwie");
  });

  const MIXED = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045";
  const mistyped = MIXED.replace("d8dA", "d8da");
  const edition = (settlement_contract: string) => [{ settlement_contract, authority: `0x${"ef".repeat(20)}` }];
  it.each<[string, object | object[], string]>([
    [
      "a mistyped contract",
      { settlement_contract: mistyped },
      "optimism: settlement_contract: the checksum (EIP-55) is wrong",
    ],
    ["a mistyped authority", { authority: mistyped }, "optimism: authority: the checksum (EIP-55) is wrong"],
    ["a mistyped token", { token: mistyped }, "optimism: token: the checksum (EIP-55) is wrong"],
    [
      "a mistyped edition",
      { earlier_editions: edition(mistyped) },
      "optimism: earlier_editions.0.settlement_contract: the checksum (EIP-55) is wrong",
    ],
    ["nobody's address", { token: `0x${"0".repeat(40)}` }, "optimism: token: the zero address is not a contract"],
    [
      "the token as the contract",
      { token: CONTRACT },
      "optimism: token: the address is the same as settlement_contract",
    ],
    [
      "the token as the authority",
      { token: `0x${"EF".repeat(20)}` },
      "optimism: token: the address is the same as authority",
    ],
    [
      "the contract as its authority",
      { authority: CONTRACT },
      "optimism: authority: the address is the same as settlement_contract",
    ],
    [
      "the contract as an earlier edition",
      { earlier_editions: edition(CONTRACT) },
      "optimism: earlier_editions.0.settlement_contract: the address is the same as settlement_contract",
    ],
    [
      "too many decimals for its base",
      { decimals: 15 },
      "optimism: escrow_base: with the token's 15 decimals it is more",
    ],
    [
      "a base that is finer than its token",
      { escrow_base: "0.0000001" },
      "optimism: escrow_base: with the token's 6 decimals it is finer",
    ],
    ["no base", { escrow_base: "0.00" }, "optimism: escrow_base: with the token's 6 decimals it is zero"],
    ["the name of another", [{}, { chain_id: 11 }], "optimism: another network has the same name"],
    ["the chain id of another", [{}, { network: "op" }], "op: the network optimism has the same chain id 10"],
    ["a CAIP-2 id as a name", { network: "eip155:8453" }, "0.network: "],
    ["an empty name", { network: "" }, "0.network: "],
  ])("is refused in one line with %s", async (_what, change, line) => {
    const networks = [change].flat().map((one) => ({ ...NETWORK, ...one }));
    const message = messageOf(() => parse(...networks));
    expect(message).toMatch(/^NETWORKS: [^\n]*$/);
    expect(message).toContain(line);
    expect(message).not.toContain("node.example");
    expect(() => buildCheckedDeps({ ...env, NETWORKS: JSON.stringify(networks) })).toThrow(line);
  });

  it("accepts a token of 18 decimals with a base that can be counted", () => {
    const long = { currency: "WETH", decimals: 18, escrow_base: "0.009" };
    expect(parse({ ...NETWORK, ...long })).toMatchObject([long]);
    expect(messageOf(() => parse({ ...NETWORK, ...long, escrow_base: "0.01" }))).toContain("escrow_base");
  });

  it("accepts addresses in one case or with their checksum, and one authority for two editions", () => {
    expect(parse({ ...NETWORK, token: MIXED, earlier_editions: edition(`0x${"12".repeat(20)}`) })).toHaveLength(1);
    expect(parse({ ...NETWORK, token: MIXED.toLowerCase() })).toHaveLength(1);
  });

  it("reports all faults at once, and does not quote a text that is not JSON", () => {
    const message = messageOf(() => parse({ ...NETWORK, authority: mistyped, token: CONTRACT }));
    expect(message).toContain(
      "authority: the checksum (EIP-55) is wrong: a character is mistyped; optimism: token: the address",
    );
    expect(messageOf(() => parseNetworks("[https://node.example/secret"))).toBe("NETWORKS: it is not JSON");
    expect(messageOf(() => parseNetworks('[{"rpc_url": "secret"}]'))).not.toContain("secret");
  });

  it("finds a network by name or CAIP-2 id, and a stored name that it lacks is an error", () => {
    const networks = parse(NETWORK);
    expect(findNetwork(networks, "optimism")).toBe(networks[0]);
    expect(findNetwork(networks, "eip155:10")).toBe(networks[0]);
    expect([findNetwork(networks, "eip155:1"), findNetwork(networks, "Optimism")]).toEqual([null, null]);
    expect(() => requireNetwork(networks, "base")).toThrow("the network base is stored but no longer configured");
  });
});

describe("the currencies of all networks", () => {
  it("may differ, each with decimals of its own", async () => {
    const euro = { ...NETWORK, currency: "EURC", decimals: 8 };
    const world = await createWorld({ NETWORKS: JSON.stringify([...configured(), euro]) });
    const { body } = await world.call("GET", "/v1/markets?limit=100", { key: null });
    const decimals = (code: string) => {
      const { networks } = body.data.find(({ market }: Json) => market === code);
      return [...new Set(networks.map((network: Json) => network.decimals))];
    };
    expect([decimals("GLOBAL-EURC"), decimals("GLOBAL-USDC")]).toEqual([[8], [6]]);
  });

  it("must have the same decimals on all their networks, and others are refused in one line, even next to another currency (HTTP-6)", async () => {
    const euro = { ...NETWORK, network: "arbitrum", chain_id: 42161, currency: "EURC" };
    const networks = [...configured(), euro, { ...NETWORK, decimals: 8 }];
    const line =
      "USDC has 6 decimals on base-sepolia and 8 on optimism: amounts in one currency are added, so its tokens must have the same";
    expect(() => parse(...networks)).toThrow(line);
    expect(() => buildCheckedDeps({ ...env, NETWORKS: JSON.stringify(networks) })).toThrow(line);
  });

  it("are all known: a stored sum of another one is an error, not an amount", () => {
    const networks = parse(NETWORK, {
      ...NETWORK,
      network: "arbitrum",
      chain_id: 42161,
      currency: "EURC",
      decimals: 8,
    });
    expect(requireCurrency(networks, "EURC").decimals).toBe(8);
    expect(() => requireCurrency(networks, "GBPC")).toThrow("the currency GBPC is stored but no longer configured");
  });
});
