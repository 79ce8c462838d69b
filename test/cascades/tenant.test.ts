// The tenant principal is the account's own company, in both environments: a key of one environment cannot stop it (PRN-18).
import { beforeAll, describe, expect, it } from "vitest";
import { dumpDatabase } from "../support/variants.ts";
import { createWorld, expectStatus, type World } from "../support/world.ts";
import { ofPrincipal } from "./customer-support.ts";

let world: World;
beforeAll(async () => {
  world = await createWorld();
});

describe("the tenant principal", () => {
  it.each(["suspend", "reactivate", "close"])("refuses to %s, with a key of either environment", async (verb) => {
    await world.consumer({ principal_id: world.tenantPrincipalId });
    // Begins the session.
    expectStatus(await world.person("GET", "/v1/platform"), 200);
    const before = await dumpDatabase();
    const path = `/v1/principals/${world.tenantPrincipalId}/${verb}`;
    for (const reply of [
      await ofPrincipal(world, world.tenantPrincipalId, verb),
      await ofPrincipal(world, world.tenantPrincipalId, verb, { reason: "Under review." }),
      await world.call("POST", path, { key: world.liveKey }),
      await world.person("POST", path),
    ]) {
      expect([reply.status, reply.body.code]).toEqual([409, "tenant_principal_field_locked"]);
    }
    expect(await dumpDatabase()).toEqual(before);
    const { status } = expectStatus(await world.call("GET", `/v1/principals/${world.tenantPrincipalId}`), 200);
    expect(status).toBe("ACTIVE");
  });
});
