// How the answers of receivers are stored: deflated where that is shorter. They are most of what a delivery leaves.
import { deflateRawSync, inflateRawSync } from "node:zlib";
import type { Attempt, StoredAttempt } from "../db/tables/webhooks.ts";

export function packAnswer({ answer, ...attempt }: Attempt): StoredAttempt {
  const packed = answer === null ? "" : deflateRawSync(answer).toString("base64");
  return answer === null || packed.length >= answer.length ? { ...attempt, answer } : { ...attempt, packed };
}

export const answerOf = (attempt: StoredAttempt): string | null =>
  "packed" in attempt ? inflateRawSync(Buffer.from(attempt.packed, "base64")).toString() : attempt.answer;
