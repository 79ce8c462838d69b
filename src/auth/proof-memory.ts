// A proof is accepted once. The memory of an agent's proofs knows each until its window has passed, and what it was used for: the
// same act may be asked for again under it (at once, concurrently, and after it was refused for now), anything else is a replay.
import type { Env } from "../context.ts";
import { PROOF_WINDOW_SECONDS, REPEATED_ACT_SECONDS, SECOND_MS } from "../core/limits.ts";
import type { ProofCheck } from "../protocol/proof.ts";

type Proven = Extract<ProofCheck, { ok: true }>;

/** `first`: not seen before. `same`: used before for this very act. */
export type ProofUse = "first" | "same" | "replay";
export type ProofMemory = { readonly use: (proven: Proven, act: string) => Promise<ProofUse> };

export function openProofMemory({ REPLAY }: Pick<Env, "REPLAY">, did: string): ProofMemory {
  const guard = REPLAY.get(REPLAY.idFromName(did));
  return {
    use: async ({ r, text, signedAt }, act) => {
      const mark = `${r}|${text}`;
      const remembered = act === "" ? PROOF_WINDOW_SECONDS : REPEATED_ACT_SECONDS;
      const late = Date.now() > signedAt + PROOF_WINDOW_SECONDS * SECOND_MS;
      // Past its window a proof counts only for what it was used for within it.
      if (late) return (await guard.isUsedFor(mark, act)) ? "same" : "replay";
      return guard.use(mark, act, signedAt + (remembered + 1) * SECOND_MS);
    },
  };
}
