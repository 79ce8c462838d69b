// How the answers of receivers are stored: deflated where that is shorter, one behind the other beside the log of attempts. They are most of what a
// delivery leaves.
import { deflateRawSync, inflateRawSync } from "node:zlib";
import type { Attempt, DeliveryRow, StoredAttempt } from "../db/tables/webhooks.ts";

/** An attempt as it is stored, and its deflated answer, null where the answer stands in the attempt. */
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
