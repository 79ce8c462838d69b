// The two shapes of an answer: a view with the status of its definition, or the flat error envelope of section 7.
import { ERRORS, ServiceError } from "../core/errors.ts";

/** What a handler returns when it needs more than a JSON view: other headers, another type, no body. */
export type Answer = {
  readonly answer: true;
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: string | null;
};

export const answer = (status: number, headers: Record<string, string>, body: string | null): Answer => ({
  answer: true,
  status,
  headers,
  body,
});

export const isAnswer = (value: unknown): value is Answer =>
  typeof value === "object" && value !== null && "answer" in value && value.answer === true;

export function jsonResponse(status: number, body: unknown, headers: Record<string, string> = {}): Response {
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

export function errorEnvelope(error: ServiceError, requestId: string): ErrorEnvelope {
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

/** Every failure ends here: what is ours is said, everything else is 500 and only logged. */
export function errorResponse(thrown: unknown, requestId: string): Response {
  const error = thrown instanceof ServiceError ? thrown : unexpected(thrown, requestId);
  if (error.extra.reason) log("refused", requestId, { code: error.code, reason: error.extra.reason });
  return jsonResponse(error.status, errorEnvelope(error, requestId), error.extra.headers);
}

function unexpected(thrown: unknown, requestId: string): ServiceError {
  const cause =
    thrown instanceof Error
      ? { name: thrown.name, message: thrown.message, stack: thrown.stack }
      : { thrown: typeof thrown };
  log("failed", requestId, cause);
  return new ServiceError("internal_error", { message: ERRORS.internal_error.message });
}

/** Structured, one line. Callers pass reasons and names, never bodies, headers or keys. */
function log(event: string, requestId: string, fields: Record<string, unknown>): void {
  console.error(JSON.stringify({ event, request_id: requestId, ...fields }));
}
