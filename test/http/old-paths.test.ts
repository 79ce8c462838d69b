// A path that names no id where an id stands does not exist, with whatever method (HTTP-20): earlier services had other calls there.
import { beforeAll, describe, expect, it } from "vitest";
import { createWorld, type World } from "../support/world.ts";

let world: World;
beforeAll(async () => {
  world = await createWorld();
});

const WORDS = ["promote", "register", "verify-email", "documents", "sessions", "keys/rotate", "promote/now"];

describe.each(["/v1/customers", "/v1/principals", "/v1/webhooks", "/v1/tasks", "/v1/disputes"])("%s", (path) => {
  it.each(WORDS)("/%s does not exist", async (word) => {
    const { status, body, headers } = await world.call("POST", `${path}/${word}`, { body: {} });
    expect([status, body.code, headers.get("allow")]).toEqual([404, "not_found", null]);
  });

  it("/{id} exists, and names its methods", async () => {
    const prefix = { customers: "cus", principals: "prn", webhooks: "whe", tasks: "tsk", disputes: "dsp" };
    const id = `${prefix[path.slice(4) as keyof typeof prefix]}_${"0".repeat(26)}`;
    const { status, body, headers } = await world.call("POST", `${path}/${id}`, { body: {} });
    expect([status, body.code]).toEqual([405, "method_not_allowed"]);
    expect(headers.get("allow")).toContain("GET");
  });
});
