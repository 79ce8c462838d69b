// Responses about Verifiers.
import * as z from "zod";
import { buildListSchema } from "../http/response-parts.ts";
import { instant } from "../http/schemas.ts";
import { jwks, status } from "./schema.ts";

export const verifierView = z
  .object({ verifier_id: z.string(), name: z.string(), jwks, status, created_at: instant, updated_at: instant })
  .register(z.globalRegistry, { id: "Verifier" });
export type VerifierView = z.infer<typeof verifierView>;

export const verifierList = buildListSchema(verifierView).register(z.globalRegistry, { id: "VerifierList" });
