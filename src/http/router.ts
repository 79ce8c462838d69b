// One router factory per auth surface: a definition and a handler of a few lines each. A handler on the wrong surface
// does not compile. The definition is the OpenAPI document, the validation and the status in one.
import { OpenAPIHono, type RouteConfig, z } from "@hono/zod-openapi";
import type { AgentCall, Examination, ManagementCall, OperatorCall, PublicCall } from "../call.ts";
import { ERRORS, type ErrorCode, type FieldError, fieldError, ServiceError, validationError } from "../core/errors.ts";
import { IDEMPOTENCY_KEY_MAX_CHARS } from "../core/limits.ts";
import type { Reads } from "../db/batch.ts";
import type { AppContext, AppEnv } from "./app-env.ts";
import { depsOf } from "./deps.ts";
import { parseJson, readBody } from "./json.ts";
import { chargeAddress } from "./rate-limit.ts";
import { isAnswer, jsonResponse } from "./responses.ts";
import { errorSchema } from "./schemas.ts";
import { type Parsed, parsePart, queryObject } from "./validation.ts";

export type Surface = "management" | "agent" | "operator" | "public";
type Calls = { management: ManagementCall; agent: AgentCall; operator: OperatorCall; public: PublicCall };

export type Definition<P, Q, B> = {
  readonly method: "get" | "post" | "patch" | "delete";
  readonly path: string;
  readonly operationId: string;
  readonly tag: string;
  readonly summary: string;
  readonly description?: string;
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
  /** Accepts an Idempotency-Key (contract 9). `secret` answers are sealed at rest. */
  readonly idempotency?: "plain" | "secret";
  /** The agent whose turn is taken first, so that its transitions come in order. */
  readonly turn?: (params: P) => string;
  /** Request headers that the handler reads, lower-case. */
  readonly headers?: readonly string[];
  /** Any origin may read it. */
  readonly cors?: boolean;
  /** Which proofs count (contract 7). */
  readonly proofs?: "own" | "facilitation";
};

/** What a handler is given: parts that are valid. */
export type Input<P, Q, B> = {
  readonly params: P;
  readonly query: Q;
  readonly body: () => B;
  readonly headers: Readonly<Record<string, string | undefined>>;
};

/** Everything of a request that the surfaces need to make a call of it. */
export type Incoming = {
  readonly context: AppContext;
  readonly url: URL;
  readonly rawBody: Uint8Array<ArrayBuffer>;
  readonly body: unknown;
  readonly definition: AnyDefinition;
  /** Null when there is none, the route takes none, or it is malformed (then the call is refused). */
  readonly idempotencyKey: string | null;
};

export type AnyDefinition = Omit<Definition<never, never, never>, "turn" | "rules"> & {
  rules?: (raw: unknown) => FieldError[];
};
export type Handle = (
  incoming: Incoming,
  run: (call: never) => Promise<unknown>,
  turnOf: string | null,
) => Promise<unknown>;

export type Registered = { readonly surface: Surface; readonly definition: AnyDefinition };

/** A request as it was sent; whatever of it is valid may be judged beside the schema's faults. */
export type Asked<P> = { readonly params: P; readonly query: Readonly<Record<string, string>>; readonly body: unknown };

export type Router<S extends Surface> = {
  readonly app: OpenAPIHono<AppEnv>;
  readonly registered: Registered[];
  readonly route: <P, Q, B>(
    definition: Definition<P, Q, B>,
    handler: (call: Calls[S], input: Input<P, Q, B>) => Promise<unknown>,
    /**
     * Judges a request that the schema finds faulty by what the handler would have found: a foreign id is 404 and a stranger
     * 403 before it is 422, and all faults of one body are told together (contract 1).
     */
    examine?: (call: Calls[S], asked: Asked<P>) => Examination,
  ) => void;
};

/** A router whose every call is opened by `enter`, which knows the surface's credential. */
export function createRouter<S extends Surface>(surface: S, enter: Handle): Router<S> {
  const app = new OpenAPIHono<AppEnv>();
  const registered: Registered[] = [];
  return {
    app,
    registered,
    route(definition, handler, examine) {
      const known = definition as unknown as AnyDefinition;
      registered.push({ surface, definition: known });
      // Contract 2: the operator's routes stand in no public document.
      if (surface !== "operator") app.openAPIRegistry.registerPath(describe(surface, known));
      app.on(definition.method.toUpperCase(), honoPath(definition.path), async (context) => {
        const url = new URL(context.req.url);
        const params = parsePart(definition.params ?? z.object({}), context.req.param()) as Parsed<never>;
        const { raw: rawQuery, repeated } = queryObject(url);
        const query = parseQuery(definition.query, rawQuery, repeated);
        const hasBody = definition.body !== undefined;
        const { rawBody, body, unreadable } = await receive(context, known);
        const parsed =
          hasBody && !unreadable
            ? parsePart(definition.body as z.ZodType, body, definition.rules)
            : { ok: true as const, value: undefined };
        const key = known.idempotency ? parseIdempotencyKey(context.req.header("idempotency-key")) : NO_KEY;
        const faults = [params, query, key, parsed].flatMap((part) => (part.ok ? [] : part.faults));
        const idempotencyKey = key.ok && !unreadable ? key.value : null;
        const incoming: Incoming = { context, url, rawBody, body, definition: known, idempotencyKey };
        const turnOf = definition.turn && params.ok ? definition.turn(params.value) : null;
        const result = await enter(
          incoming,
          async (call: Calls[S]) => {
            if (!params.ok) throw await afterAuthentication(call, () => new ServiceError("not_found"));
            if (unreadable || faults.length > 0) {
              const asked = { params: params.value, query: rawQuery, body };
              throw await refuseFaults(call, faults, examine?.(call, asked), unreadable);
            }
            return handler(call, {
              params: params.value,
              query: query.ok ? query.value : (undefined as never),
              body: () => (parsed as { value: unknown }).value as never,
              headers: Object.fromEntries((definition.headers ?? []).map((name) => [name, context.req.header(name)])),
            });
          },
          turnOf,
        );
        return finish(context, definition.status, result);
      });
    },
  };
}

type Received = Pick<Incoming, "rawBody" | "body"> & { readonly unreadable?: ServiceError };

/**
 * What is too large is refused before anybody is known, and so is charged to the address. What cannot be read is refused like
 * a fault of its values: after the caller is known, and whether the object of the path is there.
 */
async function receive(context: AppContext, { body: schema, verbatim }: AnyDefinition): Promise<Received> {
  const rawBody = await readBody(context.req.raw).catch(async (refusal) => {
    await chargeAddress(context, depsOf(context));
    throw refusal;
  });
  try {
    if (schema === undefined) return { rawBody, body: emptyBody(rawBody) };
    return { rawBody, body: parseJson(rawBody, context.req.header("content-type") ?? null, verbatim === true) };
  } catch (refusal) {
    if (!(refusal instanceof ServiceError)) throw refusal;
    return { rawBody, body: undefined, unreadable: refusal };
  }
}

/** Who may not call is told that before anything of the request is named. */
async function afterAuthentication<S extends Surface>(
  call: Calls[S],
  refusal: (found: never) => ServiceError,
  reads: Reads = {},
): Promise<ServiceError> {
  const authenticates = call.surface === "management" || call.surface === "agent";
  return refusal((authenticates ? await call.read(reads) : {}) as never);
}

/** The schema's faults, and those of the fields that it passed; of a body that is unreadable, just that. */
async function refuseFaults<S extends Surface>(
  call: Calls[S],
  faults: readonly FieldError[],
  examination?: Examination,
  unreadable?: ServiceError,
): Promise<unknown> {
  const { reads, judge, told = (refusal: unknown) => refusal } = examination ?? {};
  try {
    return told(
      await afterAuthentication(
        call,
        (found) => {
          const named = new Set(faults.map((fault) => fault.field));
          const more = judge?.(found, faults) ?? [];
          return unreadable ?? validationError([...faults, ...more.filter((fault) => !named.has(fault.field))]);
        },
        reads,
      ),
    );
  } catch (thrown) {
    if (!(thrown instanceof ServiceError)) throw thrown;
    return told(new ServiceError(thrown.code, { ...thrown.extra, unkept: true }));
  }
}

function parseQuery<Q>(
  schema: (z.ZodType<Q> & z.ZodObject) | undefined,
  raw: Record<string, string>,
  repeated: FieldError[],
): Parsed<Q> {
  const parsed = parsePart<Q>((schema ?? z.strictObject({})) as z.ZodType<Q>, raw);
  if (repeated.length === 0) return parsed;
  return { ok: false, faults: [...(parsed.ok ? [] : parsed.faults), ...repeated] };
}

const NO_KEY = { ok: true as const, value: null };

/** Contract section 9: printable ASCII, bare or in double quotes; the same key either way. */
function parseIdempotencyKey(header: string | undefined): Parsed<string | null> {
  if (header === undefined) return NO_KEY;
  const key = /^".*"$/.test(header) ? header.slice(1, -1) : header;
  if (key.length <= IDEMPOTENCY_KEY_MAX_CHARS && /^[\x20-\x7e]+$/.test(key)) return { ok: true, value: key };
  return {
    ok: false,
    faults: [fieldError("Idempotency-Key", "invalid_format", "It is 1 to 255 printable ASCII characters.")],
  };
}

/** "No body" also means an empty object: some clients always send one. */
function emptyBody(raw: Uint8Array): undefined {
  if (raw.byteLength === 0) return undefined;
  const text = new TextDecoder().decode(raw).trim();
  if (text === "" || text === "{}") return undefined;
  throw new ServiceError("invalid_request", { message: "This call takes no body." });
}

function finish(context: AppContext, status: number, result: unknown): Response {
  if (isAnswer(result)) {
    const body = result.status === 304 || result.status === 204 ? null : result.body;
    return new Response(body, { status: result.status, headers: result.headers });
  }
  return status === 204 ? context.body(null, 204) : jsonResponse(status, result);
}

export const honoPath = (path: string): string => path.replace(/\{(\w+)\}/g, ":$1");

const SECURITY: Record<Surface, Record<string, string[]>[]> = {
  management: [{ ManagementKey: [] }],
  agent: [{ AgentCertificate: [], AgentProof: [], AgentTimestamp: [] }],
  operator: [{ OperatorKey: [] }, { OperatorAccess: [] }],
  public: [],
};

/** The codes that a surface can always answer with. */
const ALWAYS: Record<Surface, readonly ErrorCode[]> = {
  management: ["invalid_credentials", "account_suspended", "rate_limited", "internal_error"],
  agent: ["certificate_required", "aeap_verification_failed", "agent_not_active", "rate_limited", "internal_error"],
  operator: ["invalid_credentials", "rate_limited", "internal_error"],
  public: ["rate_limited", "internal_error"],
};

function describe(surface: Surface, definition: AnyDefinition): RouteConfig {
  // An unknown query parameter is a fault everywhere, and so is a body where none is taken.
  const codes = new Set<ErrorCode>([...definition.errors, ...ALWAYS[surface], "validation_failed"]);
  if (definition.method !== "get")
    for (const code of ["invalid_request", "payload_too_large"] as const) codes.add(code);
  if (definition.idempotency)
    for (const code of ["idempotency_key_processing", "idempotency_key_reused"] as const) codes.add(code);
  const types = definition.response.types ?? ["application/json"];
  const conditional = definition.headers?.includes("if-none-match") === true;
  const headers = { ...(definition.idempotency && idempotencyHeader), ...(conditional && conditionalHeader) };
  const request = {
    ...(definition.params && { params: definition.params }),
    ...(definition.query && { query: definition.query }),
    ...(Object.keys(headers).length > 0 && { headers: z.object(headers) }),
    ...(definition.body && { body: { required: true, content: { "application/json": { schema: definition.body } } } }),
  };
  return {
    method: definition.method,
    path: definition.path,
    operationId: definition.operationId,
    tags: [definition.tag],
    summary: definition.summary,
    ...(definition.description && { description: definition.description }),
    security: SECURITY[surface],
    request: request as NonNullable<RouteConfig["request"]>,
    responses: {
      [definition.status]: {
        description: definition.response.description,
        headers: {
          ...SHARED_HEADERS,
          ...(definition.idempotency && REPLAYED_HEADER),
          ...(conditional && ETAG_HEADER),
        },
        ...(definition.status !== 204 && {
          content: Object.fromEntries(
            types.map((type) => [type, { schema: type.endsWith("json") ? definition.response.schema : z.string() }]),
          ),
        }),
      },
      ...(conditional && { 304: { description: "The content is what `If-None-Match` names.", headers: ETAG_HEADER } }),
      ...refusals([...codes]),
    },
  };
}

const describedHeader = (description: string) => ({ description, schema: { type: "string" as const } });
const SHARED_HEADERS = {
  "Request-Id": describedHeader("Names this call in the service's log."),
  RateLimit: describedHeader("What is left of the quota (`r`), and for how many seconds (`t`)."),
  "RateLimit-Policy": describedHeader("The quota (`q`) and its window in seconds (`w`)."),
};
const REPLAYED_HEADER = { "Idempotent-Replayed": describedHeader("`true` when the answer is the original one.") };
const ETAG_HEADER = { ETag: describedHeader("Names the content; send it in `If-None-Match`.") };
const RETRY_HEADER = { "Retry-After": describedHeader("Seconds to wait, with jitter.") };
const RETRIED: ReadonlySet<ErrorCode> = new Set([
  "rate_limited",
  "chain_unavailable",
  "payment_not_found",
  "idempotency_key_processing",
]);

const conditionalHeader = { "If-None-Match": z.string().optional().openapi({ description: "An `ETag` of before." }) };

const idempotencyHeader = {
  "Idempotency-Key": z.string().max(257).optional().openapi({
    description: "1 to 255 printable ASCII characters, a UUID advised. A retry within 24 hours answers the same.",
  }),
};

/** The error responses of a route, one per status, naming the codes. */
export function refusals(codes: readonly ErrorCode[]): RouteConfig["responses"] {
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of codes) byStatus.set(ERRORS[code].status, [...(byStatus.get(ERRORS[code].status) ?? []), code]);
  return Object.fromEntries(
    [...byStatus]
      .sort(([a], [b]) => a - b)
      .map(([status, named]) => [
        status,
        {
          description: named.map((code) => `\`${code}\`: ${ERRORS[code].message}`).join("\n\n"),
          headers: {
            "Request-Id": SHARED_HEADERS["Request-Id"],
            ...(named.some((code) => RETRIED.has(code)) && RETRY_HEADER),
          },
          content: { "application/json": { schema: errorSchema } },
        },
      ]),
  );
}
