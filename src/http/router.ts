// Binds a route to Hono: reads and parses the request, opens the call, and turns the handler's view into an answer.
import type { HonoBase } from "hono/hono-base";
import * as z from "zod";
import type { AnyCall } from "../call.ts";
import { type FieldError, ServiceError, toFieldError, toValidationError } from "../core/errors.ts";
import { limitTurns } from "../core/retry.ts";
import { isEnvironment } from "../core/vocabulary.ts";
import { answer, isAnswer, isTagged, toNotModifiedIfKnown } from "./answer.ts";
import { type AppContext, type AppEnv, findDeps } from "./app-env.ts";
import { admitBeforeBody, type Credential, type Entrances, openCall, presentsCredential } from "./call.ts";
import { buildDeprecationHeaders } from "./headers.ts";
import { parseIdempotencyKey } from "./idempotency.ts";
import { FORM_MAX_BYTES, type Incoming, parseMultipart, toFormIdentity, toFormObject } from "./incoming.ts";
import { type BodyLimit, parseJson, readBody, requireEmptyBody } from "./json.ts";
import { findMoneyPaths } from "./money-fields.ts";
import { refuseFaults, refuseUnknownPath } from "./precheck.ts";
import { chargeAddress } from "./rate-limit.ts";
import { toJsonResponse } from "./responses.ts";
import type { Route } from "./route.ts";
import { answerThroughSharedCache, chooseDatabase } from "./shared-cache.ts";
import { type Parsed, parsePart, toQueryObject } from "./validation.ts";

export function bindRoute(app: HonoBase<AppEnv>, route: Route, entrances: Entrances): void {
  const deprecation = route.deprecated && buildDeprecationHeaders(route.deprecated);
  app.on(route.method.toUpperCase(), toHonoPath(route), async (context) => {
    if (deprecation) context.set("deprecation", deprecation);
    if (!route.multipart) return serveRoute(context, route, entrances);
    const { credential, owner } = await admitBeforeBody(entrances, toBareRequest(context, route));
    const served = inUploadTurn(owner, () => serveRoute(context, route, entrances, credential));
    // The runtime stops a request whose client has left, unless the request is waited for; a stopped request would keep its turn.
    context.executionCtx.waitUntil(served.catch(() => undefined));
    return served;
  });
}

/** Simultaneous uploads of one account and of all accounts: each upload is in memory as a whole, and no account may use up the memory of others. */
const inUploadTurn = limitTurns({ atOnce: 2, inAll: 4, patienceSeconds: 10, leaseSeconds: 90 });

async function serveRoute(context: AppContext, route: Route, entrances: Entrances, admitted?: Credential) {
  const asked = await parseRequest(context, route);
  const isAnonymous = !presentsCredential(entrances, asked.incoming);
  const handle = (call: AnyCall) => dispatch(call, route, asked, isAnonymous);
  return toResponse(asked.incoming, await openCall(entrances, asked.incoming, handle, admitted));
}

export const toHonoPath = ({ path, rest }: Pick<Route, "path" | "rest">): string =>
  path.replace(/\{(\w+)\}/g, ":$1") + (rest ? "{.*}" : "");

const toBareRequest = (context: AppContext, route: Route): Incoming => {
  const deps = findDeps(context);
  return {
    context,
    deps,
    db: deps.db,
    requestId: context.get("requestId"),
    background: (work) => context.executionCtx.waitUntil(work),
    url: new URL(context.req.url),
    rawBody: new Uint8Array(0),
    body: undefined,
    identity: undefined,
    validBody: undefined,
    route,
    idempotencyKey: null,
    lockedDid: null,
    readObject: null,
  };
};

type ParsedRequest = {
  readonly incoming: Incoming;
  readonly params: Parsed<unknown>;
  readonly query: Parsed<unknown>;
  readonly rawQuery: Readonly<Record<string, string>>;
  readonly body: Parsed<unknown>;
  readonly key: Parsed<unknown>;
  readonly unreadable: ServiceError | undefined;
};

async function parseRequest(context: AppContext, route: Route): Promise<ParsedRequest> {
  const url = new URL(context.req.url);
  const params = parsePart(route.params ?? NO_PARAMS, context.req.param());
  const { raw: rawQuery, repeated } = toQueryObject(url);
  const parsedQuery = parsePart(route.query ?? NO_QUERY, rawQuery);
  const query = addFaults(parsedQuery, repeated);
  const received = await receiveBody(context, route);
  const body = addFaults(
    received.unreadable || route.body === undefined ? NOTHING : parsePart(route.body, received.body, route.rules),
    received.repeated ?? [],
  );
  const key = route.idempotency
    ? parseIdempotencyKey(context.req.header("idempotency-key"))
    : { ok: true as const, value: null };
  const deps = findDeps(context);
  const { object } = route;
  const incoming: Incoming = {
    ...toBareRequest(context, route),
    db: query.ok ? chooseDatabase(route, query.value, deps) : deps.db,
    rawBody: received.rawBody,
    body: received.body,
    identity: received.identity,
    validBody: body.ok ? body.value : undefined,
    idempotencyKey: key.ok && !received.unreadable ? key.value : null,
    lockedDid: route.lock && params.ok ? route.lock(params.value) : null,
    readObject: object && params.ok ? (call) => ({ object: object(call, params.value) }) : null,
  };
  return { incoming, params, query, rawQuery, body, key, unreadable: received.unreadable };
}

const NO_PARAMS = z.object({});
const NO_QUERY = z.strictObject({});
const NOTHING: Parsed<unknown> = { ok: true, value: undefined };
const listFaults = (part: Parsed<unknown>) => (part.ok ? [] : part.faults);
const addFaults = (part: Parsed<unknown>, more: readonly FieldError[]): Parsed<unknown> =>
  more.length === 0 ? part : { ok: false, faults: [...listFaults(part), ...more] };

async function dispatch(call: AnyCall, route: Route, asked: ParsedRequest, isAnonymous: boolean): Promise<unknown> {
  const { incoming, params, query, rawQuery, body, key, unreadable } = asked;
  if (!params.ok) return refuseUnknownPath(call);
  const faults = [query, key, body].flatMap(listFaults).concat(findEnvironmentFaults(incoming));
  if (unreadable || faults.length > 0) {
    const precheck = route.precheck?.(call, { params: params.value, query: rawQuery, body: incoming.body });
    return refuseFaults(call, faults, precheck, unreadable);
  }
  const headers = Object.fromEntries((route.headers ?? []).map((name) => [name, incoming.context.req.header(name)]));
  const input = {
    params: params.value,
    query: query.ok ? query.value : undefined,
    body: incoming.validBody,
    headers,
  };
  const handle = () => route.handle(call, input);
  const form = isAnonymous ? route.shared?.(input) : undefined;
  return typeof form === "string" ? answerThroughSharedCache(incoming, input.query, form, handle) : handle();
}

/** A session names its environment (CRED-14). */
function findEnvironmentFaults({ context, route }: Incoming): FieldError[] {
  const named = context.req.header("service-environment");
  const takesSessions = route.surfaces.includes("session") || route.surfaces.includes("management");
  if (named === undefined || isEnvironment(named) || !takesSessions) return [];
  return [toFieldError("Service-Environment", "invalid_value", "Must be sandbox or production.")];
}

type ReceivedBody = Pick<Incoming, "rawBody" | "body" | "identity"> & {
  readonly unreadable?: ServiceError;
  readonly repeated?: readonly FieldError[];
};

/** A too large body is refused before authentication, and charged to the address; an unreadable one is refused where faulty values are (HTTP-18). */
async function receiveBody(
  context: AppContext,
  { body: schema, multipart, optionalBody }: Route,
): Promise<ReceivedBody> {
  const rawBody = await readBody(context.req.raw, multipart && toFormLimit(multipart)).catch(async (refusal) => {
    await chargeAddress(context, findDeps(context));
    throw refusal;
  });
  const type = context.req.header("content-type") ?? null;
  try {
    if (multipart) return { rawBody, ...(await receiveForm(rawBody, type)) };
    const isLeftOut = optionalBody === true && rawBody.byteLength === 0;
    if (schema === undefined || isLeftOut) {
      const body = isLeftOut ? {} : requireEmptyBody(rawBody);
      return { rawBody, body, identity: body };
    }
    return { rawBody, ...parseJson(rawBody, type, findMoneyPaths(schema)) };
  } catch (refusal) {
    if (!(refusal instanceof ServiceError)) throw refusal;
    return { rawBody, body: undefined, identity: undefined, unreadable: refusal };
  }
}

async function receiveForm(rawBody: Incoming["rawBody"], type: string | null): Promise<Omit<ReceivedBody, "rawBody">> {
  const { raw, repeated } = await toFormObject(parseMultipart(rawBody, type));
  return { body: raw, identity: toFormIdentity(raw), repeated };
}

/** A form that is larger than the largest allowed file is refused for its file. */
const toFormLimit = ({ fileMaxBytes }: NonNullable<Route["multipart"]>): BodyLimit => ({
  maxBytes: fileMaxBytes + FORM_MAX_BYTES,
  tooLarge: () => toValidationError([toFieldError("file", "file_too_large")]),
  seconds: 60,
});

function toResponse(incoming: Incoming, result: unknown): Response {
  const { context, deps, route, url } = incoming;
  if (isAnswer(result)) {
    const { status, headers, body } = toNotModifiedIfKnown(result, context.req.header("if-none-match"));
    return new Response(status === 304 || status === 204 ? null : body, { status, headers });
  }
  if (route.status === 204) return context.body(null, 204);
  const linked = (view: unknown) => (isUnfinished(view) ? toNextLink(deps.config.issuer, url, view) : {});
  if (isTagged(result)) {
    const { etag, view } = result;
    const headers = { "Content-Type": "application/json", ETag: etag, ...linked(view) };
    return toResponse(incoming, answer(200, headers, JSON.stringify(view)));
  }
  return toJsonResponse(route.status, result, linked(result));
}

type UnfinishedPage = { readonly has_more: true; readonly next_cursor: string };
const isUnfinished = (view: unknown): view is UnfinishedPage =>
  typeof view === "object" &&
  view !== null &&
  "has_more" in view &&
  view.has_more === true &&
  "next_cursor" in view &&
  typeof view.next_cursor === "string";

/** RFC 8288: links the next page, under the same filters. */
function toNextLink(issuer: string, { pathname, searchParams }: URL, { next_cursor }: UnfinishedPage) {
  const query = new URLSearchParams(searchParams);
  query.set("cursor", next_cursor);
  return { Link: `<${issuer}${pathname}?${query}>; rel="next"` };
}
