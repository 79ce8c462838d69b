// A route is data: what it takes and answers, who may call it, and the function that does it. app.ts binds routes to the
// entrances (auth/); the OpenAPI document is printed from the same data.
import type * as z from "zod";
import type { CallOf, Precheck, Surface } from "../call.ts";
import type { ErrorCode, FieldError } from "../core/errors.ts";

/** What a handler is given: parts that are valid. */
export type Input<P, Q, B> = {
  readonly params: P;
  readonly query: Q;
  readonly body: B;
  readonly headers: Readonly<Record<string, string | undefined>>;
};

/** A request as it was sent; whatever of it is valid may be judged beside the schema's faults. */
export type Asked<P> = { readonly params: P; readonly query: Readonly<Record<string, string>>; readonly body: unknown };

export type RouteOf<S extends Surface, P, Q, B> = {
  readonly method: "get" | "post" | "patch" | "delete";
  readonly path: string;
  readonly operationId: string;
  readonly tag: string;
  readonly summary: string;
  readonly description?: string;
  /** Who may call. Of several the credential that the request brings decides; an agent's certificate comes first. */
  readonly surfaces: readonly S[];
  /** The code for a call without any credential, where it is not the surface's usual one. */
  readonly withoutCredential?: ErrorCode;
  readonly params?: z.ZodType<P> & z.ZodObject;
  readonly query?: z.ZodType<Q> & z.ZodObject;
  readonly body?: z.ZodType<B>;
  /** The body is somebody else's document: its numbers stay what they are. */
  readonly verbatim?: true;
  /** Faults that look across fields; run on the raw body whatever its schema found. */
  readonly rules?: (raw: unknown) => FieldError[];
  readonly status: 200 | 201 | 202 | 204;
  readonly response: { readonly schema: z.ZodType; readonly description: string; readonly types?: readonly string[] };
  readonly errors: readonly ErrorCode[];
  /** Accepts an Idempotency-Key. `secret` answers are sealed at rest. */
  readonly idempotency?: "plain" | "secret";
  /** The agent whose lock is taken first, so that its transitions come in order. */
  readonly lock?: (params: P) => string;
  /** Request headers that the answer depends on, lower-case. */
  readonly headers?: readonly string[];
  /** Any origin may read it. */
  readonly cors?: true;
  /**
   * Which requests are answered the same to everybody, so that a shared cache stands in front of the database: names which form of
   * the answer this one gets. Null: none of them. Kept is what says `Cache-Control: public`.
   */
  readonly shared?: (asked: Pick<Input<P, Q, B>, "query" | "headers">) => string | null;
  /** Which requests a replica of the database may answer: nobody decides on what they read. */
  readonly replica?: (query: Q) => boolean;
  /** A GET that changes something: no HEAD then, whose proof would cover nothing of it. */
  readonly effects?: true;
  /**
   * A proof is accepted once. Where the same act may be asked for again under one proof, this names the act: under a proof that
   * was used for it the call is let through, for any other it is a replay.
   */
  readonly act?: (body: B) => string;
  /** Also the consumer's proof bound to its counterparty counts: the handler says to whom. */
  readonly boundProofs?: true;
  readonly handle: (call: CallOf<S>, input: Input<P, Q, B>) => Promise<unknown>;
  /**
   * Judges a request that the schema finds faulty by what the handler would have found: a foreign id is 404 and a stranger 403
   * before it is 422, and all faults of one body are told together.
   */
  readonly precheck?: (call: CallOf<S>, asked: Asked<P>) => Precheck;
};

// biome-ignore lint/suspicious/noExplicitAny: a list of routes has handlers of many kinds; `route` has checked each
export type Route = RouteOf<any, any, any, any>;

export const route = <const S extends Surface, P = undefined, Q = undefined, B = undefined>(
  definition: RouteOf<S, P, Q, B>,
): Route => definition;
