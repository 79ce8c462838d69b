// A wallet that is another provider's vault, on a node that fails, lies or is slow when it is asked what stands there: nobody waits long, the
// market is refused before anything is sent, and nothing is half done (MKT-24). The network `lab-vaults` belongs to this file alone.
import { eq } from "drizzle-orm";
import { describe, expect, it } from "vitest";
import { didHash } from "../../src/chain/hashes.ts";
import { escrows } from "../../src/db/tables/money.ts";
import { spoil } from "../support/chain.ts";
import { labOf, REGISTRAR } from "../support/lab.ts";
import type { Spoil } from "../support/spoiling-node.ts";
import { withSilentChain } from "../support/variants.ts";
import { expectStatus, type World } from "../support/world.ts";
import { market, openMarkets, useLab } from "./support.ts";

const LAB = "lab-vaults";
const { lab } = labOf(LAB);

let world: World;
const { open, marketOf, work } = useLab(LAB, (created) => {
  world = created;
});

const CODE = "eth_getCode";
/** Longer than such an answer is waited for, and than such a call may take. */
const SLOW_MS = 6_000;
async function vaultOfElder(): Promise<string> {
  const { did } = await world.agent("PROVIDER");
  const [opened] = expectStatus(await open(did), 200).markets;
  return opened.escrow_wallet;
}
const ask = (did: string, operational_wallet: string, by = world) =>
  openMarkets(by, did, [market({ network: LAB, operational_wallet })]);
const registered = async (did: string) => {
  const read = await world.deps.chain.readProvider(LAB, didHash(did));
  if (!read.ok) throw new Error("the chain does not answer");
  return read.value.operationalWallet;
};

describe("a wallet that is another provider's vault", () => {
  // The request knows nothing of the wallet then; the plan of the transaction asks again (MKT-24).
  it.each<[string, Omit<Spoil, "method" | "times">]>([
    ["does not answer", { how: "lose" }],
    ["answers with an error", { how: "refuse", message: "too many requests" }],
    ["answers with nothing", { how: "answer", result: null }],
    ["answers with no code", { how: "answer", result: "code" }],
    ["lies that nothing stands there", { how: "answer", result: "0x" }],
    ["is slow", { how: "slow", ms: SLOW_MS }],
  ])("is refused by the market's state where the node %s at first", async (_how, fault) => {
    const vault = await vaultOfElder();
    const { did } = await world.agent("PROVIDER");
    const before = await lab("eth_getTransactionCount", REGISTRAR, "pending");
    await spoil(LAB, { method: CODE, times: 1, ...fault });
    const begun = Date.now();
    expect(expectStatus(await ask(did, vault), 200).markets).toMatchObject([
      { status: "FAILED", reason: "InvalidWallet", escrow_wallet: null, registration_tx: null },
    ]);
    expect(Date.now() - begun).toBeLessThan(SLOW_MS - 1_000);
    expect(await registered(did)).toBeNull();
    expect(await lab("eth_getTransactionCount", REGISTRAR, "pending")).toBe(before);
    expect(await world.deps.db.select().from(escrows).where(eq(escrows.did, did))).toEqual([]);
    // Asked for again the node knows it; another wallet opens the market.
    expect((await ask(did, vault)).status).toBe(422);
    expect(expectStatus(await open(did), 200).markets).toMatchObject([{ status: "ACTIVE" }]);
  });

  it("is refused once the node is there again, and an open market keeps its wallet", async () => {
    const vault = await vaultOfElder();
    const { did } = await world.agent("PROVIDER");
    const [before] = expectStatus(await open(did), 200).markets;
    expect(expectStatus(await ask(did, vault, withSilentChain(world)), 200).markets).toMatchObject([
      { status: "PROVISIONING", operational_wallet: vault },
    ]);
    // While no node tells of the wallet, nothing is sent.
    await spoil(LAB, { method: CODE, times: 99, how: "refuse", message: "too many requests" });
    await work(did);
    expect(await marketOf(did)).toMatchObject({ status: "PROVISIONING" });
    await spoil(LAB);
    await work(did);
    expect(await marketOf(did)).toEqual({ ...before, reason: "InvalidWallet" });
    expect(await registered(did)).toBe(before.operational_wallet);
  });

  it("is not looked for where the contract has the wallet, however slow the node is", async () => {
    const { did } = await world.agent("PROVIDER");
    const first = expectStatus(await open(did), 200);
    await spoil(LAB, { method: CODE, times: 9, how: "slow", ms: SLOW_MS });
    const begun = Date.now();
    expect(expectStatus(await open(did), 200)).toEqual(first);
    expect(Date.now() - begun).toBeLessThan(1_500);
  });

  it("holds up a suspension of the agent no longer than such an answer is waited for", async () => {
    const { did } = await world.agent("PROVIDER");
    await spoil(LAB, { method: CODE, times: 1, how: "slow", ms: SLOW_MS });
    const begun = Date.now();
    const opening = open(did);
    await scheduler.wait(200);
    const { body } = await world.call("PATCH", `/v1/agents/${did}/status`, { body: { status: "SUSPENDED" } });
    expect(body.status).toBe("SUSPENDED");
    expect(Date.now() - begun).toBeLessThan(4_000);
    expect(expectStatus(await opening, 200).markets).toMatchObject([{ status: "ACTIVE" }]);
  });
});
