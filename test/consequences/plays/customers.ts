// Plays of customers.
import { agentBody, expectStatus, principalBody, type World } from "../../support/world.ts";
import { anHour, must, type Play, type Plays } from "./stage.ts";

const HOUR_MS = 3_600_000;

export const customer = async (world: World): Promise<string> =>
  (await must(201, world.call("POST", "/v1/customers", { body: { name: "Client" } }))).customer_id;

const ofCustomer =
  (act: (world: World, path: string) => Promise<unknown>): Play =>
  async ({ world }) => {
    const id = await customer(world);
    return async () => {
      await act(world, `/v1/customers/${id}`);
      return { customer: [id] };
    };
  };

const act = (world: World, path: string, body?: unknown) => must(200, world.call("POST", path, { body }));

type Group = { readonly customerId: string; readonly principal: readonly string[]; readonly agent: readonly string[] };

/** A customer with two principals; with `agents`, each has an active agent. */
async function group(world: World, agents: boolean): Promise<Group> {
  const customerId = await customer(world);
  const [principal, agent]: [string[], string[]] = [[], []];
  for (let n = 0; n < 2; n++) {
    const body = principalBody({ ...anHour(world), customer_id: customerId });
    const { principal_id } = await must(201, world.call("POST", "/v1/principals", { body }));
    principal.push(principal_id);
    if (!agents) continue;
    const draft = { ...agentBody("CONSUMER"), principal_id };
    const { did } = await must(201, world.call("POST", "/v1/agents", { body: draft }));
    await act(world, `/v1/agents/${did}/activate`);
    agent.push(did);
  }
  return { customerId, principal, agent };
}

/** A play of a decision about a customer, after calls on it and on its principals. */
const deciding =
  (
    verb: string,
    agents: boolean,
    before: (path: string, principals: readonly string[]) => readonly string[],
    { waitsMs = 0, body }: { waitsMs?: number; body?: unknown } = {},
  ): Play =>
  async ({ world }) => {
    const { customerId, principal, agent } = await group(world, agents);
    const path = `/v1/customers/${customerId}`;
    for (const call of before(path, principal)) await act(world, call);
    world.advance(waitsMs);
    return async () => {
      await act(world, `${path}/${verb}`, body);
      return { customer: [customerId], principal, agent };
    };
  };

const nothing = () => [];
const suspending = (path: string) => [`${path}/suspend`];
const suspendingEach = (_path: string, principals: readonly string[]) =>
  principals.map((id) => `/v1/principals/${id}/suspend`);

export const CUSTOMER_PLAYS: Plays = {
  createCustomer: {
    always:
      async ({ world }) =>
      async () => ({ customer: [await customer(world)] }),
  },
  patchCustomer: {
    always: ofCustomer((world, path) => must(200, world.call("PATCH", path, { body: { name: "Renamed" } }))),
  },
  suspendCustomer: {
    "its principals have active agents": deciding("suspend", true, nothing),
    "its principals have active agents, after an end that no job has recorded": deciding("suspend", true, nothing, {
      waitsMs: HOUR_MS,
    }),
    "its principals are suspended already": deciding("suspend", false, suspendingEach),
    "it has no principals": ofCustomer((world, path) => act(world, `${path}/suspend`)),
  },
  reactivateCustomer: {
    "its principals are suspended for no other reason": deciding("reactivate", true, suspending),
    "agents of its principals are reactivated with it": deciding("reactivate", true, suspending, {
      body: { reactivate_agents: true },
    }),
    "their attestations have ended meanwhile": deciding("reactivate", true, suspending, { waitsMs: HOUR_MS }),
    "the platform has suspended its principals too": deciding("reactivate", true, (path, principals) => [
      ...suspending(path),
      ...suspendingEach(path, principals),
    ]),
  },
  deleteCustomer: {
    "it is SUSPENDED and has no principals": async ({ world }) => {
      const id = await customer(world);
      await act(world, `/v1/customers/${id}/suspend`);
      return async () => {
        expectStatus(await world.call("DELETE", `/v1/customers/${id}`), 204);
        return { customer: [id] };
      };
    },
    "it has no principals": ofCustomer(async (world, path) => expectStatus(await world.call("DELETE", path), 204)),
  },
};
