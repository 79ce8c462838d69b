// The profile of a platform account on the wire, as it is patched (ACC-18).
import * as z from "zod";
import { buildNameSchema, countryInput, httpUrl } from "../http/schemas.ts";
import { promoter } from "./schema.ts";
import { emailInput } from "./sign-up-schema.ts";

const line = buildNameSchema(200);

const addressInput = z
  .strictObject({
    line1: line,
    line2: line.optional(),
    city: buildNameSchema(100),
    region: buildNameSchema(100).optional(),
    postal_code: buildNameSchema(20),
    country: countryInput,
  })
  .register(z.globalRegistry, { id: "RegisteredAddressInput" });

/** The review needs some members, so only the others may be null. */
export const profilePatch = z
  .strictObject({
    legal_name: buildNameSchema(300).optional(),
    trading_name: buildNameSchema(300).nullable().optional(),
    registration_number: buildNameSchema(100).optional(),
    country: countryInput.optional(),
    registered_address: addressInput.optional(),
    website: httpUrl.nullable().optional(),
    admin_contact_email: emailInput.optional(),
    promotion_by: promoter.optional(),
  })
  .register(z.globalRegistry, { id: "ProfilePatch" });
export type ProfilePatch = z.infer<typeof profilePatch>;
