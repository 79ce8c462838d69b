// A word in the place of an id is an unknown path, not a wrong method (HTTP-20). Earlier services had calls at some of these paths.
import { beforeAll, describe, expect, it } from "vitest";
import { createWorld, type World } from "../support/world.ts";

let world: World;
beforeAll(async () => {
  world = await createWorld();
});

const WORDS = ["promote", "register", "verify-email", "documents", "sessions", "keys/rotate", "promote/now"];

describe.each(["/v1/customers", "/v1/principals", "/v1/webhooks", "/v1/tasks", "/v1/disputes"])("%s", (path) => {
  it.each(WORDS)("/%s is not found", async (word) => {
    const { status, body, headers } = await world.call("POST", `${path}/${word}`, { body: {} });
    expect([status, body.code, headers.get("allow")]).toEqual([404, "not_found", null]);
  });

  it("/{id} rejects POST and lists its methods", async () => {
    const prefix = { customers: "cus", principals: "prn", webhooks: "whe", tasks: "tsk", disputes: "dsp" };
    const id = `${prefix[path.slice(4) as keyof typeof prefix]}_${"0".repeat(26)}`;
    const { status, body, headers } = await world.call("POST", `${path}/${id}`, { body: {} });
    expect([status, body.code]).toEqual([405, "method_not_allowed"]);
    expect(headers.get("allow")).toContain("GET");
  });
});
