// Reports of an agent on the wire (AGT-35 to AGT-37).
import * as z from "zod";

import { transactionStatus } from "../facilitation/schema.ts";
import { didInput, instantInput, pageQuery, side } from "../http/schemas.ts";

import { taskOutcome, taskStatus } from "../tasks/schema.ts";

export const taskQuery = z.strictObject({
  ...pageQuery,
  status: taskStatus.optional(),
  outcome: taskOutcome.optional(),
  since: instantInput.optional(),
});
export type TaskQuery = z.infer<typeof taskQuery>;

export const reportQuery = z.strictObject(pageQuery);
export type ReportQuery = z.infer<typeof reportQuery>;

/** The filters of the lists across an account; each list adds its own status. */
const accountQuery = {
  ...pageQuery,
  did: didInput.optional(),
  role: side.optional(),
  since: instantInput.optional(),
  until: instantInput.optional(),
};

export const transactionQuery = z.strictObject({ ...accountQuery, status: transactionStatus.optional() });
export type TransactionQuery = z.infer<typeof transactionQuery>;

export const accountTaskQuery = z.strictObject({ ...accountQuery, status: taskStatus.optional() });
export type AccountTaskQuery = z.infer<typeof accountTaskQuery>;
