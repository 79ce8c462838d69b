// Strict bodies and queries: every fault is found and reported at once, with a field code (HTTP-11, HTTP-12, HTTP-17).
import type * as z from "zod";
import { type FieldError, type FieldErrorCode, toFieldError } from "../core/errors.ts";

export type Parsed<T> = { ok: true; value: T } | { ok: false; faults: FieldError[] };

export function parsePart<T>(schema: z.ZodType<T>, raw: unknown, rules?: (raw: unknown) => FieldError[]): Parsed<T> {
  const result = schema.safeParse(raw);
  const broken = rules?.(raw) ?? [];
  if (result.success && broken.length === 0) return { ok: true, value: result.data };
  const faults = result.success ? [] : result.error.issues.flatMap((issue) => toFieldErrors(issue, raw));
  // If the schema and a rule both find a fault in a field, the rule's more precise code is reported.
  const ruled = new Set(broken.map((fault) => fault.field));
  return { ok: false, faults: [...faults.filter((fault) => !ruled.has(fault.field)), ...broken] };
}

type Issue = z.core.$ZodIssue;

function toFieldErrors(issue: Issue, raw: unknown): FieldError[] {
  const field = issue.path.map(String).join(".");
  const within = issue.code === "invalid_union" ? chooseMeantOption(issue.errors) : undefined;
  if (within) return within.flatMap((inner) => toFieldErrors({ ...inner, path: [...issue.path, ...inner.path] }, raw));
  if (issue.code === "unrecognized_keys") {
    return issue.keys.map((key) => toFieldError(field === "" ? key : `${field}.${key}`, "unknown_field"));
  }
  const value = pickValueAt(raw, issue.path);
  return [
    toFieldError(field, toFieldCode(issue, value), value === undefined ? undefined : toFieldMessage(issue, value)),
  ];
}

const KINDS: Readonly<Record<string, string>> = {
  string: "a string",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  array: "a list",
  object: "a JSON object",
};
const UNITS: Readonly<Record<string, string>> = { string: "character", array: "entry" };
const PLURALS: Readonly<Record<string, string>> = { character: "characters", entry: "entries" };

function formatBound(count: number | bigint, origin: string): string {
  const unit = UNITS[origin];
  if (unit === undefined) return String(count);
  return `${count} ${Number(count) === 1 ? unit : PLURALS[unit]}`;
}

/** A raw plus sign of a query becomes a space. */
const isLostPlus = (value: unknown): boolean => typeof value === "string" && / \d\d:?\d\d$/.test(value);
const PLUS_MESSAGE = " Write the plus sign of an offset as %2B in a query.";

/** A sentence with the schema's own bounds; undefined if the code's sentence is enough. */
function toFieldMessage(issue: Issue, value: unknown): string | undefined {
  switch (issue.code) {
    case "custom":
      return issue.message;
    case "invalid_type":
      return issue.expected in KINDS ? `Must be ${KINDS[issue.expected]}.` : undefined;
    case "invalid_value":
      return `Must be ${issue.values.length > 1 ? "one of " : ""}${issue.values.map(String).join(", ")}.`;
    case "invalid_union":
      return "options" in issue && Array.isArray(issue.options)
        ? `Must be one of ${issue.options.join(", ")}.`
        : undefined;
    case "too_small":
      return `Must be at least ${formatBound(issue.minimum, issue.origin)}.`;
    case "too_big":
      return `Must be at most ${formatBound(issue.maximum, issue.origin)}.`;
    case "invalid_format":
      if (issue.format === "datetime")
        return `Must be an ISO 8601 instant with its zone, such as 2026-11-21T09:30:00Z.${isLostPlus(value) ? PLUS_MESSAGE : ""}`;
      // The schema's own message; zod's own messages begin with these words.
      return issue.message.startsWith("Invalid ") ? undefined : issue.message;
    default:
      return undefined;
  }
}

/** The option of a union that the sender most likely meant: of the right type, with the fewest unknown fields. */
function chooseMeantOption(options: Issue[][]): Issue[] | undefined {
  const unknown = (issues: Issue[]) =>
    issues.flatMap((issue) => (issue.code === "unrecognized_keys" ? issue.keys : []));
  return options
    .filter(
      (issues) =>
        issues.length > 0 && !issues.some((issue) => issue.path.length === 0 && issue.code === "invalid_type"),
    )
    .reverse()
    .sort((a, b) => unknown(a).length - unknown(b).length)[0];
}

function toFieldCode(issue: Issue, value: unknown): FieldErrorCode {
  if (value === undefined) return "required";
  switch (issue.code) {
    case "invalid_type":
      return "invalid_type";
    case "too_small":
      return issue.origin === "string" || issue.origin === "array" ? "too_short" : "too_small";
    case "too_big":
      return issue.origin === "string" || issue.origin === "array" ? "too_long" : "too_big";
    case "invalid_format":
      return "invalid_format";
    case "invalid_union":
      return "discriminator" in issue && issue.discriminator !== undefined ? "invalid_value" : "invalid_type";
    case "custom":
      return typeof issue.params?.["code"] === "string" ? (issue.params["code"] as FieldErrorCode) : "invalid_format";
    default:
      return "invalid_value";
  }
}

function pickValueAt(raw: unknown, path: PropertyKey[]): unknown {
  let value = raw;
  for (const key of path) {
    if (typeof value !== "object" || value === null) return undefined;
    value = (value as Record<PropertyKey, unknown>)[key];
  }
  return value;
}

export function toQueryObject(url: URL): { raw: Record<string, string>; repeated: FieldError[] } {
  const raw = Object.create(null) as Record<string, string>;
  const repeated = new Set<string>();
  for (const [name, value] of url.searchParams) {
    if (name in raw) repeated.add(name);
    else raw[name] = value;
  }
  const message = "The parameter is given more than once.";
  return { raw, repeated: [...repeated].map((name) => toFieldError(name, "invalid_value", message)) };
}
