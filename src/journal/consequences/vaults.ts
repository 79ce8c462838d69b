// What a platform's calls about a provider's vault change (MKT-27).
import { BOOKED, FUNDED, FUNDS_AGENT } from "./follower.ts";
import { type Cases, NOTHING } from "./words.ts";

export const VAULT_OPERATIONS: Readonly<Record<string, Cases>> = {
  syncAgentEscrow: [{ when: "nothing has moved the vault", ...NOTHING }, BOOKED, FUNDED, FUNDS_AGENT],
};
