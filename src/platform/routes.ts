// Specification 4, Platform: the authenticated caller.
import { z } from "@hono/zod-openapi";
import { createManagementRouter } from "../auth/management.ts";
import { instant } from "../http/schemas.ts";
import { getPlatform } from "./service.ts";

export const platformRoutes = createManagementRouter();

const platformView = z
  .object({
    platform_id: z.string(),
    platform_status: z.enum(["EMAIL_PENDING", "PROFILE_PENDING", "KYB_PENDING", "IN_REVIEW", "ACCREDITED", "SUSPENDED", "CLOSED"]),
    legal_name: z.string(),
    trading_name: z.string().nullable(),
    country: z.string(),
    email: z.string(),
    admin_contact_email: z.string().nullable(),
    accreditation_tier: z.enum(["TIER_1", "TIER_2", "TIER_3"]),
    tenant_principal_id: z.string(),
    environment: z.enum(["sandbox", "production"]).openapi({ description: "Of the presented key." }),
    promoted_at: instant.nullable(),
    created_at: instant,
  })
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
