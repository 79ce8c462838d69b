// A provider's markets on a node that behaves as real ones do (MKT-6 to MKT-8, MKT-14, CHN-16 to CHN-19): refused, lost and undone registrations,
// missing blocks, and an account without gas. Only this file uses the network `lab-markets`.
import { eq } from "drizzle-orm";
import { encodeFunctionData } from "viem/utils";
import { describe, expect, it } from "vitest";
import { authorityAbi } from "../../scripts/chain/abi.ts";
import { ROLES } from "../../scripts/chain/roles.ts";
import { hashDid } from "../../src/chain/hashes.ts";
import { MINUTE_MS } from "../../src/core/limits.ts";
import { openDatabase } from "../../src/db/batch.ts";
import { chainOperations } from "../../src/db/tables/chain.ts";
import { alerts } from "../../src/db/tables/journal.ts";
import { escrows } from "../../src/db/tables/money.ts";
import { followThreshold, followThresholds } from "../../src/escrow/follow-threshold.ts";
import { provisionMarkets, resumeProvisioning } from "../../src/markets/provision.ts";
import { tendSigners } from "../../src/markets/trials.ts";
import { watchRegistrations } from "../../src/markets/watch.ts";
import { account, chainOf, networksWith, send, spoil } from "../support/chain.ts";
import { killAt } from "../support/cuts.ts";
import { labOf, REGISTRAR, RICH } from "../support/lab.ts";
import { deliverAll } from "../support/queue.ts";
import { ageSent, keptHashes } from "../support/signer.ts";
import { createWorld, env, expectStatus, type World } from "../support/world.ts";
import { impatient, later, takeMessages, useLab } from "./support.ts";

const LAB = "lab-markets";
const OWNER = account(5);
const { id: ROLE } = ROLES.REGISTRAR;

const { lab, mine } = labOf(LAB);
const authority = () => chainOf(LAB).authority;
const registrar = REGISTRAR as `0x${string}`;
const grant = encodeFunctionData({ abi: authorityAbi, functionName: "grantRole", args: [ROLE, registrar, 0] });
const revoke = encodeFunctionData({ abi: authorityAbi, functionName: "revokeRole", args: [ROLE, registrar] });

let world: World;
const { job, open, marketOf, work, alone } = useLab(LAB, (created) => {
  world = created;
});
const openAlerts = async (kind: string) =>
  (await openDatabase(env.DB).select().from(alerts)).filter((row) => row.kind === kind && row.acknowledgedAt === null);

describe("a market", () => {
  it("that the chain refuses is FAILED with the reason, and opens when it is requested again", async () => {
    const { did } = await world.agent("PROVIDER");
    await send(LAB, OWNER, authority(), revoke);
    try {
      expect(expectStatus(await open(did), 200).markets).toMatchObject([
        { status: "FAILED", reason: "AccessManagerUnauthorizedCall", escrow_wallet: null, registration_tx: null },
      ]);
    } finally {
      await send(LAB, OWNER, authority(), grant);
    }
    expect(expectStatus(await open(did), 200).markets).toMatchObject([{ status: "ACTIVE", network: LAB }]);
  });

  it("whose registration passes the dry run and then fails in its block is FAILED too", async () => {
    const { did } = await world.agent("PROVIDER");
    await lab("evm_setAutomine", false);
    // This pays more than the registration, so it comes first in the block.
    const revocation = { from: OWNER, to: authority(), data: revoke, gas: "0x2dc6c0", gasPrice: "0x174876e800" };
    const revoked = impatient(world, async () => {
      await lab("eth_sendTransaction", revocation);
      await mine();
    });
    try {
      expect(expectStatus(await open(did, revoked), 200).markets).toMatchObject([
        { status: "FAILED", reason: "reverted" },
      ]);
    } finally {
      await lab("evm_setAutomine", true);
      await send(LAB, OWNER, authority(), grant);
    }
    expect(expectStatus(await open(did), 200).markets).toMatchObject([{ status: "ACTIVE" }]);
  });

  it("waits for a chain without new blocks, blocks no other call, and opens in the background", async () => {
    const { did } = await world.agent("PROVIDER");
    await lab("evm_setAutomine", false);
    const suspending = impatient(world, async () => {
      const turn = await env.AGENTS.get(env.AGENTS.idFromName(did)).lock(0);
      expect(turn).not.toBeNull();
      turn?.lock[Symbol.dispose]();
      const { body } = await world.call("PATCH", `/v1/agents/${did}/status`, { body: { status: "SUSPENDED" } });
      expect(body.status).toBe("SUSPENDED");
    });
    const [market] = expectStatus(await open(did, suspending), 200).markets;
    expect(market).toMatchObject({ status: "PROVISIONING", escrow_wallet: null });
    // The answer names the waiting transaction, and no second one is sent.
    expect(market.registration_tx).toMatch(/^0x[0-9a-f]{64}$/);
    const waiting = () => lab("eth_getTransactionCount", REGISTRAR, "pending");
    const before = await waiting();
    expect(await provisionMarkets(impatient(world).deps, job(did), later())).toBeNull();
    expect(await waiting()).toBe(before);
    await lab("evm_setAutomine", true);
    await mine();
    await deliverAll(world);
    const { registration_tx } = market;
    expect(await marketOf(did)).toMatchObject({
      status: "ACTIVE",
      registration_tx,
      escrow_wallet: expect.stringMatching(/^0x/),
    });
  });

  it("waits when the node is down, and is resumed by the cron", async () => {
    const networks = JSON.parse(networksWith(LAB)) as { rpc_url: string }[];
    const silent = networks.map((network) => ({ ...network, rpc_url: "http://127.0.0.1:9" }));
    const deaf = await createWorld({ NETWORKS: JSON.stringify(silent) });
    const { did } = await deaf.agent("PROVIDER");
    const reply = await open(did, deaf);
    expect(expectStatus(reply, 200).markets).toMatchObject([{ status: "PROVISIONING" }]);
    await world.run(resumeProvisioning, { ...world.deps, clock: { now: () => world.now() + 120_000 } });
    await deliverAll(world);
    expect(await marketOf(did, deaf)).toMatchObject({ status: "ACTIVE" });
  });
});

describe("a registration", () => {
  it("that the pool has lost is sent again, and keeps no other market waiting", async () => {
    const [lost, next] = [await world.agent("PROVIDER"), await world.agent("PROVIDER")];
    await lab("evm_setAutomine", false);
    const [{ registration_tx }] = expectStatus(await open(lost.did, impatient(world)), 200).markets;
    await lab("anvil_dropTransaction", registration_tx);
    await lab("evm_setAutomine", true);
    // The chain mines the lost transaction before this one.
    expect(expectStatus(await open(next.did, impatient(world)), 200).markets).toMatchObject([
      { status: "PROVISIONING" },
    ]);
    await ageSent(LAB, 10_000);
    await world.run(tendSigners, alone());
    await mine();
    await deliverAll(world);
    expect(await marketOf(lost.did)).toMatchObject({ status: "ACTIVE", registration_tx });
    expect(await marketOf(next.did)).toMatchObject({ status: "ACTIVE" });
  });

  it("without gas waits with the reason and an alert, and continues once the account is filled", async () => {
    const { did } = await world.agent("PROVIDER");
    await lab("anvil_setBalance", REGISTRAR, "0x0");
    const [market] = expectStatus(await open(did), 200).markets;
    expect(market).toMatchObject({ status: "PROVISIONING", reason: "insufficient_gas", registration_tx: null });
    expect(await openAlerts("low_gas")).toMatchObject([{ subject: `registrar on ${LAB}` }]);
    await work(did);
    expect(await marketOf(did)).toMatchObject({ status: "PROVISIONING", reason: "insufficient_gas" });
    // A repeated finding counts on the same alert.
    expect(await openAlerts("low_gas")).toMatchObject([{ seen: expect.any(Number) }]);
    await lab("anvil_setBalance", REGISTRAR, RICH);
    await work(did);
    expect(await marketOf(did)).toMatchObject({ status: "ACTIVE" });
  });

  it("that a reorg undoes is noticed: the market leaves the document until it is registered again", async () => {
    const { did } = await world.agent("PROVIDER");
    const before = await lab("eth_blockNumber");
    expectStatus(await open(did), 200);
    const aid = async () => expectStatus(await world.call("GET", `/v1/agents/${did}/aid`, { key: null }), 200);
    const promised = await aid();
    expect(promised.identity.authorized_markets).toHaveLength(1);
    const depth = Number(await lab("eth_blockNumber")) - Number(before);
    await lab("anvil_rollback", depth);

    // The contract is read again a minute later, and not earlier.
    expect(await watch(did)).toBe("done");
    await due(did);
    expect(await watch(did)).toBe("waiting");
    expect(await marketOf(did)).toMatchObject({ status: "PROVISIONING", reason: "reorganised" });
    const unpromised = await aid();
    expect(unpromised.identity.authorized_markets).toEqual([]);
    expect(unpromised.version).toBe(promised.version + 1);
    expect(await openAlerts("chain_reorganised")).toMatchObject([{ subject: `${did} on ${LAB}` }]);

    await ageSent(LAB, 10_000);
    await work(did);
    expect(await marketOf(did)).toMatchObject({ status: "ACTIVE" });
    expect((await aid()).identity.authorized_markets).toEqual(promised.identity.authorized_markets);
  });

  it("is checked four times in a quarter of an hour, and never after that", async () => {
    const { did } = await world.agent("PROVIDER");
    let before = Date.now();
    expectStatus(await open(did), 200);
    for (const minutes of [1, 2, 4, 8]) {
      const next = (await stored(did)).nextCheckAt ?? 0;
      expect(next - before).toBeGreaterThanOrEqual(minutes * MINUTE_MS);
      expect(next - Date.now()).toBeLessThanOrEqual(minutes * MINUTE_MS);
      await due(did);
      before = Date.now();
      await watch(did);
    }
    expect((await stored(did)).nextCheckAt).toBe(null);
  });

  it("does not count as undone when a node does not answer", async () => {
    const { did } = await world.agent("PROVIDER");
    expectStatus(await open(did), 200);
    await due(did);
    await spoil(LAB, { method: "eth_call", times: 99, how: "lose" });
    await watch(did);
    await spoil(LAB);
    expect(await marketOf(did)).toMatchObject({ status: "ACTIVE" });
    expect((await stored(did)).nextCheckAt).not.toBeNull();
  });
});

describe("a registration during which the isolate dies", () => {
  /** The node spoils the call that sends the transaction, and its one retry. */
  const dieAfterSubmit = async (did: string, how: "lose" | "lose_answer") => {
    await spoil(LAB, { method: "eth_sendRawTransaction", times: 2, how });
    const cut = await killAt(world, { step: 1, moment: "after", of: "CHAIN_SIGNER.submit" }, (dying) =>
      open(did, dying),
    );
    await spoil(LAB);
    expect(cut).not.toBeNull();
    expect(await marketOf(did)).toMatchObject({ status: "PROVISIONING", registration_tx: null });
  };
  const sentBy = async () => Number(await lab("eth_getTransactionCount", REGISTRAR, "pending"));

  it("is sent by the minute's job if it was kept but never reached the node, and opens its market", async () => {
    const { did } = await world.agent("PROVIDER");
    const before = await sentBy();
    await dieAfterSubmit(did, "lose");
    expect(await sentBy()).toBe(before);
    const [kept] = (await keptHashes(LAB)).slice(-1);
    await ageSent(LAB, 10_000);
    await world.run(tendSigners, alone());
    await world.run(resumeProvisioning, { ...world.deps, clock: { now: () => world.now() + 120_000 } });
    await deliverAll(world);
    expect(await marketOf(did)).toMatchObject({ status: "ACTIVE" });
    expect([await sentBy(), (await keptHashes(LAB)).slice(-1)]).toEqual([before + 1, [kept]]);
  });

  it("is not sent again by the client's repeated call if it reached the node and the answer was lost", async () => {
    const { did } = await world.agent("PROVIDER");
    const before = await sentBy();
    await dieAfterSubmit(did, "lose_answer");
    expect(expectStatus(await open(did), 200).markets).toMatchObject([{ status: "ACTIVE" }]);
    expect(await sentBy()).toBe(before + 1);
  });
});

describe("a threshold", () => {
  const escrowOf = async (did: string) => {
    const [row] = await world.deps.db.select().from(escrows).where(eq(escrows.did, did));
    if (!row) throw new Error("no escrow");
    return row;
  };
  const want = (did: string, threshold: number) =>
    world.deps.db.update(escrows).set({ threshold }).where(eq(escrows.did, did));
  const onChain = async (did: string) => {
    const read = await world.deps.chain.readProvider(LAB, hashDid(did));
    if (!read.ok) throw new Error("the chain does not answer");
    return Number(read.value.threshold);
  };
  const count = async () => Number(await lab("eth_getTransactionCount", REGISTRAR, "pending"));

  it("that is requested ten times while no block comes is sent once", async () => {
    const { did } = await world.agent("PROVIDER");
    expectStatus(await open(did), 200);
    await want(did, 9_000_000);
    await lab("evm_setAutomine", false);
    const before = await count();
    const registered = await stored(did);
    const { deps } = impatient(world);
    const asked = Array.from({ length: 10 }, () => followThreshold(deps, job(did), later()));
    expect(await Promise.all(asked)).toEqual(Array(10).fill(false));
    expect(await count()).toBe(before + 1);
    // The registration is still watched as before.
    expect(await stored(did)).toEqual(registered);
    await lab("evm_setAutomine", true);
    await mine(1);
    expect(await followThreshold(world.deps, job(did), later())).toBe(true);
    expect(await onChain(did)).toBe(9_000_000);
    expect(await count()).toBe(before + 1);
  });

  it("that a reorg undoes is written again, and the market stays open", async () => {
    const { did } = await world.agent("PROVIDER");
    expectStatus(await open(did), 200);
    await want(did, 8_000_000);
    const before = await lab("eth_blockNumber");
    expect(await followThreshold(world.deps, job(did), later())).toBe(true);
    await lab("anvil_rollback", Number(await lab("eth_blockNumber")) - Number(before));
    await due(did);
    await watch(did);
    expect(await marketOf(did)).toMatchObject({ status: "ACTIVE" });
    expect((await escrowOf(did)).chainThreshold).toBe(15_000_000);
    await world.run(followThresholds);
    expect(takeMessages(world, did)).toContainEqual({ kind: "follow_threshold", ...job(did) });
    await ageSent(LAB, 10_000);
    expect(await followThreshold(world.deps, job(did), later())).toBe(true);
    expect(await onChain(did)).toBe(8_000_000);
  });
});

describe("the registrar's account", () => {
  it("raises an alert below its minimum balance", async () => {
    await world.run(tendSigners, alone());
    const count = (await openAlerts("low_gas")).reduce((sum, { seen }) => sum + seen, 0);
    await lab("anvil_setBalance", REGISTRAR, "0x2386f26fc0ffff");
    await world.run(tendSigners, alone());
    const [alert] = await openAlerts("low_gas");
    expect(alert).toMatchObject({ subject: `registrar on ${LAB}`, message: "The account holds 9999999999999999 wei." });
    expect(alert?.seen).toBe(count + 1);
  });

  it("raises an alert when its transaction has waited for five minutes", async () => {
    const { did } = await world.agent("PROVIDER");
    await lab("evm_setAutomine", false);
    expectStatus(await open(did, impatient(world)), 200);
    await world.run(tendSigners, alone());
    expect(await openAlerts("waiting_transaction")).toEqual([]);
    await ageSent(LAB, 5 * MINUTE_MS);
    await world.run(tendSigners, alone());
    expect(await openAlerts("waiting_transaction")).toMatchObject([{ subject: `registrar on ${LAB}` }]);
    await lab("evm_setAutomine", true);
    await mine();
    await work(did);
    expect(await marketOf(did)).toMatchObject({ status: "ACTIVE" });
  });
});

const stored = async (did: string) => {
  const [row] = await world.deps.db.select().from(chainOperations).where(eq(chainOperations.subject, did));
  if (!row) throw new Error("no operation");
  return row;
};
/** Makes the next check of the contract due. */
const due = (did: string) =>
  world.deps.db
    .update(chainOperations)
    .set({ nextCheckAt: Date.now() - 1 })
    .where(eq(chainOperations.subject, did));
/** Runs the check of the contract; returns the operation afterwards. */
async function watch(did: string): Promise<string> {
  await world.run(watchRegistrations);
  return (await marketOf(did)).status === "PROVISIONING" ? "waiting" : "done";
}
