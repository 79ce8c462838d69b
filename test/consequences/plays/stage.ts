// Shared by the plays of test/consequences/table.ts: two platforms, a chain that does not answer, and the shape of a play.
import { inject } from "vitest";
import { commit, type Database, type Statement } from "../../../src/db/batch.ts";
import { followChain } from "../../../src/follower/job.ts";
import type { Parties } from "../../support/consequences.ts";
import { expectStatus, type Json, type Reply, type World } from "../../support/world.ts";

/** `other` is another platform, which shows who gets an event. */
export type Stage = { readonly world: World; readonly other: World };

/** Prepares the act and returns it; the act returns its parties. */
export type Play = (stage: Stage) => Promise<() => Promise<Parties>>;
/** Plays by the name of the row, then by its case. */
export type Plays = Readonly<Record<string, Readonly<Record<string, Play>>>>;

export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;
export const NETWORK = "base-sepolia";

/** Reads the chain to its head. */
export async function follow({ deps }: World): Promise<void> {
  if (!(await followChain(deps, NETWORK, Date.now() + IN_TIME)))
    throw new Error("the follower did not come to the head");
}
const IN_TIME = 20_000;

/** A play of one agent. */
export const ofAgent =
  (prepare: (world: World) => Promise<string>, act: (world: World, did: string) => Promise<unknown>): Play =>
  async ({ world }) => {
    const did = await prepare(world);
    return async () => {
      await act(world, did);
      return { agent: [did] };
    };
  };

/** A play without parties. */
export const ofNobody =
  (prepare: (world: World) => Promise<unknown>, act: (world: World) => Promise<unknown>): Play =>
  async ({ world }) => {
    await prepare(world);
    return async () => {
      await act(world);
      return {};
    };
  };

/** The body of an answer, which must have this status. */
export const must = async (status: number, reply: Promise<Reply>): Promise<Json> => expectStatus(await reply, status);

export const store = ({ deps }: World, write: (db: Database) => Statement | Statement[]): Promise<void> =>
  commit(deps.db, [write(deps.db)].flat());

export const operator = () => ({ key: null, headers: { Authorization: `Bearer ${inject("operatorKey")}` } });

/** An attestation that ends in an hour. */
export const anHour = (world: World): Record<string, unknown> => ({
  verification_attestation: {
    attestation_id: `att_${crypto.randomUUID()}`,
    verifier_id: "ver_1",
    model: "kyb",
    issued_at: new Date(world.now() - HOUR).toISOString(),
    expires_at: new Date(world.now() + HOUR).toISOString(),
  },
});

export const marketsOf = (did: string): string => `/v1/agents/${did}/scope/authorized_markets`;
export const marketWith = (operational_wallet: string, network = NETWORK) => ({
  markets: [{ market: "GLOBAL-USDC", network, operational_wallet }],
});
