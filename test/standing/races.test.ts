// Two acts at the same moment, fifty times each, now the one and now the other first (PRN-16, AGT-18): never an agent that runs under a principal
// that does not, and never an intent after the answer to a stop.
import { beforeAll, describe, expect, it } from "vitest";
import { finishCascades } from "../../src/standing/cascades.ts";
import { openIntent, seller } from "../payments/support.ts";
import { type Agent, agentBody, createWorld, expectStatus, type Reply, type World } from "../support/world.ts";
import { outcome, publicly, storedAgent } from "./account-support.ts";

const RACES = 50;
/** The one that waits begins so many milliseconds later: before the other's reading, between its trips, or behind it. */
const DELAYS_MS = [0, 1, 2, 4, 8];

let world: World;
let shop: Agent;
beforeAll(async () => {
  world = await createWorld();
  shop = await seller(world);
});

const act = (principalId: string, verb: string): Promise<Reply> =>
  world.call("POST", `/v1/principals/${principalId}/${verb}`);
const patchStatus = (did: string, status: string): Promise<Reply> =>
  world.call("PATCH", `/v1/agents/${did}/status`, { body: { status } });
const activate = (did: string): Promise<Reply> => world.call("POST", `/v1/agents/${did}/activate`);

/** Both at the same moment. */
async function race<A, B>(round: number, one: () => Promise<A>, other: () => Promise<B>): Promise<[A, B]> {
  const delay = DELAYS_MS[round % DELAYS_MS.length] ?? 0;
  const later = <T>(call: () => Promise<T>) => new Promise((done) => setTimeout(done, delay)).then(call);
  return round % 2 === 0 ? Promise.all([one(), later(other)]) : Promise.all([later(one), other()]);
}

/** What became of the races: both orders must have come, or nothing was raced. */
const outcomes = (replies: readonly Reply[]): string[] =>
  [...new Set(replies.map((reply) => outcome(reply).join(" ").trim()))].sort();

async function expectStopped(did: string): Promise<void> {
  expect(["DRAFT", "SUSPENDED"]).toContain((await storedAgent(world, did))?.status);
  expect((await publicly(world, `/v1/agents/${did}/status`)).principal_status).toBe("SUSPENDED");
}

describe("fifty times at the same moment", { timeout: 120_000 }, () => {
  it("a suspension and an activation", async () => {
    const activations: Reply[] = [];
    for (let round = 0; round < RACES; round++) {
      const { did, principalId } = await world.draft("CONSUMER");
      const [stopped, activated] = await race(
        round,
        () => act(principalId, "suspend"),
        () => activate(did),
      );
      expectStatus(stopped, 200);
      activations.push(activated);
      await expectStopped(did);
    }
    expect(outcomes(activations)).toEqual(["200", "409 invalid_status"]);
  });

  it("a suspension and a return", async () => {
    const returns: Reply[] = [];
    for (let round = 0; round < RACES; round++) {
      const { did, principalId } = await world.consumer();
      expectStatus(await patchStatus(did, "SUSPENDED"), 200);
      const [stopped, returned] = await race(
        round,
        () => act(principalId, "suspend"),
        () => patchStatus(did, "ACTIVE"),
      );
      expectStatus(stopped, 200);
      returns.push(returned);
      await expectStopped(did);
    }
    expect(outcomes(returns)).toEqual(["200", "409 invalid_status"]);
  });

  it("a closing and a registration", async () => {
    const registrations: Reply[] = [];
    for (let round = 0; round < RACES; round++) {
      const principalId = await world.principal();
      const body = { ...agentBody("CONSUMER"), principal_id: principalId };
      const [closed, registered] = await race(
        round,
        () => act(principalId, "close"),
        () => world.call("POST", "/v1/agents", { body }),
      );
      expectStatus(closed, 200);
      registrations.push(registered);
      await world.run(finishCascades);
      if (registered.status === 201) expect((await storedAgent(world, registered.body.did))?.status).toBe("REVOKED");
    }
    expect(outcomes(registrations)).toEqual(["201", "409 invalid_status"]);
  });

  it("a suspension and an intent", async () => {
    const intents: Reply[] = [];
    for (let round = 0; round < RACES; round++) {
      const agent = await world.consumer();
      const [late, opened] = await race(
        round,
        async () => {
          expectStatus(await act(agent.principalId, "suspend"), 200);
          return openIntent(world, agent, shop, "1.00");
        },
        () => openIntent(world, agent, shop, "2.00"),
      );
      expect(outcome(late)).toEqual([409, "agent_not_active"]);
      intents.push(opened);
    }
    expect(outcomes(intents)).toEqual(["201", "409 agent_not_active"]);
  });
});
