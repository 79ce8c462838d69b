// A route is data: its request and answer, its surfaces, and its handler. app.ts binds routes to the entrances (auth/); the OpenAPI
// document is printed from the same data.
import type * as z from "zod";
import type { CallOf, Precheck, Surface } from "../call.ts";
import type { Config } from "../context.ts";
import type { ErrorCode, FieldError, OwnFieldErrorCode, ServiceError } from "../core/errors.ts";
import type { IdempotencyOwner } from "../db/outcomes.ts";

/** Dates or instants in UTC as ISO 8601; `link` leads to what to use instead: a URL, or a path of the service. */
export type Deprecation = { readonly since: string; readonly sunset?: string; readonly link?: string };

/** The valid parts of a request, for the handler. */
export type Input<P, Q, B> = {
  readonly params: P;
  readonly query: Q;
  readonly body: B;
  readonly headers: Readonly<Record<string, string | undefined>>;
};

/** A request as it was sent, for the precheck: its valid parts are judged beside the schema's faults. */
export type Asked<P> = { readonly params: P; readonly query: Readonly<Record<string, string>>; readonly body: unknown };

export type RouteOf<S extends Surface, P, Q, B> = {
  readonly method: "get" | "post" | "patch" | "delete";
  readonly path: string;
  /** The path's last parameter takes the rest of the path, slashes too, and may be empty. */
  readonly rest?: true;
  readonly operationId: string;
  /** The surfaces that the route takes. With several, the presented credential decides (CRED-2). */
  readonly surfaces: readonly S[];
  /** The code for a call without any credential, where it is not the surface's usual one. */
  readonly withoutCredential?: ErrorCode;
  readonly params?: z.ZodType<P> & z.ZodObject;
  readonly query?: z.ZodType<Q> & z.ZodObject;
  readonly body?: z.ZodType<B>;
  /** Without a body the call says what an empty object says. */
  readonly optionalBody?: true;
  /** The body is multipart/form-data, and `body` the schema of its parts: texts, and files of at most so many bytes (HTTP-36). */
  readonly multipart?: { readonly fileMaxBytes: number };
  /** Faults across fields; they run on the raw body even when its schema found faults. */
  readonly rules?: (raw: unknown) => FieldError[];
  readonly status: 200 | 201 | 202 | 204;
  /** Answers of further statuses with bodies of the route's own, by their status. A refusal among them is no envelope. */
  readonly outcomes?: Readonly<Record<number, { readonly description: string; readonly types: readonly string[] }>>;
  readonly errors: readonly ErrorCode[];
  /** Codes inside `field_errors` that few calls give; the common ones are not listed. */
  readonly fieldErrors?: readonly OwnFieldErrorCode[];
  /** Accepts an Idempotency-Key. `secret` answers are sealed at rest. */
  readonly idempotency?: "plain" | "secret";
  /** On a route without credential: the owner of its Idempotency-Keys, as far as the body names one (IDM-9). */
  readonly keysOf?: (body: B) => Promise<IdempotencyOwner>;
  /** A session calls it in production before the promotion too: it has codes of its own for that, or ends the session (CRED-14). */
  readonly unpromoted?: true;
  /** A stored outcome is answered also when the presented key has ended: it may be the one that this very call has ended (CRED-12). */
  readonly endsKey?: true;
  /** The agent whose lock the call takes, so that its transitions come in order (AGT-27). */
  readonly lock?: (params: P) => string;
  /** Request headers that the answer depends on, lower-case. */
  readonly headers?: readonly string[];
  /** Any origin may read it. */
  readonly cors?: true;
  /** Callers should leave it (HTTP-38). */
  readonly deprecated?: Deprecation;
  /**
   * Names the form of an answer that is the same for everybody, so that a shared cache may keep it; null for any other request. The
   * cache keeps only answers that say `Cache-Control: public`.
   */
  readonly shared?: (asked: Pick<Input<P, Q, B>, "query" | "headers">) => string | null;
  /** True for requests that a replica of the database may answer, because no decision rests on them. */
  readonly replica?: (query: Q) => boolean;
  /** No change of others keeps the call from its answer: it only judges what it is given, or works after the answer. */
  readonly neverBusy?: true;
  /**
   * Answered also while the account's volume of the day is used up (EVT-35), whatever or for which bodies: it stops or ends something, keeps the
   * account safe, or changes nothing. Readings and removals always are.
   */
  readonly whenUsedUp?: true | ((body: B) => boolean);
  /** The query is not read, so none is a fault. */
  readonly anyQuery?: true;
  /** A GET with effects: it takes no HEAD (HTTP-21), whose proof would not cover the effect. */
  readonly effects?: true;
  /**
   * A proof is accepted once (PRF-7). Where the same act may be repeated under one proof, this names the act: a proof that was used for
   * it is accepted again, and is a replay for any other (PRF-8).
   */
  readonly act?: (body: B, config: Config) => string;
  /** The consumer's proof bound to its counterparty counts too; the handler names the counterparty (FAC-2). */
  readonly boundProofs?: true;
  readonly handle: (call: CallOf<S>, input: Input<P, Q, B>) => Promise<unknown>;
  /**
   * Judges a request that the schema refuses as the handler would have: a foreign id is 404 and a stranger 403 before 422, and all
   * faults of one body come together (HTTP-12, HTTP-18).
   */
  readonly precheck?: (call: CallOf<S>, asked: Asked<P>) => Precheck;
  /** Maps every refusal of the call, also that of its caller and of its values. */
  readonly mapRefusal?: (refusal: ServiceError, query: URLSearchParams) => ServiceError;
};

// biome-ignore lint/suspicious/noExplicitAny: a list of routes has handlers of many types; `route` checks each
export type Route = RouteOf<any, any, any, any>;

/** Whether a call of an account is refused while its volume of the day is used up. */
export function addsVolume({ method, whenUsedUp }: Route, body: unknown): boolean {
  if (method === "get" || method === "delete" || whenUsedUp === true) return false;
  return !(whenUsedUp && body !== undefined && whenUsedUp(body));
}

export const route = <const S extends Surface, P = undefined, Q = undefined, B = undefined>(
  definition: RouteOf<S, P, Q, B>,
): Route => definition;
