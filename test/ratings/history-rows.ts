// The rows of an unpaid purchase. The code that closes its task, decides about it and reverses it reads nothing else.
import { createId } from "../../src/core/ids.ts";
import type { Environment } from "../../src/core/vocabulary.ts";
import { commit } from "../../src/db/batch.ts";
import { tasks, transactions } from "../../src/db/tables/money.ts";
import type { World } from "../support/world.ts";
import type { Side } from "./history-model.ts";

export type Purchase = {
  readonly environment: Environment;
  readonly did: Readonly<Record<Side, string>>;
  readonly platform: Readonly<Record<Side, string>>;
  readonly principal: Readonly<Record<Side, string>>;
  readonly units: number;
  /** False if the consumer has shown no will of its own (TSK-12). */
  readonly willed: boolean;
  readonly status: "open" | "disputed";
  readonly openedAt: number;
  readonly confirmBy: number;
};

/** Returns the task's id. */
export async function insertPurchase({ deps: { db } }: World, purchase: Purchase): Promise<string> {
  const { environment, did, platform, principal, units, status, openedAt, confirmBy } = purchase;
  const taskId = createId("tsk", openedAt);
  const [transactionId, intentId] = [createId("fac", openedAt), createId("pin", openedAt)];
  const shared = { transactionId, environment, intentId, consumerDid: did.consumer, providerDid: did.provider };
  const paid = { network: "base-sepolia", currency: "USDC", gross: units };
  const ruledBy = platform.consumer === platform.provider ? null : platform.consumer;
  await commit(db, [
    db.insert(transactions).values({
      ...{ ...shared, ...paid, taskId, consumerPlatformId: platform.consumer, providerPlatformId: platform.provider },
      ...{
        txHash: transactionId,
        logIndex: 0,
        payer: "0x1",
        operationalWallet: "0x2",
        fee: 0,
        escrow: 0,
        operational: units,
      },
      ...{ escrowState: "FUNDING", escrowBalance: 0, disputeWindowDays: 14, providerAidVersion: 1 },
      ...{ consumerWilled: purchase.willed, blockNumber: 1, blockHash: "0x3", settledAt: openedAt },
    }),
    db.insert(tasks).values({
      ...{ ...shared, ...paid, taskId, ruledBy, status, openedAt, confirmBy },
      ...{ providerPrincipalId: principal.provider, consumerPrincipalId: principal.consumer },
    }),
  ]);
  return taskId;
}
