// `GET /v1/operator/networks` (CHN-32): networks as configured and as their chains have them, with a line for each fault. These tests only read the
// chains, so they use the networks of all files.
import { beforeAll, describe, expect, inject, it, vi } from "vitest";
import type { NetworkInput } from "../../src/chain/networks.ts";
import { buildCheckedDeps } from "../../src/context.ts";
import { follow } from "../follower/support.ts";
import { rows } from "../promotion/support.ts";
import { account, headOf, otherHolders } from "../support/chain.ts";
import { withVars } from "../support/variants.ts";
import { createWorld, env, expectStatus, type Json, type Reply, type World } from "../support/world.ts";

const PATH = "/v1/operator/networks";
const [REGISTRAR, ARBITER, FEES] = [1, 2, 3].map((place) => account(place).toLowerCase());
const NODE_KEY = "node-key-9f2c";

const configured = (name: string): NetworkInput =>
  (JSON.parse(env.NETWORKS) as NetworkInput[]).find(({ network }) => network === name) as NetworkInput;
const SANDBOX = configured("base-sepolia");
const LIVE = configured("base");

let world: World;
beforeAll(async () => {
  world = await createWorld();
});

const operator = () => ({ key: null, headers: { Authorization: `Bearer ${inject("operatorKey")}` } });
const ask = (on: World = world, query = ""): Promise<Reply> => on.call("GET", `${PATH}${query}`, operator());
const listed = async (on: World = world): Promise<Json[]> => expectStatus(await ask(on), 200).data;
const withNetworks = (...networks: NetworkInput[]): World => withVars(world, { NETWORKS: JSON.stringify(networks) });
/** Lists a world that has only this network. */
const seen = async (change: Partial<NetworkInput>): Promise<Json> => {
  const [one] = await listed(withNetworks({ ...SANDBOX, ...change }));
  return one;
};

describe("a network", () => {
  it("is shown as configured, as its chain has it, and as far as it is read", async () => {
    const before = await listed();
    expect(before.map(({ network }: Json) => network)).toEqual(["base", "base-sepolia"]);
    expect(before[1].follower).toEqual({
      read_through: null,
      lag_seconds: null,
      head_block: null,
      booked_block: null,
      closed: null,
    });
    await follow(world);
    const one = (await listed())[1];
    const { first_block } = one.configured;
    const { rpc_url: _node, network, ...said } = SANDBOX;
    expect(one).toEqual({
      network,
      caip2: "eip155:84532",
      configured: {
        ...said,
        first_block,
        earlier_editions: [],
        expected_operations: [],
        escrow_base: "15.00",
        ask_twice_from: "100.00",
        explorer: null,
        max_fee_gwei: 100,
        max_tip_gwei: 5,
        low_gas_eth: 0.01,
      },
      node: { chain_id: 84_532, head_block: expect.any(Number), head_at: expect.any(String) },
      fallback_node: null,
      token: { has_code: true, decimals: 6, symbol: "USDC" },
      editions: [
        {
          settlement_contract: SANDBOX.settlement_contract,
          authority: SANDBOX.authority.toLowerCase(),
          has_code: true,
          fee_bps: 5,
          fee_recipient: FEES,
          paused: false,
          token_base: "15.00",
          wallet_delay_seconds: 0,
          payout_delay_seconds: 0,
          admin_delay_seconds: 0,
          roles: [
            ["REGISTRAR", "registrar"],
            ["REGISTRAR_DELAYED", "registrar"],
            ["ARBITER", "arbiter"],
            ["ARBITER_DELAYED", "arbiter"],
          ].map(([role, holder]) => ({ role, holder, held: true, delay_seconds: 0, grant_delay_seconds: 0 })),
        },
      ],
      signers: [
        ["registrar", REGISTRAR],
        ["arbiter", ARBITER],
      ].map(([signer, address]) => ({
        signer,
        address,
        balance_eth: expect.stringMatching(/^\d+\.\d{2,18}$/),
        low_gas: false,
      })),
      scheduled: { count: 0, calls: [] },
      follower: {
        read_through: expect.any(String),
        lag_seconds: expect.any(Number),
        head_block: expect.any(Number),
        booked_block: expect.any(Number),
        closed: null,
      },
      faults: [],
    });
    expect(one.node.head_block).toBeGreaterThanOrEqual(one.follower.head_block);
  });

  it("states why it takes no new intents", async () => {
    await rows(
      "insert into followers (network, booked_block, booked_hash, head_block, read_through, read_at, paused) values (?, 1, '', 1, 1, 1, 1)",
      LIVE.network,
    );
    expect((await listed())[0].follower).toMatchObject({ closed: "paused", booked_block: 1 });
    await rows("delete from followers where network = ?", LIVE.network);
  });

  it("shows the delays of its contract and the accounts of the service's keys", async () => {
    // Starts the lab first, because its start may take longer than the time limit of a reading.
    await headOf("lab-delayed");
    const one = await listed(withNetworks(configured("lab-delayed")));
    expect(one[0]).toMatchObject({
      editions: [{ wallet_delay_seconds: 172_800, payout_delay_seconds: 86_400 }],
      signers: [{ address: REGISTRAR }, { address: ARBITER }],
      faults: [],
    });
  });
});

describe("the faults of a network", () => {
  const roles = (holder: string, address: string | undefined) =>
    [holder.toUpperCase(), `${holder.toUpperCase()}_DELAYED`].map(
      (role) => `the ${holder}'s key, ${address}, does not hold the role ${role}`,
    );

  it.each<[string, Partial<NetworkInput>, string[]]>([
    ["a node of another chain", { chain_id: 999 }, ["chain_id is 999 in NETWORKS, the node says 84532"]],
    [
      "a fallback node of another chain",
      { fallback_rpc_url: LIVE.rpc_url },
      ["chain_id is 84532 in NETWORKS, the fallback node says 8453"],
    ],
    [
      "other decimals",
      { decimals: 8 },
      [
        "decimals is 8 in NETWORKS, the token says 6",
        "the threshold of an unrated provider is 0.15 in the contract, the service counts with 15.00",
      ],
    ],
    [
      "a token in the contract's place",
      { settlement_contract: SANDBOX.token, token: SANDBOX.settlement_contract },
      [
        `token ${SANDBOX.settlement_contract} is not a token: it has no decimals`,
        `settlement_contract ${SANDBOX.token} is a token, not a settlement contract`,
      ],
    ],
    [
      "an account in the contract's place",
      { settlement_contract: account(7) },
      [`no contract code at settlement_contract ${account(7)}`],
    ],
  ])("report %s in one line each", async (_name, change, faults) => {
    expect((await seen(change)).faults).toEqual(faults);
  });

  it("report a node that cannot be reached, in a list with healthy networks", async () => {
    const dead = { ...SANDBOX, rpc_url: `http://127.0.0.1:1/${NODE_KEY}` };
    const [live, one] = await listed(withNetworks(dead, LIVE));
    expect([live.faults, one.faults]).toEqual([[], ["the node cannot be reached, or refuses to answer"]]);
    expect(one).toMatchObject({ node: { chain_id: null, head_block: null }, token: null, editions: [] });
  });

  it("report accounts without their roles, or short of gas", async () => {
    const [one] = await listed(withNetworks({ ...SANDBOX, low_gas_eth: 1_000_000 }));
    expect(one.faults.map((line: string) => line.replace(/holds \S+/, "holds some"))).toEqual(
      [
        ["registrar", REGISTRAR],
        ["arbiter", ARBITER],
      ].map(
        ([signer, address]) =>
          `the ${signer}'s account ${address} holds some for gas, less than low_gas_eth 1000000.00`,
      ),
    );
    expect(one.signers.map(({ low_gas }: Json) => low_gas)).toEqual([true, true]);
    const { contract, authority } = otherHolders();
    const [other] = await listed(withNetworks({ ...SANDBOX, settlement_contract: contract, authority }));
    expect(other.faults).toEqual([...roles("registrar", REGISTRAR), ...roles("arbiter", ARBITER)]);
  });

  it("never contain a node's address", async () => {
    const hidden = {
      ...SANDBOX,
      rpc_url: `http://127.0.0.1:1/${NODE_KEY}`,
      fallback_rpc_url: `${SANDBOX.rpc_url}/${NODE_KEY}`,
    };
    const { text } = await ask(withNetworks(hidden));
    expect(text).not.toContain(NODE_KEY);
    expect(text).not.toContain("127.0.0.1");
    expect(text).not.toContain("rpc_url");
  });
});

describe("the list", () => {
  it("is paged by name", async () => {
    const first = expectStatus(await ask(world, "?limit=1"), 200);
    expect([first.data[0].network, first.has_more]).toEqual(["base", true]);
    const second = expectStatus(await ask(world, `?limit=1&cursor=${first.next_cursor}`), 200);
    expect([second.data[0].network, second.has_more, second.next_cursor]).toEqual(["base-sepolia", false, null]);
    expect((await ask(world, "?limit=0")).status).toBe(422);
  });

  it("takes one trip to the database, and asks no node unless the caller is an operator", async () => {
    world.meter.reset();
    await listed();
    const { trips, rowsRead, rowsWritten } = world.meter.reading;
    expect([trips, rowsWritten]).toEqual([1, 0]);
    expect(rowsRead).toBeLessThanOrEqual(10);
    const asked = vi.spyOn(globalThis, "fetch");
    try {
      expect((await world.call("GET", PATH, { key: null })).status).toBe(401);
      expect((await world.call("GET", PATH)).status).toBe(401);
      expect(asked).not.toHaveBeenCalled();
      await listed();
      expect(asked).toHaveBeenCalledTimes(world.deps.config.networks.length);
    } finally {
      asked.mockRestore();
    }
  });
});

describe("a refused NETWORKS configuration", () => {
  const other = (change: Partial<NetworkInput>): string => JSON.stringify([{ ...SANDBOX, ...change }]);
  it.each<[string, string, RegExp]>([
    ["no JSON", "[", /^NETWORKS: it is not JSON$/],
    ["a token used as contract", other({ settlement_contract: SANDBOX.token }), /^NETWORKS: .*base-sepolia/],
    ["one network under two names", JSON.stringify([SANDBOX, { ...SANDBOX, network: "again" }]), /^NETWORKS: .*again/],
  ])("is reported to operators in one line, and nothing else is done: %s", async (_name, NETWORKS, line) => {
    const faulty = withVars(world, { NETWORKS });
    const told = expectStatus(await ask(faulty), 200);
    expect(told).toEqual({
      data: [],
      next_cursor: null,
      has_more: false,
      configuration_fault: expect.stringMatching(line),
    });
    expect(told.configuration_fault.split("\n")).toHaveLength(1);
    expect(told.configuration_fault).not.toContain("://");
    expect((await faulty.call("GET", PATH, { key: null })).status).toBe(401);
    for (const path of ["/v1/platform", "/v1/markets", "/v1/operator/jobs"]) {
      const refused = await faulty.call("GET", path, path.includes("operator") ? operator() : {});
      expect([path, refused.status, refused.body.code]).toEqual([path, 500, "internal_error"]);
      expect(JSON.stringify(refused.body)).not.toContain("NETWORKS");
    }
    expect(() => buildCheckedDeps(faulty.deps.env)).toThrow(line);
  });
});
