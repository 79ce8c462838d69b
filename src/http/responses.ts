// The shapes of an answer: a JSON view, or the flat error envelope, as RFC 9457 members on request (HTTP-14, HTTP-15).
import { ERRORS, ServiceError } from "../core/errors.ts";
import { acceptsByName } from "./accept.ts";
import type { AppContext } from "./app-env.ts";

const PROBLEM = "application/problem+json";

export function toJsonResponse(status: number, body: unknown, headers: Record<string, string> = {}): Response {
  return new Response(JSON.stringify(body), { status, headers: { "Content-Type": "application/json", ...headers } });
}

export type ErrorEnvelope = {
  code: string;
  message: string;
  status: number;
  request_id: string;
  /** Equal to `code`, for public AEA/P clients that read it. */
  error: string;
  field_errors?: { field: string; code: string; message: string }[];
  detail?: Record<string, unknown>;
  type?: string;
};

export function toErrorEnvelope(error: ServiceError, requestId: string): ErrorEnvelope {
  const { field_errors, detail, type } = error.extra;
  return {
    code: error.code,
    message: error.message,
    status: error.status,
    request_id: requestId,
    error: error.code,
    ...(field_errors && { field_errors }),
    ...(detail && { detail }),
    ...(type && { type }),
  };
}

/** Answers every failure. A ServiceError is answered as it is; anything else is logged and answered as 500 (HTTP-22). */
export function toErrorResponse(thrown: unknown, requestId: string, context: AppContext): Response {
  const error = thrown instanceof ServiceError ? thrown : toInternalError(thrown, requestId);
  if (error.extra.reason) {
    const said = toLogLine("refused", requestId, { code: error.code, reason: error.extra.reason });
    if (error.status < 500) console.info(said);
    else console.error(said);
  }
  const challenge = context.get("challenge");
  const headers = {
    ...error.extra.headers,
    ...(error.status === 401 && challenge && { "WWW-Authenticate": challenge }),
  };
  const envelope = toErrorEnvelope(error, requestId);
  if (!acceptsByName(context.req.header("accept"), PROBLEM)) return toJsonResponse(error.status, envelope, headers);
  return toJsonResponse(error.status, toProblem(envelope, context.env.ISSUER || new URL(context.req.url).origin), {
    ...headers,
    "Content-Type": PROBLEM,
  });
}

function toProblem({ code, message, status, request_id, field_errors, detail, type }: ErrorEnvelope, issuer: string) {
  return {
    type: `${issuer}/docs#${code}`,
    title: code,
    status,
    detail: message,
    instance: request_id,
    code,
    request_id,
    ...(field_errors && { field_errors }),
    ...(detail && { details: detail }),
    ...(type && { reason: type }),
  };
}

function toInternalError(thrown: unknown, requestId: string): ServiceError {
  const cause =
    thrown instanceof Error
      ? { name: thrown.name, message: thrown.message, stack: thrown.stack }
      : { thrown: typeof thrown };
  console.error(toLogLine("failed", requestId, cause));
  return new ServiceError("internal_error", { message: ERRORS.internal_error.message });
}

/** One structured line of the log. Callers pass reasons and names, never bodies, headers or keys. */
const toLogLine = (event: string, requestId: string, fields: Record<string, unknown>): string =>
  JSON.stringify({ event, request_id: requestId, ...fields });
