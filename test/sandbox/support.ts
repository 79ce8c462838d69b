// Shared by the tests of the sandbox clock.
import { expectStatus, type Json, type Reply, type World } from "../support/world.ts";

export const CLOCK = "/v1/sandbox/clock";
export const ADVANCE = `${CLOCK}/advance`;

export const HOUR_S = 3_600;
export const DAY_S = 24 * HOUR_S;

export const advance = (world: World, body: unknown, headers: Record<string, string> = {}): Promise<Reply> =>
  world.call("POST", ADVANCE, { body, headers });

export const advanced = async (world: World, seconds: number): Promise<Json> =>
  expectStatus(await advance(world, { seconds }), 200);

export const offsetOf = async (world: World): Promise<number> =>
  expectStatus(await world.call("GET", CLOCK), 200).offset_ms;
