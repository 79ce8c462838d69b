// The budgets of disputes: the acts of the parties and of the arbiter.
import { type Budget, KIB, mutation, read } from "./budget.ts";

export const DISPUTE_BUDGETS: Readonly<Record<string, Budget>> = {
  // A dispute: two agents, the escrow, the task, the dispute and its places in lists, one event for both sides, and the reserve that the chain is to
  // keep. The other side's account is read, and gets a notice. A filing and a decision write one entry each, because one platform has both sides
  // here.
  "POST /v1/disputes": mutation(19, 26, 2 * KIB, { objects: 1, queues: 2 }),
  "POST /v1/disputes (management key)": mutation(19, 26, 2 * KIB, { queues: 2 }),
  "GET /v1/disputes/{dispute_id}": read(7, 2 * KIB, { objects: 1 }),
  "GET /v1/disputes": read(60, 24 * KIB),
  "POST /v1/disputes/{dispute_id}/respond": mutation(7, 5, 2 * KIB, { objects: 1 }),
  "POST /v1/disputes/{dispute_id}/evidence": mutation(7, 5, KIB, { objects: 1 }),
  "POST /v1/disputes/{dispute_id}/accept": mutation(65, 36, 2 * KIB, { objects: 1, queues: 2 }),
  "POST /v1/disputes/{dispute_id}/concede": mutation(65, 36, 2 * KIB, { objects: 1, queues: 2 }),
  "POST /v1/disputes/{dispute_id}/withdraw": mutation(46, 17, 2 * KIB, { objects: 1, queues: 2 }),
  "POST /v1/disputes/{dispute_id}/escalate": mutation(7, 7, 2 * KIB, { objects: 1 }),
  "GET /v1/operator/disputes": read(60, 24 * KIB),
  "GET /v1/operator/disputes/{dispute_id}": read(36, 8 * KIB),
  "POST /v1/operator/disputes/{dispute_id}/resolve": mutation(65, 45, 4 * KIB, { queues: 3 }),
  "POST /v1/operator/disputes/{dispute_id}/resolve (rejected)": mutation(65, 43, 4 * KIB, { queues: 2 }),
  "POST /v1/operator/disputes/{dispute_id}/payout": mutation(20, 20, KIB, { queues: 3 }),
};
