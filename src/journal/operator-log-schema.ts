// The operators' log on the wire.
import * as z from "zod";
import { OPERATOR_ACTIONS } from "../core/vocabulary.ts";
import { instant, jsonObject, listOf, pageQuery } from "../http/schemas.ts";

const operatorAction = z.enum(OPERATOR_ACTIONS).register(z.globalRegistry, { id: "OperatorAction" });

const operatorEntry = z
  .object({
    seq: z.number().int(),
    occurred_at: instant,
    action: operatorAction,
    actor: z
      .object({ type: z.literal("operator"), id: z.string() })
      .register(z.globalRegistry, { id: "OperatorActor" }),
    subject: z.object({ type: z.string(), id: z.string() }).register(z.globalRegistry, { id: "OperatorSubject" }),
    platform_id: z.string().nullable(),
    detail: jsonObject.optional(),
  })
  .register(z.globalRegistry, { id: "OperatorEntry" });
export type OperatorEntry = z.infer<typeof operatorEntry>;

export const operatorEntryList = listOf(operatorEntry).register(z.globalRegistry, { id: "OperatorEntryList" });

const word = z.string().min(1).max(320);
export const operatorLogQuery = z.strictObject({
  ...pageQuery,
  platform_id: word.optional(),
  actor: word.optional(),
  action: operatorAction.optional(),
});
export type OperatorLogQuery = z.infer<typeof operatorLogQuery>;
