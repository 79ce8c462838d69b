// Wire schemas of the operators' log.
import * as z from "zod";
import { OPERATOR_ACTIONS } from "../core/vocabulary.ts";
import { pageQuery } from "../http/schemas.ts";

export const operatorAction = z.enum(OPERATOR_ACTIONS).register(z.globalRegistry, { id: "OperatorAction" });

const word = z.string().min(1).max(320);
export const operatorLogQuery = z.strictObject({
  ...pageQuery,
  platform_id: word.optional(),
  actor: word.optional(),
  action: operatorAction.optional(),
});
export type OperatorLogQuery = z.infer<typeof operatorLogQuery>;
