// Responses of the directory.
import * as z from "zod";
import { CHANGE_TYPES } from "../core/vocabulary.ts";
import { buildListSchema, jws, runningHash } from "../http/response-parts.ts";
import { did, economicRole, environment, fraction, instant, registeredUrl, tier, url } from "../http/schemas.ts";
import { ENTRY_STATUSES } from "./schema.ts";

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

export const entryList = buildListSchema(directoryEntry).register(z.globalRegistry, { id: "DirectoryList" });

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

// ---- Heads ---------------------------------------------------------------------------------------------------------------

export const directoryHead = z
  .object({ environment, seq: z.number().int(), hash: runningHash, signed_at: instant, jws })
  .register(z.globalRegistry, { id: "DirectoryHead" });
export type DirectoryHead = z.infer<typeof directoryHead>;
