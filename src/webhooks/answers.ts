// Packs the answers of receivers: deflated if that is shorter, and concatenated in a column next to the log of attempts. They are most of the bytes
// that a delivery stores.
import { deflateRawSync, inflateRawSync } from "node:zlib";
import type { Attempt, DeliveryRow, StoredAttempt } from "../db/tables/webhooks.ts";

/** The attempt as it is stored, and its deflated answer, which is null if the attempt itself holds the answer. */
export function packAnswer({ answer, ...attempt }: Attempt): { stored: StoredAttempt; deflated: Buffer | null } {
  const deflated = answer === null ? null : deflateRawSync(answer);
  if (deflated === null || deflated.length >= Buffer.byteLength(answer ?? ""))
    return { stored: { ...attempt, answer }, deflated: null };
  return { stored: { ...attempt, deflated: deflated.length }, deflated };
}

export function unpackAnswers({ attempts, answers }: Pick<DeliveryRow, "attempts" | "answers">): Attempt[] {
  let behind = 0;
  return attempts.map((stored) => {
    if ("answer" in stored) return stored;
    if ("packed" in stored) {
      const { packed, ...attempt } = stored;
      return { ...attempt, answer: inflateRawSync(Buffer.from(packed, "base64")).toString() };
    }
    const { deflated, ...attempt } = stored;
    behind += deflated;
    return {
      ...attempt,
      answer: inflateRawSync((answers ?? Buffer.of()).subarray(behind - deflated, behind)).toString(),
    };
  });
}
