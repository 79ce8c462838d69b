// The platform account on the wire (ACC-1).
import * as z from "zod";
import { PLATFORM_STATUSES, PROMOTERS } from "../core/vocabulary.ts";
import { pageQuery } from "../http/schemas.ts";

export const platformStatus = z.enum(PLATFORM_STATUSES).register(z.globalRegistry, { id: "PlatformState" });

export const promoter = z.enum(PROMOTERS).register(z.globalRegistry, { id: "Promoter" });

export const platformQuery = z.strictObject({ ...pageQuery, status: platformStatus.optional() });
