// The operations of customers.
import type { Case } from "../case.ts";
import { json, keyed, manage, must, type Play } from "../play.ts";

const body = ({ next }: Play) => ({ name: "Client", external_ref: `client-${next()}`, metadata: { tier: "gold" } });
const prepareCreation = (play: Play) => manage(play.stage, "POST", "/v1/customers", body(play));

const customer = async (play: Play): Promise<string> =>
  `/v1/customers/${json(await must(play.stage, prepareCreation(play), 201))["customer_id"]}`;

export const CUSTOMERS: readonly Case[] = [
  { route: "POST /v1/customers", status: 201, ask: prepareCreation },
  {
    route: "POST /v1/customers",
    variant: "Idempotency-Key",
    status: 201,
    ask: (play) => keyed(play, prepareCreation(play)),
  },
  {
    route: "GET /v1/customers",
    status: 200,
    ask: ({ stage }) => manage(stage, "GET", "/v1/customers?limit=20"),
    filling: true,
  },
  {
    route: "GET /v1/customers",
    variant: "external_ref=client-1",
    status: 200,
    ask: ({ stage }) => manage(stage, "GET", "/v1/customers?limit=20&external_ref=client-1"),
  },
  ...["ACTIVE", "SUSPENDED"].map(
    (status): Case => ({
      route: "GET /v1/customers",
      variant: `status=${status}`,
      status: 200,
      ask: ({ stage }) => manage(stage, "GET", `/v1/customers?limit=20&status=${status}`),
      filling: true,
    }),
  ),
  {
    route: "GET /v1/customers/{customer_id}",
    status: 200,
    ask: async (play) => manage(play.stage, "GET", await customer(play)),
  },
  {
    route: "PATCH /v1/customers/{customer_id}",
    status: 200,
    ask: async (play) => manage(play.stage, "PATCH", await customer(play), body(play)),
  },
  {
    route: "DELETE /v1/customers/{customer_id}",
    status: 204,
    ask: async (play) => manage(play.stage, "DELETE", await customer(play)),
  },
];
