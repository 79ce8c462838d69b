// The memory of an agent's used proofs (PRF-7, PRF-8). It keeps each proof and its act until the window has passed: the same act may be repeated
// under the proof, any other use is a replay.
import type { Env } from "../context.ts";
import { PROOF_WINDOW_SECONDS, REPEATED_ACT_SECONDS, SECOND_MS } from "../core/limits.ts";
import type { ProofCheck } from "../protocol/proof.ts";

type Proven = Extract<ProofCheck, { ok: true }>;

/** `first`: not seen before. `same`: used before for the same act. `late`: its window passed before it was used for this act. */
export type ProofUse = "first" | "same" | "replay" | "late";
export type ProofMemory = { readonly use: (proven: Proven, act: string) => Promise<ProofUse> };

export function openProofMemory({ REPLAY }: Pick<Env, "REPLAY">, did: string): ProofMemory {
  const guard = REPLAY.get(REPLAY.idFromName(did));
  return {
    use: async ({ r, text, signedAt }, act) => {
      const mark = `${r}|${text}`;
      const remembered = act === "" ? PROOF_WINDOW_SECONDS : REPEATED_ACT_SECONDS;
      const late = Date.now() > signedAt + PROOF_WINDOW_SECONDS * SECOND_MS;
      // After its window a proof counts only for the act that it was used for within the window.
      if (late) return (await guard.isUsedFor(mark, act)) ? "same" : "late";
      return guard.use(mark, act, signedAt + (remembered + 1) * SECOND_MS);
    },
  };
}
