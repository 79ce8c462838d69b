// Notices by mail (ACC-11): written with the change that they report, mailed once by a job, and tried again for two days.
import { beforeEach, describe, expect, it } from "vitest";
import { mailNotices, NOTICE_PAUSES_MS } from "../../src/accounts/notices.ts";
import type { Deps } from "../../src/context.ts";
import { MINUTE_MS } from "../../src/core/limits.ts";
import { commit } from "../../src/db/batch.ts";
import { runMessage } from "../../src/jobs/run.ts";
import { startJobs } from "../../src/jobs/start.ts";
import { recordNotice } from "../../src/journal/alerts.ts";
import { stopped } from "../support/clock.ts";
import type { SentMail } from "../support/mails.ts";
import { dumpDatabase, failingBatches, withDatabase } from "../support/variants.ts";
import { createWorld, env, type Json, type World } from "../support/world.ts";
import { rowsOf, signUp } from "./support.ts";

let world: World;
beforeEach(async () => {
  world = stopped(await createWorld());
  // Each test sees only its own notices.
  await env.DB.prepare("delete from notices").run();
});

/** Security notices to the account's own address, which the hourly limit does not hold back. */
const ADDRESSED = { legalName: "Acme GmbH", email: "office@acme.example", adminContactEmail: null };
const tell = (at = world): Promise<void> =>
  commit(at.deps.db, [
    recordNotice(at.deps.db, { ...ADDRESSED, platformId: at.platformId }, at.now(), {
      kind: "customer.password_changed",
      data: {},
    }),
  ]);
const waiting = (): Promise<Json[]> => rowsOf("notices", world.platformId);
const alerts = async (): Promise<Json[]> =>
  (await env.DB.prepare("select * from alerts where subject = 'mail_notices'").all()).results;

/** The job's dependencies with a binding that refuses while `refuses` holds. */
function refusing(refuses: (mail: SentMail) => boolean): Deps {
  const { MAIL } = world.deps.env;
  const send = async (mail: SentMail) => {
    if (refuses(mail)) throw new Error(`the server refuses ${mail.to}`);
    return MAIL.send(mail);
  };
  return { ...world.deps, env: { ...world.deps.env, MAIL: { send } as never } };
}

describe("a notice", () => {
  it("goes to its address by one mail, as text and HTML in the operator's name, and is then deleted", async () => {
    await tell();
    expect(await world.run(mailNotices)).toBe(1);
    expect(await world.run(mailNotices)).toBe(0);
    expect(world.mails).toEqual([
      {
        from: { name: world.deps.config.operatorName, email: world.deps.env.MAIL_FROM },
        to: "office@acme.example",
        subject: "Your password was changed",
        text: expect.stringContaining(`The password of the account of Acme GmbH was changed at 20`),
        html: expect.stringContaining("<h1"),
      },
    ]);
    expect(await waiting()).toEqual([]);
  });

  it.each([
    ["to the account's own address while no contact is named", null, ["founder@acme.example"]],
    ["to the admin contact too", "office@acme.example", ["founder@acme.example", "office@acme.example"]],
    ["once to a contact that is the account's own address", "Founder@ACME.example", ["Founder@ACME.example"]],
  ])("goes %s", async (_where, adminContactEmail, recipients) => {
    const platform = { ...ADDRESSED, platformId: world.platformId, email: "founder@acme.example", adminContactEmail };
    const notice = { kind: "customer.password_reset", data: {} } as const;
    await commit(world.deps.db, [recordNotice(world.deps.db, platform, world.now(), notice)]);
    await world.run(mailNotices);
    expect(world.mails.map(({ to }) => to).toSorted()).toEqual(recipients);
    for (const { text } of world.mails) expect(text).toContain("Acme GmbH");
  });

  it("is written for the first key, which it names only by its prefix", async () => {
    const { key, email } = await signUp(world);
    await world.run(mailNotices);
    const mail = world.mails.find(({ to, subject }) => to === email && subject === "A sandbox key was issued");
    expect(mail?.text).toContain(key.slice(0, 22));
    expect(JSON.stringify(world.mails)).not.toContain(key);
  });

  it("is mailed once by simultaneous runs", async () => {
    for (let n = 0; n < 20; n++) await tell();
    const runs = await Promise.all([world.run(mailNotices), world.run(mailNotices), world.run(mailNotices)]);
    expect(runs.reduce((sum, done) => sum + done, 0)).toBe(20);
    expect(world.mails).toHaveLength(20);
    expect(await waiting()).toEqual([]);
  });

  it("of many is mailed slice by slice in one run, at a constant cost for each slice", async () => {
    for (let n = 0; n < 120; n++) await tell();
    world.meter.reset();
    expect(await world.run(mailNotices)).toBe(120);
    // Three slices of three trips, and at most one trip that finds no further notice.
    expect(world.meter.reading.trips).toBeLessThanOrEqual(10);
  });
});

describe("a mail that fails", () => {
  it("does not stop others, and is tried again after each pause, not sooner", async () => {
    await tell();
    const other = { ...ADDRESSED, email: "other@acme.example", platformId: world.platformId };
    const notice = { kind: "customer.password_changed", data: {} } as const;
    await commit(world.deps.db, [recordNotice(world.deps.db, other, world.now(), notice)]);
    const deps = refusing(({ to }) => to === "office@acme.example");
    expect(await world.run(mailNotices, deps)).toBe(1);
    expect(world.mails.map(({ to }) => to)).toEqual(["other@acme.example"]);
    expect(await waiting()).toMatchObject([{ recipient: "office@acme.example", attempts: 1 }]);
    world.advance(MINUTE_MS / 2);
    expect(await world.run(mailNotices)).toBe(0);
    world.advance(MINUTE_MS / 2);
    expect(await world.run(mailNotices)).toBe(1);
    expect(await waiting()).toEqual([]);
  });

  it("is dropped after the eighth failure with one alert, which contains neither the address nor the text", async () => {
    await tell();
    const deps = refusing(() => true);
    const run = async () => {
      await startJobs(deps, [{ ...mailNotices }]);
      await runMessage(deps, [mailNotices], { kind: "run", job: "mail_notices" });
    };
    for (const pause of NOTICE_PAUSES_MS) {
      await run();
      expect(await alerts()).toEqual([]);
      world.advance(pause);
    }
    expect(await waiting()).toMatchObject([{ attempts: NOTICE_PAUSES_MS.length }]);
    await run();
    expect(await waiting()).toEqual([]);
    const [alert, ...more] = await alerts();
    expect(more).toEqual([]);
    expect(alert).toMatchObject({ kind: "job_failed", message: expect.stringContaining("customer.password_changed") });
    expect(alert.message).not.toContain("acme.example");
    expect(alert.message).not.toContain("Acme");
  });

  // The claim is written before the mail, so a Worker that dies in between loses nothing.
  it("is sent again when the Worker died after the mail and before the row was deleted", async () => {
    await tell();
    const dying = failingBatches(env.DB, (batch) => (batch === 3 ? "before" : "never"));
    await expect(world.run(mailNotices, withDatabase(world, dying).deps)).rejects.toThrow("not reachable");
    expect(await waiting()).toMatchObject([{ attempts: 1 }]);
    expect(await world.run(mailNotices)).toBe(0);
    world.advance(MINUTE_MS);
    expect(await world.run(mailNotices)).toBe(1);
    expect(await waiting()).toEqual([]);
  });
});

describe("a waiting notice", () => {
  it("contains no secret", async () => {
    const { key } = await signUp(world);
    const { notices = [] } = await dumpDatabase();
    expect(notices.length).toBeGreaterThan(0);
    expect(notices.join("")).not.toContain(key);
  });
});
