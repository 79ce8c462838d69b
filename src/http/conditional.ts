// Conditional requests (RFC 9110, 13): a caller that sends an answer's current entity tag gets no body.
import { type Answer, answer } from "./answer.ts";

const toOpaqueTag = (tag: string): string => tag.trim().replace(/^W\//, "");

/** If-None-Match compares weakly. */
const matchesTag = (etag: string, given: string): boolean =>
  given.split(",").some((tag) => toOpaqueTag(tag) === toOpaqueTag(etag) || tag.trim() === "*");

/** The answer, or 304 if the caller already has it. */
export function toNotModifiedIfKnown(full: Answer, ifNoneMatch: string | undefined): Answer {
  const { ETag: etag } = full.headers;
  if (full.status !== 200 || etag === undefined || ifNoneMatch === undefined || !matchesTag(etag, ifNoneMatch))
    return full;
  const { "Content-Type": _type, ...headers } = full.headers;
  return answer(304, headers, null);
}
