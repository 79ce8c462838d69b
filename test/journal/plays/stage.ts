// Shared by the plays of src/journal/consequences.ts: two platforms, a chain that does not answer, and how a play is told.
import { inject } from "vitest";
import { commit, type Database, type Statement } from "../../../src/db/batch.ts";
import type { Parties } from "../../support/consequences.ts";
import { expectStatus, type Json, type Reply, type World } from "../../support/world.ts";

/** `other` is another platform, so that it shows whom an event is told. */
export type Stage = { readonly world: World; readonly other: World };

/** Prepares all that the act needs, and answers the act, which says whom it concerns. */
export type Play = (stage: Stage) => Promise<() => Promise<Parties>>;
/** By the row's name, then by its case. */
export type Plays = Readonly<Record<string, Readonly<Record<string, Play>>>>;

export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;
export const NETWORK = "base-sepolia";

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

/** A play that concerns nobody. */
export const ofNobody =
  (prepare: (world: World) => Promise<unknown>, act: (world: World) => Promise<unknown>): Play =>
  async ({ world }) => {
    await prepare(world);
    return async () => {
      await act(world);
      return {};
    };
  };

/** The body of an answer that has to have this status. */
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
export const marketWith = (operational_wallet: string) => ({
  markets: [{ market: "GLOBAL-USDC", network: NETWORK, operational_wallet }],
});
