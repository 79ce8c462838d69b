// The refusal of a wrong key says what is wrong with its form, and is the same whether or not such a key exists (CRED-9).
import { beforeAll, describe, expect, inject, it, vi } from "vitest";
import { generateManagementKey } from "../../src/accounts/keys.ts";
import { ERRORS } from "../../src/core/errors.ts";
import { BRANDS, createWorld, type World } from "../support/world.ts";

vi.spyOn(console, "info").mockImplementation(() => undefined);

let world: World;
beforeAll(async () => {
  world = await createWorld();
});

const BEGINS = "A management key of this service begins with service_sandbox_ or service_live_.";
const NO_KEY = `This is not a management key. ${BEGINS} An operator key works only under /v1/operator.`;
const OTHER_BRAND = `The key is of another brand. ${BEGINS}`;
const MISTYPED = "The management key is incomplete or mistyped: its checksum does not fit.";
const UNKNOWN = ERRORS.invalid_credentials.message;
const NO_OPERATOR_KEY = "This is not an operator key; operator routes accept nothing else.";

const PATHS = ["/v1/platform", "/v1/principals", "/v1/agents"];
/** The message for the key, which is the same on every route. */
async function messageFor(key: string): Promise<string> {
  const messages = new Set<string>();
  for (const path of PATHS) {
    const { status, body } = await world.call("GET", path, { key });
    expect([status, body.code]).toEqual([401, "invalid_credentials"]);
    messages.add(body.message);
  }
  return [...messages].join(" | ");
}
const mistyped = (key: string) => key.slice(0, -1) + (key.endsWith("a") ? "b" : "a");
const unknown = async (brand: string = BRANDS[0]) => (await generateManagementKey("sandbox", [brand])).rawKey;

describe("the message of a management route", () => {
  it("is the same for an operator's key that exists and for one that does not", async () => {
    expect(await messageFor(inject("operatorKey"))).toBe(NO_KEY);
    expect(await messageFor("kq3vRr0Zl4T0o8o2f1n0vQm7yPq9sXwA")).toBe(NO_KEY);
  });

  it("names the other brand of a key", async () => {
    expect(await messageFor(await unknown("acme"))).toBe(OTHER_BRAND);
    expect(await messageFor(world.key.replace("service_", "acme_"))).toBe(OTHER_BRAND);
  });

  it("is the same for a wrong checksum, whether or not the key was mistyped from an existing key", async () => {
    expect(await messageFor(mistyped(world.key))).toBe(MISTYPED);
    expect(await messageFor(mistyped(world.liveKey))).toBe(MISTYPED);
    expect(await messageFor(mistyped(await unknown()))).toBe(MISTYPED);
    expect(await messageFor(world.key.slice(0, -3))).toBe(MISTYPED);
  });

  it("only says that a well-formed key without an owner is not valid", async () => {
    expect(await messageFor(await unknown())).toBe(UNKNOWN);
  });

  it("names the header if there is no key", async () => {
    const reply = await world.call("GET", "/v1/platform", { key: null });
    expect(reply.body.message).toBe(
      "Send the management key in the header Service-Api-Key, or a session_token as Authorization: Bearer.",
    );
    const headers = { Authorization: "Bearer nonsense" };
    const wrong = await world.call("GET", "/v1/platform", { key: null, headers });
    expect(wrong.body.message).toMatch(/^This is not a session token\. Send the management key/);
  });
});

describe("the message of an operator's route", () => {
  const answerTo = async (token: string) => {
    const headers = { Authorization: `Bearer ${token}` };
    const { status, body } = await world.call("GET", "/v1/operator/platforms", { key: null, headers });
    return [status, body.code, body.message];
  };

  it("is the same for a management key and for an unknown operator's key", async () => {
    const refusal = [401, "invalid_credentials", NO_OPERATOR_KEY];
    expect(await answerTo(world.key)).toEqual(refusal);
    expect(await answerTo(await unknown())).toEqual(refusal);
    expect(await answerTo("kq3vRr0Zl4T0o8o2f1n0vQm7yPq9sXwA")).toEqual(refusal);
    expect((await answerTo(inject("operatorKey")))[0]).toBe(200);
  });
});
