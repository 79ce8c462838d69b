// The isolate dies at each step of an account's promotion (ACC-16) and of an upload (ACC-20). A retry of the promotion under the same
// Idempotency-Key answers the only issued key (IDM-3, IDM-8); no document is ever without its file, and the sweep removes the other files.
import { beforeAll, describe, expect, it, vi } from "vitest";
import { sweepDocuments } from "../../src/accounts/documents.ts";
import { HOUR_MS, MINUTE_MS, STRAY_FILE_HOURS } from "../../src/core/limits.ts";
import { stopRealTime } from "../auth/support.ts";
import { killAtEveryStep } from "../support/cuts.ts";
import { documentParts } from "../support/form.ts";
import { createWorld, env, expectStatus, type Json, type World } from "../support/world.ts";
import { ask, complete, type Person, sendForm, storedFiles, submit } from "./review-support.ts";
import { type Account, rowsOf, signUp } from "./support.ts";

let world: World;
beforeAll(async () => {
  world = await createWorld();
});

describe("a promotion whose isolate dies", () => {
  type Stage = Account & { readonly world: World; readonly headers: Record<string, string> };
  /** An accredited account, and the key under which its call is repeated. */
  const set = async (): Promise<Stage> => {
    const account = await signUp(world);
    const accredit = "update platforms set status = 'ACCREDITED' where platform_id = ?";
    await env.DB.prepare(accredit).bind(account.platformId).run();
    // Records the use of the key first, because recording it would be another step.
    expectStatus(await world.call("GET", "/v1/platform", { key: account.key }), 200);
    return { ...account, world, headers: { "Idempotency-Key": crypto.randomUUID() } };
  };
  const promote = (by: World, { key, headers }: Stage) => by.call("POST", "/v1/platform/promote", { key, headers });

  const keysOf = async ({ platformId }: Account): Promise<string[]> =>
    (await rowsOf("management_keys", platformId))
      .filter(({ environment }) => environment === "production")
      .map(({ key_id }) => key_id);

  /** All rows that a promotion leaves, by kind. */
  async function left(account: Account): Promise<number[]> {
    const counted = async (table: string, is: (row: Json) => boolean) =>
      (await rowsOf(table, account.platformId)).filter(is).length;
    return [
      (await keysOf(account)).length,
      await counted("platforms", ({ promoted_at }) => promoted_at !== null),
      await counted("activity_entries", ({ action }) => action === "account.promoted"),
      await counted("notices", ({ kind, data }) => kind === "customer.key_issued" && data.includes("production")),
    ];
  }

  it("issues one production key, which the retry answers even if the first call was not answered", async () => {
    const issued: number[] = [];
    const cuts = await killAtEveryStep(set, promote, async (stage) => {
      const before = await keysOf(stage);
      issued.push(before.length);
      expect(await left(stage)).toEqual(Array(4).fill(before.length));
      const retried = await promote(world, stage);
      const { api_key } = expectStatus(retried, 200);
      expect(retried.headers.get("Idempotent-Replayed") === "true").toBe(before.length === 1);
      expect(await left(stage)).toEqual([1, 1, 1, 1]);
      if (before.length === 1) expect(await keysOf(stage)).toEqual(before);
      const account = expectStatus(await world.call("GET", "/v1/platform", { key: api_key.raw_key }), 200);
      expect(account).toMatchObject({ environment: "production", email: stage.email });
    });
    expect(cuts.map(({ moment, name }, n) => `${moment} ${name}: ${issued[n]}`)).toEqual([
      "before DB.batch: 0",
      "after DB.batch: 0",
      "before IDEMPOTENCY.begin: 0",
      "after IDEMPOTENCY.begin: 0",
      "before DB.batch: 0",
      "after DB.batch: 1",
      "before OUTBOX_QUEUE.send: 1",
      "after OUTBOX_QUEUE.send: 1",
      "before IDEMPOTENCY.end: 1",
      "after IDEMPOTENCY.end: 1",
    ]);
  });
});

describe("an upload whose isolate dies", () => {
  stopRealTime();
  const began = Date.now() - HOUR_MS;
  let played = 0;
  const TYPE = "director_identification";
  type Stage = Person & { readonly world: World };
  const known = async ({ platformId }: Stage): Promise<string[]> =>
    (await rowsOf("documents", platformId)).map(({ document_id }) => `${platformId}/${document_id}`).sort();
  const sweep = () => {
    const clock = { now: () => world.now() + (STRAY_FILE_HOURS + 1) * HOUR_MS };
    return world.run(sweepDocuments, { ...world.deps, clock });
  };

  it("leaves no document without its file, and the sweep removes the file without a document", async () => {
    const found: string[] = [];
    const cuts = await killAtEveryStep(
      async (): Promise<Stage> => {
        // A killed upload keeps its turn among all until its lease is over: each run plays later than the last, and all of them in the past.
        vi.setSystemTime(began + ++played * 2 * MINUTE_MS);
        return { ...(await complete(world)), world };
      },
      (dying, stage) => sendForm(dying, stage, documentParts(TYPE)),
      async (stage) => {
        const [rows, files] = [await known(stage), await storedFiles(stage.platformId)];
        expect(rows.filter((key) => !files.includes(key))).toEqual([]);
        const strays = files.length - rows.length;
        found.push(`${rows.length} document, ${strays} stray`);
        // The row of a young file may still be written.
        expect(await world.run(sweepDocuments)).toBe(0);
        expect(await sweep()).toBe(strays);
        expect(await storedFiles(stage.platformId)).toEqual(rows);
        // The person uploads again.
        const { document_id } = await submit(world, stage, TYPE);
        const { data } = expectStatus(await ask(world, stage, "GET", "/v1/platform/documents"), 200);
        const current = data.filter(({ status }: Json) => status === "current");
        expect(current.map((document: Json) => document.document_id)).toEqual([document_id]);
      },
    );
    expect(cuts.map(({ moment, name }, n) => `${moment} ${name}: ${found[n]}`)).toEqual([
      "before DB.batch: 0 document, 0 stray",
      "after DB.batch: 0 document, 0 stray",
      "before DB.batch: 0 document, 0 stray",
      "after DB.batch: 0 document, 0 stray",
      "before DOCUMENTS.put: 0 document, 0 stray",
      "after DOCUMENTS.put: 0 document, 1 stray",
      "before DB.batch: 0 document, 1 stray",
      "after DB.batch: 1 document, 0 stray",
      "before OUTBOX_QUEUE.send: 1 document, 0 stray",
      "after OUTBOX_QUEUE.send: 1 document, 0 stray",
    ]);
  });
});
