// Change and reset of the password (CRED-22, CRED-23, CRED-25): an intruder is locked out, and a request reveals nothing to a stranger.
import { beforeAll, describe, expect, it } from "vitest";
import { computeSha256Hex } from "../../src/core/encoding.ts";
import { HOUR_MS, LINK_HOURS, MINUTE_MS } from "../../src/core/limits.ts";
import { stopped } from "../support/clock.ts";
import { dumpDatabase } from "../support/variants.ts";
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

const NEW = "another battery staple";

let world: World;
beforeAll(async () => {
  world = await createWorld();
});

const change = (token: string, body: object, client = freshClient()): Promise<Reply> =>
  postAs(world, token, "/v1/platform/password", body, client);
const forgot = (email: string, at = world): Promise<Reply> => post(at, "/v1/platform/password/forgot", { email });
const verify = (token: string, password: string) => post(world, "/v1/platform/verify-email", { token, password });
const reset = (token: string, password = NEW, at = world): Promise<Reply> =>
  post(at, "/v1/platform/password/reset", { token, new_password: password }, freshClient());
const opens = async (email: string, password: string): Promise<number> =>
  (await post(world, "/v1/platform/sessions", { email, password }, freshClient())).status;
const works = async (token: string): Promise<number> =>
  (await world.call("GET", "/v1/platform", { key: null, headers: bearer(token) })).status;
const codeOf = ({ status, body }: Reply) => [status, body.code];

/** An account with a session. */
async function person(): Promise<Account & { token: string }> {
  const account = await signUp(world);
  return { ...account, token: await logIn(world, account.email) };
}
async function resetLink(email: string): Promise<string> {
  await forgot(email);
  return mailedToken(world, email);
}
const entriesOf = async (platformId: string, action: string) =>
  (await rowsOf("activity_entries", platformId)).filter((entry) => entry.action === action);
const noticesOf = async (platformId: string, kind: string) =>
  (await rowsOf("notices", platformId)).filter((notice) => notice.kind === kind);

describe("the change of the password", () => {
  it("ends every session but the calling one, and every link that was mailed before, while keys still work", async () => {
    const one = await person();
    const other = await logIn(world, one.email);
    const link = await resetLink(one.email);
    const email = freshAddress();
    expectStatus(
      await postAs(world, one.token, "/v1/platform/email", { new_email: email, current_password: PASSWORD }),
      202,
    );
    const reply = await change(one.token, { current_password: PASSWORD, new_password: NEW });
    const changed = expectStatus(reply, 200);
    expect(changed).toEqual({ platform_id: one.platformId, changed_at: expect.any(String) });
    expect(reply.headers.get("set-cookie")).toBeNull();
    expect([await works(one.token), await works(other)]).toEqual([200, 401]);
    expect(await rowsOf("sessions", one.platformId)).toMatchObject([{ token_hash: await computeSha256Hex(one.token) }]);
    expect([await opens(one.email, PASSWORD), await opens(one.email, NEW)]).toEqual([401, 201]);
    expect((await reset(link, "a third battery staple")).status).toBe(422);
    expect((await verify(mailedToken(world, email), NEW)).status).toBe(422);
    expect((await world.call("GET", "/v1/platform", { key: one.key })).body.email).toBe(one.email);
  });

  it("lets no session write that it has ended between the two trips of a call", async () => {
    const own = await createWorld();
    const one = await signUp(own);
    const [thief, owner] = [await logIn(own, one.email), await logIn(own, one.email)];
    own.meter.beforeBatch(2, async () => {
      const body = { current_password: PASSWORD, new_password: NEW };
      expectStatus(await postAs(own, owner, "/v1/platform/password", body), 200);
    });
    const late = await postAs(own, thief, "/v1/platform/keys/rotate", {});
    expect(codeOf(late)).toEqual([401, "invalid_credentials"]);
    expect((await own.call("GET", "/v1/platform", { key: one.key })).status).toBe(200);
  });

  it("is an entry of the log and a notice, neither with a password", async () => {
    const one = await person();
    expectStatus(await change(one.token, { current_password: PASSWORD, new_password: NEW }), 200);
    expect(await entriesOf(one.platformId, "account.password_changed")).toMatchObject([
      { actor_type: "dashboard_admin", actor_id: one.email, subject_type: "platform", changes: null },
    ]);
    expect(await noticesOf(one.platformId, "customer.password_changed")).toMatchObject([{ recipient: one.email }]);
    const stored = JSON.stringify(await dumpDatabase());
    for (const secret of [PASSWORD, NEW, one.token]) expect(stored).not.toContain(secret);
  });

  it("is refused with a wrong current password, which counts as a failed log-in, and changes nothing", async () => {
    const one = await person();
    const client = freshClient();
    const before = await dumpDatabase();
    for (let n = 0; n < 10; n++) {
      const reply = await change(one.token, { current_password: "not the password", new_password: NEW }, client);
      expect(codeOf(reply)).toEqual([422, "current_password_invalid"]);
      expect(reply.body.field_errors).toMatchObject([{ field: "current_password" }]);
    }
    const stopped = await change(one.token, { current_password: PASSWORD, new_password: NEW }, client);
    expect(codeOf(stopped)).toEqual([429, "rate_limited"]);
    expect(Number(stopped.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(await dumpDatabase()).toEqual(before);
    expect(await works(one.token)).toBe(200);
    // A log-in from there is refused too.
    const body = { email: one.email, password: PASSWORD };
    expect((await post(world, "/v1/platform/sessions", body, client)).status).toBe(429);
  });

  it.each([
    ["the current one", () => PASSWORD],
    ["the address", (email: string) => email],
    ["one of the most common", () => "1qaz2wsx3edc"],
    ["too short", () => "short"],
  ])("refuses a new password that is %s, as a fault of new_password", async (_what, make) => {
    const one = await person();
    const before = await dumpDatabase();
    const reply = await change(one.token, { current_password: PASSWORD, new_password: make(one.email) });
    expect(codeOf(reply)).toEqual([422, "validation_failed"]);
    expect(reply.body.field_errors).toMatchObject([{ field: "new_password" }]);
    expect(await dumpDatabase()).toEqual(before);
  });

  it("names the faults of the schema and of the new password together", async () => {
    const one = await person();
    const reply = await change(one.token, { current_password: PASSWORD, new_password: "1qaz2wsx3edc", colour: "red" });
    expect(reply.body.field_errors.map(({ field }: { field: string }) => field).sort()).toEqual([
      "colour",
      "new_password",
    ]);
  });

  it("can be made only by a person: a management key is refused", async () => {
    const one = await person();
    const body = { current_password: PASSWORD, new_password: NEW };
    const reply = await world.call("POST", "/v1/platform/password", { key: one.key, body });
    expect(codeOf(reply)).toEqual([401, "invalid_credentials"]);
  });

  it("happens once when two calls come at once", async () => {
    const one = await person();
    const bodies = [NEW, "a third battery staple"].map((new_password) => ({
      current_password: PASSWORD,
      new_password,
    }));
    const replies = await Promise.all(bodies.map((body) => change(one.token, body)));
    expect(replies.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(await entriesOf(one.platformId, "account.password_changed")).toHaveLength(1);
  });
});

describe("a request for a reset", () => {
  it("gets the same answer for every address, and mails only accounts that are not closed", async () => {
    const known = await signUp(world);
    const waiting = freshAddress();
    await register(world, waiting);
    const closed = await signUp(world);
    await env.DB.prepare("update platforms set status = 'CLOSED', closed_at = 1 where platform_id = ?")
      .bind(closed.platformId)
      .run();
    const suspended = await signUp(world);
    await env.DB.prepare("update platforms set status = 'SUSPENDED' where platform_id = ?")
      .bind(suspended.platformId)
      .run();
    const addresses = [known.email.toUpperCase(), waiting, closed.email, freshAddress(), suspended.email];
    const mails = world.mails.length;
    const replies: Reply[] = [];
    const trips: unknown[] = [];
    for (const address of addresses) {
      world.meter.reset();
      replies.push(await forgot(address));
      trips.push(world.meter.reading.trips);
    }
    expect(replies.map(({ status, body }) => [status, body])).toEqual(
      addresses.map(() => [202, { status: "accepted" }]),
    );
    // The link's row is written after the answer, with the count of its mail.
    expect(trips).toEqual([2, 2, 1, 1, 2]);
    expect(world.mails.slice(mails).map(({ to }) => to)).toEqual([known.email, waiting, suspended.email]);
    expect(world.mails.at(-1)?.subject).toBe("Reset your password");
  });

  it("is mailed once a minute and five times an hour, and once when ten come at once", async () => {
    const later = stopped(await createWorld());
    const { email } = await signUp(later);
    const signedUp = linksTo(later, email);
    const mailed = () => linksTo(later, email) - signedUp;
    await Promise.all(Array.from({ length: 10 }, () => forgot(email, later)));
    expect(mailed()).toBe(1);
    later.advance(MINUTE_MS / 2);
    await forgot(email, later);
    expect(mailed()).toBe(1);
    for (let n = 0; n < 8; n++) {
      later.advance(MINUTE_MS + 1_000);
      await forgot(email, later);
    }
    expect(mailed()).toBe(5);
    later.advance(HOUR_MS);
    await forgot(email, later);
    expect(mailed()).toBe(6);
  });

  it("ends the previous link, and stores the token only as a hash", async () => {
    const later = stopped(await createWorld());
    const { email } = await signUp(later);
    await forgot(email, later);
    const first = mailedToken(later, email);
    later.advance(MINUTE_MS + 1_000);
    await forgot(email, later);
    const second = mailedToken(later, email);
    const stored = JSON.stringify(await dumpDatabase());
    expect(stored).not.toContain(second);
    expect(stored).toContain(await computeSha256Hex(second));
    expect((await reset(first, NEW, later)).status).toBe(422);
    expectStatus(await reset(second, NEW, later), 200);
  });
});

describe("the reset", () => {
  it("sets the password, ends every session, and is an entry of the log and a notice", async () => {
    const one = await person();
    const link = await resetLink(one.email);
    expect(expectStatus(await reset(link), 200)).toEqual({
      platform_id: one.platformId,
      changed_at: expect.any(String),
    });
    expect(await works(one.token)).toBe(401);
    expect([await opens(one.email, PASSWORD), await opens(one.email, NEW)]).toEqual([401, 201]);
    expect(await entriesOf(one.platformId, "account.password_reset")).toMatchObject([{ actor_id: one.email }]);
    expect(await noticesOf(one.platformId, "customer.password_reset")).toHaveLength(1);
  });

  it("is open to a SUSPENDED account, which stays suspended", async () => {
    const { email, platformId } = await signUp(world);
    const set = "update platforms set status = 'SUSPENDED' where platform_id = ?";
    await env.DB.prepare(set).bind(platformId).run();
    expectStatus(await reset(await resetLink(email)), 200);
    expect([await opens(email, PASSWORD), await opens(email, NEW)]).toEqual([401, 403]);
  });

  it("takes an account from the stranger who registered it, before it is verified and after", async () => {
    const email = freshAddress();
    await register(world, email);
    const link = mailedToken(world, email);
    expectStatus(await reset(await resetLink(email)), 200);
    expect(codeOf(await post(world, "/v1/platform/sessions", { email, password: NEW }, freshClient()))).toEqual([
      ...[403, "email_not_verified"],
    ]);
    expectStatus(await verify(link, NEW), 200);
    expect([await opens(email, PASSWORD), await opens(email, NEW)]).toEqual([401, 201]);
  });

  it("uses the link up once when 20 calls come at once", async () => {
    const { email, platformId } = await signUp(world);
    const link = await resetLink(email);
    const replies = await Promise.all(Array.from({ length: 20 }, () => reset(link)));
    expect(replies.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(replies.filter(({ status }) => status === 422)).toHaveLength(19);
    expect(await entriesOf(platformId, "account.password_reset")).toHaveLength(1);
  });

  it("keeps the link while the new password is faulty, even if the schema refuses it", async () => {
    const { email } = await signUp(world);
    const link = await resetLink(email);
    for (const faulty of [email, "1qaz2wsx3edc", "short"]) {
      const reply = await reset(link, faulty);
      expect(reply.body.field_errors).toMatchObject([{ field: "new_password" }]);
    }
    expectStatus(await reset(link), 200);
  });

  it.each([
    ["unknown", async () => "x".repeat(43)],
    [
      "used",
      async (email: string) => {
        const link = await resetLink(email);
        await reset(link, "a third battery staple");
        return link;
      },
    ],
    [
      "of another kind",
      async () => {
        const waiting = freshAddress();
        await register(world, waiting);
        return mailedToken(world, waiting);
      },
    ],
    [
      "of an address that the account has left",
      async (email: string) => {
        const link = await resetLink(email);
        await env.DB.prepare("update platforms set email = 'new@startup.example' where email = ?").bind(email).run();
        return link;
      },
    ],
    [
      "of a closed account",
      async (email: string) => {
        const link = await resetLink(email);
        await env.DB.prepare("update platforms set status = 'CLOSED', closed_at = 1 where email = ?").bind(email).run();
        return link;
      },
    ],
  ])("refuses a link that is %s, with the same words, and changes nothing", async (_what, make) => {
    const { email } = await signUp(world);
    const link = await make(email);
    const before = await dumpDatabase();
    const reply = await reset(link);
    expect(codeOf(reply)).toEqual([422, "validation_failed"]);
    expect(reply.body.field_errors).toEqual([
      { field: "token", code: "invalid_value", message: "The link is unknown, used or expired." },
    ]);
    expect(await dumpDatabase()).toEqual(before);
  });

  it("is refused exactly 24 hours after the mail", async () => {
    const later = stopped(await createWorld());
    const { email } = await signUp(later);
    await forgot(email, later);
    const link = mailedToken(later, email);
    later.advance(LINK_HOURS * HOUR_MS);
    expect((await reset(link, NEW, later)).status).toBe(422);
  });

  it("lets in an owner whose own failures had locked the account", async () => {
    const { email } = await signUp(world);
    const client = freshClient();
    const guess = (password: string) => post(world, "/v1/platform/sessions", { email, password }, client);
    await Promise.all(Array.from({ length: 10 }, () => guess("not the password")));
    expect((await guess(PASSWORD)).status).toBe(429);
    const link = await resetLink(email);
    const body = { token: link, new_password: NEW };
    expectStatus(await post(world, "/v1/platform/password/reset", body, client), 200);
    expectStatus(await guess(NEW), 201);
  });
});
