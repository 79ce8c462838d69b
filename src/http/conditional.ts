// RFC 9110, 13: who knows an answer by its entity tag is told that it is still so, without a body.
import { type Answer, answer } from "./answer.ts";

const opaque = (tag: string): string => tag.trim().replace(/^W\//, "");

/** If-None-Match compares weakly. */
const isKnown = (etag: string, given: string): boolean =>
  given.split(",").some((tag) => opaque(tag) === opaque(etag) || tag.trim() === "*");

/** The answer, or 304 where the caller has it. */
export function unlessKnown(full: Answer, ifNoneMatch: string | undefined): Answer {
  const { ETag: etag } = full.headers;
  if (full.status !== 200 || etag === undefined || ifNoneMatch === undefined || !isKnown(etag, ifNoneMatch))
    return full;
  const { "Content-Type": _type, ...headers } = full.headers;
  return answer(304, headers, null);
}
