// Verifiers on the wire (PRN-22). Only the public members of a key are kept.
import * as z from "zod";
import { type FieldError, toFieldError } from "../core/errors.ts";
import { VERIFIER_STATUSES } from "../core/vocabulary.ts";
import { buildNameSchema, pageQuery } from "../http/schemas.ts";
import { isCoordinate, isEd25519Point, isP256Point } from "../protocol/verifier-keys.ts";

const KEYS_MAX = 10;
const ABORT = { abort: true };

const kid = z
  .string()
  .min(1, ABORT)
  .max(200, ABORT)
  .regex(/^[!-~]+$/, "Must be visible ASCII characters.")
  .register(z.globalRegistry, { id: "KeyName" });
const coordinate = z
  .string()
  .refine(isCoordinate, { ...ABORT, params: { code: "invalid_format" }, message: "Must be 32 bytes in base64url." });
const use = z.literal("sig").optional();

const p256 = z
  .object({
    kty: z.literal("EC"),
    crv: z.literal("P-256"),
    kid,
    x: coordinate,
    y: coordinate,
    use,
    alg: z.literal("ES256").optional(),
  })
  .refine(isP256Point, { path: ["x"], params: { code: "invalid_value" }, message: "Must be a point of the curve." });
const ed25519 = z
  .object({
    kty: z.literal("OKP"),
    crv: z.literal("Ed25519"),
    kid,
    x: coordinate,
    use,
    alg: z.literal("EdDSA").optional(),
  })
  .refine(isEd25519Point, { path: ["x"], params: { code: "invalid_value" }, message: "Must be a key of the curve." });
const key = z.discriminatedUnion("kty", [p256, ed25519]).register(z.globalRegistry, { id: "VerifierKey" });
export const jwks = z
  .object({ keys: z.array(key).min(1).max(KEYS_MAX) })
  .register(z.globalRegistry, { id: "VerifierKeys" });

export const status = z.enum(VERIFIER_STATUSES).register(z.globalRegistry, { id: "VerifierState" });

export const verifierInput = z
  .strictObject({ name: buildNameSchema(200), jwks, status: status.optional() })
  .register(z.globalRegistry, { id: "VerifierInput" });
export type VerifierInput = z.infer<typeof verifierInput>;

export const verifierPatch = verifierInput.partial().register(z.globalRegistry, { id: "VerifierPatch" });
export type VerifierPatch = z.infer<typeof verifierPatch>;

const PRIVATE_MEMBERS = ["d", "k"];

/** Finds the faults of a key set across its keys. A private key is refused and not dropped, because its sender has leaked it and has to learn so. */
export function findKeySetFaults(raw: unknown): FieldError[] {
  const given = pickMember(pickMember(raw, "jwks"), "keys");
  const keys: readonly unknown[] = Array.isArray(given) ? given : [];
  const kids = keys.map((one) => pickMember(one, "kid"));
  return keys.flatMap((one, at) => [
    ...PRIVATE_MEMBERS.filter((member) => pickMember(one, member) !== undefined).map((member) =>
      toFieldError(`jwks.keys.${at}.${member}`, "invalid_field", "Register a key without its private part."),
    ),
    ...(typeof kids[at] === "string" && kids.indexOf(kids[at]) < at
      ? [toFieldError(`jwks.keys.${at}.kid`, "invalid_value", "Another key of the set has this `kid`.")]
      : []),
  ]);
}

const pickMember = (value: unknown, member: string): unknown =>
  typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>)[member] : undefined;
export const verifierParams = z.object({ verifier_id: z.string() });
export const verifierQuery = z.strictObject(pageQuery);
export type VerifierQuery = z.infer<typeof verifierQuery>;
