// Customers on the wire (PRN-23).
import * as z from "zod";
import { trimSpaces } from "../core/text.ts";
import { CUSTOMER_STATUSES } from "../core/vocabulary.ts";
import {
  buildFixedFieldRule,
  buildNameSchema,
  environment,
  instant,
  metadata,
  pageQuery,
  referenceInput,
} from "../http/schemas.ts";

const customerStatus = z.enum(CUSTOMER_STATUSES).register(z.globalRegistry, { id: "CustomerState" });

const PATCHED = { name: buildNameSchema(200), external_ref: referenceInput, metadata };

export const customerInput = z
  .strictObject({ ...PATCHED, external_ref: referenceInput.optional(), metadata: metadata.optional() })
  .register(z.globalRegistry, { id: "CustomerInput" });
export type CustomerInput = z.infer<typeof customerInput>;

export const customerPatch = z.strictObject(PATCHED).partial().register(z.globalRegistry, { id: "CustomerPatch" });
export type CustomerPatch = z.infer<typeof customerPatch>;

/** A patch cannot change the other members. */
export const customerPatchRules = buildFixedFieldRule(() => customerView, PATCHED);

export const customerView = z
  .object({
    customer_id: z.string(),
    name: z.string(),
    external_ref: z.string().nullable(),
    status: customerStatus,
    status_note: z.string().nullable(),
    principal_count: z.number().int().nonnegative(),
    metadata,
    environment,
    created_at: instant,
    updated_at: instant,
  })
  .register(z.globalRegistry, { id: "Customer" });
export type CustomerView = z.infer<typeof customerView>;

export const customerQuery = z.strictObject({
  ...pageQuery,
  external_ref: z.string().overwrite(trimSpaces).max(200).optional(),
  status: customerStatus.optional(),
});
export type CustomerQuery = z.infer<typeof customerQuery>;

export const customerParams = z.object({ customer_id: z.string() });
