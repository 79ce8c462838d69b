// The hourly sweep of files without a row (ACC-20).
import { beforeAll, describe, expect, it } from "vitest";
import { sweepDocuments } from "../../src/accounts/documents.ts";
import { HOUR_MS, STRAY_FILE_HOURS } from "../../src/core/limits.ts";
import { documentParts, pdf } from "../support/form.ts";
import { failingBatches, withDatabase, withSlices } from "../support/variants.ts";
import { createWorld, env, type World } from "../support/world.ts";
import { complete, type Person, sendForm, storedFiles, submit } from "./review-support.ts";

let world: World;
let person: Person;
beforeAll(async () => {
  world = await createWorld();
  person = await complete(world);
});

/** Advances until a file is more than an hour old. */
const later = () => world.advance(STRAY_FILE_HOURS * HOUR_MS + 1_000);

const rowsOf = async ({ platformId }: Person): Promise<string[]> => {
  const text = "select platform_id || '/' || document_id as key from documents where platform_id = ? order by 1";
  const { results } = await env.DB.prepare(text).bind(platformId).all<{ key: string }>();
  return results.map(({ key }) => key);
};

describe("the sweep", () => {
  it("removes only the file of an upload whose row was never written", async () => {
    await submit(world, person, "supporting");
    // The third batch writes the row.
    const failing = withDatabase(
      world,
      failingBatches(env.DB, (batch) => (batch === 3 ? "before" : "never")),
    );
    const reply = await sendForm(failing, person, documentParts("supporting"));
    expect(reply.status).toBe(500);
    const known = await rowsOf(person);
    expect(await storedFiles(person.platformId)).toHaveLength(known.length + 1);
    expect(await world.run(sweepDocuments)).toBe(0);
    expect(await storedFiles(person.platformId)).toHaveLength(known.length + 1);
    later();
    expect(await world.run(sweepDocuments)).toBe(1);
    expect(await storedFiles(person.platformId)).toEqual(known);
    expect(await world.run(sweepDocuments)).toBe(0);
  });

  it("keeps the file of a row whose upload was answered with a failure", async () => {
    const failing = withDatabase(
      world,
      failingBatches(env.DB, (batch) => (batch > 2 ? "after" : "never")),
    );
    expect((await sendForm(failing, person, documentParts("supporting"))).status).toBe(500);
    later();
    await world.run(sweepDocuments);
    expect(await storedFiles(person.platformId)).toEqual(await rowsOf(person));
  });

  it("goes through any number of files, slice by slice", async () => {
    const kept = await submit(world, person, "supporting");
    const stray = (n: number) => `${person.platformId}/doc_${String(n).padStart(26, "0")}`;
    const [first, last] = [`plt_0/doc_first`, `plt_z/doc_last`];
    await Promise.all(
      [first, last, ...Array.from({ length: 9 }, (_, n) => stray(n))].map((key) => env.DOCUMENTS.put(key, pdf(10))),
    );
    later();
    const { deps } = withSlices(world, { files: 4 });
    const done: number[] = [];
    for (let after = { at: 0, id: "" }; ; ) {
      const ran = await (await sweepDocuments.find(deps, after))?.run();
      done.push(ran?.done ?? 0);
      if (!ran?.next) break;
      after = ran.next;
    }
    expect(done.length).toBeGreaterThan(2);
    expect(done.reduce((sum, n) => sum + n, 0)).toBe(11);
    expect(await storedFiles()).toEqual(await rowsOf(person));
    expect(await storedFiles()).toContain(`${person.platformId}/${kept.document_id}`);
  });
});
