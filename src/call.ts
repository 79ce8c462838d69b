// What a service is handed: who calls (known after the first trip), the two trips, and the agent's lock. A service reads once,
// refuses in the specification's order, and commits once; it never sees HTTP.
import type { Deps } from "./context.ts";
import { type ErrorCode, type FieldError, fieldError, type ServiceError, validationError } from "./core/errors.ts";
import { decodeCursor, type Listing, type Position } from "./core/page.ts";
import type { Actor, EconomicRole, Environment, Tier } from "./core/vocabulary.ts";
import type { Database, ReadResults, Reads, Statement } from "./db/batch.ts";
import type { Tenant } from "./db/tenant.ts";
import type { CertificateClaims } from "./protocol/certificate.ts";

export type Surface = "management" | "agent" | "operator" | "public";

/** What every surface gives. `C` is who calls. */
type Base<S extends Surface, C> = {
  readonly surface: S;
  readonly deps: Deps;
  readonly db: Database;
  /** Epoch milliseconds of this call: one instant for all that it decides, on the clock that rules it. */
  readonly now: number;
  /** How far that clock is ahead of real time, in milliseconds: block times are shifted by it before they are compared. */
  readonly ahead: number;
  readonly requestId: string;
  /** Goes on after the answer is sent. */
  readonly background: (work: Promise<unknown>) => void;
  /** One trip: the reads, and the authentication that allows them. */
  readonly read: <R extends Reads>(
    reads: R,
    options?: ReadOptions<ReadResults<R>>,
  ) => Promise<ReadResults<R> & { caller: C }>;
  /** One atomic batch; `view` is the answer, which is kept with the effect where the call has an Idempotency-Key. */
  readonly commit: (statements: readonly Statement[], view: unknown) => Promise<void>;
  /** Gives the agent's lock back: for a call that goes on to wait for somebody else, its commit made. */
  readonly unlock: () => void;
};

export type ReadOptions<F> = {
  /**
   * How far the sandbox clock that rules the call was moved, where it is another platform's than the caller's; among the reads.
   * Undefined where they found nobody.
   */
  readonly clock?: (found: F) => number | undefined;
};

export type ManagementCaller = {
  readonly platformId: string;
  readonly environment: Environment;
  readonly actor: Actor;
  readonly accreditationTier: Tier;
};

export type ManagementCall = Base<"management", ManagementCaller> & {
  readonly environment: Environment;
  /** The platform is the owner of the presented key, as an expression: usable before the caller is known. */
  readonly tenant: Tenant;
};

/** The calling agent as the database has it. */
export type AgentCaller = {
  readonly did: string;
  readonly platformId: string;
  readonly principalId: string;
  readonly environment: Environment;
  readonly economicRole: EconomicRole;
};

export type AgentCall = Base<"agent", AgentCaller> & {
  readonly did: string;
  readonly claims: CertificateClaims;
  /** False where a bound proof counts and the proof is not the caller's own request: then `proveBoundTo` decides. */
  readonly proven: boolean;
  /** Checks and uses up the caller's proof bound to another agent. Throws `proof_invalid`. */
  readonly proveBoundTo: (calleeDid: string) => Promise<void>;
  /** The refusal of a call that is not proven, or whose body says that another agent makes it. */
  readonly unproven: (code: ErrorCode) => Promise<ServiceError>;
};

export type OperatorCaller = { readonly actor: Actor };
export type OperatorCall = Base<"operator", OperatorCaller> & { readonly actor: Actor };
export type PublicCall = Base<"public", null>;

type Calls = { management: ManagementCall; agent: AgentCall; operator: OperatorCall; public: PublicCall };
/** The call of a surface; of several surfaces, any of theirs. */
export type CallOf<S extends Surface> = Calls[S];
export type AnyCall = CallOf<Surface>;

/**
 * What a faulty request is judged by beside its schema: reads that go with the authentication, and what they tell. `judge`
 * throws what comes before a fault of the values (404, 403), and answers the further faults.
 */
export type Precheck = {
  readonly reads: Reads;
  readonly judge: (found: never, faults: readonly FieldError[]) => readonly FieldError[];
  /** How every refusal of such a request is told, also that of its caller. */
  readonly mapRefusal?: (refusal: unknown) => unknown;
};

export const precheck = <R extends Reads>(
  reads: R,
  judge: (found: ReadResults<R>, faults: readonly FieldError[]) => readonly FieldError[],
): Precheck => ({ reads, judge: judge as Precheck["judge"] });

/** A page that is asked for: how many rows, from where on, and what a cursor to the next one continues. */
export type AskedPage = { readonly limit: number; readonly after: Position | null; readonly listing: Listing };

/** A cursor of another listing, environment or filter is a fault of the value, told once the caller is known. */
export async function askedPage(
  call: AnyCall,
  { limit, cursor }: { readonly limit: number; readonly cursor?: string | undefined },
  listing: Listing,
): Promise<AskedPage> {
  if (cursor === undefined) return { limit, after: null, listing };
  const after = decodeCursor(cursor, listing);
  if (after) return { limit, after, listing };
  await call.read({});
  const message = "The cursor continues another listing, environment or filter.";
  throw validationError([fieldError("cursor", "invalid_value", message)]);
}
