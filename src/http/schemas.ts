// Shapes that every resource shares on the wire: the error envelope, lists, paging, names, amounts. A shape that occurs twice has a name in the
// OpenAPI document; its sentences are in scripts/openapi/fields.ts.
import * as z from "zod";
import { type FieldError, type FieldErrorCode, toFieldError } from "../core/errors.ts";
import { PAGE_SIZE_DEFAULT, PAGE_SIZE_MAX } from "../core/limits.ts";
import { isCursor } from "../core/page.ts";
import {
  DECIMAL_MESSAGE,
  findNameCharacterFault,
  findNameFault,
  findTextFault,
  isHostAsWritten,
  trimSpaces,
} from "../core/text.ts";
import {
  AGENT_STATUSES,
  ATTESTATION_MODELS,
  ECONOMIC_ROLES,
  ENVIRONMENTS,
  ESCROW_STATES,
  PRINCIPAL_STATUSES,
  SIDES,
  TIERS,
} from "../core/vocabulary.ts";

export const environment = z.enum(ENVIRONMENTS).register(z.globalRegistry, { id: "Environment" });
export const tier = z.enum(TIERS).register(z.globalRegistry, { id: "Tier" });
export const economicRole = z.enum(ECONOMIC_ROLES).register(z.globalRegistry, { id: "EconomicRole" });
export const agentStatus = z.enum(AGENT_STATUSES).register(z.globalRegistry, { id: "AgentState" });
export const principalStatus = z.enum(PRINCIPAL_STATUSES).register(z.globalRegistry, { id: "PrincipalState" });
export const side = z.enum(SIDES).register(z.globalRegistry, { id: "Side" });

export const escrowState = z.enum(ESCROW_STATES).register(z.globalRegistry, { id: "EscrowState" });
export const attestationModel = z.enum(ATTESTATION_MODELS).register(z.globalRegistry, { id: "AttestationModel" });

export const instant = z.iso.datetime().register(z.globalRegistry, { id: "Instant" });

const anyInstant = z.iso.datetime({ offset: true }).register(z.globalRegistry, { id: "InstantInput" });
const FIRST_INSTANT = Date.parse("0000-01-01T00:00:00Z");
const LAST_INSTANT = Date.parse("9999-12-31T23:59:59.999Z");

/** Parses an ISO 8601 instant into epoch milliseconds. Checks the range in UTC, because an offset may move it out of years 0000 to 9999. */
export const instantInput = anyInstant.transform((text, context) => {
  const at = Date.parse(text);
  if (at >= FIRST_INSTANT && at <= LAST_INSTANT) return at;
  const message = "Must be an instant of the years 0000 to 9999 in UTC.";
  context.addIssue({ code: "custom", params: { code: "invalid_value" }, message });
  return z.NEVER;
});

/** The start of a list: after a place, which `read` parses from the text, or after an instant, `{ at }` in epoch milliseconds. */
export const buildStartSchema = <Place>(name: string, read: (text: string) => Place | null) =>
  z
    .string()
    .max(100, { abort: true })
    .transform((text, context): Place | { at: number } => {
      const place = read(text);
      if (place !== null) return place;
      const at = instantInput.safeParse(text);
      if (at.success) return { at: at.data };
      const message = `Must be ${name}, or an instant of ISO 8601: with Z or an offset, whose plus sign is written as %2B in a query.`;
      context.addIssue({ code: "custom", params: { code: "invalid_format" }, message });
      return z.NEVER;
    });

/** Documented for generators of clients; the call judges whether a DID names an agent. */
export const DID_SCHEMA_PATTERN = "^did:aeap:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$";
export const did = z.string().register(z.globalRegistry, { id: "Did", pattern: DID_SCHEMA_PATTERN });
export const didInput = z
  .string()
  .min(1)
  .max(100)
  .register(z.globalRegistry, { id: "DidInput", pattern: DID_SCHEMA_PATTERN });
export const idInput = z.string().min(1).max(100).register(z.globalRegistry, { id: "IdInput" });
/** A network's name or CAIP-2. */
export const networkInput = z.string().min(1).max(100).register(z.globalRegistry, { id: "NetworkInput" });
export const currencyInput = z
  .string()
  .regex(/^[A-Z]{3,6}$/, "Must be three to six capital letters, such as USDC.")
  .register(z.globalRegistry, { id: "CurrencyInput" });
export const countryInput = z
  .string()
  .regex(/^[A-Z]{2}$/, "Must be two capital letters of ISO 3166-1 alpha-2, such as DE.")
  .register(z.globalRegistry, { id: "CountryInput" });
/** A URL as a platform wrote it: `httpUrl` accepts some that are not URIs, with letters of every script. */
export const registeredUrl = z.string().register(z.globalRegistry, { id: "RegisteredUrl" });
export const url = z.string().register(z.globalRegistry, { id: "Url", format: "uri" });
export const amount = z.string().register(z.globalRegistry, { id: "Amount" });
export const fraction = z.number().min(0).max(1).register(z.globalRegistry, { id: "Fraction" });

/** A whole number in a query, in digits: other texts that JavaScript reads as a number (`0x10`, `1e1`, the empty text) are faults. */
export const buildWholeNumberSchema = (number: z.ZodNumber) =>
  z.preprocess((text) => (typeof text === "string" && /^-?\d{1,15}$/.test(text) ? Number(text) : text), number.int());

export const pageQuery = {
  limit: buildWholeNumberSchema(z.number().min(1).max(PAGE_SIZE_MAX)).default(PAGE_SIZE_DEFAULT),
  cursor: z
    .string()
    .min(1, { abort: true })
    .max(500, { abort: true })
    .refine(isCursor, { params: { code: "invalid_format" }, message: "Must be a `next_cursor` of this service." })
    .optional(),
};

/** One fault a value: after a wrong length no further check runs. */
const STOP = { abort: true };

/** Text of several lines for people (HTTP-8), trimmed and bounded. Its characters are judged first, because trimming drops some. */
export const buildTextSchema = (max: number, min = 1) =>
  z.string().superRefine(refuseIf(findTextFault)).trim().min(min, STOP).max(max, STOP);

/** At most this many UTF-16 units become one in any form: a mathematical alpha with three marks is one Greek letter. */
const SHRINKS_TO = 5;

/** A text in one of Unicode's forms. A text that is too long in any form stays unchanged, because ordering its marks takes quadratic time. */
export const buildNormalizedSchema = (form: "NFC" | "NFKC", max: number) =>
  z.string().overwrite((value) => (value.length > SHRINKS_TO * max ? value : value.normalize(form)));

/** A name of one line, which is compared and signed (HTTP-8). Only spaces are trimmed at its ends. */
export const buildNameSchema = (max: number) =>
  z
    .string()
    .superRefine(refuseIf(findNameCharacterFault))
    .overwrite(trimSpaces)
    .min(1, STOP)
    .max(max, STOP)
    .superRefine(refuseIf(findNameFault));

type Check = (value: string) => string | null;
const refuseIf =
  (faultIn: Check) =>
  (value: string, context: z.RefinementCtx): void => {
    const message = faultIn(value);
    if (message !== null)
      context.addIssue({ code: "custom", params: { code: "invalid_format" }, message, continue: false });
  };

export const wordsInput = buildTextSchema(2_000, 0).nullable().register(z.globalRegistry, { id: "WordsInput" });

const METADATA_PAIRS = 20;
const METADATA_KEY_CHARS = 40;
const METADATA_VALUE_CHARS = 500;

export const referenceInput = buildNameSchema(200).nullable().register(z.globalRegistry, { id: "ReferenceInput" });

type JsonObject = Record<string, unknown>;
const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Returns the object as received: zod's copy has no member `__proto__`, which signatures and hashes cover. */
const validateAsReceived = <T extends JsonObject>(
  validate: (value: JsonObject, refuseAt: RefuseAt) => void = () => undefined,
): z.ZodType<T> =>
  z.unknown().superRefine((value, context) => {
    const refuseAt: RefuseAt = (path, code, message) =>
      context.addIssue({ code: "custom", path: [...path], params: { code }, message });
    if (isJsonObject(value)) validate(value, refuseAt);
    else refuseAt([], "invalid_type", "Must be a JSON object.");
  }) as unknown as z.ZodType<T>;
type RefuseAt = (path: readonly string[], code: FieldErrorCode, message: string) => void;

export const jsonObject = validateAsReceived().register(z.globalRegistry, { id: "JsonObject", type: "object" });

export const metadata = validateAsReceived<Record<string, string>>((pairs, refuseAt) => {
  const names = Object.keys(pairs);
  if (names.length > METADATA_PAIRS) refuseAt([], "too_long", `Must be at most ${METADATA_PAIRS} pairs.`);
  for (const name of names) {
    const value = pairs[name];
    if (name === "") refuseAt([name], "too_short", "A name must be at least 1 character.");
    if (name.length > METADATA_KEY_CHARS)
      refuseAt([name], "too_long", `A name must be at most ${METADATA_KEY_CHARS} characters.`);
    if (typeof value !== "string") refuseAt([name], "invalid_type", "Must be a string.");
    else if (value.length > METADATA_VALUE_CHARS)
      refuseAt([name], "too_long", `Must be at most ${METADATA_VALUE_CHARS} characters.`);
  }
}).register(z.globalRegistry, {
  id: "Metadata",
  type: "object",
  additionalProperties: { type: "string", maxLength: METADATA_VALUE_CHARS },
  maxProperties: METADATA_PAIRS,
});

export const httpUrl = z
  .string()
  .max(2048)
  .refine(isHttpUrl, {
    params: { code: "invalid_format" },
    message: "Must be an http or https URL whose host is in its canonical form.",
  })
  .register(z.globalRegistry, { id: "HttpUrl", format: "uri" });

function isHttpUrl(value: string): boolean {
  // The text is signed as written: refuses characters that a URL parser drops or corrects, that are invisible, or that change the writing direction.
  if (
    !/^https?:\/\/(?!\/)[^\s\p{Cc}\p{Bidi_Control}\p{Default_Ignorable_Code_Point}\\<>"^`{|}]+$/iu.test(value) ||
    !URL.canParse(value)
  )
    return false;
  const { username, password } = new URL(value);
  return isHostAsWritten(value) && username === "" && password === "";
}

/** Forty digits, the point and forty digits. */
const AMOUNT_CHARS = 81;

/** An amount in whole currency units: a decimal string, or a JSON number, read as decimal text. */
export const amountInput = z
  .string()
  .max(AMOUNT_CHARS)
  .regex(/^\d{1,40}(\.\d{1,40})?([eE][+-]?\d{1,3})?$/, DECIMAL_MESSAGE)
  .register(z.globalRegistry, { id: "AmountInput", type: ["string", "number"] });

export const buildFixedFieldRule =
  (view: () => z.ZodObject, changed: object) =>
  (raw: unknown): FieldError[] => {
    const given = typeof raw === "object" && raw !== null ? Object.keys(raw) : [];
    const fixed = given.filter((field) => field in view().shape && !(field in changed));
    return fixed.map((field) => toFieldError(field, "invalid_field", "This call cannot change this field."));
  };

export function pickValidFields<S extends z.ZodObject>(schema: S, raw: unknown): Partial<z.output<S>> {
  if (typeof raw !== "object" || raw === null) return {};
  const valid = Object.entries(schema.shape as Record<string, z.ZodType>).flatMap(([name, field]) => {
    const given = (raw as Record<string, unknown>)[name];
    const parsed = given === undefined ? null : field.safeParse(given);
    return parsed?.success ? [[name, parsed.data] as const] : [];
  });
  return Object.fromEntries(valid) as Partial<z.output<S>>;
}
