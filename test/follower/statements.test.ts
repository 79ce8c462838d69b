// One invocation may send D1 1,000 statements (JOB-12). The follower stays below that for any number of payments, escrows and vaults in a minute, and
// leaves the rest to the next message.
import { encodeFunctionData } from "viem/utils";
import { beforeAll, expect, it } from "vitest";
import { settlementAbi } from "../../scripts/chain/abi.ts";
import { hashDid } from "../../src/chain/hashes.ts";
import { requireNetwork } from "../../src/chain/networks.ts";
import { commit, readBatch } from "../../src/db/batch.ts";
import { recordGains } from "../../src/follower/book.ts";
import { findEscrowsOfProviders } from "../../src/follower/store.ts";
import { buyer, dailyLimit, delegateOf, orderOf } from "../payments/support.ts";
import { deposit, rows } from "../promotion/support.ts";
import { account, asRole, chainOf, payOnChain, send } from "../support/chain.ts";
import { createWorld, expectStatus, type World } from "../support/world.ts";
import { follow, followMessages } from "./support.ts";

const NETWORK = "base-sepolia";
const MOST = 1_000;

let world: World;
let shops: World;
beforeAll(async () => {
  [world, shops] = [await createWorld(), await createWorld()];
});

it("the follower binds and books 130 payments of one minute in several runs, and reports a key's act in the first run", async () => {
  const PAYMENTS = 130;
  // Each payment moves the holds of three agents, and each of two platforms gets an event.
  const top = await buyer(world, dailyLimit("100000.00"));
  const middle = await delegateOf(world, top, dailyLimit("100000.00"));
  const consumer = await delegateOf(world, middle, dailyLimit("100000.00"));
  const provider = await shops.provider();
  await follow(world);
  const intents: string[] = [];
  for (let n = 0; n < PAYMENTS; n++) {
    const body = orderOf(consumer, provider, { amount: "1.00" });
    intents.push(expectStatus(await world.as(consumer, "POST", "/v1/payment-intents", body), 201).intent_id);
  }
  for (const intentId of intents) await payOnChain(consumer.did, provider.did, 1_000_000, { intentId });
  const act = await setThreshold(provider.did, 14_000_000);
  const statements = await followMessages(world, NETWORK, async () => {
    expect(await rows("select kind from alerts where instr(subject, ?) > 0", act)).toEqual([{ kind: "foreign_act" }]);
  });
  expect([statements.filter((count) => count >= MOST / 2), statements.length > 1]).toEqual([[], true]);
  const paid = await rows(
    "select count(*) as count from payment_intents where status = 'PAID' and intent_id in (select value from json_each(?))",
    JSON.stringify(intents),
  );
  expect(paid).toEqual([{ count: PAYMENTS }]);
  const holds = await rows(
    "select did, count(*) as count from spend_holds where expires_at = ? group by did",
    Number.MAX_SAFE_INTEGER,
  );
  expect(holds.map(({ count }) => count)).toEqual([PAYMENTS, PAYMENTS, PAYMENTS]);
  await follow(world);
  expect(
    await rows("select count(*) as count from ledger_lines where did = ? and kind = 'settlement'", provider.did),
  ).toEqual([{ count: PAYMENTS }]);
});

/** Sends a call with the registrar's key that the service did not ask for. */
function setThreshold(did: string, units: number): Promise<string> {
  const args = [hashDid(did), chainOf(NETWORK).token as `0x${string}`, BigInt(units)] as const;
  const call = asRole(NETWORK, encodeFunctionData({ abi: settlementAbi, functionName: "setThreshold", args }));
  return send(NETWORK, account(1), call.to, call.data);
}

it("the follower writes one event for each of 24 escrows that become ACTIVE in one minute", async () => {
  const providers: string[] = [];
  for (let n = 0; n < 24; n++) providers.push((await shops.provider()).did);
  await follow(world);
  for (const did of providers) await deposit(did, 15_000_000);
  const statements = [...(await followMessages(world)), ...(await followMessages(world))];
  expect(statements.filter((count) => count >= MOST / 2)).toEqual([]);
  const told = await rows(
    `select count(*) as count, count(distinct agent_did) as agents from events where type = 'agent.escrow_state_changed'
       and agent_did in (select value from json_each(?))`,
    JSON.stringify(providers),
  );
  expect(told).toEqual([{ count: 24, agents: 24 }]);
  const states = await rows(
    `select distinct e.state, a.escrow_states ->> 'base-sepolia' as told from escrows e join agents a using (did)
       where e.did in (select value from json_each(?))`,
    JSON.stringify(providers),
  );
  expect(states).toEqual([{ state: "ACTIVE", told: "ACTIVE" }]);
  expect(await rows("select turned from followers where network = ?", NETWORK)).toEqual([{ turned: "[]" }]);
});

it("one statement credits 600 vaults, and credits none if one of their escrows has changed", async () => {
  const VAULTS = 600;
  const { did } = await world.provider();
  const columns = (await rows("select name from pragma_table_info('escrows')")).map(({ name }) => name);
  const copied = columns.map((name) => (name === "did" ? "'did:aeap:' || printf('%08x', n.i)" : name));
  await rows(
    `with recursive n(i) as (select 1 union all select i + 1 from n where i < ${VAULTS})
     insert into escrows (${columns.join(", ")}) select ${copied.join(", ")} from escrows, n where did = ?`,
    did,
  );
  const dids = Array.from({ length: VAULTS }, (_, n) => `did:aeap:${(n + 1).toString(16).padStart(8, "0")}`);
  const { db } = world.deps;
  const { escrows } = await readBatch(db, { escrows: findEscrowsOfProviders(db, NETWORK, dids) });
  const [first] = escrows;
  if (!first) throw new Error("no escrow");
  const network = requireNetwork(world.deps.config.networks, NETWORK);
  const contract = network.settlement_contract.toLowerCase();
  const gains = dids.map((one, n) => ({ vault: { did: one, contract }, amount: n + 1 }));
  const statements = await recordGains(world.deps, network, gains, escrows);
  expect(statements.length).toBeLessThan(5);
  await rows("update escrows set threshold = threshold + 1 where did = ?", dids[300]);
  await expect(commit(db, statements)).rejects.toThrow();
  const balances = () =>
    rows(
      "select balance from escrows where did in (select value from json_each(?)) order by did",
      JSON.stringify(dids),
    );
  expect(new Set((await balances()).map(({ balance }) => balance))).toEqual(new Set([first.balance]));
  await rows("update escrows set threshold = threshold - 1 where did = ?", dids[300]);
  await commit(db, statements);
  expect((await balances()).map(({ balance }) => balance)).toEqual(gains.map(({ amount }) => first.balance + amount));
});
