// The personal data of a closed account is erased after the retention (ACC-23); the log and the settled history stay.
import { beforeAll, describe, expect, it } from "vitest";
import { computeRetentionMs, eraseClosedAccounts } from "../../src/accounts/erase.ts";
import { stopped } from "../support/clock.ts";
import { documentParts, pdf } from "../support/form.ts";
import { dumpDatabase, withSlices, withVars } from "../support/variants.ts";
import { createWorld, env, expectStatus, type Json, type World } from "../support/world.ts";
import { ask, decide, inReview, operate, type Person, patchProfile, sendForm, storedFiles } from "./review-support.ts";
import { bearer, freshAddress } from "./support.ts";

let world: World;
beforeAll(async () => {
  world = stopped(await createWorld());
});

const SECRETS = [
  "Trade Name of Mine",
  "Secret Street",
  "secret-site.example",
  "HRB SECRET",
  "secret scan.pdf",
  "A secret reason.",
];

/** An account with a profile, documents and a decision, closed at this instant. */
async function closed(): Promise<Person & { email: string }> {
  const person = await inReview(world);
  const contact = freshAddress();
  const patched = await patchProfile(world, person, {
    trading_name: SECRETS[0],
    registered_address: { line1: SECRETS[1], city: "Berlin", postal_code: "10115", country: "DE" },
    website: `https://${SECRETS[2]}/`,
  });
  expectStatus(patched, 200);
  const proposal = { registration_number: SECRETS[3], admin_contact_email: contact };
  expectStatus(await ask(world, person, "PATCH", "/v1/platform", { body: proposal }), 200);
  expectStatus(await sendForm(world, person, documentParts("supporting", pdf(), SECRETS[4])), 201);
  expectStatus(await decide(world, person, { decision: "approve", reason: SECRETS[5] }), 200);
  // Raises an alert about its number.
  const other = { registration_number: `${SECRETS[3]} 2` };
  expectStatus(await ask(world, person, "PATCH", "/v1/platform", { body: other }), 200);
  await env.DB.prepare("update platforms set status = 'CLOSED', closed_at = ? where platform_id = ?")
    .bind(world.now(), person.platformId)
    .run();
  return person;
}

/** All rows of an account, without the log, and without rows that wait for a mail or for pruning. */
async function atRest({ platformId }: Person): Promise<string> {
  const tables = await dumpDatabase();
  const lasting = new Set(["activity_entries", "operator_entries", "notices", "idempotency_outcomes"]);
  const rows = Object.entries(tables).flatMap(([name, all]) => (lasting.has(name) ? [] : all));
  return rows.filter((row) => row.includes(platformId)).join("\n");
}

const retention = () => computeRetentionMs(world.deps.env);

describe("the erasure", () => {
  it("happens five years after the closing, and not before", async () => {
    const person = await closed();
    world.advance(retention() - 1);
    expect(await world.run(eraseClosedAccounts)).toBe(0);
    expect(await storedFiles(person.platformId)).toHaveLength(5);
    world.advance(1);
    expect(await world.run(eraseClosedAccounts)).toBe(1);
    expect(await storedFiles(person.platformId)).toEqual([]);
    expect(await world.run(eraseClosedAccounts)).toBe(0);
  });

  it("removes the files, their names, the profile, the password, sessions and links, and keeps the company and the log", async () => {
    const person = await closed();
    const before = await atRest(person);
    for (const secret of [...SECRETS, person.email]) expect(before).toContain(secret);
    const logBefore = (await dumpDatabase())["activity_entries"];
    world.advance(retention());
    await world.run(eraseClosedAccounts);
    const after = await atRest(person);
    for (const secret of [...SECRETS, person.email]) expect(after).not.toContain(secret);
    const tables = await dumpDatabase();
    for (const table of ["passwords", "sessions", "account_links", "seen_devices"]) {
      expect((tables[table] ?? []).filter((row) => row.includes(person.platformId))).toEqual([]);
    }
    expect(tables["activity_entries"]).toEqual(logBefore);
    const account = expectStatus(await operate(world, "GET", `/v1/operator/platforms/${person.platformId}`), 200);
    expect(account).toMatchObject({
      platform_status: "CLOSED",
      legal_name: `Company ${person.platformId}`,
      country: "DE",
      email: "",
      admin_contact_email: null,
      registered_address: null,
      review: { decision: "approve", reason: null },
    });
    const path = `/v1/operator/platforms/${person.platformId}/documents`;
    const { data } = expectStatus(await operate(world, "GET", path), 200);
    expect(data.map(({ file_name }: Json) => file_name)).toEqual(["", "", "", "", ""]);
    expect((await operate(world, "GET", `${path}/${data[0].document_id}`)).status).toBe(404);
    expect((await ask(world, person, "GET", "/v1/platform/documents")).status).toBe(401);
    expect((await world.call("GET", "/v1/platform", { key: null, headers: bearer(person.session) })).status).toBe(401);
  });

  it("continues where it died, and deletes files slice by slice", async () => {
    const person = await closed();
    const { deps } = withSlices(world, { files: 3 });
    world.advance(retention());
    expect(await eraseClosedAccounts.record(deps, person.platformId)).toBe("more");
    expect(await atRest(person)).toContain(person.email);
    expect(await storedFiles(person.platformId)).toHaveLength(2);
    expect(await eraseClosedAccounts.record(deps, person.platformId)).toBe(true);
    expect(await storedFiles(person.platformId)).toEqual([]);
    expect(await atRest(person)).not.toContain(person.email);
    expect(await eraseClosedAccounts.record(world.deps, person.platformId)).toBe(false);
  });

  it("skips an account that is not closed, and one that is found too early", async () => {
    const person = await inReview(world);
    expect(await eraseClosedAccounts.record(world.deps, person.platformId)).toBe(false);
    const early = await closed();
    expect(await eraseClosedAccounts.record(world.deps, early.platformId)).toBe(false);
    expect(await storedFiles(early.platformId)).toHaveLength(5);
  });
});

describe("the retention", () => {
  it.each(["", "0", "-1", "1.5", "five"])(
    "that is configured as %j fails every call, not only the erasure",
    async (years) => {
      const wrong = withVars(world, { DOCUMENT_RETENTION_YEARS: years });
      expect((await wrong.call("GET", "/v1/rating-method", { key: null })).status).toBe(500);
    },
  );
});
