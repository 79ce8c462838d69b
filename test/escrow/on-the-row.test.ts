// The public status reads the escrow's state from the agent's row (MKT-18, IDN-24).
import { beforeAll, describe, expect, it } from "vitest";
import { markDocumentStale } from "../../src/agents/store.ts";
import type { EscrowState } from "../../src/core/vocabulary.ts";
import { commit } from "../../src/db/batch.ts";
import { pickWorstEscrowState } from "../../src/escrow/states.ts";
import { toMovedStates } from "../../src/escrow/store.ts";
import { storedAgent } from "../cascades/account-support.ts";
import { createWorld, expectStatus, type World } from "../support/world.ts";

let world: World;
beforeAll(async () => {
  world = await createWorld();
});

const STATES = ["FUNDING", "ACTIVE", "CONSTRAINED"] as const satisfies readonly EscrowState[];
const shown = async (did: string) =>
  expectStatus(await world.call("GET", `/v1/agents/${did}/status`, { key: null }), 200).escrow_state;

describe("the escrow's state in the public status", () => {
  it("is FUNDING without a market, and null for a consumer", async () => {
    expect(await shown((await world.agent("PROVIDER")).did)).toBe("FUNDING");
    expect(await shown((await world.consumer()).did)).toBeNull();
  });

  it.each(STATES.flatMap((one) => STATES.map((other) => [one, other] as const)))(
    "is the worst of %s and %s, which two batches wrote that did not know of each other",
    async (one, other) => {
      const { db } = world.deps;
      const { did } = await world.agent("PROVIDER");
      const before = await storedAgent(world, did);
      if (!before) throw new Error("no agent");
      const escrows = [
        { network: "base-sepolia", state: one },
        { network: "base", state: other },
      ];
      await Promise.all(escrows.map((escrow) => commit(db, markDocumentStale(db, before, toMovedStates([escrow])))));
      expect(await shown(did)).toBe(pickWorstEscrowState("PROVIDER", escrows));
    },
  );
});
