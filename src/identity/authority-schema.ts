// The keys of the CA on the wire, for operators (IDN-29).
import * as z from "zod";
import { instant } from "../http/schemas.ts";

const authorityKeyView = z
  .object({
    kid: z.string(),
    use: z.enum(["signing", "published", "revoked", "missing", "dropped"]),
    published_at: instant,
    usable_from: instant,
    first_certificate_at: instant.nullable(),
    last_certificate_at: instant.nullable(),
    droppable_from: instant.nullable(),
  })
  .register(z.globalRegistry, { id: "AuthorityKey" });
export type AuthorityKeyView = z.infer<typeof authorityKeyView>;

export const authorityView = z
  .object({ keys: z.array(authorityKeyView), faults: z.array(z.string()) })
  .register(z.globalRegistry, { id: "Authority" });
export type AuthorityView = z.infer<typeof authorityView>;
