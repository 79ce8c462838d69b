// Suspends and reactivates a customer of its own: with one principal and a few agents, with ten agents more, and with a thousand principals.
import type { Case } from "../case.ts";
import { copyRows } from "../copies.ts";
import { agent, json, manage, must, type Play, principalBody } from "../play.ts";
import type { Ask } from "../wire.ts";

type Group = { readonly customer: string; readonly principalId: string };

/** Creates a customer with one principal that has a number of ACTIVE agents. */
async function openCustomer({ stage, next }: Play, agents: number): Promise<Group> {
  const created = json(await must(stage, manage(stage, "POST", "/v1/customers", { name: `Group ${next()}` }), 201));
  const body = { ...principalBody(next()), customer_id: created["customer_id"] };
  const registered = json(await must(stage, manage(stage, "POST", "/v1/principals", body), 201));
  const principalId = String(registered["principal_id"]);
  for (let n = 0; n < agents; n++) await agent(stage, stage.platform, "CONSUMER", principalId);
  return { customer: `/v1/customers/${created["customer_id"]}`, principalId };
}

const MANY = 1_000;

/** Creates a customer with a thousand principals, each with one agent. */
async function openLargeCustomer(play: Play): Promise<Group> {
  const { stage } = play;
  const group = await openCustomer(play, 1);
  const { principalId } = group;
  const id = `'${principalId}-' || printf('%04d', n)`;
  const named = { external_ref: `'${principalId}-' || n`, name_folded: `'${principalId} ' || n` };
  const range = { from: 0, to: MANY - 1 };
  await copyRows(stage, { table: "principals", where: OF(principalId), vary: { principal_id: id, ...named } }, range);
  const did = `'did:aeap:${principalId.slice(-12)}-' || printf('%04d', n)`;
  await copyRows(stage, { table: "agents", where: OF(principalId), vary: { did, principal_id: id } }, range);
  return group;
}
const OF = (principalId: string) => `principal_id = '${principalId}'`;

const ofCustomer =
  (verb: string, arrange: (play: Play) => Promise<Group>, first?: string) =>
  async (play: Play): Promise<Ask> => {
    const { stage } = play;
    const { customer } = await arrange(play);
    if (first !== undefined) {
      await must(stage, manage(stage, "POST", `${customer}/${first}`), 200);
      // Leaves the state in which the queue is done.
      await stage.sql([{ sql: "delete from walks where kind = 'cascade'" }]);
    }
    return manage(stage, "POST", `${customer}/${verb}`);
  };

const oneOf = (agents: number) => (play: Play) => openCustomer(play, agents);

export const CUSTOMER_STANDING: readonly Case[] = [
  { route: "POST /v1/customers/{customer_id}/suspend", status: 200, ask: ofCustomer("suspend", oneOf(1)) },
  {
    route: "POST /v1/customers/{customer_id}/suspend",
    variant: "eleven agents",
    status: 200,
    ask: ofCustomer("suspend", oneOf(11)),
  },
  {
    route: "POST /v1/customers/{customer_id}/suspend",
    variant: "a thousand principals",
    status: 200,
    ask: ofCustomer("suspend", openLargeCustomer),
  },
  {
    route: "POST /v1/customers/{customer_id}/reactivate",
    status: 200,
    ask: ofCustomer("reactivate", oneOf(1), "suspend"),
  },
  {
    route: "POST /v1/customers/{customer_id}/reactivate",
    variant: "a thousand principals",
    status: 200,
    ask: ofCustomer("reactivate", openLargeCustomer, "suspend"),
  },
];
