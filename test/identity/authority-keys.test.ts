// The keys of the CA as the operator sees them, the faults of a secret, and keys without their private halves (IDN-3, IDN-29, IDN-38).
import { beforeAll, describe, expect, it } from "vitest";
import { DAY_MS, HOUR_MS } from "../../src/core/limits.ts";
import { authorityKeys } from "../../src/db/tables/agents.ts";
import { alerts } from "../../src/db/tables/journal.ts";
import {
  computeDroppableFrom,
  findKeyFaults,
  type NamedKey,
  noteAuthorityKeys,
  type SeenKey,
} from "../../src/identity/authority.ts";
import { openCertificateAuthority } from "../../src/protocol/certificate-authority.ts";
import { createWorld, env, expectStatus, type Json, type World } from "../support/world.ts";
import { operate } from "../verifiers/support.ts";
import { type Entry, newAuthorityJwk, newEntry, publicOnly, secretOf } from "./authority-support.ts";

const NOW = Date.parse("2026-06-01T00:00:00.000Z");
const seen = (kid: string, given: Partial<SeenKey> = {}): SeenKey => ({
  kid,
  publishedAt: NOW - 30 * DAY_MS,
  signsFrom: null,
  signedUntil: null,
  ...given,
});
const signed = (kid: string, until = NOW - DAY_MS) => seen(kid, { signsFrom: NOW - 20 * DAY_MS, signedUntil: until });
const signing = (kid: string): NamedKey => ({ kid, use: "signing" });
const published = (kid: string): NamedKey => ({ kid, use: "published" });
const revoked = (kid: string): NamedKey => ({ kid, use: "revoked" });
const faultsAt = (named: NamedKey[], known: SeenKey[], now = NOW) =>
  findKeyFaults(named, known, now).map(({ kid }) => kid);

describe("a secret", () => {
  it("may not lack a key while its certificates may be valid, to the millisecond", () => {
    const old = signed("old");
    const until = computeDroppableFrom(old) ?? 0;
    expect(new Date(until).toISOString()).toBe("2027-05-31T02:00:00.000Z");
    const known = [signed("new"), old];
    expect(faultsAt([signing("new")], known, until - 1)).toEqual(["old"]);
    expect(faultsAt([signing("new")], known, until)).toEqual([]);
    expect(faultsAt([signing("new"), published("old")], known, until - 1)).toEqual([]);
  });

  it("may drop a key that never signed", () => {
    expect(faultsAt([signing("one")], [signed("one"), seen("spare")])).toEqual([]);
  });

  it("may not sign with a key that was published for less than a day, if another key has signed", () => {
    const next = (ago: number) => [signed("old", NOW), seen("next", { publishedAt: NOW - ago })];
    const named = [signing("next"), published("old")];
    expect(faultsAt(named, next(DAY_MS - 1))).toEqual(["next"]);
    expect(faultsAt(named, next(DAY_MS))).toEqual([]);
    expect(faultsAt(named, [signed("old", NOW)])).toEqual(["next"]);
    // The first key of a service replaces no other, and a key that has signed before is known to readers.
    expect(faultsAt([signing("first")], [])).toEqual([]);
    expect(faultsAt([signing("old"), published("next")], [signed("old"), signed("next")])).toEqual([]);
  });

  it("that signs too early is at fault until the day is over, even after the key was recorded as signing", () => {
    const early = seen("next", { publishedAt: NOW, signsFrom: NOW, signedUntil: NOW });
    const named = [signing("next"), published("old")];
    expect(faultsAt(named, [signed("old", NOW), early], NOW + DAY_MS - 1)).toEqual(["next"]);
    expect(faultsAt(named, [signed("old", NOW), early], NOW + DAY_MS)).toEqual([]);
    // The old key may take over again.
    expect(faultsAt([signing("old"), published("next")], [signed("old", NOW), early], NOW + 1)).toEqual([]);
  });

  it("may name a key as revoked: it is not missing, and its successor may sign at once", () => {
    const known = [signed("stolen", NOW), signed("older", NOW - 10 * DAY_MS)];
    expect(faultsAt([signing("new"), revoked("stolen"), published("older")], known)).toEqual([]);
    expect(faultsAt([signing("new"), published("stolen"), revoked("older")], known)).toEqual(["new"]);
  });
});

describe("the keys", () => {
  let world: World;
  let keys: Json;
  const shown = async (): Promise<Json> => expectStatus(await operate(world, "GET", "/v1/operator/ca"), 200);
  /** The service with another secret. */
  const withKeys = (entries: readonly Entry[]) => {
    const ca = openCertificateAuthority(JSON.stringify(entries));
    return { ...world.deps, ca: () => ca };
  };
  beforeAll(async () => {
    world = await createWorld();
    await world.deps.db.delete(authorityKeys);
    keys = JSON.parse(env.CA_KEYS);
  });

  it("are recorded within a minute, with the signing one, and are shown", async () => {
    const { kid } = (await world.deps.ca()).signing;
    const fresh = await shown();
    // The key that signs now counts as having signed, recorded or not: `npm run ca check` relies on it.
    expect(fresh.keys).toEqual([
      expect.objectContaining({ kid, use: "signing", last_certificate_at: expect.any(String), droppable_from: null }),
    ]);
    expect(await world.run(noteAuthorityKeys)).toBe(1);
    expect(await world.run(noteAuthorityKeys)).toBe(0);
    const noted = await shown();
    expect(noted).toEqual({
      keys: [
        {
          kid,
          use: "signing",
          published_at: expect.any(String),
          usable_from: expect.any(String),
          first_certificate_at: expect.any(String),
          last_certificate_at: expect.any(String),
          droppable_from: null,
        },
      ],
      faults: [],
    });
  });

  it("of a rotation are published, then signing; the old one stays until its certificates have ended", async () => {
    const { kid: old } = (await world.deps.ca()).signing;
    const next = await newEntry("published");
    const announced = withKeys([...keys, next]);
    expect(await world.run(noteAuthorityKeys, announced)).toBe(1);
    const swapped = withKeys([publicOnly({ ...keys[0], use: "published" }), { ...next, use: "signing" }]);
    const { kid } = (await swapped.ca()).signing;
    // The new key signs too early: this raises an alert, which ends when the day is over.
    expect(await world.run(noteAuthorityKeys, swapped)).toBe(1);
    const raised = async () =>
      (await world.deps.db.select().from(alerts))
        .filter((alert) => alert.kind === "authority_key")
        .map(({ subject, message }) => [subject, message]);
    expect(await raised()).toEqual([[kid, expect.stringMatching(/^CA_KEYS: signs too early/)]]);
    await world.deps.db
      .update(authorityKeys)
      .set({ publishedAt: Date.now() - DAY_MS, signedUntil: Date.now() - 2 * HOUR_MS });
    expect(await world.run(noteAuthorityKeys, swapped)).toBe(1);
    const rows = await world.deps.db.select().from(authorityKeys);
    expect(rows.map((row) => [row.kid === kid, row.signsFrom !== null]).sort()).toEqual([
      [false, true],
      [true, true],
    ]);
    const { keys: list } = await shown();
    // This service still has the old secret, which lacks the new key.
    expect(list.map((one: Json) => [one.kid, one.use]).sort()).toEqual(
      [
        [kid, "missing"],
        [old, "signing"],
      ].sort(),
    );
  });

  it("without their private halves verify what they have signed, and sign nothing", async () => {
    const agent = await world.consumer();
    const next = await newEntry("signing");
    const ca = await openCertificateAuthority(JSON.stringify([next, publicOnly({ ...keys[0], use: "published" })]));
    expect(JSON.stringify(ca.jwks)).not.toContain('"d"');
    const app = { ...world.deps, ca: async () => ca };
    const { createApp } = await import("../../src/app.ts");
    const request = new Request("http://service.test/v1/verify/certificate", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ certificate: agent.certificate }),
    });
    const { createExecutionContext } = await import("cloudflare:test");
    const checked = await createApp(app).fetch(request, env, createExecutionContext());
    expect(await checked.json()).toMatchObject({ valid: true });
    const alone = await openCertificateAuthority(JSON.stringify([next]));
    const gone = await createApp({ ...world.deps, ca: async () => alone }).fetch(
      new Request(request.url, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ certificate: agent.certificate }),
      }),
      env,
      createExecutionContext(),
    );
    expect(await gone.json()).toMatchObject({ valid: false, reason: "key_unknown" });
  });

  it.each([
    ["a signing key without its private half", async () => [publicOnly(await newEntry("signing"))]],
    ["no signing key", async () => [await newEntry("published")]],
    ["two signing keys", async () => [await newEntry("signing"), await newEntry("signing")]],
    ["a revoked key alone", async () => [await newEntry("revoked")]],
    [
      "a private half of another kind",
      async () => [{ ...(await newEntry("signing")), jwk: { ...(await newAuthorityJwk()), d: 7 } }],
    ],
    ["no list", async () => ({})],
  ])("are refused: %s", async (_what, make) => {
    const secret = JSON.stringify(await make());
    await expect(openCertificateAuthority(secret)).rejects.toThrow(/^the secret CA_KEYS is not a list/);
  });

  it("are refused if one is named twice, because readers of the published set would refuse it", async () => {
    const signs = await newEntry("signing");
    for (const use of ["published", "revoked"]) {
      const secret = secretOf([signs, publicOnly({ ...signs, use })]);
      await expect(openCertificateAuthority(secret)).rejects.toThrow("the secret CA_KEYS names a key twice");
    }
  });
});

describe("only the operator", () => {
  it("sees them", async () => {
    const world = await createWorld();
    for (const key of [world.key, null]) expect((await world.call("GET", "/v1/operator/ca", { key })).status).toBe(401);
  });
});
