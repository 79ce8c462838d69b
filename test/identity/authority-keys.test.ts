// The keys of the CA as the operator sees them, what a secret may not do, and keys without their private halves (IDN-3, IDN-29).
import { beforeAll, describe, expect, it } from "vitest";
import { DAY_MS, HOUR_MS } from "../../src/core/limits.ts";
import { authorityKeys } from "../../src/db/tables/agents.ts";
import { alerts } from "../../src/db/tables/journal.ts";
import { droppableFrom, faultsOfKeys, type NamedKey, type SeenKey } from "../../src/identity/authority-keys.ts";
import { noteAuthorityKeys } from "../../src/identity/note-authority-keys.ts";
import { openCertificateAuthority } from "../../src/protocol/certificate-authority.ts";
import { createWorld, env, expectStatus, type Json, type World } from "../support/world.ts";
import { operate } from "../verifiers/support.ts";

const newJwk = async (): Promise<JsonWebKey> => {
  const pair = (await crypto.subtle.generateKey({ name: "ECDSA", namedCurve: "P-256" }, true, [
    "sign",
    "verify",
  ])) as CryptoKeyPair;
  const { kty, crv, x, y, d } = (await crypto.subtle.exportKey("jwk", pair.privateKey)) as JsonWebKey;
  return { kty, crv, x, y, d } as JsonWebKey;
};
const entry = async (use: string) => ({ jwk: await newJwk(), use });
type Entry = { jwk: JsonWebKey; use: string };
const publicOnly = ({ jwk: { d: _, ...jwk }, use }: Entry): Entry => ({ jwk, use });

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
const faultsAt = (named: NamedKey[], known: SeenKey[], now = NOW) =>
  faultsOfKeys(named, known, now).map(({ kid }) => kid);

describe("a secret", () => {
  it("may not lack a key while certificates under it may be valid, to the millisecond", () => {
    const old = signed("old");
    const until = droppableFrom(old) ?? 0;
    expect(new Date(until).toISOString()).toBe("2027-05-31T02:00:00.000Z");
    const known = [signed("new"), old];
    expect(faultsAt([signing("new")], known, until - 1)).toEqual(["old"]);
    expect(faultsAt([signing("new")], known, until)).toEqual([]);
    expect(faultsAt([signing("new"), published("old")], known, until - 1)).toEqual([]);
  });

  it("may take away a key that never signed", () => {
    expect(faultsAt([signing("one")], [signed("one"), seen("spare")])).toEqual([]);
  });

  it("may not sign with a key that was not published for a day, beside one that has signed", () => {
    const next = (ago: number) => [signed("old", NOW), seen("next", { publishedAt: NOW - ago })];
    const named = [signing("next"), published("old")];
    expect(faultsAt(named, next(DAY_MS - 1))).toEqual(["next"]);
    expect(faultsAt(named, next(DAY_MS))).toEqual([]);
    expect(faultsAt(named, [signed("old", NOW)])).toEqual(["next"]);
    // The first key of a service has nobody to wait for, and one that has signed before is known.
    expect(faultsAt([signing("first")], [])).toEqual([]);
    expect(faultsAt([signing("old"), published("next")], [signed("old"), signed("next")])).toEqual([]);
  });
});

describe("the keys", () => {
  let world: World;
  let keys: Json;
  const shown = async (): Promise<Json> => expectStatus(await operate(world, "GET", "/v1/operator/ca"), 200);
  /** The same service with another secret. */
  const withKeys = (entries: readonly Entry[]) => {
    const ca = openCertificateAuthority(JSON.stringify(entries));
    return { ...world.deps, ca: () => ca };
  };
  beforeAll(async () => {
    world = await createWorld();
    await world.deps.db.delete(authorityKeys);
    keys = JSON.parse(env.CA_KEYS);
  });

  it("are noted within a minute, with the one that signs, and shown", async () => {
    const { kid } = (await world.deps.ca()).signing;
    const fresh = await shown();
    expect(fresh.keys).toEqual([expect.objectContaining({ kid, use: "signing", first_certificate_at: null })]);
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

  it("of a rotation: published, then signing, and the old one until its certificates have ended", async () => {
    const { kid: old } = (await world.deps.ca()).signing;
    const next = await entry("published");
    const announced = withKeys([...keys, next]);
    expect(await world.run(noteAuthorityKeys, announced)).toBe(1);
    const swapped = withKeys([publicOnly({ ...keys[0], use: "published" }), { ...next, use: "signing" }]);
    const { kid } = (await swapped.ca()).signing;
    // Too early: there is an alert, which ends as soon as the day is over.
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
    // This service has the old secret: the new key is missing from it.
    expect(list.map((one: Json) => [one.kid, one.use]).sort()).toEqual(
      [
        [kid, "missing"],
        [old, "signing"],
      ].sort(),
    );
  });

  it("verify without their private halves what they have signed, and sign nothing", async () => {
    const agent = await world.consumer();
    const next = await entry("signing");
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
    ["a signing key without its private half", async () => [publicOnly(await entry("signing"))]],
    ["no signing key", async () => [await entry("published")]],
    ["two signing keys", async () => [await entry("signing"), await entry("signing")]],
    [
      "a private half of another kind",
      async () => [{ ...(await entry("signing")), jwk: { ...(await newJwk()), d: 7 } }],
    ],
    ["no list", async () => ({})],
  ])("are refused: %s", async (_what, make) => {
    const secret = JSON.stringify(await make());
    await expect(openCertificateAuthority(secret)).rejects.toThrow(/^the secret CA_KEYS is not a list/);
  });
});

describe("the operator alone", () => {
  it("sees them", async () => {
    const world = await createWorld();
    for (const key of [world.key, null]) expect((await world.call("GET", "/v1/operator/ca", { key })).status).toBe(401);
  });
});
