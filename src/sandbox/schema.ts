// Requests about the sandbox clock (ACC-28).
import * as z from "zod";
import { type FieldError, toFieldError } from "../core/errors.ts";
import { CLOCK_DAYS_MAX, DAY_MS, SECOND_MS } from "../core/limits.ts";
import { instantInput } from "../http/schemas.ts";

export const advanceInput = z
  .strictObject({
    seconds: z
      .number()
      .int()
      .min(1)
      .max((CLOCK_DAYS_MAX * DAY_MS) / SECOND_MS)
      .optional(),
    to: instantInput.optional(),
  })
  .register(z.globalRegistry, {
    id: "ClockAdvance",
    oneOf: ["seconds", "to"].map((name) => ({ required: [name] })),
  });
export type AdvanceInput = z.infer<typeof advanceInput>;

export function findAdvanceFaults(raw: unknown): FieldError[] {
  if (typeof raw !== "object" || raw === null) return [];
  const { seconds, to } = raw as Record<string, unknown>;
  if (seconds === undefined && to === undefined) return [toFieldError("seconds", "required", "Send seconds or to.")];
  if (seconds === undefined || to === undefined) return [];
  return [toFieldError("to", "invalid_value", "Send seconds or to, not both.")];
}
