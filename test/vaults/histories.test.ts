// Random histories of a vault with the real contract: at every booked block the lines add up to what the vault holds, and statements change a line
// only to reverse it (MKT-23, MKT-28).
import fc from "fast-check";
import { encodeFunctionData } from "viem/utils";
import { beforeAll, describe, expect, it } from "vitest";
import { settlementAbi } from "../../scripts/chain/abi.ts";
import { hashDid } from "../../src/chain/hashes.ts";
import { asProvider, paid, pairOf } from "../facilitation/support.ts";
import { escrowOf, follow, heldBy, linesOf, releaseSurplus, transferTo } from "../follower/support.ts";
import { deposit, rows } from "../promotion/support.ts";
import { account, asRole, chainOf, send } from "../support/chain.ts";
import { traffic } from "../support/plans.ts";
import { runs } from "../support/scale.ts";
import { createWorld, expectStatus, type World } from "../support/world.ts";

const NETWORK = "base-sepolia";
const UNIT = 1_000_000;

let world: World;
beforeAll(async () => {
  world = await createWorld();
});

const STEPS = ["settle", "pay", "deposit", "transfer", "release", "threshold", "book", "sync"] as const;

async function setThreshold(did: string, units: number): Promise<void> {
  const { token } = chainOf(NETWORK);
  const args = [hashDid(did), token as `0x${string}`, BigInt(units)] as const;
  const { to, data } = asRole(NETWORK, encodeFunctionData({ abi: settlementAbi, functionName: "setThreshold", args }));
  await send(NETWORK, account(1), to, data);
}

describe("a random history of a vault", () => {
  it("is booked so that the lines add up to what the vault holds, and the balance to deposits and facilitated settlements", async () => {
    const step = fc.record({ act: fc.constantFrom(...STEPS), units: fc.integer({ min: 1, max: 20 * UNIT }) });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 14 }), async (history) => {
        const pair = await pairOf(world);
        const { did } = pair.provider;
        const { vault } = await escrowOf(did);
        const acts = {
          settle: async () => void expectStatus(await asProvider(world, await paid(world, pair, "20.00")), 200),
          pay: async () => void (await paid(world, pair, "30.00")),
          deposit: (units: number) => deposit(did, units),
          transfer: (units: number) => transferTo(vault, units),
          release: async () => void (await releaseSurplus(did).catch(() => null)),
          threshold: (units: number) => setThreshold(did, 7_500_000 + (units % 7_500_000)),
          book: async () => void (await follow(world)),
          sync: async () => void expectStatus(await world.call("POST", `/v1/agents/${did}/escrow/sync`), 200),
        };
        for (const { act, units } of [...history, { act: "sync", units: 0 } as const]) {
          await acts[act](units);
          const lines = await linesOf(did);
          const sum = lines.reduce((total, { amount }) => total + amount, 0);
          expect(lines.at(-1)?.held ?? 0).toBe(sum);
          if (act === "sync") expect(sum).toBe(await heldBy(did));
        }
        const [counted] = await rows(
          "select coalesce(sum(escrow), 0) as units from transactions where provider_did = ?",
          did,
        );
        const deposited = (await linesOf(did)).at(-1)?.deposited ?? 0;
        expect(await escrowOf(did)).toMatchObject({
          contributed: counted.units,
          balance: counted.units + deposited,
        });
        expect(await rows("select * from ledger_differences where did = ?", did)).toEqual([]);
      }),
      runs(60),
    );
  });
});

describe("the append-only ledger", () => {
  it("has no statement that deletes a line, or changes one that is not reversed", () => {
    const written = [...traffic.statements].filter((sql) =>
      /^(update|delete from|insert into) "ledger_lines"/.test(sql),
    );
    expect(written.length).toBeGreaterThan(0);
    for (const sql of written) {
      expect(sql).not.toMatch(/^delete/);
      if (/^update/.test(sql)) expect(sql).toMatch(/^update "ledger_lines" set "reversed" = \? where/);
      if (/^insert/.test(sql)) expect(sql).toMatch(/on conflict .* do update set .* where ledger_lines\.reversed = 1$/);
    }
  });
});
