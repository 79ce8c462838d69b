// The isolate dies at each step of opening a market and of changing its wallet and threshold (MKT-8, CHN-14, CHN-16): afterwards the minute's job
// or the client's repeated call finishes. The contract has the wallet and the threshold, and was called once for each.
import { eq } from "drizzle-orm";
import { encodeEventTopics } from "viem/utils";
import { beforeAll, describe, expect, it } from "vitest";
import { settlementAbi } from "../../scripts/chain/abi.ts";
import { hashDid } from "../../src/chain/hashes.ts";
import { MINUTE_MS } from "../../src/core/limits.ts";
import { agentMarkets } from "../../src/db/tables/agents.ts";
import { events } from "../../src/db/tables/journal.ts";
import { escrows } from "../../src/db/tables/money.ts";
import { resumeProvisioning } from "../../src/markets/provision.ts";
import { tendSigner } from "../../src/objects/signers.ts";
import { account, chainOf, rpc } from "../support/chain.ts";
import { type Cut, cutsOf, killAtEveryStep, momentsOfMany, namesOf } from "../support/cuts.ts";
import { REGISTRAR } from "../support/lab.ts";
import { deliverAll } from "../support/queue.ts";
import { createWorld, expectStatus, type Json, type World } from "../support/world.ts";
import { market, openMarkets } from "./support.ts";

const NETWORK = "base-sepolia";
const [FIRST, SECOND] = [account(8), account(7)];
const [BASE, LOWERED] = [15_000_000, 9_000_000];

let world: World;
let principal_id: string;
beforeAll(async () => {
  world = await createWorld();
  principal_id = await world.principal();
});

type Stage = { readonly world: World; readonly did: string; readonly sentBefore: number };
const ask = (by: World, did: string, operational_wallet: string) =>
  openMarkets(by, did, [market({ operational_wallet })]);
const sentByRegistrar = async () =>
  Number(await rpc<string>(NETWORK, "eth_getTransactionCount", [REGISTRAR, "pending"]));
const stageOf = async (did: string): Promise<Stage> => ({ world, did, sentBefore: await sentByRegistrar() });

/**
 * Finishes the change. If the request was stored, the minute's job does so after every second step; otherwise the client's repeated call does. A
 * death after a step leaves the same as a death before the next one, so a complete run tries both on each state.
 */
async function finish({ did }: Stage, { step }: Cut, wallet: string): Promise<void> {
  const wished = { status: "PROVISIONING", operationalWallet: wallet.toLowerCase() };
  const row = await marketOf(did);
  if (step % 2 === 0 && row?.status === wished.status && row.operationalWallet === wished.operationalWallet) {
    world.sent.splice(0);
    await world.run(resumeProvisioning, { ...world.deps, clock: { now: () => world.now() + 2 * MINUTE_MS } });
  } else expectStatus(await ask(world, did, wallet), 200);
  await deliverAll(world);
  expect(await marketOf(did)).toMatchObject({ ...wished, status: "ACTIVE" });
}

const marketOf = async (did: string) =>
  (await world.deps.db.select().from(agentMarkets).where(eq(agentMarkets.did, did)))[0];

async function stateOf({ did, sentBefore }: Stage): Promise<Json> {
  const { db, chain } = world.deps;
  const read = await chain.readProvider(NETWORK, hashDid(did));
  if (!read.ok) throw new Error("the chain does not answer");
  const [escrow] = await db.select().from(escrows).where(eq(escrows.did, did));
  const told = await db.select().from(events).where(eq(events.agentDid, did));
  const { operationalWallet, threshold, vault } = read.value;
  expect(await marketOf(did)).toMatchObject({ operationalWallet, escrowWallet: vault, reason: null });
  expect(escrow).toMatchObject({ threshold: Number(threshold), chainThreshold: Number(threshold) });
  return {
    split: [operationalWallet, Number(threshold)],
    calls: await callsOf(did),
    sent: (await sentByRegistrar()) - sentBefore,
    opened: told.filter(({ type }) => type === "market.provisioned").length,
  };
}

/** The events of the calls that changed the provider's split in the contract. */
async function callsOf(did: string): Promise<string[]> {
  const { settlement_contract: address } = chainOf(NETWORK);
  const found = { address, fromBlock: "0x0", topics: [Object.keys(NAMES), hashDid(did)] };
  const logs = await rpc<{ topics: string[] }[]>(NETWORK, "eth_getLogs", [found]);
  return logs.map(({ topics }) => NAMES[topics[0] ?? ""] ?? "");
}
const NAMES: Readonly<Record<string, string>> = Object.fromEntries(
  (["ProviderRegistered", "OperationalWalletSet", "ThresholdSet"] as const).map((eventName) => [
    encodeEventTopics({ abi: settlementAbi, eventName })[0],
    eventName,
  ]),
);

describe("a market whose isolate dies while it is opened", () => {
  it("is registered once and opens, wherever the isolate dies", async () => {
    const set = async () => stageOf((await world.agent("PROVIDER", { principal_id })).did);
    const cuts = await killAtEveryStep(
      set,
      (dying, { did }) => ask(dying, did, FIRST),
      async (stage, cut) => {
        await finish(stage, cut, FIRST);
        expect([cut, await stateOf(stage)]).toEqual([
          cut,
          { split: [FIRST.toLowerCase(), BASE], calls: ["ProviderRegistered"], sent: 1, opened: 1 },
        ]);
      },
    );
    expect(namesOf(cuts)).toEqual(
      cutsOf([
        ...["AGENTS.lock", "DB.batch", "DB.batch", "OUTBOX_QUEUE.send"],
        ...["AGENTS.lock", "DB.batch", "CHAIN_SIGNER.submit", "DB.batch", "DB.batch", "OUTBOX_QUEUE.send"],
      ]),
    );
  });
});

describe("a wallet and a threshold whose isolate dies while they are set", () => {
  it("are each set once, wherever the isolate dies", async () => {
    const set = async () => {
      const { did } = await world.agent("PROVIDER", { principal_id });
      expectStatus(await ask(world, did, FIRST), 200);
      await world.deps.db.update(escrows).set({ threshold: LOWERED }).where(eq(escrows.did, did));
      // The minute's job records that the registration is in its block.
      await tendSigner(world.deps.env, "registrar", NETWORK);
      return stageOf(did);
    };
    const cuts = await killAtEveryStep(
      set,
      (dying, { did }) => ask(dying, did, SECOND),
      async (stage, cut) => {
        await finish(stage, cut, SECOND);
        const calls = ["ProviderRegistered", "OperationalWalletSet", "ThresholdSet"];
        expect([cut, await stateOf(stage)]).toEqual([
          cut,
          { split: [SECOND.toLowerCase(), LOWERED], calls, sent: 2, opened: 2 },
        ]);
      },
      momentsOfMany(),
    );
    expect(namesOf(cuts)).toEqual(
      cutsOf(
        [
          ...["AGENTS.lock", "DB.batch", "DB.batch", "OUTBOX_QUEUE.send"],
          ...["AGENTS.lock", "DB.batch", "CHAIN_SIGNER.address"],
          ...Array(3).fill("CHAIN_SIGNER.submit"),
          ...["DB.batch", "DB.batch", "OUTBOX_QUEUE.send"],
        ],
        momentsOfMany(),
      ),
    );
  });
});
