// The limits of mails (ACC-31): three a day to an address without an account, and twenty notices an hour about one account.
import { beforeEach, describe, expect, it } from "vitest";
import { pruneCredentials } from "../../src/accounts/erase.ts";
import { mailNotices } from "../../src/accounts/notices.ts";
import {
  DAY_MS,
  DIGEST_LINES_MAX,
  HOUR_MS,
  LINK_REST_SECONDS,
  NOTICE_MAILS_PER_HOUR,
  SECOND_MS,
  STRANGER_MAILS_PER_DAY,
} from "../../src/core/limits.ts";
import { commit } from "../../src/db/batch.ts";
import { recordNotice } from "../../src/journal/alerts.ts";
import { stopped } from "../support/clock.ts";
import { failingBatches, withDatabase } from "../support/variants.ts";
import { createWorld, env, expectStatus, type World } from "../support/world.ts";
import { bearer, logIn, mailedToken, PASSWORD, post, register, rowsOf, signUp } from "./support.ts";

let world: World;
beforeEach(async () => {
  world = stopped(await createWorld());
  box += 1;
  for (const table of ["notices", "mail_counts"]) await env.DB.prepare(`delete from ${table}`).run();
  // At the beginning of an hour and of a day.
  world.advance(DAY_MS - (world.now() % DAY_MS));
});

const mailsTo = (address: string): number => world.mails.filter(({ to }) => to === address).length;
/** Each test uses another domain. */
let box = 0;
const domain = (): string => `stranger-${box}.example`;
const named = (number: number | string): string => `box+${number}@${domain()}`;
const mailsToBox = (): number => world.mails.filter(({ to }) => to.toLowerCase().endsWith(`@${domain()}`)).length;

describe("an address that has no account", () => {
  it("gets three mails a day for twelve sign-ups, whatever follows its plus sign, and each call gets the same answer", async () => {
    const answers = [];
    for (let n = 0; n < 12; n++) answers.push(await register(world, named(n)));
    expect(new Set(answers.map(({ platform_status }) => platform_status))).toEqual(new Set(["EMAIL_PENDING"]));
    expect(mailsToBox()).toBe(STRANGER_MAILS_PER_DAY);
    await register(world, `BOX@${domain()}`);
    expect(mailsToBox()).toBe(STRANGER_MAILS_PER_DAY);
    await register(world, `other@${domain()}`);
    expect(mailsToBox()).toBe(STRANGER_MAILS_PER_DAY + 1);
  });

  it("keeps its link when a further one is withheld, for a sign-up and for a contact", async () => {
    const later = () => world.advance(LINK_REST_SECONDS * SECOND_MS);
    const address = named("late");
    await register(world, address);
    for (let n = 0; n < 4; n++) {
      later();
      expectStatus(await post(world, "/v1/platform/verify-email/resend", { email: address }), 202);
    }
    expect(mailsToBox()).toBe(STRANGER_MAILS_PER_DAY);
    const token = mailedToken(world, address);
    const verified = await post(world, "/v1/platform/verify-email", { token, password: PASSWORD });
    expect(expectStatus(verified, 200).platform_status).toBe("PROFILE_PENDING");

    const headers = bearer(await logIn(world, (await signUp(world)).email));
    const contact = `contact@other-${domain()}`;
    const asked = [];
    for (let n = 0; n < 5; n++) {
      later();
      const body = { admin_contact_email: contact };
      const { status, body: account } = await world.call("PATCH", "/v1/platform", { key: null, headers, body });
      asked.push([status, account.pending_admin_contact_email]);
    }
    expect(asked).toEqual(asked.map(() => [200, contact]));
    expect(mailsTo(contact)).toBe(STRANGER_MAILS_PER_DAY);
    expectStatus(await post(world, "/v1/platform/verify-email", { token: mailedToken(world, contact) }), 200);
  });

  it("that is named as a new contact ends the link of the previous one, even without a mail", async () => {
    const headers = bearer(await logIn(world, (await signUp(world)).email));
    const name = (body: unknown) => world.call("PATCH", "/v1/platform", { key: null, headers, body });
    const first = `first@contact-${domain()}`;
    expectStatus(await name({ admin_contact_email: first }), 200);
    for (let n = 0; n < STRANGER_MAILS_PER_DAY; n++) await register(world, named(n));
    world.advance(LINK_REST_SECONDS * SECOND_MS);
    const renamed = expectStatus(await name({ admin_contact_email: named("contact") }), 200);
    expect([renamed.pending_admin_contact_email, mailsTo(named("contact"))]).toEqual([named("contact"), 0]);
    const late = await post(world, "/v1/platform/verify-email", { token: mailedToken(world, first) });
    expect(late.status).toBe(422);
  });

  it("may be requested as often as one that still gets mails, and the link to another address ends in the same way", async () => {
    const { email } = await signUp(world);
    let headers = bearer(await logIn(world, email));
    const move = (new_email: string) =>
      post(world, "/v1/platform/email", { new_email, current_password: PASSWORD }, headers);
    const name = (admin_contact_email: string) =>
      world.call("PATCH", "/v1/platform", { key: null, headers, body: { admin_contact_email } });
    const typo = `typo@elsewhere-${domain()}`;
    expectStatus(await move(typo), 202);
    for (let n = 0; n < STRANGER_MAILS_PER_DAY; n++) await register(world, named(n));
    for (const address of [named("full"), `fresh@elsewhere-${domain()}`]) {
      world.advance(HOUR_MS);
      headers = bearer(await logIn(world, email));
      const answers = [await move(address), await move(address), await name(address), await name(address)];
      expect(answers.map(({ status }) => status)).toEqual([202, 429, 200, 429]);
    }
    expect([mailsTo(named("full")), mailsTo(typo)]).toEqual([0, 1]);
    const body = { token: mailedToken(world, typo), password: PASSWORD };
    expect((await post(world, "/v1/platform/verify-email", body)).status).toBe(422);
  });

  it("gets only three mails when twelve are requested at once", async () => {
    await Promise.all(Array.from({ length: 12 }, (_, n) => register(world, named(n))));
    expect(mailsToBox()).toBe(STRANGER_MAILS_PER_DAY);
  });

  it("gets no further mail by refusing each link, or by requesting links, a new password or to be a contact", async () => {
    const { email, key } = await signUp(world);
    const headers = bearer(await logIn(world, email));
    const address = named("x");
    await register(world, address);
    const token = mailedToken(world, address);
    expect((await post(world, "/v1/platform/verify-email/refuse", { token })).status).toBe(204);
    await register(world, address);
    const later = () => world.advance(LINK_REST_SECONDS * SECOND_MS);
    for (let n = 0; n < 3; n++) {
      later();
      expectStatus(await post(world, "/v1/platform/verify-email/resend", { email: address }), 202);
      expectStatus(await post(world, "/v1/platform/password/forgot", { email: address }), 202);
      const body = { admin_contact_email: named(n) };
      expectStatus(await world.call("PATCH", "/v1/platform", { key: null, headers, body }), 200);
      const move = { new_email: named(`y${n}`), current_password: PASSWORD };
      expectStatus(await post(world, "/v1/platform/email", move, headers), 202);
    }
    expect(mailsToBox()).toBe(STRANGER_MAILS_PER_DAY);
    expect((await world.call("GET", "/v1/platform", { key })).status).toBe(200);
  });

  it("gets the next mail on the next day, and then proves itself", async () => {
    for (let n = 0; n < 4; n++) await register(world, named(n));
    const last = named(3);
    expect(mailsTo(last)).toBe(0);
    world.advance(DAY_MS);
    expectStatus(await post(world, "/v1/platform/verify-email/resend", { email: last }), 202);
    const body = { token: mailedToken(world, last), password: PASSWORD };
    expect(expectStatus(await post(world, "/v1/platform/verify-email", body), 200).email).toBe(last);
  });

  it("is not stored by the count, which ends with the day", async () => {
    await register(world, named(1));
    const { results } = await env.DB.prepare("select * from mail_counts").all();
    expect(results).toMatchObject([{ mails: 1, ends_at: world.now() + DAY_MS }]);
    expect(JSON.stringify(results)).not.toContain("stranger");
    world.advance(DAY_MS);
    await world.run(pruneCredentials);
    expect((await env.DB.prepare("select * from mail_counts").all()).results).toEqual([]);
  });

  it("gets its links to a new password as before, once it is verified", async () => {
    const { email } = await signUp(world);
    for (let n = 0; n < 5; n++) {
      world.advance(LINK_REST_SECONDS * SECOND_MS);
      expectStatus(await post(world, "/v1/platform/password/forgot", { email }), 202);
    }
    expect(world.mails.filter(({ to, subject }) => to === email && subject === "Reset your password")).toHaveLength(5);
  });
});

describe("the notices of one account", () => {
  const CONTACT = "office@acme.example";
  const OWNER = "founder@acme.example";
  const tell = async (kind: "customer.account_closed" | "customer.key_rotated", times = 1): Promise<void> => {
    const { platformId, deps } = world;
    const platform = { platformId, legalName: "Acme GmbH", email: OWNER, adminContactEmail: CONTACT };
    const key = { environment: "sandbox", keyPrefix: "service_sandbox_ab", previousEndsAt: null } as const;
    const notice =
      kind === "customer.key_rotated" ? { kind, data: key } : ({ kind, data: { retentionYears: 5 } } as const);
    for (let n = 0; n < times; n++) {
      await commit(deps.db, [recordNotice(deps.db, platform, world.now(), notice as never)]);
    }
  };
  const digests = () => world.mails.filter(({ subject }) => /more notices of the last hour/.test(subject));

  it("are twenty an hour to each recipient, and one digest at its end", async () => {
    const over = 7;
    await tell("customer.account_closed", NOTICE_MAILS_PER_HOUR + over);
    await world.run(mailNotices);
    expect([mailsTo(OWNER), mailsTo(CONTACT)]).toEqual([NOTICE_MAILS_PER_HOUR, NOTICE_MAILS_PER_HOUR]);
    await tell("customer.account_closed");
    world.advance(HOUR_MS - 1);
    await world.run(mailNotices);
    expect(digests()).toEqual([]);
    world.advance(1);
    await world.run(mailNotices);
    expect(new Set(digests().map(({ to, subject }) => `${to}: ${subject}`))).toEqual(
      new Set([CONTACT, OWNER].map((to) => `${to}: ${over + 1} more notices of the last hour`)),
    );
    expect(digests()[0]?.text.match(/Your account is closed/g)).toHaveLength(over + 1);
    expect(digests()[0]?.text).toContain("Acme GmbH");
    expect(await rowsOf("notices", world.platformId)).toEqual([]);
  });

  it("start again with the next hour", async () => {
    await tell("customer.account_closed", NOTICE_MAILS_PER_HOUR);
    await world.run(mailNotices);
    world.advance(HOUR_MS);
    await tell("customer.account_closed");
    await world.run(mailNotices);
    expect([mailsTo(CONTACT), digests().length]).toEqual([NOTICE_MAILS_PER_HOUR + 1, 0]);
  });

  it("about its security all reach the owner, while a contact gets only its limit", async () => {
    await tell("customer.key_rotated", 27);
    await world.run(mailNotices);
    expect([mailsTo(OWNER), mailsTo(CONTACT)]).toEqual([27, NOTICE_MAILS_PER_HOUR]);
    world.advance(HOUR_MS);
    await world.run(mailNotices);
    expect(digests().map(({ to, subject }) => [to, subject])).toEqual([[CONTACT, "7 more notices of the last hour"]]);
  });

  it.each([
    "customer.key_issued",
    "customer.key_rotated",
    "customer.password_changed",
    "customer.password_reset",
    "customer.totp_enabled",
    "customer.totp_disabled",
    "customer.session_opened",
    "customer.log_ins_limited",
    "customer.email_changed",
    "customer.contact_changed",
    "customer.wallet_changed",
  ] as const)("%s is never held back from the owner, but is from the contact", async (kind) => {
    const { platformId, deps } = world;
    const platform = { platformId, legalName: "Acme GmbH", email: OWNER, adminContactEmail: CONTACT };
    await commit(deps.db, [recordNotice(deps.db, platform, world.now(), { kind, data: {} } as never)]);
    const rows = await rowsOf("notices", platformId);
    expect(rows.map(({ recipient, is_bounded }) => [recipient, is_bounded]).sort()).toEqual([
      [OWNER, 0],
      [CONTACT, 1],
    ]);
  });

  it("of sandbox wallets, which any key changes freely, are held back like others", async () => {
    const { platformId, deps } = world;
    const platform = { platformId, legalName: "Acme GmbH", email: OWNER, adminContactEmail: null };
    for (const environment of ["sandbox", "production"])
      await commit(deps.db, [
        recordNotice(deps.db, platform, world.now(), {
          kind: "customer.wallet_changed",
          data: { environment },
        } as never),
      ]);
    const told = (await rowsOf("notices", platformId)).map((row) => [JSON.parse(row.data).environment, row.is_bounded]);
    expect(told.sort()).toEqual([
      ["production", 0],
      ["sandbox", 1],
    ]);
  });

  it("are counted together by simultaneous runs", async () => {
    await tell("customer.account_closed", 2 * NOTICE_MAILS_PER_HOUR);
    await Promise.all([world.run(mailNotices), world.run(mailNotices), world.run(mailNotices)]);
    expect([mailsTo(OWNER), mailsTo(CONTACT)]).toEqual([NOTICE_MAILS_PER_HOUR, NOTICE_MAILS_PER_HOUR]);
  });

  it("are named up to a hundred in a digest, and the others are only counted", async () => {
    await tell("customer.account_closed", NOTICE_MAILS_PER_HOUR + DIGEST_LINES_MAX + 30);
    await world.run(mailNotices);
    world.advance(HOUR_MS);
    await world.run(mailNotices);
    const [digest] = digests();
    expect(digest?.subject).toBe(`${DIGEST_LINES_MAX + 30} more notices of the last hour`);
    expect(digest?.text.match(/Your account is closed/g)).toHaveLength(DIGEST_LINES_MAX);
    expect(digest?.text).toContain("And 30 more.");
  });

  // The run's batches: the due notices, the count, the held-back ones, the sent ones.
  it.each([2, 3])("are neither lost nor doubled in the digest when the run dies before batch %i", async (at) => {
    await tell("customer.account_closed", NOTICE_MAILS_PER_HOUR + 2);
    const dying = failingBatches(env.DB, (batch) => (batch === at ? "before" : "never"));
    await expect(world.run(mailNotices, withDatabase(world, dying).deps)).rejects.toThrow("not reachable");
    for (let hours = 0; hours < 3; hours++) {
      await world.run(mailNotices);
      world.advance(HOUR_MS);
    }
    await world.run(mailNotices);
    const lines = digests().filter(({ to }) => to === CONTACT);
    const told = lines.reduce((sum, { text }) => sum + (text.match(/Your account is closed/g)?.length ?? 0), 0);
    const single = world.mails.filter(({ to, subject }) => to === CONTACT && subject === "Your account is closed");
    expect(single.length + told).toBe(NOTICE_MAILS_PER_HOUR + 2);
  });
});
