// The directory on the wire (DIR-1, DIR-7, DIR-8, DIR-11, DIR-14).
import * as z from "zod";
import { DIRECTORY_PAGE_MAX, DIRECTORY_TERMS_MAX } from "../core/limits.ts";
import { isDouble } from "../core/numbers.ts";
import { trimSpaces } from "../core/text.ts";
import { CHANGE_TYPES, DIRECTORY_STATUSES } from "../core/vocabulary.ts";
import {
  did,
  economicRole,
  environment,
  fraction,
  instant,
  instantInput,
  jws,
  listOf,
  pageQuery,
  placeOrInstant,
  registeredUrl,
  runningHash,
  tier,
  url,
  wholeNumber,
} from "../http/schemas.ts";

export const ENTRY_STATUSES = ["ACTIVE", "SUSPENDED", "REVOKED", "TERMINATED"] as const;
export type EntryStatus = (typeof ENTRY_STATUSES)[number];

export const directoryEntry = z
  .object({
    did,
    aid_url: url,
    catalog_url: registeredUrl.nullable(),
    economic_role: economicRole,
    capabilities: z.array(z.string()),
    authorized_markets: z.array(z.string()),
    cert_tier: tier,
    agent_rating: fraction.nullable(),
    status: z.enum(ENTRY_STATUSES).register(z.globalRegistry, { id: "DirectoryEntryStatus" }),
    updated_at: instant,
  })
  .register(z.globalRegistry, { id: "DirectoryEntry" });
export type DirectoryEntry = z.infer<typeof directoryEntry>;

export const entryList = listOf(directoryEntry).register(z.globalRegistry, { id: "DirectoryList" });

const TOO_MANY = { params: { code: "too_long" }, message: `Must name at most ${DIRECTORY_TERMS_MAX}.` };

/** A list with commas, each word once. */
const words = (form: RegExp, message: string) =>
  z
    .string()
    .max(6_000, { abort: true })
    .transform((text) => [...new Set(text.split(",").map((word) => trimSpaces(word).normalize("NFC")))])
    .refine((list) => list.length <= DIRECTORY_TERMS_MAX, TOO_MANY)
    .refine((list) => list.every((word) => form.test(word)), { params: { code: "invalid_format" }, message });

/** A decimal in a query, in digits: other texts that JavaScript reads as a number are faults. */
const decimal = (number: z.ZodNumber) =>
  z.preprocess(
    (text) =>
      typeof text === "string" && /^-?\d{1,15}(\.\d{1,50})?$/.test(text) && isDouble(text) ? Number(text) : text,
    number,
  );

export const entryQuery = z.strictObject({
  ...pageQuery,
  economic_role: economicRole.optional(),
  capabilities: words(/^.{1,100}$/su, "Must be names of capabilities, separated by commas.").optional(),
  markets: words(
    /^[A-Z]{2,6}-[A-Z]{3,6}$/,
    "Must be codes of markets such as EU-USDC, separated by commas.",
  ).optional(),
  cert_tier: tier.optional(),
  min_agent_rating: decimal(z.number().min(0).max(1)).optional(),
  status: z
    .enum([...DIRECTORY_STATUSES, "all"])
    .register(z.globalRegistry, { id: "DirectoryStatus" })
    .default("active"),
  updated_since: instantInput.optional(),
});
export type EntryQuery = z.infer<typeof entryQuery>;

// ---- The change feed -----------------------------------------------------------------------------------------------------

export const directoryChange = z
  .object({
    seq: z.number().int(),
    did,
    change_type: z.enum(CHANGE_TYPES).register(z.globalRegistry, { id: "DirectoryChangeType" }),
    occurred_at: instant,
  })
  .register(z.globalRegistry, { id: "DirectoryChange" });
export type DirectoryChange = z.infer<typeof directoryChange>;

export const changeList = z
  .object({ data: z.array(directoryChange), next_cursor: z.string(), has_more: z.boolean() })
  .register(z.globalRegistry, { id: "DirectoryChangeList" });
export type ChangeList = z.infer<typeof changeList>;

/** A record's number, or an instant. */
const since = placeOrInstant("the number of a record", (text) =>
  /^\d{1,15}$/.test(text) ? { seq: Number(text) } : null,
);

export const changeQuery = z.strictObject({
  limit: wholeNumber(z.number().min(1).max(DIRECTORY_PAGE_MAX)).default(100),
  cursor: pageQuery.cursor,
  since: since.optional(),
});
export type ChangeQuery = z.infer<typeof changeQuery>;

// ---- Heads ---------------------------------------------------------------------------------------------------------------

export const directoryHead = z
  .object({ environment, seq: z.number().int(), hash: runningHash, signed_at: instant, jws })
  .register(z.globalRegistry, { id: "DirectoryHead" });
export type DirectoryHead = z.infer<typeof directoryHead>;

export const headQuery = z.strictObject({ seq: wholeNumber(z.number().min(1)).optional() });
export type HeadQuery = z.infer<typeof headQuery>;
