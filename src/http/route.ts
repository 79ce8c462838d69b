// A route is data: its request and answer, its surfaces, and its handler. app.ts binds routes to the entrances (auth/); the OpenAPI document is
// printed from the same data.
import type * as z from "zod";
import type { CallOf, Precheck, Surface } from "../call.ts";
import type { Config } from "../context.ts";
import type { ErrorCode, FieldError, OwnFieldErrorCode, ServiceError } from "../core/errors.ts";
import type { Read } from "../db/batch.ts";
import type { IdempotencyOwner } from "../db/outcomes.ts";

/** Dates or instants in UTC as ISO 8601 (HTTP-38); `link` leads to the replacement: a URL, or a path of the service. */
export type Deprecation = { readonly since: string; readonly sunset?: string; readonly link?: string };

export type Input<P, Q, B> = {
  readonly params: P;
  readonly query: Q;
  readonly body: B;
  readonly headers: Readonly<Record<string, string | undefined>>;
};

/** A request as it was sent, for the precheck, which judges its valid parts in addition to the schema's faults. */
export type Asked<P> = { readonly params: P; readonly query: Readonly<Record<string, string>>; readonly body: unknown };

export type RouteOf<S extends Surface, P, Q, B, O> = {
  readonly method: "get" | "post" | "patch" | "delete";
  readonly path: string;
  /** The path's last parameter takes the rest of the path, including slashes, and may be empty. */
  readonly rest?: true;
  readonly operationId: string;
  /** The surfaces that the route takes. With several, the presented credential decides (CRED-2). */
  readonly surfaces: readonly S[];
  /** The code for a call without any credential, if it is not the surface's usual one. */
  readonly withoutCredential?: ErrorCode;
  readonly params?: z.ZodType<P> & z.ZodObject;
  readonly query?: z.ZodType<Q> & z.ZodObject;
  readonly body?: z.ZodType<B>;
  readonly optionalBody?: true;
  /** The body is multipart/form-data, and `body` is the schema of its parts: texts, and files of at most `fileMaxBytes` (HTTP-36). */
  readonly multipart?: { readonly fileMaxBytes: number };
  /** Faults across fields; they run on the raw body even when its schema found faults. */
  readonly rules?: (raw: unknown) => FieldError[];
  readonly status: 200 | 201 | 202 | 204;
  /** Answers of further statuses with the route's own bodies, by status. Their refusals do not use the error envelope. */
  readonly outcomes?: Readonly<Record<number, { readonly description: string; readonly types: readonly string[] }>>;
  readonly errors: readonly ErrorCode[];
  /** Codes inside `field_errors` that few calls give; the common ones are not listed. */
  readonly fieldErrors?: readonly OwnFieldErrorCode[];
  /** Accepts an Idempotency-Key. `secret` answers are sealed at rest. */
  readonly idempotency?: "plain" | "secret";
  /** On a route without credential: the owner of its Idempotency-Keys, as far as the body names one (IDM-9). */
  readonly keysOf?: (body: B) => Promise<IdempotencyOwner>;
  /** A session may call it in production before the promotion: it has its own codes for that case, or ends the session (CRED-14). */
  readonly unpromoted?: true;
  /** A stored outcome is answered even when the presented key has ended, because this very call may have ended it (CRED-12). */
  readonly endsKey?: true;
  /** The agent whose lock the call takes, so that its transitions are ordered (AGT-27). */
  readonly lock?: (params: P) => string;
  /** Request headers that the answer depends on, lower-case. */
  readonly headers?: readonly string[];
  readonly cors?: true;
  readonly deprecated?: Deprecation;
  /** Names the form of an answer that is the same for every caller, which a shared cache may keep if it is `Cache-Control: public`; otherwise null. */
  readonly shared?: (asked: Pick<Input<P, Q, B>, "query" | "headers">) => string | null;
  /** True for requests that a replica of the database may answer, because no decision depends on them. */
  readonly replica?: (query: Q) => boolean;
  /** Changes by others cannot make the call fail as busy: it judges only its input, or works after the answer. */
  readonly neverBusy?: true;
  /** Answered even while the volume of the day is used up (EVT-35), for all or for matching bodies. Reads and removals always are. */
  readonly whenUsedUp?: true | ((body: B) => boolean);
  /** The query is not read, so no parameter is a fault. */
  readonly anyQuery?: true;
  /** A GET with effects: it takes no HEAD (HTTP-21), whose proof would not cover the effect. */
  readonly effects?: true;
  /** Names the act that may be repeated under one proof (PRF-8); for any other act that proof is a replay. Without it, a proof counts once (PRF-7). */
  readonly act?: (body: B, config: Config) => string;
  /** Also accepts the consumer's proof bound to its counterparty; the handler names the counterparty (FAC-2). */
  readonly boundProofs?: true;
  /** Finds the object that the path names. The call's first trip reads it, answers 404 if it is null, and gives it to the handler. */
  readonly object?: (call: CallOf<S>, params: P) => Read<O | null>;
  readonly handle: (call: CallOf<S, O>, input: Input<P, Q, B>) => Promise<unknown>;
  /** Judges a request that the schema refuses: 404 and 403 come before 422, and all faults are reported together (HTTP-12, HTTP-18). */
  readonly precheck?: (call: CallOf<S>, asked: Asked<P>) => Precheck;
  /** Maps every refusal of the call, including those of its caller and its values. */
  readonly mapRefusal?: (refusal: ServiceError, query: URLSearchParams) => ServiceError;
};

// biome-ignore lint/suspicious/noExplicitAny: a list of routes has handlers of many types; `defineRoute` checks each
export type Route = RouteOf<any, any, any, any, any>;

export function addsVolume({ method, whenUsedUp }: Route, body: unknown): boolean {
  if (method === "get" || method === "delete" || whenUsedUp === true) return false;
  return !(whenUsedUp && body !== undefined && whenUsedUp(body));
}

export const defineRoute = <const S extends Surface, P = undefined, Q = undefined, B = undefined, O = unknown>(
  definition: RouteOf<S, P, Q, B, O>,
): Route => definition;
