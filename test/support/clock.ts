// The clock of a world's sandbox, moved by the offset on its platform's row (ACC-9), a clock that stands still, and an attestation that ends soon.
import { eq } from "drizzle-orm";
import { HOUR_MS } from "../../src/core/limits.ts";
import { platforms } from "../../src/db/tables/accounts.ts";
import { withDeps } from "./variants.ts";
import type { World } from "./world.ts";

/** Returns the world with a clock that only `advance` moves, so that limits can be tested exactly. */
export function stopped(world: World): World {
  const stoppedAt = world.now();
  const { offset } = world;
  let by = 0;
  const now = () => stoppedAt + by;
  const advance = (ms: number) => {
    by += ms;
  };
  return Object.assign(withDeps(world, { ...world.deps, clock: { now, ahead: () => offset + by } }), { now, advance });
}

export const moveClock = async ({ deps, platformId }: World, clockOffsetMs: number): Promise<void> => {
  await deps.db
    .update(platforms)
    .set({ clockOffsetMs, ratingsDated: true })
    .where(eq(platforms.platformId, platformId));
};

/** An attestation that began an hour ago in real time, and ends after the given hours. */
export const attested = (hours: number) => ({
  verification_attestation: {
    attestation_id: `att_${hours}`,
    verifier_id: "ver_1",
    model: "kyb",
    issued_at: new Date(Date.now() - HOUR_MS).toISOString(),
    expires_at: new Date(Date.now() + hours * HOUR_MS).toISOString(),
  },
});
