// Requests to the directory (DIR-1, DIR-7, DIR-8, DIR-11, DIR-14).
import * as z from "zod";
import { DIRECTORY_PAGE_MAX, DIRECTORY_TERMS_MAX } from "../core/limits.ts";
import { isDouble, trimSpaces } from "../core/text.ts";
import { DIRECTORY_STATUSES } from "../core/vocabulary.ts";
import {
  buildStartSchema,
  buildWholeNumberSchema,
  economicRole,
  instantInput,
  pageQuery,
  tier,
} from "../http/schemas.ts";

export const ENTRY_STATUSES = ["ACTIVE", "SUSPENDED", "REVOKED", "TERMINATED"] as const;
export type EntryStatus = (typeof ENTRY_STATUSES)[number];

const TOO_MANY = { params: { code: "too_long" }, message: `Must name at most ${DIRECTORY_TERMS_MAX} values.` };

const buildCommaListSchema = (form: RegExp, message: string) =>
  z
    .string()
    .max(6_000, { abort: true })
    .transform((text) => [...new Set(text.split(",").map((word) => trimSpaces(word).normalize("NFC")))])
    .refine((list) => list.length <= DIRECTORY_TERMS_MAX, TOO_MANY)
    .refine((list) => list.every((word) => form.test(word)), { params: { code: "invalid_format" }, message });

/** A decimal in a query, written in digits: other texts that JavaScript reads as numbers are faults. */
const buildDecimalSchema = (number: z.ZodNumber) =>
  z.preprocess(
    (text) =>
      typeof text === "string" && /^-?\d{1,15}(\.\d{1,50})?$/.test(text) && isDouble(text) ? Number(text) : text,
    number,
  );

export const entryQuery = z.strictObject({
  ...pageQuery,
  economic_role: economicRole.optional(),
  capabilities: buildCommaListSchema(/^.{1,100}$/su, "Must be names of capabilities, separated by commas.").optional(),
  markets: buildCommaListSchema(
    /^[A-Z]{2,6}-[A-Z]{3,6}$/,
    "Must be codes of markets such as EU-USDC, separated by commas.",
  ).optional(),
  cert_tier: tier.optional(),
  min_agent_rating: buildDecimalSchema(z.number().min(0).max(1)).optional(),
  status: z
    .enum([...DIRECTORY_STATUSES, "all"])
    .register(z.globalRegistry, { id: "DirectoryStatus" })
    .default("active"),
  updated_since: instantInput.optional(),
});
export type EntryQuery = z.infer<typeof entryQuery>;

const since = buildStartSchema("the number of a record", (text) =>
  /^\d{1,15}$/.test(text) ? { seq: Number(text) } : null,
);

export const changeQuery = z.strictObject({
  limit: buildWholeNumberSchema(z.number().min(1).max(DIRECTORY_PAGE_MAX)).default(100),
  cursor: pageQuery.cursor,
  since: since.optional(),
});
export type ChangeQuery = z.infer<typeof changeQuery>;

export const directoryHeadQuery = z.strictObject({ seq: buildWholeNumberSchema(z.number().min(1)).optional() });
export type HeadQuery = z.infer<typeof directoryHeadQuery>;
