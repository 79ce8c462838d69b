// The management key (CRED-4 to CRED-9): a typo is refused without a look-up, and header names and brands are configuration.
import { beforeAll, describe, expect, it, vi } from "vitest";
import {
  generateManagementKey,
  type KeyBrands,
  parseKeyBrands,
  parseManagementKey,
  takeKeyPrefix,
} from "../../src/accounts/keys.ts";
import { checkConfiguration } from "../../src/app.ts";
import { keyConfiguration } from "../../src/auth/management.ts";
import { computeSha256Hex } from "../../src/core/encoding.ts";
import { createId } from "../../src/core/ids.ts";
import { HOUR_MS } from "../../src/core/limits.ts";
import { managementKeys } from "../../src/db/tables/accounts.ts";
import { withVars } from "../support/variants.ts";
import { BRANDS, createWorld, env, expectStatus, principalBody, type World } from "../support/world.ts";

let world: World;
vi.spyOn(console, "info").mockImplementation(() => undefined);
beforeAll(async () => {
  world = await createWorld();
});

const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const PREFIXES = { sandbox: "service_sandbox_", production: "service_live_" } as const;

describe.each(["sandbox", "production"] as const)("a key of %s", (environment) => {
  const prefix = PREFIXES[environment];

  it("is the prefix, 32 random bytes and a checksum in base62, and is shown by its first characters", async () => {
    const { rawKey, keyPrefix, keyHash } = await generateManagementKey(environment, BRANDS);
    expect(rawKey).toMatch(new RegExp(`^${prefix}[0-9A-Za-z]{49}$`));
    expect(parseManagementKey(rawKey, BRANDS)).toBe(environment);
    expect(keyPrefix).toBe(rawKey.slice(0, prefix.length + 6));
    expect(takeKeyPrefix(rawKey)).toBe(keyPrefix);
    const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(rawKey));
    const hex = Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
    expect([keyHash, await computeSha256Hex(rawKey)]).toEqual([hex, hex]);
  });

  it("differs each time", async () => {
    const drawn = await Promise.all(Array.from({ length: 200 }, () => generateManagementKey(environment, BRANDS)));
    expect(new Set(drawn.map(({ rawKey }) => rawKey)).size).toBe(200);
  });

  it("is not well-formed with any one character changed, left out, doubled or swapped with the next", async () => {
    const { rawKey } = await generateManagementKey(environment, BRANDS);
    for (let i = 0; i < rawKey.length; i++) {
      const char = rawKey.charAt(i);
      const another = BASE62.charAt((BASE62.indexOf(char) + 7) % 62);
      const [before, after] = [rawKey.slice(0, i), rawKey.slice(i + 1)];
      const typos = [before + another + after, before + after, before + char + char + after];
      const next = rawKey.charAt(i + 1);
      if (next !== "" && next !== char) typos.push(before + next + char + rawKey.slice(i + 2));
      for (const typo of typos) expect(parseManagementKey(typo, BRANDS), typo).toBeNull();
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

  it("costs no trip, while an unknown and a good key cost the one trip of the call itself", async () => {
    for (const key of [(await generateManagementKey("sandbox", BRANDS)).rawKey, world.key]) {
      world.meter.reset();
      await world.call("GET", "/v1/principals", { key });
      expect(world.meter.reading.trips).toBe(1);
    }
  });
});

describe("the header", () => {
  it("may have further names by configuration, and then its own name still counts", async () => {
    const branded = withVars(world, { MANAGEMENT_KEY_HEADERS: "Acme-Key, Service-Api-Key" });
    const get = (of: World, name: string) =>
      of.call("GET", "/v1/platform", { key: null, headers: { [name]: world.key } });
    expect((await get(branded, "Acme-Key")).status).toBe(200);
    expect((await get(branded, "Service-Api-Key")).status).toBe(200);
    expect((await get(world, "Acme-Key")).body.code).toBe("invalid_credentials");
  });

  it("is not a key when it is given twice", async () => {
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

describe("the brand", () => {
  const ACME = ["acme", "service"] as const;
  /** A key that the world's platform owns, as the service would have issued it under these brands. */
  const issue = async (brands: KeyBrands, environment: "sandbox" | "production" = "sandbox") => {
    const { rawKey, keyHash, keyPrefix } = await generateManagementKey(environment, brands);
    const now = Date.now();
    const row = { keyHash, keyId: createId("key", now), platformId: world.platformId, environment, keyPrefix };
    await world.deps.db.insert(managementKeys).values({ ...row, createdAt: now, expiresAt: now + HOUR_MS });
    return { rawKey, keyPrefix };
  };
  const branded = () => withVars(world, { MANAGEMENT_KEY_BRANDS: ACME.join(",") });

  it.each([
    ["sandbox", "acme_sandbox_"],
    ["production", "acme_live_"],
  ] as const)("of a new key of %s is the first one: %s", async (environment, prefix) => {
    const { rawKey, keyPrefix } = await generateManagementKey(environment, ACME);
    expect(rawKey).toMatch(new RegExp(`^${prefix}[0-9A-Za-z]{49}$`));
    expect(keyPrefix).toBe(rawKey.slice(0, prefix.length + 6));
    expect(parseManagementKey(rawKey, ACME)).toBe(environment);
  });

  it("may be any of the configured brands, and names the environment with each", async () => {
    for (const brands of [["acme"], ["service"]] as const) {
      for (const environment of ["sandbox", "production"] as const) {
        const { rawKey } = await issue(brands, environment);
        const platform = expectStatus(await branded().call("GET", "/v1/platform", { key: rawKey }), 200);
        expect(platform).toMatchObject({ platform_id: world.platformId, environment });
      }
    }
  });

  it("that is not configured is refused without a look-up, though its key is well-formed and stored", async () => {
    const { rawKey } = await issue(["acme"]);
    world.meter.reset();
    const reply = await world.call("GET", "/v1/platform", { key: rawKey });
    expect([reply.status, reply.body.code, world.meter.reading.trips]).toEqual([401, "invalid_credentials", 0]);
  });

  it("is covered by the checksum: a key is invalid under another accepted brand", async () => {
    const { rawKey } = await generateManagementKey("sandbox", ["acme"]);
    expect(parseManagementKey(rawKey.replace("acme", "service"), ACME)).toBeNull();
    expect(parseManagementKey(rawKey.replace("acme_", ""), ACME)).toBeNull();
    expect(parseManagementKey(`_${rawKey.replace("acme_", "")}`, ACME)).toBeNull();
  });

  it("is distinguished from a brand with the same beginning", async () => {
    const brands = ["acme", "acme-eu"] as const;
    const { rawKey } = await generateManagementKey("sandbox", ["acme-eu"]);
    expect(parseManagementKey(rawKey, brands)).toBe("sandbox");
    expect(parseManagementKey(rawKey, ["acme"])).toBeNull();
  });

  it("is part of the key's name in the activity log", async () => {
    const { rawKey, keyPrefix } = await issue(["acme"]);
    const body = principalBody();
    const { principal_id } = expectStatus(await branded().call("POST", "/v1/principals", { key: rawKey, body }), 201);
    const entry = await env.DB.prepare("select actor_id from activity_entries where subject_id = ?")
      .bind(principal_id)
      .first();
    expect(entry).toEqual({ actor_id: keyPrefix });
    expect(keyPrefix).toMatch(/^acme_sandbox_[0-9A-Za-z]{6}$/);
  });

  it("comes from the configuration", () => {
    const configured = { ...env, MANAGEMENT_KEY_BRANDS: "acme, service" };
    expect(keyConfiguration(configured).brands).toEqual(["acme", "service"]);
    expect(keyConfiguration(env).brands).toEqual(BRANDS);
  });

  it.each(["", "Acme", "acme_live", "4cme", "-acme", "acme,,service", "acme,", "a b", `a${"b".repeat(32)}`])(
    "%j stops the service at its start",
    (brands) => {
      expect(() => parseKeyBrands(brands)).toThrow(/brand/);
      expect(() => checkConfiguration({ ...env, MANAGEMENT_KEY_BRANDS: brands })).toThrow(/brand/);
    },
  );
});
