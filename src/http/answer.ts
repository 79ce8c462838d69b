// The result of a handler that needs more than a JSON view: other headers, another type, no body.
import { computeSha256Hex } from "../core/encoding.ts";

export type Answer = {
  readonly answer: true;
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: Body;
};
/** A stream is read once, by the client. */
type Body = string | ReadableStream<Uint8Array> | null;

export const answer = (status: number, headers: Record<string, string>, body: Body): Answer => ({
  answer: true,
  status,
  headers,
  body,
});

/** A strong entity tag of a text that is the same for every caller. */
export const computeEntityTag = async (text: string): Promise<string> =>
  `"${(await computeSha256Hex(text)).slice(0, 32)}"`;

/** A JSON view with its entity tag. A caller that sends the current tag gets 304; then the view may be null. */
export type Tagged = { readonly etag: string; readonly view: unknown; readonly tagged: true };
export const toTagged = (etag: string, view: unknown): Tagged => ({ etag, view, tagged: true });
export const isTagged = (value: unknown): value is Tagged =>
  typeof value === "object" && value !== null && "tagged" in value && value.tagged === true;

export const isAnswer = (value: unknown): value is Answer =>
  typeof value === "object" && value !== null && "answer" in value && value.answer === true;
