// A rotation of the CA's key as in the runbook (docs/deploy.md): which key signs and which verify at each step, and what the operator sees
// (IDN-3, IDN-29, IDN-38).
import { eq } from "drizzle-orm";
import { createLocalJWKSet, jwtVerify } from "jose";
import { beforeAll, describe, expect, it } from "vitest";
import { addMonths } from "../../src/core/clock.ts";
import { CERTIFICATE_MONTHS, DAY_MS, HOUR_MS } from "../../src/core/limits.ts";
import { authorityKeys } from "../../src/db/tables/agents.ts";
import { noteAuthorityKeys } from "../../src/identity/authority.ts";
import { computeJwkThumbprint } from "../../src/protocol/jwks.ts";
import { type Agent, createWorld, expectStatus, type Json, type World } from "../support/world.ts";
import {
  type Entry,
  kidIn,
  newEntry,
  presentAuthorityKey,
  publicOnly,
  secretOf,
  shownBy,
} from "./authority-support.ts";

let next: Awaited<ReturnType<typeof newEntry>>;
let kids: { old: string; next: string };
let agent: Agent;
let owner: World;
beforeAll(async () => {
  next = await newEntry("published");
  kids = {
    old: await computeJwkThumbprint(presentAuthorityKey("signing").jwk),
    next: await computeJwkThumbprint(next.jwk),
  };
  owner = await createWorld();
  await owner.deps.db.delete(authorityKeys);
  agent = await owner.consumer();
});

/** The service, deployed with another secret. */
const deployed = (...entries: Entry[]): Promise<World> => createWorld({ CA_KEYS: secretOf(entries) });
const reissued = async (world: World): Promise<string> => {
  const reply = await world.call("POST", `/v1/agents/${agent.did}/certificate`, { key: owner.key });
  return expectStatus(reply, 200).certificate;
};
const verifiesOffline = async (world: World, certificate: string): Promise<boolean> => {
  const jwks = expectStatus(await world.call("GET", "/.well-known/aeap-ca-jwks", { key: null }), 200);
  return jwtVerify(certificate, createLocalJWKSet(jwks)).then(
    () => true,
    () => false,
  );
};
const rowOf = (world: World, kid: string, change: Partial<typeof authorityKeys.$inferInsert>) =>
  world.deps.db.update(authorityKeys).set(change).where(eq(authorityKeys.kid, kid));
const keyShown = async (world: World, kid: string): Promise<Json> =>
  (await shownBy(world)).keys.find((key: Json) => key.kid === kid);
const monthsOn = (instant: string): number => addMonths(Date.parse(instant) + 2 * HOUR_MS, CERTIFICATE_MONTHS);

describe("a rotation", () => {
  it("begins with a key that is published and signs nothing, although the secret has its private half", async () => {
    const world = await deployed(presentAuthorityKey("signing"), next);
    await world.run(noteAuthorityKeys);
    expect(kidIn(await reissued(world))).toBe(kids.old);
    const shown = await keyShown(world, kids.next);
    expect(shown).toMatchObject({ use: "published", first_certificate_at: null, last_certificate_at: null });
    expect(Date.parse(shown.usable_from)).toBe(Date.parse(shown.published_at) + DAY_MS);
    expect(await keyShown(world, kids.old)).toMatchObject({ use: "signing", droppable_from: null });
  });

  it("continues a day later: the new key signs and the old one verifies, even without its private half", async () => {
    const before = await reissued(owner);
    const publishedAt = Date.now() - DAY_MS;
    await rowOf(owner, kids.next, { publishedAt });
    // The old key was last recorded long ago: it is recorded again when the other takes over.
    await rowOf(owner, kids.old, { signedUntil: Date.now() - 5 * HOUR_MS });
    const world = await deployed(publicOnly(presentAuthorityKey("published")), { ...next, use: "signing" });
    const at = Date.now();
    await world.run(noteAuthorityKeys);
    expect(kidIn(await reissued(world))).toBe(kids.next);
    for (const certificate of [before, await reissued(world)])
      expect(await verifiesOffline(world, certificate)).toBe(true);
    const { faults } = await shownBy(world);
    expect(faults).toEqual([]);
    const old = await keyShown(world, kids.old);
    expect(old.use).toBe("published");
    expect(Date.parse(old.last_certificate_at)).toBeGreaterThanOrEqual(at);
    expect(Date.parse(old.droppable_from)).toBe(monthsOn(old.last_certificate_at));
    expect(await keyShown(world, kids.next)).toMatchObject({ use: "signing", droppable_from: null });
    // Nothing is due until the hour is over.
    expect(await world.run(noteAuthorityKeys)).toBe(0);
  });

  it("ends after the last certificate of the old key: until then the key is missing, afterwards dropped", async () => {
    const world = await deployed({ ...next, use: "signing" });
    expect(await keyShown(world, kids.old)).toMatchObject({ use: "missing" });
    expect((await shownBy(world)).faults).toEqual([expect.stringMatching(`^${kids.old}: missing`)]);
    const ended = addMonths(Date.now() - 2 * HOUR_MS, -CERTIFICATE_MONTHS) - DAY_MS;
    await rowOf(world, kids.old, { signsFrom: ended, signedUntil: ended });
    expect(await keyShown(world, kids.old)).toMatchObject({ use: "dropped" });
    expect((await shownBy(world)).faults).toEqual([]);
  });
});

describe("a key that signed nothing", () => {
  it("is forgotten when it leaves the secret, so that its day of notice starts again if it returns", async () => {
    const spare = await newEntry("published");
    const kid = await computeJwkThumbprint(spare.jwk);
    const present = { ...next, use: "signing" };
    const had = await deployed(present, spare);
    await had.run(noteAuthorityKeys);
    await rowOf(had, kid, { publishedAt: Date.now() - 400 * DAY_MS });
    await (await deployed(present)).run(noteAuthorityKeys);
    expect(await keyShown(await deployed(present), kid)).toBeUndefined();
    await had.run(noteAuthorityKeys);
    expect(Date.parse((await keyShown(had, kid)).usable_from)).toBeGreaterThan(Date.now());
  });
});
