// Plays of a platform's acts on one of its principals.

import { finishCascades } from "../../../src/cascades/cascades.ts";
import { customers } from "../../../src/db/tables/principals.ts";
import { agentBody, env, principalBody, type World } from "../../support/world.ts";
import { anHour, must, type Play, type Plays, store } from "./stage.ts";

const HOUR_MS = 3_600_000;

type Owned = { readonly principalId: string; readonly did: string };

const act = (world: World, principalId: string, verb: string, body?: unknown) =>
  must(200, world.call("POST", `/v1/principals/${principalId}/${verb}`, { body }));
const patch = (world: World, principalId: string, body: object) =>
  must(200, world.call("PATCH", `/v1/principals/${principalId}`, { body }));

async function registered(world: World): Promise<string> {
  return (await must(201, world.call("POST", "/v1/principals", { body: principalBody(anHour(world)) }))).principal_id;
}

async function withAgent(world: World): Promise<Owned> {
  const principalId = await registered(world);
  const body = { ...agentBody("CONSUMER"), principal_id: principalId };
  const { did } = await must(201, world.call("POST", "/v1/agents", { body }));
  await must(200, world.call("POST", `/v1/agents/${did}/activate`));
  return { principalId, did };
}

async function customer(world: World): Promise<string> {
  const customerId = `cus_${crypto.randomUUID()}`;
  const owner = { platformId: world.platformId, environment: "sandbox" } as const;
  const row = { ...owner, customerId, name: "Acme", status: "ACTIVE", createdAt: world.now() } as const;
  await store(world, (db) => [db.insert(customers).values(row)]);
  return customerId;
}

/** The state that the suspension of a customer leaves. */
const stopByCustomer = (principalId: string) =>
  env.DB.prepare("update principals set status = 'SUSPENDED', customer_stopped = 1 where principal_id = ?")
    .bind(principalId)
    .run();

/** A play of one principal without agents. */
const of =
  (
    doing: (world: World, principalId: string) => Promise<unknown>,
    before = async (_world: World, _id: string): Promise<unknown> => undefined,
  ): Play =>
  async ({ world }) => {
    const principalId = await registered(world);
    await before(world, principalId);
    return async () => {
      await doing(world, principalId);
      return { principal: [principalId] };
    };
  };

/** A play of one principal with an agent. */
const withAgents =
  (
    doing: (world: World, principalId: string) => Promise<unknown>,
    before = async (_world: World, _id: string): Promise<unknown> => undefined,
  ): Play =>
  async ({ world }) => {
    const { principalId, did } = await withAgent(world);
    await before(world, principalId);
    return async () => {
      await doing(world, principalId);
      return { principal: [principalId], agent: [did] };
    };
  };

const doing = (verb: string) => (world: World, principalId: string) => act(world, principalId, verb);
const suspended = doing("suspend");
const waits = async (world: World): Promise<void> => world.advance(HOUR_MS);
async function leavable(world: World, principalId: string): Promise<void> {
  await patch(world, principalId, { customer_id: await customer(world) });
  await stopByCustomer(principalId);
}

export const PRINCIPAL_PLAYS: Plays = {
  suspendPrincipal: {
    "it has active agents": withAgents(doing("suspend")),
    "it has active agents, after an end that no job has recorded": withAgents(doing("suspend"), waits),
    "its customer is suspended already": of(doing("suspend"), (_world, principalId) => stopByCustomer(principalId)),
  },
  reactivatePrincipal: {
    "it is suspended for no other reason": of(doing("reactivate"), suspended),
    "its agents are reactivated with it": withAgents(
      (world, principalId) => act(world, principalId, "reactivate", { reactivate_agents: true }),
      suspended,
    ),
    "its attestation has ended meanwhile": of(doing("reactivate"), async (world, principalId) => {
      await suspended(world, principalId);
      await waits(world);
    }),
  },
  closePrincipal: {
    "it has agents": withAgents(doing("close"), async (world, principalId) => {
      await suspended(world, principalId);
      await world.run(finishCascades);
    }),
    "after an end that no job has recorded": of(doing("close"), waits),
    "it belongs to a customer": of(doing("close"), async (world, principalId) =>
      patch(world, principalId, { customer_id: await customer(world) }),
    ),
  },
  patchPrincipal: {
    "its metadata": of((world, principalId) => patch(world, principalId, { metadata: { a: "1" } })),
    "it joins a customer": async ({ world }) => {
      const [principalId, customer_id] = [await registered(world), await customer(world)];
      return async () => {
        await patch(world, principalId, { customer_id });
        return { principal: [principalId] };
      };
    },
    "it leaves a suspended customer": of(
      (world, principalId) => patch(world, principalId, { customer_id: null }),
      leavable,
    ),
    "it leaves a suspended customer, and its attestation has ended meanwhile": of(
      (world, principalId) => patch(world, principalId, { customer_id: null }),
      async (world, principalId) => {
        await leavable(world, principalId);
        await waits(world);
      },
    ),
  },
};
