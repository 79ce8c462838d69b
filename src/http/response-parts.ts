// Shapes that the responses of several resources share. The sentences of the OpenAPI document are in scripts/openapi/fields.ts.
import * as z from "zod";
import { FIELD_ERRORS, TOP_LEVEL_422 } from "../core/errors.ts";

/** Names the known codes, but readers must accept others too. */
const fieldCode = z.union([z.enum([...Object.keys(FIELD_ERRORS), ...TOP_LEVEL_422]), z.string()]);

export const fieldErrorSchema = z
  .object({ field: z.string(), code: fieldCode, message: z.string() })
  .register(z.globalRegistry, { id: "FieldError" });

export const detailSchema = z.record(z.string(), z.unknown()).register(z.globalRegistry, { id: "ErrorDetail" });

export const errorSchema = z
  .object({
    code: z.string(),
    message: z.string(),
    status: z.number().int(),
    request_id: z.string(),
    error: z.string(),
    field_errors: z.array(fieldErrorSchema).optional(),
    detail: detailSchema.optional(),
    type: z.string().optional(),
  })
  .register(z.globalRegistry, { id: "Error" });

/** A compact JWS or JWT. */
export const jws = z.string().register(z.globalRegistry, { id: "Jws" });
export const runningHash = z.string().register(z.globalRegistry, { id: "RunningHash", pattern: "^[0-9a-f]{64}$" });

export const buildListSchema = <T extends z.ZodType>(item: T) =>
  z.object({ data: z.array(item), next_cursor: z.string().nullable(), has_more: z.boolean() });
