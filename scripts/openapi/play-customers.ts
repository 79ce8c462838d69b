// Plays a customer from its creation to its deletion, which frees its reference for the next play.
import { pickValue } from "../client.ts";
import type { Stage } from "./stage.ts";

export async function playCustomers(stage: Stage): Promise<void> {
  const created = await stage.show("createCustomer", {
    body: { name: "Lumière Group", external_ref: "client-0815", metadata: { account_manager: "Ada" } },
  });
  const params = { customer_id: pickValue<string>(created, "customer_id") };
  await stage.show("listCustomers", { query: { limit: "1" } });
  await stage.show("getCustomer", { params });
  await stage.show("patchCustomer", { params, body: { name: "Lumière Group SE", external_ref: null } });
  await stage.show("suspendCustomer", { params, body: { reason: "The contract is under review." } });
  await stage.show("reactivateCustomer", {
    params,
    body: { reason: "The contract goes on.", reactivate_agents: true },
  });
  await stage.show("deleteCustomer", { params });
}
