// The result of a handler that needs more than a JSON view: other headers, another type, no body.

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

export const isAnswer = (value: unknown): value is Answer =>
  typeof value === "object" && value !== null && "answer" in value && value.answer === true;
