// A chain that stands still: the rows of test/consequences/table.ts for a registration that waits (MKT-7, CHN-17, JOB-9), and that it keeps no other
// work waiting (MKT-6, JOB-13). Only this file uses the network `lab-waiting`.
import { createExecutionContext, createMessageBatch, getQueueResult } from "cloudflare:test";
import { isNull } from "drizzle-orm";
import { describe, expect, it } from "vitest";
import type { ChainGateway } from "../../src/chain/gateway.ts";
import { hashDid } from "../../src/chain/hashes.ts";
import { requireNetwork } from "../../src/chain/networks.ts";
import { driveAct } from "../../src/chain/vault-acts.ts";
import type { Deps } from "../../src/context.ts";
import { MINUTE_MS } from "../../src/core/limits.ts";
import { alerts } from "../../src/db/tables/journal.ts";
import { provisionMarkets } from "../../src/markets/provision.ts";
import { tendArbiters, tendSigners } from "../../src/markets/trials.ts";
import { createSigner, tendSigner } from "../../src/objects/signers.ts";
import { type Message, runMessagesWith } from "../../src/queue.ts";
import { JOB_CONSEQUENCES, MESSAGE_CONSEQUENCES, OPERATION_CONSEQUENCES } from "../consequences/table.ts";
import type { Consequence } from "../consequences/words.ts";
import { account, spoil } from "../support/chain.ts";
import { expectedOf, observe, type Seen } from "../support/consequences.ts";
import { labOf, REGISTRAR } from "../support/lab.ts";
import { ageSent, keptHashes } from "../support/signer.ts";
import { withSilentChain } from "../support/variants.ts";
import { env, expectStatus, type World } from "../support/world.ts";
import { impatient, later, market, openMarkets, useLab } from "./support.ts";

const LAB = "lab-waiting";
const { lab, mine } = labOf(LAB);

let world: World;
const { job, open, marketOf, work, alone } = useLab(LAB, (created) => {
  world = created;
});

function rowOf(rows: readonly Consequence[] | undefined, when: string): Seen {
  const row = rows?.find((each) => each.when === when);
  if (!row) throw new Error(`no row: ${when}`);
  return expectedOf(row);
}

describe("a registration that waits writes exactly its row:", () => {
  const waits = (did: string) => async () => {
    expect(await provisionMarkets(impatient(world).deps, job(did), later())).toBeNull();
    return { agent: [did] };
  };
  const asked = async () => {
    const { did } = await world.agent("PROVIDER");
    expectStatus(await open(did, withSilentChain(world)), 200);
    await world.deps.db.update(alerts).set({ acknowledgedAt: world.now() });
    return did;
  };
  const ofProvisioning = (when: string) => rowOf(MESSAGE_CONSEQUENCES.provision_market, when);

  it("without gas", async () => {
    const did = await asked();
    await lab("anvil_setBalance", REGISTRAR, "0x0");
    expect(await observe(world, waits(did))).toEqual(ofProvisioning("the registrar has no gas"));
  });

  it("without gas, within the call", async () => {
    const { did } = await world.agent("PROVIDER");
    await world.deps.db.update(alerts).set({ acknowledgedAt: world.now() });
    await lab("anvil_setBalance", REGISTRAR, "0x0");
    const act = async () => {
      expectStatus(await open(did), 200);
      return { agent: [did] };
    };
    const row = rowOf(OPERATION_CONSEQUENCES["authorizeMarkets"], "the registrar has no gas");
    expect(await observe(world, act)).toEqual(row);
  });

  it("while no block takes it, and after five minutes", async () => {
    const did = await asked();
    await lab("evm_setAutomine", false);
    expect(await observe(world, waits(did))).toEqual(ofProvisioning("no block takes the transaction"));
    await ageSent(LAB, 5 * MINUTE_MS);
    const act = () => world.run(tendSigners, alone()).then(() => ({}));
    const row = rowOf(JOB_CONSEQUENCES["tend_signers"], "a transaction has waited for five minutes");
    expect(await observe(world, act)).toEqual(row);
    await lab("evm_setAutomine", true);
    await mine();
    await work(did);
    expect(await marketOf(did)).toMatchObject({ status: "ACTIVE" });
  });

  it("of the arbiter, which has its own nonces, after five minutes", async () => {
    const { did } = await world.agent("PROVIDER");
    expectStatus(await open(did), 200);
    await world.deps.db.update(alerts).set({ acknowledgedAt: world.now() });
    const network = requireNetwork(world.deps.config.networks, LAB);
    const act = { kind: "reserve", providerDidHash: hashDid(did), reserve: 5n } as const;
    const drive = ({ deps: { chain } }: World) =>
      driveAct({ chain, signer: createSigner(env, "arbiter", LAB) }, network, act, null, later());
    const before = await lab("eth_getTransactionCount", REGISTRAR, "latest");
    await lab("evm_setAutomine", false);
    expect(await drive(impatient(world))).toMatchObject({ state: "waiting", reason: "mining" });
    await ageSent(LAB, 5 * MINUTE_MS, "arbiter");
    const tend = () => world.run(tendArbiters, alone()).then(() => ({}));
    const row = rowOf(JOB_CONSEQUENCES["tend_arbiters"], "a transaction has waited for five minutes");
    expect(await observe(world, tend)).toEqual(row);
    await lab("evm_setAutomine", true);
    await mine();
    expect(await drive(world)).toMatchObject({ state: "done", onChain: { scheduled: null } });
    expect(await lab("eth_getTransactionCount", REGISTRAR, "latest")).toBe(before);
  });

  it("while the network's fees are above the bound", async () => {
    const did = await asked();
    const block = await lab("eth_getBlockByNumber", "latest", false);
    const dear = { ...block, baseFeePerGas: "0x174876e801" };
    await spoil(LAB, { method: "eth_getBlockByNumber", times: 99, how: "answer", result: dear });
    expect(await observe(world, waits(did))).toEqual(ofProvisioning("the network's fees are above the bound"));
    expect(await marketOf(did)).toMatchObject({ status: "PROVISIONING", reason: "fee_above_bound" });
    await spoil(LAB);
    await work(did);
    expect(await marketOf(did)).toMatchObject({ status: "ACTIVE" });
  });
});

describe("a node that names another chain", () => {
  it.each([
    ["tend_signers", tendSigners],
    ["tend_arbiters", tendArbiters],
  ] as const)("raises an alert for its network, which %s writes and nothing else", async (name, tender) => {
    const act = () => world.run(tender, alone()).then(() => ({}));
    await world.deps.db.update(alerts).set({ acknowledgedAt: world.now() });
    await spoil(LAB, { method: "eth_chainId", times: 99, how: "answer", result: "0x2105" });
    expect(await observe(world, act)).toEqual(rowOf(JOB_CONSEQUENCES[name], "the node is of another chain"));
    const unseen = isNull(alerts.acknowledgedAt);
    const message = expect.stringMatching(/^chain_id is \d+ in NETWORKS, and the node is of another chain\.$/);
    expect(await world.deps.db.select().from(alerts).where(unseen)).toMatchObject([
      { kind: "network", subject: LAB, message, seen: 1 },
    ]);
    await world.deps.db.update(alerts).set({ acknowledgedAt: world.now() });
    await spoil(LAB);
    await act();
    expect(await world.deps.db.select().from(alerts).where(unseen)).toEqual([]);
  });
});

/** Moves the clock over the time that the service would wait for a block of the lab. */
function skipWaits({ deps }: World): Deps {
  let skippedMs = 0;
  const waitForReceipt: ChainGateway["waitForReceipt"] = async (network, txHash, waitMs) => {
    if (network !== LAB) return deps.chain.waitForReceipt(network, txHash, waitMs);
    skippedMs = Math.max(skippedMs, waitMs);
    return deps.chain.waitForReceipt(network, txHash, 0);
  };
  return { ...deps, clock: { now: () => Date.now() + skippedMs }, chain: { ...deps.chain, waitForReceipt } };
}

describe("a network that stands still", () => {
  it("keeps no other network's messages waiting: after a few waits in vain, its own are left to the minute's job", async () => {
    const [stuck, free] = [await world.agent("PROVIDER"), await world.agent("PROVIDER")];
    const silent = withSilentChain(world);
    expectStatus(await open(stuck.did, silent), 200);
    expectStatus(await openMarkets(silent, free.did, [market()]), 200);
    await lab("evm_setAutomine", false);
    const bodies = [
      ...Array.from({ length: 18 }, () => ({ kind: "provision_market", ...job(stuck.did) })),
      { kind: "provision_market", ...job(free.did), network: "base-sepolia" },
    ];
    const messages = bodies.map((body, at) => ({ id: String(at), timestamp: new Date(), attempts: 1, body }));
    const batch = createMessageBatch<Message>("chain", messages as never);
    world.meter.reset();
    await world.serve(() => runMessagesWith(skipWaits(world), batch));
    expect((await getQueueResult(batch, createExecutionContext())).explicitAcks).toHaveLength(19);
    // Six messages are read, wait and are recorded; the others are not even read.
    expect(world.meter.reading.trips).toBeLessThan(6 * 2 + 6);
    expect(await marketOf(free.did)).toMatchObject({ status: "ACTIVE" });
    expect(await marketOf(stuck.did)).toMatchObject({ status: "PROVISIONING" });
    await lab("evm_setAutomine", true);
    await mine();
    await work(stuck.did);
    expect(await marketOf(stuck.did)).toMatchObject({ status: "ACTIVE" });
  });
});

describe("the signer of a network", () => {
  it("skips work whose caller no longer waits", async () => {
    const signer = createSigner(env, "registrar", LAB);
    const call = { network: LAB, to: account(1), data: "0x" };
    const before = await keptHashes(LAB);
    expect(await signer.submit("late", call, "instead", Date.now() - 1)).toMatchObject({
      ok: false,
      error: { reason: "timeout" },
    });
    expect(await keptHashes(LAB)).toEqual(before);
  });

  it("stops at its first transaction for which the node does not answer", async () => {
    await lab("evm_setAutomine", false);
    const dids = await Promise.all([1, 2, 3].map(() => world.agent("PROVIDER")));
    for (const { did } of dids) {
      expectStatus(await open(did, withSilentChain(world)), 200);
      expect(await provisionMarkets(impatient(world).deps, job(did), later())).toBeNull();
    }
    await ageSent(LAB, 20_000);
    await spoil(LAB, { method: "eth_sendRawTransaction", times: 99, how: "lose" });
    const standing = await tendSigner(env, "registrar", LAB);
    expect(standing).toMatchObject({ ok: true, value: { waiting: 3, reason: "node_silent" } });
    await spoil(LAB);
    await lab("evm_setAutomine", true);
    await mine();
    await ageSent(LAB, 20_000);
    for (const { did } of dids) {
      await work(did);
      expect(await marketOf(did)).toMatchObject({ status: "ACTIVE" });
    }
  });
});
