// Two acts on one principal, in each order of their readings and commits (PRN-16, AGT-18): no agent is active under a principal that is not, and no
// intent opens after the answer to a stop.
import { beforeAll, describe, expect, it } from "vitest";
import { finishCascades } from "../../src/cascades/cascades.ts";
import { openIntent, seller } from "../payments/support.ts";
import { type Agent, agentBody, createWorld, expectStatus, type Reply, type World } from "../support/world.ts";
import { outcome, publicly, storedAgent } from "./account-support.ts";

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

type Call = () => Promise<Reply>;
type Order = {
  readonly name: string;
  /** True if the stop commits before the other call. */
  readonly stopped: boolean;
  readonly play: (stop: Call, other: Call) => Promise<readonly [stop: Reply, other: Reply]>;
};

/** Plays `inner` between the reading and the commit of `outer`: each call reads in its first trip and writes in its second. */
async function playWithin(outer: Call, inner: Call): Promise<readonly [outer: Reply, inner: Reply]> {
  const replies: Reply[] = [];
  world.meter.beforeBatch(2, async () => void replies.push(await inner()));
  const reply = await outer();
  const [within] = replies;
  if (!within) throw new Error("the call has made no second trip");
  return [reply, within];
}

const ORDERS: readonly Order[] = [
  {
    name: "the stop comes before the other call",
    stopped: true,
    play: async (stop, other) => [await stop(), await other()],
  },
  {
    name: "the stop comes between the other call's reading and its commit",
    stopped: true,
    play: async (stop, other) => {
      const [late, first] = await playWithin(other, stop);
      return [first, late];
    },
  },
  {
    name: "the other call comes between the stop's reading and its commit",
    stopped: false,
    play: (stop, other) => playWithin(stop, other),
  },
  {
    name: "the other call comes before the stop",
    stopped: false,
    play: async (stop, other) => {
      const first = await other();
      return [await stop(), first];
    },
  },
];

async function expectStopped(did: string): Promise<void> {
  expect(["DRAFT", "SUSPENDED"]).toContain((await storedAgent(world, did))?.status);
  expect((await publicly(world, `/v1/agents/${did}/status`)).principal_status).toBe("SUSPENDED");
}

describe.each(ORDERS)("when $name", ({ stopped, play }) => {
  it("a suspension and an activation leave no agent ACTIVE", async () => {
    const { did, principalId } = await world.draft("CONSUMER");
    const [stop, activated] = await play(
      () => act(principalId, "suspend"),
      () => activate(did),
    );
    expectStatus(stop, 200);
    expect(outcome(activated)).toEqual(stopped ? [409, "invalid_status"] : [200, undefined]);
    await world.run(finishCascades);
    await expectStopped(did);
  });

  it("a suspension and a reactivation leave no agent ACTIVE", async () => {
    const { did, principalId } = await world.consumer();
    expectStatus(await patchStatus(did, "SUSPENDED"), 200);
    const [stop, returned] = await play(
      () => act(principalId, "suspend"),
      () => patchStatus(did, "ACTIVE"),
    );
    expectStatus(stop, 200);
    expect(outcome(returned)).toEqual(stopped ? [409, "invalid_status"] : [200, undefined]);
    await world.run(finishCascades);
    await expectStopped(did);
  });

  it("a closing and a registration leave no agent that is not REVOKED", async () => {
    const principalId = await world.principal();
    const body = { ...agentBody("CONSUMER"), principal_id: principalId };
    const [closed, registered] = await play(
      () => act(principalId, "close"),
      () => world.call("POST", "/v1/agents", { body }),
    );
    expectStatus(closed, 200);
    expect(outcome(registered)).toEqual(stopped ? [409, "invalid_status"] : [201, undefined]);
    await world.run(finishCascades);
    if (!stopped) expect((await storedAgent(world, registered.body.did))?.status).toBe("REVOKED");
  });

  it("a suspension refuses each intent after its answer", async () => {
    const agent = await world.consumer();
    const [stop, opened] = await play(
      () => act(agent.principalId, "suspend"),
      () => openIntent(world, agent, shop, "2.00"),
    );
    expectStatus(stop, 200);
    expect(outcome(opened)).toEqual(stopped ? [409, "agent_not_active"] : [201, undefined]);
    expect(outcome(await openIntent(world, agent, shop, "1.00"))).toEqual([409, "agent_not_active"]);
  });
});
