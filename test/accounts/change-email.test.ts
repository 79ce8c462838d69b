// The account's address changes only by the link that the new address receives (ACC-13).
import { beforeAll, describe, expect, it } from "vitest";
import { mailNotices } from "../../src/accounts/notices.ts";
import { HOUR_MS, LINK_HOURS, MINUTE_MS } from "../../src/core/limits.ts";
import { stopped } from "../support/clock.ts";
import { dumpDatabase, failingBatches, type Moment, withDatabase } from "../support/variants.ts";
import { createWorld, env, expectStatus, type Reply, type World } from "../support/world.ts";
import {
  type Account,
  bearer,
  freshAddress,
  freshClient,
  linksTo,
  logIn,
  mailedToken,
  PASSWORD,
  post,
  postAs,
  register,
  rowsOf,
  signUp,
} from "./support.ts";

let world: World;
beforeAll(async () => {
  world = await createWorld();
});

type Person = Account & { token: string };
async function person(at = world): Promise<Person> {
  const account = await signUp(at);
  return { ...account, token: await logIn(at, account.email) };
}
const ask = (one: Person, new_email: string, current_password = PASSWORD, at = world): Promise<Reply> =>
  postAs(at, one.token, "/v1/platform/email", { new_email, current_password }, freshClient());
const verify = (token: string, at = world): Promise<Reply> =>
  post(at, "/v1/platform/verify-email", { token, password: PASSWORD }, freshClient());
const codeOf = ({ status, body }: Reply) => [status, body.code];
const emailOf = async ({ key }: Account): Promise<string> =>
  (await world.call("GET", "/v1/platform", { key })).body.email;
const statusOf = async (email: string) =>
  (await post(world, "/v1/platform/sessions", { email, password: PASSWORD }, freshClient())).status;

describe("a change of the address", () => {
  it("changes nothing until the new address is verified, and then only the address", async () => {
    const one = await person();
    const next = freshAddress();
    expect(expectStatus(await ask(one, next), 202)).toEqual({ status: "accepted" });
    expect(world.mails.at(-1)).toMatchObject({ to: next, subject: "Verify your new email address" });
    expect([await emailOf(one), await statusOf(next), await statusOf(one.email)]).toEqual([one.email, 401, 201]);
    const verified = expectStatus(await verify(mailedToken(world, next)), 200);
    expect(verified).toEqual({ platform_id: one.platformId, platform_status: "PROFILE_PENDING", email: next });
    expect([await emailOf(one), await statusOf(next), await statusOf(one.email)]).toEqual([next, 201, 401]);
    // Sessions continue, and name the new address from now on.
    expectStatus(await world.call("GET", "/v1/platform/keys", { key: null, headers: bearer(one.token) }), 200);
    expect(await rowsOf("management_keys", one.platformId)).toHaveLength(1);
  });

  it("is an entry of the log with both addresses, and a notice to both", async () => {
    const later = stopped(await createWorld());
    const one = await person(later);
    const next = freshAddress();
    await ask(one, next, PASSWORD, later);
    expectStatus(await verify(mailedToken(later, next), later), 200);
    const [entry] = (await rowsOf("activity_entries", one.platformId)).filter(
      ({ action }) => action === "account.email_changed",
    );
    const moved = { from: one.email, to: next };
    expect(entry).toMatchObject({ actor_type: "dashboard_admin", actor_id: one.email, subject_id: one.platformId });
    expect(JSON.parse(entry.changes)).toEqual({ email: moved, admin_contact_email: moved });
    await later.run(mailNotices);
    const told = later.mails.filter(
      ({ subject, text }) => subject === "Your email address was changed" && text.includes(one.email),
    );
    expect(told.map(({ to }) => to).sort()).toEqual([one.email, next].sort());
    for (const { text } of told) expect(text).toContain(`from ${one.email} to ${next}`);
  });

  it("keeps an admin contact with another address, and notifies it too", async () => {
    const one = await person();
    const contact = freshAddress();
    const set = "update platforms set admin_contact_email = ? where platform_id = ?";
    await env.DB.prepare(set).bind(contact, one.platformId).run();
    const next = freshAddress();
    await ask(one, next);
    expectStatus(await verify(mailedToken(world, next)), 200);
    expect((await world.call("GET", "/v1/platform", { key: one.key })).body.admin_contact_email).toBe(contact);
    const notices = (await rowsOf("notices", one.platformId)).filter(({ kind }) => kind === "customer.email_changed");
    expect(notices.map(({ recipient }) => recipient).sort()).toEqual([one.email, next, contact].sort());
  });

  it("ends a reset link that was mailed to the old address", async () => {
    const one = await person();
    await post(world, "/v1/platform/password/forgot", { email: one.email });
    const link = mailedToken(world, one.email);
    const next = freshAddress();
    await ask(one, next);
    expectStatus(await verify(mailedToken(world, next)), 200);
    const body = { token: link, new_password: "another battery staple" };
    expect((await post(world, "/v1/platform/password/reset", body)).status).toBe(422);
  });

  it("accepts only the last link, and mails one a minute and five an hour", async () => {
    const later = stopped(await createWorld());
    const one = await person(later);
    const [first, second] = [freshAddress(), freshAddress()];
    expectStatus(await ask(one, first, PASSWORD, later), 202);
    const tooSoon = await ask(one, second, PASSWORD, later);
    expect(codeOf(tooSoon)).toEqual([429, "rate_limited"]);
    expect(Number(tooSoon.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(Number(tooSoon.headers.get("retry-after"))).toBeLessThanOrEqual(60);
    later.advance(MINUTE_MS + 1_000);
    expectStatus(await ask(one, second, PASSWORD, later), 202);
    expect((await verify(mailedToken(later, first), later)).status).toBe(422);
    // Each to another address, because a stranger's address gets few mails a day.
    const others = [freshAddress(), freshAddress(), freshAddress()];
    for (const other of others) {
      later.advance(MINUTE_MS + 1_000);
      expectStatus(await ask(one, other, PASSWORD, later), 202);
    }
    const last = others.at(-1) ?? "";
    later.advance(MINUTE_MS + 1_000);
    const sixth = await ask(one, second, PASSWORD, later);
    expect([sixth.status, Number(sixth.headers.get("retry-after")) > 60]).toEqual([429, true]);
    later.advance(LINK_HOURS * HOUR_MS - 10 * MINUTE_MS);
    expectStatus(await verify(mailedToken(later, last), later), 200);
  });

  it("mails one link for simultaneous requests", async () => {
    const one = await person();
    const next = freshAddress();
    const replies = await Promise.all(Array.from({ length: 5 }, () => ask(one, next)));
    expect(replies.map(({ status }) => status).sort()).toEqual([202, 429, 429, 429, 429]);
    expect(linksTo(world, next)).toBe(1);
  });

  it("happens once when 20 verifications arrive at once", async () => {
    const one = await person();
    const next = freshAddress();
    await ask(one, next);
    const token = mailedToken(world, next);
    const replies = await Promise.all(Array.from({ length: 20 }, () => verify(token)));
    expect(replies.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(replies.filter(({ status }) => status === 422)).toHaveLength(19);
  });
});

describe("the change is refused", () => {
  it("with a wrong password, before it reveals whether the address has an account", async () => {
    const [one, other] = [await person(), await signUp(world)];
    const before = await dumpDatabase();
    for (const address of [other.email, freshAddress()]) {
      expect(codeOf(await ask(one, address, "not the password"))).toEqual([422, "current_password_invalid"]);
    }
    expect(await dumpDatabase()).toEqual(before);
  });

  it("with 409 for the address of another account, also of an unverified one, and mails no one", async () => {
    const [one, other] = [await person(), await signUp(world)];
    const waiting = freshAddress();
    await register(world, waiting);
    const mails = world.mails.length;
    const before = await dumpDatabase();
    for (const address of [other.email.toUpperCase(), waiting]) {
      expect(codeOf(await ask(one, address))).toEqual([409, "email_already_in_use"]);
    }
    expect(await dumpDatabase()).toEqual(before);
    expect(world.mails).toHaveLength(mails);
  });

  it("with 400 for the address that it already has, in any case", async () => {
    const one = await person();
    expect(codeOf(await ask(one, one.email.toUpperCase()))).toEqual([400, "no_changes_requested"]);
  });

  it("without a session: a management key cannot make it", async () => {
    const { key } = await signUp(world);
    const body = { new_email: freshAddress(), current_password: PASSWORD };
    expect(codeOf(await world.call("POST", "/v1/platform/email", { key, body }))).toEqual([401, "invalid_credentials"]);
  });

  it("with 409 at the verification if the address was taken meanwhile, and the link stays valid", async () => {
    const one = await person();
    const next = freshAddress();
    await ask(one, next);
    const token = mailedToken(world, next);
    const { platform_id: taker } = await register(world, next);
    const before = await dumpDatabase();
    expect(codeOf(await verify(token))).toEqual([409, "email_already_in_use"]);
    expect(await dumpDatabase()).toEqual(before);
    await env.DB.prepare("delete from platforms where platform_id = ?").bind(taker).run();
    expectStatus(await verify(token), 200);
  });

  it("when the address is taken between its read and its change", async () => {
    const one = await person();
    const next = freshAddress();
    await ask(one, next);
    const token = mailedToken(world, next);
    const d1 = failingBatches(env.DB, async (batch): Promise<Moment> => {
      if (batch === 2) await register(world, next);
      return "never";
    });
    expect(codeOf(await verify(token, withDatabase(world, d1)))).toEqual([409, "email_already_in_use"]);
    expect(await emailOf(one)).toBe(one.email);
  });

  it("with 403 while the account is SUSPENDED", async () => {
    const one = await person();
    const next = freshAddress();
    await ask(one, next);
    const set = "update platforms set status = 'SUSPENDED' where platform_id = ?";
    await env.DB.prepare(set).bind(one.platformId).run();
    expect(codeOf(await verify(mailedToken(world, next)))).toEqual([403, "account_suspended"]);
  });
});

describe("the kinds of links", () => {
  it("cannot replace each other: a verification begins an account, and moves no address", async () => {
    const email = freshAddress();
    await register(world, email);
    const begun = expectStatus(await verify(mailedToken(world, email)), 200);
    expect([begun.email, begun.api_key.environment]).toEqual([email, "sandbox"]);
    const one = await person();
    await post(world, "/v1/platform/password/forgot", { email: one.email });
    expect((await verify(mailedToken(world, one.email))).status).toBe(422);
  });

  it("cannot replace each other: a change of the address issues no key and begins no account", async () => {
    const one = await person();
    const next = freshAddress();
    await ask(one, next);
    const token = mailedToken(world, next);
    const reset = await post(world, "/v1/platform/password/reset", { token, new_password: "another battery staple" });
    expect(reset.status).toBe(422);
    expect(expectStatus(await verify(token), 200).api_key).toBeUndefined();
    expect(await rowsOf("management_keys", one.platformId)).toHaveLength(1);
  });
});
