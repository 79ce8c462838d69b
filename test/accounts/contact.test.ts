// The admin contact counts once its owner has opened the mailed link (ACC-29): until then the previous contact gets the notices.
import { beforeAll, describe, expect, it } from "vitest";
import { LINK_REST_SECONDS, SECOND_MS } from "../../src/core/limits.ts";
import { stopped } from "../support/clock.ts";
import { createWorld, env, expectStatus, type Json, type Reply, type World } from "../support/world.ts";
import {
  type Account,
  bearer,
  freshAddress,
  linksTo,
  logIn,
  mailedToken,
  PASSWORD,
  patch,
  post,
  postAs,
  readAccount,
  rowsOf,
  signUp,
} from "./support.ts";

let world: World;
beforeAll(async () => {
  world = await createWorld();
});

type Person = Account & { readonly session: string };
const person = async (at = world): Promise<Person> => {
  const account = await signUp(at);
  return { ...account, session: await logIn(at, account.email) };
};
const name = ({ session }: Person, admin_contact_email: string, at = world): Promise<Reply> =>
  at.call("PATCH", "/v1/platform", { key: null, headers: bearer(session), body: { admin_contact_email } });
const open = (token: string, at = world): Promise<Reply> => post(at, "/v1/platform/verify-email", { token });
const codeOf = ({ status, body }: Reply) => [status, body.code];
const contactsOf = async ({ key }: Person, at = world) => {
  const account = await readAccount(at, key);
  return [account.admin_contact_email, account.pending_admin_contact_email];
};
/** The recipients of the notice about a rotation. */
async function told({ key, platformId }: Person): Promise<string[]> {
  await env.DB.prepare("delete from notices").run();
  expectStatus(await world.call("POST", "/v1/platform/keys/rotate", { key, body: { grace_hours: 1 } }), 200);
  return (await rowsOf("notices", platformId)).map(({ recipient }) => recipient).toSorted();
}

describe("a new admin contact", () => {
  it("waits for its link, and gets no notice until then", async () => {
    const one = await person();
    const contact = freshAddress();
    expect(expectStatus(await name(one, contact), 200)).toMatchObject({
      admin_contact_email: one.email,
      pending_admin_contact_email: contact,
    });
    expect(linksTo(world, contact)).toBe(1);
    expect(await told(one)).toEqual([one.email]);
    const [entry] = (await rowsOf("activity_entries", one.platformId)).filter(
      ({ action }) => action === "account.profile_changed",
    );
    expect(JSON.parse(entry?.changes)).toEqual({ pending_admin_contact_email: { from: null, to: contact } });
  });

  it("counts from the link on, without a password, and all three addresses get a notice", async () => {
    const one = await person();
    const [first, second] = [freshAddress(), freshAddress()];
    await name(one, first);
    expect(expectStatus(await open(mailedToken(world, first)), 200)).toEqual({
      platform_id: one.platformId,
      platform_status: "PROFILE_PENDING",
      email: first,
    });
    expect(await contactsOf(one)).toEqual([first, null]);
    expect(await told(one)).toEqual([one.email, first].toSorted());
    await env.DB.prepare("delete from account_links where used_at is not null").run();
    await name(one, second);
    await env.DB.prepare("delete from notices").run();
    expectStatus(await open(mailedToken(world, second)), 200);
    const notices = await rowsOf("notices", one.platformId);
    expect(notices.map(({ recipient }) => recipient).toSorted()).toEqual([one.email, first, second].toSorted());
    for (const { data } of notices) expect(JSON.parse(data)).toMatchObject({ oldContact: first, newContact: second });
    const entry = (await rowsOf("activity_entries", one.platformId)).findLast(
      ({ action }) => action === "account.contact_confirmed",
    );
    expect(entry).toMatchObject({ actor_type: "system", actor_id: "mailed_link" });
    expect(JSON.parse(entry?.changes)).toEqual({
      admin_contact_email: { from: first, to: second },
      pending_admin_contact_email: { from: second, to: null },
    });
  });

  it("is confirmed once, and only by the last link", async () => {
    const at = stopped(await createWorld());
    const one = await person(at);
    const [first, second] = [freshAddress(), freshAddress()];
    expectStatus(await name(one, first, at), 200);
    expect(codeOf(await name(one, second, at))).toEqual([429, "rate_limited"]);
    at.advance(LINK_REST_SECONDS * SECOND_MS);
    expectStatus(await name(one, second, at), 200);
    expect(codeOf(await open(mailedToken(at, first), at))).toEqual([422, "validation_failed"]);
    expectStatus(await open(mailedToken(at, second), at), 200);
    expect(codeOf(await open(mailedToken(at, second), at))).toEqual([422, "validation_failed"]);
    expect(await contactsOf(one, at)).toEqual([second, null]);
  });

  it("that is already pending gets another link, and the log gets no new entry", async () => {
    const at = stopped(await createWorld());
    const one = await person(at);
    const contact = freshAddress();
    await name(one, contact, at);
    at.advance(LINK_REST_SECONDS * SECOND_MS);
    const entries = (await rowsOf("activity_entries", one.platformId)).length;
    expectStatus(await name(one, contact, at), 200);
    expect(linksTo(at, contact)).toBe(2);
    expect(await rowsOf("activity_entries", one.platformId)).toHaveLength(entries);
    expectStatus(await open(mailedToken(at, contact), at), 200);
  });

  it("is withdrawn when the present contact is named again, and its link no longer counts", async () => {
    const one = await person();
    const contact = freshAddress();
    await name(one, contact);
    expect(codeOf(await patch(world, one.key, { admin_contact_email: one.email }))).toEqual([
      400,
      "no_changes_requested",
    ]);
    expect(await contactsOf(one)).toEqual([one.email, contact]);
    expectStatus(await name(one, one.email.toUpperCase()), 200);
    expect(await contactsOf(one)).toEqual([one.email, null]);
    expect(codeOf(await open(mailedToken(world, contact)))).toEqual([422, "validation_failed"]);
  });

  it("needs no link if it is the account's own address", async () => {
    const one = await person();
    const contact = freshAddress();
    await name(one, contact);
    expectStatus(await open(mailedToken(world, contact)), 200);
    await env.DB.prepare("delete from notices").run();
    expectStatus(await name(one, one.email), 200);
    expect(await contactsOf(one)).toEqual([one.email, null]);
    const recipients = (await rowsOf("notices", one.platformId)).map(({ recipient }) => recipient);
    expect(recipients.toSorted()).toEqual([one.email, contact].toSorted());
  });

  it("does not outlive a change of the password, after which a thief's link is void", async () => {
    const one = await person();
    const contact = freshAddress();
    await name(one, contact);
    const body = { current_password: PASSWORD, new_password: "another battery staple" };
    expectStatus(await postAs(world, one.session, "/v1/platform/password", body), 200);
    expect(codeOf(await open(mailedToken(world, contact)))).toEqual([422, "validation_failed"]);
    expect((await contactsOf(one))[0]).toBe(one.email);
  });

  it("is refused by the recipient of the mail, and is forgotten", async () => {
    const one = await person();
    const contact = freshAddress();
    await name(one, contact);
    const token = mailedToken(world, contact);
    expect((await post(world, "/v1/platform/verify-email/refuse", { token })).status).toBe(204);
    expect(await contactsOf(one)).toEqual([one.email, null]);
    expect(codeOf(await open(token))).toEqual([422, "validation_failed"]);
    expect((await readAccount(world, one.key)).platform_status).toBe("PROFILE_PENDING");
  });

  it("can be set only by a person", async () => {
    const one = await person();
    const set = (body: Json) => patch(world, one.key, body);
    expect(codeOf(await set({ admin_contact_email: freshAddress() }))).toEqual([403, "forbidden"]);
    expect(codeOf(await set({ admin_contact_email: freshAddress(), country: "KP" }))).toEqual([403, "forbidden"]);
    expect(await contactsOf(one)).toEqual([one.email, null]);
  });

  it("is not confirmed while the account is suspended", async () => {
    const one = await person();
    const contact = freshAddress();
    await name(one, contact);
    await env.DB.prepare("update platforms set status = 'SUSPENDED' where platform_id = ?").bind(one.platformId).run();
    expect(codeOf(await open(mailedToken(world, contact)))).toEqual([403, "account_suspended"]);
  });

  it("needs no password on the page of its link", async () => {
    const one = await person();
    const contact = freshAddress();
    await name(one, contact);
    const mail = world.mails.findLast(({ to }) => to === contact);
    const path = /https?:\/\/[^/]+(\/v1\/platform\/verify-email\?\S+)/.exec(mail?.text ?? "")?.[1] ?? "";
    expect(path).toContain("contact=true");
    const page = await world.call("GET", path, { key: null });
    expect([page.status, page.text.includes('type="password"')]).toEqual([200, false]);
    expect(mail?.text).not.toContain(one.email);
  });
});
