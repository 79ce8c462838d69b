// Specification 4, Platform: the authenticated caller.
import { z } from "@hono/zod-openapi";
import { createManagementRouter } from "../auth/management.ts";
import { createOperatorRouter } from "../auth/operator.ts";
import { instant, listOf, pageQuery } from "../http/schemas.ts";
import { getPlatform, getPlatforms } from "./service.ts";
import { PLATFORM_STATUSES } from "./states.ts";

export const platformRoutes = createManagementRouter();

const ENVIRONMENTS = ["sandbox", "production"] as const;

const account = {
  platform_id: z.string(),
  platform_status: z.enum(PLATFORM_STATUSES),
  legal_name: z.string(),
  trading_name: z.string().nullable(),
  country: z.string(),
  email: z.string(),
  admin_contact_email: z.string().nullable(),
  registration_number: z.string().nullable(),
  registered_address: z
    .object({
      line1: z.string(),
      line2: z.string().optional(),
      city: z.string(),
      region: z.string().optional(),
      postal_code: z.string(),
      country: z.string(),
    })
    .nullable(),
  website: z.string().nullable(),
  requirements: z
    .object({
      currently_due: z.array(z.string()),
      pending_verification: z.array(z.string()),
      errors: z.array(z.object({ requirement: z.string(), code: z.string(), reason: z.string() })),
    })
    .openapi({ description: "What is missing for the next state of the account." }),
  accreditation_tier: z.enum(["TIER_1", "TIER_2", "TIER_3"]),
  tenant_principal_id: z.string(),
  promoted_at: instant.nullable(),
  created_at: instant,
};

const platformView = z
  .object({ ...account, environment: z.enum(ENVIRONMENTS).openapi({ description: "Of the presented key." }) })
  .openapi("Platform");

platformRoutes.route(
  {
    method: "get",
    path: "/v1/platform",
    operationId: "getPlatform",
    tag: "Platform",
    summary: "Read the platform account",
    status: 200,
    response: { schema: platformView, description: "The account of the presented key." },
    errors: [],
  },
  (call) => getPlatform(call),
);

export const operatorPlatformRoutes = createOperatorRouter();

operatorPlatformRoutes.route(
  {
    method: "get",
    path: "/v1/operator/platforms",
    operationId: "listPlatforms",
    tag: "Operator",
    summary: "List platform accounts",
    query: z.strictObject({ ...pageQuery, status: z.enum(PLATFORM_STATUSES).optional() }),
    status: 200,
    response: { schema: listOf(z.object(account)), description: "A page of accounts." },
    errors: [],
  },
  (call, { query }) => getPlatforms(call, query),
);
