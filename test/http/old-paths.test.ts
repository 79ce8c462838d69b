// A word in the place of an id is an unknown path, not a wrong method (HTTP-20). Earlier services had calls at some of these paths.
import { beforeAll, describe, expect, it } from "vitest";
import { createWorld, type World } from "../support/world.ts";

let world: World;
beforeAll(async () => {
  world = await createWorld();
});

const WORDS = ["promote", "register", "verify-email", "documents", "sessions", "keys/rotate", "promote/now"];

/** The prefixes of ids in these places. */
const PREFIXES: Readonly<Record<string, string>> = {
  "/v1/customers": "cus_",
  "/v1/principals": "prn_",
  "/v1/webhooks": "whe_",
  "/v1/tasks": "tsk_",
  "/v1/disputes": "dsp_",
  "/v1/agents": "did:aeap:",
  "/v1/directory/agents": "did%3Aaeap%3A",
};

describe.each(Object.entries(PREFIXES))("%s", (path, prefix) => {
  it.each(WORDS)("/%s is not found", async (word) => {
    const { status, body, headers } = await world.call("POST", `${path}/${word}`, { body: {} });
    expect([status, body.code, headers.get("allow")]).toEqual([404, "not_found", null]);
  });

  it("/{id} rejects POST and lists its methods", async () => {
    const id = `${prefix}${"0".repeat(26)}`;
    const { status, body, headers } = await world.call("POST", `${path}/${id}`, { body: {} });
    expect([status, body.code]).toEqual([405, "method_not_allowed"]);
    expect(headers.get("allow")).toContain("GET");
  });
});
