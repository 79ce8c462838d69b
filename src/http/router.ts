// Binds a route to Hono: reads and parses the request, opens the call, and makes an answer of the handler's view.
import type { Hono } from "hono";
import * as z from "zod";
import type { AnyCall } from "../call.ts";
import { ServiceError } from "../core/errors.ts";
import { isAnswer } from "./answer.ts";
import type { AppContext, AppEnv } from "./app-env.ts";
import { type Entrances, openCall } from "./call.ts";
import { depsOf } from "./deps.ts";
import { parseIdempotencyKey } from "./idempotency.ts";
import type { Incoming } from "./incoming.ts";
import { emptyBody, parseJson, readBody } from "./json.ts";
import { refuseFaults, refuseUnknownPath } from "./precheck.ts";
import { chargeAddress } from "./rate-limit.ts";
import { jsonResponse } from "./responses.ts";
import type { Route } from "./route.ts";
import { type Parsed, parsePart, queryObject } from "./validation.ts";

export function bindRoute(app: Hono<AppEnv>, route: Route, entrances: Entrances): void {
  app.on(route.method.toUpperCase(), honoPath(route.path), async (context) => {
    const asked = await parseRequest(context, route);
    const result = await openCall(entrances, asked.incoming, (call) => dispatch(call, route, asked));
    return finish(context, route.status, result);
  });
}

export const honoPath = (path: string): string => path.replace(/\{(\w+)\}/g, ":$1");

/** The parts of a request, each valid or with faults. */
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
  const { raw: rawQuery, repeated } = queryObject(url);
  const parsedQuery = parsePart(route.query ?? NO_QUERY, rawQuery);
  const query: Parsed<unknown> =
    repeated.length === 0 ? parsedQuery : { ok: false, faults: [...faultsOf(parsedQuery), ...repeated] };
  const received = await receiveBody(context, route);
  const body =
    received.unreadable || route.body === undefined ? NOTHING : parsePart(route.body, received.body, route.rules);
  const key = route.idempotency
    ? parseIdempotencyKey(context.req.header("idempotency-key"))
    : { ok: true as const, value: null };
  const incoming: Incoming = {
    context,
    deps: depsOf(context),
    requestId: context.get("requestId"),
    background: (work) => context.executionCtx.waitUntil(work),
    url,
    rawBody: received.rawBody,
    body: received.body,
    validBody: body.ok ? body.value : undefined,
    route,
    idempotencyKey: key.ok && !received.unreadable ? key.value : null,
    lockedDid: route.lock && params.ok ? route.lock(params.value) : null,
  };
  return { incoming, params, query, rawQuery, body, key, unreadable: received.unreadable };
}

const NO_PARAMS = z.object({});
const NO_QUERY = z.strictObject({});
const NOTHING: Parsed<unknown> = { ok: true, value: undefined };
const faultsOf = (part: Parsed<unknown>) => (part.ok ? [] : part.faults);

async function dispatch(call: AnyCall, route: Route, asked: ParsedRequest): Promise<unknown> {
  const { incoming, params, query, rawQuery, body, key, unreadable } = asked;
  if (!params.ok) return refuseUnknownPath(call);
  const faults = [query, key, body].flatMap(faultsOf);
  if (unreadable || faults.length > 0) {
    const precheck = route.precheck?.(call, { params: params.value, query: rawQuery, body: incoming.body });
    return refuseFaults(call, faults, precheck, unreadable);
  }
  const headers = Object.fromEntries((route.headers ?? []).map((name) => [name, incoming.context.req.header(name)]));
  return route.handle(call, {
    params: params.value,
    query: query.ok ? query.value : undefined,
    body: incoming.validBody,
    headers,
  });
}

type Received = Pick<Incoming, "rawBody" | "body"> & { readonly unreadable?: ServiceError };

/**
 * A body that is too large is refused before authentication, and so is charged to the address. An unreadable one is refused where faults
 * of values are: after the caller and the object of the path are known (HTTP-18).
 */
async function receiveBody(context: AppContext, { body: schema, verbatim }: Route): Promise<Received> {
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

function finish(context: AppContext, status: Route["status"], result: unknown): Response {
  if (isAnswer(result)) {
    const body = result.status === 304 || result.status === 204 ? null : result.body;
    return new Response(body, { status: result.status, headers: result.headers });
  }
  return status === 204 ? context.body(null, 204) : jsonResponse(status, result);
}
