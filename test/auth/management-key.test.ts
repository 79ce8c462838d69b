// Specification 2.14 and contract section 2: the management key, its typo that costs nothing, its header's configured names.
import { beforeAll, describe, expect, it, vi } from "vitest";
import { generateManagementKey, hashKey, keyPrefixOf, parseManagementKey } from "../../src/auth/management-key.ts";
import { withConfig } from "../support/variants.ts";
import { createWorld, type World } from "../support/world.ts";

let world: World;
vi.spyOn(console, "error").mockImplementation(() => undefined);
beforeAll(async () => {
  world = await createWorld();
});

const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const PREFIXES = { sandbox: "service_sandbox_", production: "service_live_" } as const;

describe.each(["sandbox", "production"] as const)("a key of %s", (environment) => {
  const prefix = PREFIXES[environment];

  it("is the prefix, 32 random bytes and a checksum in base62, and is shown by its first characters", async () => {
    const { rawKey, keyPrefix, keyHash } = await generateManagementKey(environment);
    expect(rawKey).toMatch(new RegExp(`^${prefix}[0-9A-Za-z]{49}$`));
    expect(parseManagementKey(rawKey)).toBe(environment);
    expect(keyPrefix).toBe(rawKey.slice(0, prefix.length + 6));
    expect(keyPrefixOf(rawKey)).toBe(keyPrefix);
    const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(rawKey));
    const hex = Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
    expect([keyHash, await hashKey(rawKey)]).toEqual([hex, hex]);
  });

  it("is drawn anew each time", async () => {
    const drawn = await Promise.all(Array.from({ length: 200 }, () => generateManagementKey(environment)));
    expect(new Set(drawn.map(({ rawKey }) => rawKey)).size).toBe(200);
  });

  it("is not well-formed with any one character changed, left out, doubled or swapped with the next", async () => {
    const { rawKey } = await generateManagementKey(environment);
    for (let i = 0; i < rawKey.length; i++) {
      const char = rawKey.charAt(i);
      const another = BASE62.charAt((BASE62.indexOf(char) + 7) % 62);
      const [before, after] = [rawKey.slice(0, i), rawKey.slice(i + 1)];
      const typos = [before + another + after, before + after, before + char + char + after];
      const next = rawKey.charAt(i + 1);
      if (next !== "" && next !== char) typos.push(before + next + char + rawKey.slice(i + 2));
      for (const typo of typos) expect(parseManagementKey(typo), typo).toBeNull();
    }
  });
});

describe("a key with a typo", () => {
  it("is refused without a look-up", async () => {
    const typo = world.key.slice(0, -1) + (world.key.endsWith("x") ? "y" : "x");
    world.meter.reset();
    const reply = await world.call("GET", "/v1/principals", { key: typo });
    expect([reply.status, reply.body.code, world.meter.reading.trips]).toEqual([401, "invalid_credentials", 0]);
  });

  it("while an unknown one, and a good one, cost the one trip of the call itself", async () => {
    for (const key of [(await generateManagementKey("sandbox")).rawKey, world.key]) {
      world.meter.reset();
      await world.call("GET", "/v1/principals", { key });
      expect(world.meter.reading.trips).toBe(1);
    }
  });
});

describe("the header", () => {
  it("may have further names by configuration, and then its own still counts", async () => {
    const branded = withConfig(world, { managementKeyHeaders: ["Acme-Key", "Service-Api-Key"] });
    const get = (of: World, name: string) =>
      of.call("GET", "/v1/platform", { key: null, headers: { [name]: world.key } });
    expect((await get(branded, "Acme-Key")).status).toBe(200);
    expect((await get(branded, "Service-Api-Key")).status).toBe(200);
    expect((await get(world, "Acme-Key")).body.code).toBe("invalid_credentials");
  });

  it("given twice is no key", async () => {
    const reply = await world.call("GET", "/v1/platform", {
      headers: { "Service-Api-Key": `${world.key}, ${world.key}` },
    });
    expect(reply.body.code).toBe("invalid_credentials");
  });

  it("names the environment of the call", async () => {
    const environmentOf = async (key: string) => (await world.call("GET", "/v1/platform", { key })).body.environment;
    expect([await environmentOf(world.key), await environmentOf(world.liveKey)]).toEqual(["sandbox", "production"]);
  });
});
