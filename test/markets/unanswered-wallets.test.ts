// A wallet that is another provider's vault, on a node that fails, lies or is slow when it is asked for the code there: no call waits long, the
// market is refused before anything is sent, and nothing is half done (MKT-24). Only this file uses the network `lab-vaults`.
import { eq } from "drizzle-orm";
import { describe, expect, it } from "vitest";
import { createChainGateway } from "../../src/chain/evm.ts";
import { hashDid } from "../../src/chain/hashes.ts";
import { createRpc } from "../../src/chain/rpc.ts";
import { escrows } from "../../src/db/tables/money.ts";
import { spoil } from "../support/chain.ts";
import { labOf, REGISTRAR } from "../support/lab.ts";
import type { Spoil } from "../support/spoiling-node.ts";
import { withDeps, withSilentChain } from "../support/variants.ts";
import { env, expectStatus, type Reply, type World } from "../support/world.ts";
import { market, openMarkets, useLab } from "./support.ts";

const LAB = "lab-vaults";
const { lab } = labOf(LAB);

let world: World;
const { open, marketOf, work } = useLab(LAB, (created) => {
  world = created;
});

const CODE = "eth_getCode";
const WAITED_MS = 2_000;

/**
 * A world whose node does not answer the first question for code in time; `meanwhile` runs during the wait. `waits`: the time limit of each
 * question for code, in milliseconds.
 */
function withSlowNode(meanwhile: () => Promise<unknown> = async () => undefined) {
  const waits: number[] = [];
  let last = 0;
  const limit = (ms: number): AbortSignal => {
    last = ms;
    return new AbortController().signal;
  };
  const fetcher = async (...[url, init]: Parameters<typeof fetch>): Promise<Response> => {
    if (!String(init?.body).includes(CODE)) return fetch(url, init);
    waits.push(last);
    if (waits.length > 1) return fetch(url, init);
    await meanwhile();
    throw new DOMException("The time is over.", "TimeoutError");
  };
  const { deps } = world;
  const chain = createChainGateway(deps.config.networks, createRpc(fetcher as typeof fetch, limit));
  return { slow: withDeps(world, { ...deps, chain }), waits };
}

async function vaultOfElder(): Promise<string> {
  const { did } = await world.agent("PROVIDER");
  const [opened] = expectStatus(await open(did), 200).markets;
  return opened.escrow_wallet;
}
const ask = (did: string, operational_wallet: string, by = world) =>
  openMarkets(by, did, [market({ network: LAB, operational_wallet })]);
const registered = async (did: string) => {
  const read = await world.deps.chain.readProvider(LAB, hashDid(did));
  if (!read.ok) throw new Error("the chain does not answer");
  return read.value.operationalWallet;
};

describe("a wallet that is another provider's vault", () => {
  // The request then knows nothing about the wallet; the plan of the transaction asks again (MKT-24).
  it.each<[string, Omit<Spoil, "method" | "times">]>([
    ["does not answer", { how: "lose" }],
    ["answers with an error", { how: "refuse", message: "too many requests" }],
    ["answers with nothing", { how: "answer", result: null }],
    ["answers with no code", { how: "answer", result: "code" }],
    ["lies that there is no code", { how: "answer", result: "0x" }],
  ])("is refused through the market's status if the node %s at first", async (_how, fault) => {
    const vault = await vaultOfElder();
    const { did } = await world.agent("PROVIDER");
    await spoil(LAB, { method: CODE, times: 1, ...fault });
    await expectRefused(did, vault, world);
  });

  it("is refused through the market's status if the node is slow at first, after a wait of two seconds", async () => {
    const vault = await vaultOfElder();
    const { did } = await world.agent("PROVIDER");
    const { slow, waits } = withSlowNode();
    await expectRefused(did, vault, slow);
    expect(waits[0]).toBe(WAITED_MS);
  });

  async function expectRefused(did: string, vault: string, by: World): Promise<void> {
    const before = await lab("eth_getTransactionCount", REGISTRAR, "pending");
    expect(expectStatus(await ask(did, vault, by), 200).markets).toMatchObject([
      { status: "FAILED", reason: "InvalidWallet", escrow_wallet: null, registration_tx: null },
    ]);
    expect(await registered(did)).toBeNull();
    expect(await lab("eth_getTransactionCount", REGISTRAR, "pending")).toBe(before);
    expect(await world.deps.db.select().from(escrows).where(eq(escrows.did, did))).toEqual([]);
    // When the wallet is requested again, the node knows it; another wallet opens the market.
    expect((await ask(did, vault)).status).toBe(422);
    expect(expectStatus(await open(did), 200).markets).toMatchObject([{ status: "ACTIVE" }]);
  }

  it("is refused once the node is back, and an open market keeps its wallet", async () => {
    const vault = await vaultOfElder();
    const { did } = await world.agent("PROVIDER");
    const [before] = expectStatus(await open(did), 200).markets;
    expect(expectStatus(await ask(did, vault, withSilentChain(world)), 200).markets).toMatchObject([
      { status: "PROVISIONING", operational_wallet: vault },
    ]);
    // While no node answers about the wallet, nothing is sent.
    await spoil(LAB, { method: CODE, times: 99, how: "refuse", message: "too many requests" });
    await work(did);
    expect(await marketOf(did)).toMatchObject({ status: "PROVISIONING" });
    await spoil(LAB);
    await work(did);
    expect(await marketOf(did)).toEqual({ ...before, reason: "InvalidWallet" });
    expect(await registered(did)).toBe(before.operational_wallet);
  });

  it("is not checked if the contract already has the wallet", async () => {
    const { did } = await world.agent("PROVIDER");
    const first = expectStatus(await open(did), 200);
    const { slow, waits } = withSlowNode();
    expect(expectStatus(await open(did, slow), 200)).toEqual(first);
    expect(waits).toEqual([]);
  });

  it("delays a suspension of the agent only as long as the wait for the answer", async () => {
    const { did } = await world.agent("PROVIDER");
    const suspended = Promise.withResolvers<Reply>();
    const { slow, waits } = withSlowNode(async () => {
      expect(await env.AGENTS.get(env.AGENTS.idFromName(did)).lock(0)).toBeNull();
      const body = { status: "SUSPENDED" };
      suspended.resolve(world.call("PATCH", `/v1/agents/${did}/status`, { body }));
    });
    expect(expectStatus(await open(did, slow), 200).markets).toMatchObject([{ status: "ACTIVE" }]);
    expect(expectStatus(await suspended.promise, 200).status).toBe("SUSPENDED");
    expect(waits[0]).toBe(WAITED_MS);
  });
});
