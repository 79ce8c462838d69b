// Shapes that every resource shares on the wire: the error envelope, lists, paging, instants, addresses.
import { z } from "@hono/zod-openapi";
import { FIELD_ERRORS, TOP_LEVEL_422 } from "../core/errors.ts";
import { PAGE_SIZE_DEFAULT, PAGE_SIZE_MAX } from "../core/limits.ts";
import { isCursor } from "../core/page.ts";

const fieldErrorSchema = z.object({
  field: z.string().openapi({ description: "Its path in the body, or the parameter's or header's name." }),
  code: z.string().openapi({
    description: `An open list: ${[...Object.keys(FIELD_ERRORS), ...TOP_LEVEL_422].map((code) => `\`${code}\``).join(", ")}.`,
  }),
  message: z.string(),
});

export const errorSchema = z
  .object({
    code: z.string().openapi({ description: "Stable; branch on it." }),
    message: z.string().openapi({ description: "For people; may be reworded." }),
    status: z.number().int(),
    request_id: z.string(),
    error: z.string().openapi({ description: "Equal to `code`." }),
    field_errors: z.array(fieldErrorSchema).optional(),
    detail: z.record(z.string(), z.unknown()).optional(),
    type: z.string().optional(),
  })
  .openapi("Error", {
    example: {
      code: "validation_failed",
      message: "Some values are not valid; see field_errors.",
      status: 422,
      request_id: "req_01JD3S2Q4N7W8X9Y0Z1A2B3C4D",
      error: "validation_failed",
      field_errors: [
        { field: "country", code: "invalid_format", message: "The value does not have the expected format." },
      ],
    },
  });

export const instant = z.iso.datetime().openapi({ description: "ISO 8601, UTC", example: "2026-11-21T09:30:00.000Z" });

/** An ISO 8601 instant on input, with Z or an offset; epoch milliseconds inside. */
export const instantInput = z.iso.datetime({ offset: true }).transform((text) => Date.parse(text));

/** A whole number in a query, in digits: what JavaScript would also make one of (`0x10`, `1e1`, nothing) is a fault. */
export const wholeNumber = (number: z.ZodNumber) =>
  z.preprocess((text) => (typeof text === "string" && /^-?\d{1,9}$/.test(text) ? Number(text) : text), number.int());

export const pageQuery = {
  limit: wholeNumber(z.number().min(1).max(PAGE_SIZE_MAX)).default(PAGE_SIZE_DEFAULT).openapi({ example: 20 }),
  cursor: z
    .string()
    .min(1, { abort: true })
    .max(500, { abort: true })
    .refine(isCursor, { params: { code: "invalid_format" }, message: "The value is no cursor of this service." })
    .optional()
    .openapi({ description: "`next_cursor` of the page before." }),
};

export const listOf = <T extends z.ZodType>(item: T) =>
  z.object({ data: z.array(item), next_cursor: z.string().nullable(), has_more: z.boolean() });

/** A path parameter that is a DID; anything else is no DID, and so no object: 404. */
export const didParam = z.string().openapi({ example: "did:aeap:7d0f1a52-3f0c-4d6e-9a41-0c6b8f1f2a3b" });

/** Text that a person reads: no control characters, trimmed, bounded. */
export const text = (max: number) =>
  z
    .string()
    .trim()
    .min(1)
    .max(max)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused
    .regex(/^[^\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]*$/, "It holds no control characters.");

export const httpUrl = z
  .string()
  .max(2048)
  .refine(isHttpUrl, { params: { code: "invalid_format" }, message: "The value is not an http or https URL." });

function isHttpUrl(value: string): boolean {
  // What a parser drops or mends is refused: the text is stored and signed as it is written.
  if (!/^https?:\/\/(?!\/)[^\s\p{Cc}\\<>"^`{|}]+$/iu.test(value) || !URL.canParse(value)) return false;
  const url = new URL(value);
  return (url.protocol === "https:" || url.protocol === "http:") && url.username === "" && url.password === "";
}

/** An amount in whole currency units: a decimal string, or a JSON number, read as decimal text. */
export const amountInput = z
  .string()
  .max(80)
  .regex(/^\d{1,40}(\.\d{1,40})?([eE][+-]?\d{1,3})?$/, "It is a decimal number of whole units, as 10.50.")
  .openapi({ description: "Whole currency units, decimal; a JSON number is accepted too.", example: "10.50" });
