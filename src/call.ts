// What a service is handed: who calls (known after the first trip), the two trips, and the turn of an agent. A service
// reads once, refuses in the specification's order, and commits once; it never sees HTTP.
import type { Deps } from "./context.ts";
import type { FieldError } from "./core/errors.ts";
import type { Database, ReadResults, Reads, Statement } from "./db/batch.ts";
import type { Environment, Scope } from "./db/scope.ts";
import type { CertificateClaims } from "./protocol/certificate.ts";

/** What every surface gives. */
export type Call = {
  readonly deps: Deps;
  readonly db: Database;
  /** Epoch milliseconds of this call: one instant for all that it decides. */
  readonly now: number;
  readonly requestId: string;
  /** Goes on after the answer is sent. */
  readonly background: (work: Promise<unknown>) => void;
  /** One atomic batch; `view` is the answer, which is kept with the effect where the call has an Idempotency-Key. */
  readonly commit: (statements: readonly Statement[], view: unknown) => Promise<void>;
};

/** `system`: what fell due by itself; the id names what it was. */
export type Actor = {
  readonly type: "management_api" | "dashboard_admin" | "operator" | "system";
  readonly id: string;
};

export type ManagementCaller = {
  readonly platformId: string;
  readonly environment: Environment;
  readonly actor: Actor;
  readonly accreditationTier: string;
};

export type ManagementCall = Call & {
  readonly surface: "management";
  readonly environment: Environment;
  /** The platform is the owner of the presented key, as an expression: usable before the caller is known. */
  readonly scope: Scope;
  /** One trip: the reads, and the authentication that allows them. */
  readonly read: <R extends Reads>(reads: R) => Promise<ReadResults<R> & { caller: ManagementCaller }>;
  /** The agent's next transition may begin: for a call that goes on to wait for somebody else, its commit made. */
  readonly endTurn: () => void;
};

/** The calling agent as the database has it. */
export type AgentCaller = {
  readonly did: string;
  readonly platformId: string;
  readonly principalId: string;
  readonly environment: Environment;
  readonly economicRole: string;
};

export type AgentCall = Call & {
  readonly surface: "agent";
  readonly did: string;
  readonly claims: CertificateClaims;
  /** False at facilitation when the proof is not the caller's own request: then `proveBoundTo` decides. */
  readonly proven: boolean;
  /** Checks and uses up the consumer's proof bound to a provider. Throws `proof_invalid`. True when it was seen before. */
  readonly proveBoundTo: (calleeDid: string) => Promise<boolean>;
  /** One trip. A replayed proof is refused here, unless `replays: "tell"`: then the service is told. */
  readonly read: <R extends Reads>(
    reads: R,
    options?: { replays: "tell" },
  ) => Promise<ReadResults<R> & { caller: AgentCaller; replayed: boolean }>;
};

export type OperatorCall = Call & { readonly surface: "operator"; readonly actor: Actor };
export type PublicCall = Call & { readonly surface: "public" };

/**
 * What a faulty request is judged by beside its schema: reads that go with the authentication, and what they tell. `judge`
 * throws what comes before a fault of the values (404, 403), and answers the further faults.
 */
export type Examination = {
  readonly reads: Reads;
  readonly judge: (found: never, faults: readonly FieldError[]) => readonly FieldError[];
  /** How every refusal of such a request is told, also that of its caller. */
  readonly told?: (refusal: unknown) => unknown;
};

export const examination = <R extends Reads>(
  reads: R,
  judge: (found: ReadResults<R>, faults: readonly FieldError[]) => readonly FieldError[],
): Examination => ({ reads, judge: judge as Examination["judge"] });
