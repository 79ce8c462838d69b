// The call that a service function receives: the caller (known after the first trip), the two trips, and the agent's lock. A service function reads
// once, refuses in the order of HTTP-18, and commits once; it never sees HTTP.
import type { Deps } from "./context.ts";
import { type FieldError, type ServiceError, toFieldError, toValidationError } from "./core/errors.ts";
import { type AskedRows, decodeCursor, type Listing } from "./core/page.ts";
import type { ProductionFacts } from "./core/roles.ts";
import type { Actor, EconomicRole, Environment, Tier } from "./core/vocabulary.ts";
import type { Database, ReadResults, Reads, Statement } from "./db/batch.ts";
import type { Tenant } from "./db/statement.ts";
import type { CertificateClaims } from "./protocol/certificate.ts";

/** `session`: routes for a person only. A route that accepts a management key also accepts a session (CRED-13). */
export type Surface = "management" | "session" | "agent" | "verifier" | "operator" | "public";

/** The part that all surfaces share. `C` is the caller, `O` the object that the path names. */
type Base<S extends Surface, C, O> = {
  readonly surface: S;
  readonly deps: Deps;
  readonly db: Database;
  /** One instant for all decisions of the call, by the clock that rules it. */
  readonly now: number;
  /** By how many milliseconds that clock is ahead of real time (ACC-9). Block times are shifted by it before they are compared. */
  readonly ahead: number;
  readonly requestId: string;
  /** True after a Conflict. A suspension then leaves its first agents to the cascade, because other calls might keep changing them. */
  readonly contended: boolean;
  readonly background: (work: Promise<unknown>) => void;
  /** One trip: the reads, the authentication that allows them, and the route's object; 404 if that is null. */
  readonly read: <R extends Reads>(
    reads: R,
    options?: ReadOptions<ReadResults<R> & { object: O | null }>,
  ) => Promise<ReadResults<R> & { caller: C; object: O }>;
  /** One atomic batch. `view`: the answer, which is stored for retries. `owner`: the account that a call without a credential is about. */
  readonly commit: (statements: readonly Statement[], view: unknown, owner?: string) => Promise<void>;
  /** Releases the agent's lock early, for a call that has committed and still waits for the chain. */
  readonly unlock: () => void;
};

export type ReadOptions<F> = {
  /** The offset of the sandbox clock that rules the call, if it is not the clock of the caller's platform. Undefined if the reads found no row. */
  readonly clock?: (found: F) => number | null | undefined;
};

export type ManagementCaller = ProductionFacts & {
  readonly platformId: string;
  readonly environment: Environment;
  readonly actor: Actor;
  readonly accreditationTier: Tier;
  /** The key was replaced by a rotation, and works until its grace ends (ACC-17). */
  readonly inGrace: boolean;
  /** False if the session's person has authenticated too long ago for changes that guard the account (CRED-30). */
  readonly isConfirmed: boolean;
};

/** `network`: where the session was opened from. */
export type PersonCaller = ManagementCaller & { readonly sessionId: string; readonly network: string };

export type ManagementCall<O = unknown> = Base<"management", ManagementCaller, O> & {
  readonly environment: Environment;
  /** The platform that owns the presented key, as an expression, so that it can be used before the caller is known. */
  readonly tenant: Tenant;
};

/** A person's call about the account itself, in both environments. */
export type SessionCall<O = unknown> = Base<"session", PersonCaller, O> & {
  readonly environment: Environment;
  readonly tenant: Tenant;
  readonly session: { readonly tokenHash: string };
  readonly clientAddress: string;
};

export type AgentCaller = {
  readonly did: string;
  readonly platformId: string;
  readonly principalId: string;
  readonly environment: Environment;
  readonly economicRole: EconomicRole;
};

export type AgentCall<O = unknown> = Base<"agent", AgentCaller, O> & {
  readonly did: string;
  readonly claims: CertificateClaims;
  /** False on a route with bound proofs if the proof is not over the caller's own request; then `proveBoundTo` decides. */
  readonly proven: boolean;
  /** Verifies the caller's proof that is bound to another agent, uses it up for its act, and checks the caller's state. Throws the refusal. */
  readonly proveBoundTo: (calleeDid: string) => Promise<void>;
  /** Makes the refusal of an unproven caller; for a proven caller, the refusal that the body names another agent as the caller (PRF-12). */
  readonly unproven: () => Promise<ServiceError>;
};

export type OperatorCaller = { readonly actor: Actor };
export type OperatorCall<O = unknown> = Base<"operator", OperatorCaller, O> & { readonly actor: Actor };
/** A Verifier, with a credential for one attestation that counts once. */
export type VerifierCaller = {
  readonly actor: Actor;
  readonly attestationId: string;
  readonly jti: string;
  readonly endsAt: number;
};
export type VerifierCall<O = unknown> = Base<"verifier", VerifierCaller, O> & {
  /** The Verifier that the credential names; the first trip proves it. */
  readonly verifierId: string;
};
export type PublicCall<O = unknown> = Base<"public", null, O> & {
  readonly clientAddress: string;
  readonly userAgent: string;
};

type Calls<O> = {
  management: ManagementCall<O>;
  session: SessionCall<O>;
  agent: AgentCall<O>;
  verifier: VerifierCall<O>;
  operator: OperatorCall<O>;
  public: PublicCall<O>;
};
export type CallOf<S extends Surface, O = unknown> = Calls<O>[S];
export type AnyCall = CallOf<Surface>;

/** Judges a request that its schema refuses (HTTP-12, HTTP-18). `judge` throws refusals that precede faulty values (404, 403), and returns faults. */
export type Precheck = {
  readonly reads: Reads;
  readonly judge: (found: never, faults: readonly FieldError[]) => Judged;
  /** The agent that the caller's proof may be bound to, if the valid parts of the body show it (FAC-3). */
  readonly calleeOf?: (found: never) => string | undefined;
};

type Judged = readonly FieldError[] | Promise<readonly FieldError[]>;

export const precheck = <R extends Reads, C = unknown, O = unknown>(
  reads: R,
  judge: (found: ReadResults<R> & { readonly caller: C; readonly object: O }, faults: readonly FieldError[]) => Judged,
): Precheck => ({ reads, judge: judge as Precheck["judge"] });

export type AskedPage = AskedRows & { readonly listing: Listing };

/** A cursor of another listing, environment or filter is a fault (HTTP-28), reported after the caller and the route's object are judged. */
export async function readPage(
  call: AnyCall,
  { limit, cursor }: { readonly limit: number; readonly cursor?: string | undefined },
  listing: Listing,
): Promise<AskedPage> {
  if (cursor === undefined) return { limit, after: null, listing };
  const after = decodeCursor(cursor, listing);
  if (after) return { limit, after, listing };
  await call.read({});
  const message = "The cursor belongs to another listing, environment or filter.";
  throw toValidationError([toFieldError("cursor", "invalid_value", message)]);
}
