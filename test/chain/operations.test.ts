// The record of a chain operation (CHN-14, CHN-19): how far it is, when it is looked at again, and that it counts only on what was read.
import { beforeAll, beforeEach, expect, it } from "vitest";
import { type DriveResult, type OwnProgress, recordDriven, recordRecheck } from "../../src/chain/operations.ts";
import { changeOperation, findOperation, requestAgain, requestOperation } from "../../src/chain/store.ts";
import { Conflict } from "../../src/core/retry.ts";
import { commit, type Database, readBatch } from "../../src/db/batch.ts";
import type { OperationRow } from "../../src/db/tables/chain.ts";
import { createWorld } from "../support/world.ts";

const KEY = { network: "base-sepolia", kind: "reserve", subject: "did:aeap:operations" } as const;
const NOW = 1_000_000_000_000;
const [MINUTE, HOUR] = [60_000, 3_600_000];

let db: Database;
beforeAll(async () => {
  ({ db } = (await createWorld()).deps);
});
beforeEach(() => commit(db, [requestOperation(db, KEY, {}, NOW)]));

async function read(): Promise<OperationRow> {
  const { operation } = await readBatch(db, { operation: findOperation(db, KEY) });
  if (!operation) throw new Error("the operation was requested");
  return operation;
}

async function record(driven: DriveResult<null>, own: OwnProgress): Promise<OperationRow> {
  await commit(db, recordDriven(db, await read(), driven, own, NOW));
  return read();
}

const wanted = { reserve: "5" };

it("waits with its reason and its transaction, and is looked at again after a minute", async () => {
  const driven = { state: "waiting", reason: "mining", txHash: "0x1" } as const;
  expect(await record(driven, { wanted })).toMatchObject({
    ...{ wanted, status: "waiting", reason: "mining", txHash: "0x1", nextCheckAt: NOW + MINUTE },
  });
  const further = { state: "waiting", reason: "chain_unavailable", txHash: null } as const;
  expect(await record(further, { wanted })).toMatchObject({ reason: "chain_unavailable", txHash: "0x1" });
});

it("is tried again an hour after the contract refused it, unless its kind says otherwise", async () => {
  const driven = { state: "failed", reason: "ExceedsVault", txHash: null } as const;
  const failed = { status: "failed", reason: "ExceedsVault" };
  expect(await record(driven, { wanted })).toMatchObject({ ...failed, nextCheckAt: NOW + HOUR });
  expect(await record(driven, { wanted, nextCheckAt: null })).toMatchObject({ ...failed, nextCheckAt: null });
});

it("keeps its schedule while it waits for the contract's delay, and drops it once it is done", async () => {
  const scheduled = { effectiveAt: NOW + HOUR, nonce: 2 };
  const seen = { ...wanted, effective_at: String(NOW + HOUR), nonce: "2" };
  const done = { state: "done", onChain: null, txHash: null } as const;
  const waiting = { state: "waiting", reason: "mining", txHash: null } as const;
  expect(await record(done, { wanted, scheduled })).toMatchObject({
    ...{ wanted: seen, status: "waiting", reason: "scheduled", nextCheckAt: NOW + HOUR + 1_000 },
  });
  expect(await record(waiting, { wanted })).toMatchObject({ wanted: seen, reason: "mining" });
  expect(await record(done, { wanted })).toMatchObject({ wanted, status: "done", reason: null });
});

it("is checked 1, 3, 7 and 15 minutes after it was done, and then no longer", async () => {
  let operation = await record({ state: "done", onChain: null, txHash: "0x2" }, { wanted });
  expect(operation).toMatchObject({ status: "done", reason: null, checks: 0 });
  const checkedAt: number[] = [];
  for (let at = operation.nextCheckAt; at !== null; at = operation.nextCheckAt) {
    checkedAt.push((at - NOW) / MINUTE);
    await commit(db, [recordRecheck(db, operation, at)]);
    operation = await read();
  }
  expect(checkedAt).toEqual([1, 3, 7, 15]);
});

it("records nothing if it changed since it was read, even in the same millisecond", async () => {
  const before = await read();
  await commit(db, changeOperation(db, before, { wanted }, before.updatedAt));
  const changed = await read();
  const driven = { state: "done", onChain: null, txHash: "0x3" } as const;
  await expect(commit(db, recordDriven(db, before, driven, { wanted: {} }, NOW))).rejects.toThrow(Conflict);
  await expect(commit(db, requestAgain(db, before, {}, NOW))).rejects.toThrow(Conflict);
  await commit(db, [recordRecheck(db, before, NOW)]);
  expect(await read()).toEqual(changed);
});
