// A mailed link makes its opener the owner only with the account's password (ACC-10, ACC-13). A person who got a mail that is not about him can
// refuse it.
import { beforeAll, describe, expect, it } from "vitest";
import { mailNotices } from "../../src/accounts/notices.ts";
import { LOG_IN_FAILURES_PER_ACCOUNT } from "../../src/core/limits.ts";
import { hashNewEntries } from "../../src/journal/activity-heads.ts";
import { dumpDatabase } from "../support/variants.ts";
import { createWorld, env, expectStatus, type Json, type Reply, type World } from "../support/world.ts";
import {
  bearer,
  freshAddress,
  freshClient,
  logIn,
  mailedToken,
  PASSWORD,
  post,
  postAs,
  register,
  rowsOf,
  signUp,
} from "./support.ts";

const OTHER = "a stranger's own password";

let world: World;
beforeAll(async () => {
  world = await createWorld();
});

type Headers = Record<string, string>;
const verify = (token: string, password?: unknown, headers: Headers = freshClient()): Promise<Reply> =>
  post(world, "/v1/platform/verify-email", { token, ...(password !== undefined && { password }) }, headers);
const refuse = (token: string): Promise<Reply> => post(world, "/v1/platform/verify-email/refuse", { token });
const faultsOf = ({ status, body }: Reply) => [
  status,
  body.code,
  ...(body.field_errors ?? []).map(({ field, code }: Json) => `${field} ${code}`),
];
const WRONG = [422, "current_password_invalid", "password current_password_invalid"];
const USED_UP = [422, "validation_failed", "token invalid_value"];

/** An account of a session that moves to another address, with the link that was mailed there. */
async function moving() {
  const account = await signUp(world);
  const token = await logIn(world, account.email);
  const email = freshAddress();
  const body = { new_email: email, current_password: PASSWORD };
  expectStatus(await postAs(world, token, "/v1/platform/email", body, freshClient()), 202);
  return { ...account, session: token, to: email, link: mailedToken(world, email) };
}

describe("an address that a stranger has registered", () => {
  it("is not verified by its owner, who does not know the password, and the stranger gets nothing", async () => {
    const email = freshAddress();
    const { platform_id } = expectStatus(
      await post(world, "/v1/platform/register", { email, password: OTHER }, freshClient()),
      201,
    );
    const link = mailedToken(world, email);
    const before = await dumpDatabase();
    expect(faultsOf(await verify(link))).toEqual([422, "validation_failed", "password required"]);
    expect(faultsOf(await verify(link, PASSWORD))).toEqual(WRONG);
    expect(await dumpDatabase()).toEqual(before);
    expect(await rowsOf("management_keys", platform_id)).toEqual([]);
    const entered = await post(world, "/v1/platform/sessions", { email, password: OTHER }, freshClient());
    expect([entered.status, entered.body.code]).toEqual([403, "email_not_verified"]);
  });

  it("is free again once its owner has refused the link, with all rows of the stranger's account", async () => {
    const email = freshAddress();
    const { platform_id } = await register(world, email);
    const link = mailedToken(world, email);
    await hashNewEntries(world.deps, platform_id);
    const kept = ["platforms", "passwords", "account_links", "activity_entries", "activity_chains"];
    const tables = [...kept, "account_volumes"];
    for (const table of tables) expect([table, (await rowsOf(table, platform_id)).length]).toEqual([table, 1]);
    expect((await refuse(link)).status).toBe(204);
    for (const table of tables) expect([table, await rowsOf(table, platform_id)]).toEqual([table, []]);
    expect(faultsOf(await refuse(link))).toEqual(USED_UP);
    expect(faultsOf(await verify(link, PASSWORD))).toEqual(USED_UP);
    expect((await post(world, "/v1/platform/sessions", { email, password: PASSWORD }, freshClient())).status).toBe(401);
    const again = await register(world, email);
    expect(again.platform_id).not.toBe(platform_id);
    expectStatus(await verify(mailedToken(world, email), PASSWORD), 200);
  });
});

it("puts nothing that a stranger wrote at registration into a notice to an unverified address", async () => {
  const email = freshAddress();
  const body = { email, password: OTHER, legal_name: "Call +1 900 555 now" };
  expectStatus(await post(world, "/v1/platform/register", body, freshClient()), 201);
  const link = mailedToken(world, email);
  expectStatus(await post(world, "/v1/platform/password/forgot", { email }, freshClient()), 202);
  const reset = { token: mailedToken(world, email), new_password: PASSWORD };
  expectStatus(await post(world, "/v1/platform/password/reset", reset, freshClient()), 200);
  expect((await refuse(link)).status).toBe(204);
  await world.run(mailNotices);
  const told = world.mails.filter(({ to }) => to === email).map(({ text }) => text);
  expect(told.at(-1)).toContain(`The password of the account of ${email} was reset`);
  expect(told.join()).not.toContain("900 555");
});

describe("a link", () => {
  it("is unchanged after a wrong password, and works with the right one", async () => {
    const email = freshAddress();
    await register(world, email);
    const link = mailedToken(world, email);
    expect(faultsOf(await verify(link, OTHER))).toEqual(WRONG);
    expect(faultsOf(await verify(link, 5))).toEqual([422, "validation_failed", "password invalid_type"]);
    expect(expectStatus(await verify(link, PASSWORD), 200)).toMatchObject({
      platform_status: "PROFILE_PENDING",
      email,
    });
    expect(faultsOf(await verify(link, PASSWORD))).toEqual(USED_UP);
  });

  it("does not bypass the limit of log-ins: its failures count as theirs, and end together", async () => {
    const email = freshAddress();
    await register(world, email);
    const link = mailedToken(world, email);
    const client = freshClient();
    for (let n = 0; n < LOG_IN_FAILURES_PER_ACCOUNT; n++)
      expect(faultsOf(await verify(link, OTHER, client))).toEqual(WRONG);
    const shut = await verify(link, PASSWORD, client);
    expect([shut.status, shut.body.code]).toEqual([429, "rate_limited"]);
    expect((await post(world, "/v1/platform/sessions", { email, password: PASSWORD }, client)).status).toBe(429);
    // The owner continues from another address.
    expectStatus(await verify(link, PASSWORD), 200);
  });

  it("to a new address moves the account only with its password", async () => {
    const { link, to, key, email } = await moving();
    expect(faultsOf(await verify(link))).toEqual([422, "validation_failed", "password required"]);
    expect(faultsOf(await verify(link, OTHER))).toEqual(WRONG);
    const address = async () => expectStatus(await world.call("GET", "/v1/platform", { key }), 200).email;
    expect(await address()).toBe(email);
    expectStatus(await verify(link, PASSWORD), 200);
    expect(await address()).toBe(to);
  });

  it("to a new address that is refused only ends itself: the account stays unchanged, and its log says so", async () => {
    const { link, key, email, to, session, platformId } = await moving();
    const [before] = await rowsOf("platforms", platformId);
    expect((await refuse(link)).status).toBe(204);
    expect(faultsOf(await verify(link, PASSWORD))).toEqual(USED_UP);
    expect(await rowsOf("platforms", platformId)).toEqual([before]);
    expect((await world.call("GET", "/v1/platform/keys", { key: null, headers: bearer(session) })).status).toBe(200);
    const log = "/v1/platform/activity?action=account.link_refused";
    expect(expectStatus(await world.call("GET", log, { key }), 200).data).toMatchObject([
      {
        actor: { type: "system", id: "mailed_link" },
        subject: { type: "platform", id: platformId },
        changes: { change_email: { from: to, to: null } },
      },
    ]);
    expect(email).not.toBe(to);
  });

  it("of a reset is neither verified nor refused here", async () => {
    const { email } = await signUp(world);
    expectStatus(await post(world, "/v1/platform/password/forgot", { email }, freshClient()), 202);
    const link = mailedToken(world, email);
    expect([faultsOf(await verify(link, PASSWORD)), faultsOf(await refuse(link))]).toEqual([USED_UP, USED_UP]);
    const body = { token: link, new_password: OTHER };
    expectStatus(await post(world, "/v1/platform/password/reset", body, freshClient()), 200);
  });

  it("of an account that an operator has suspended before it began only ends itself", async () => {
    const email = freshAddress();
    const { platform_id } = await register(world, email);
    await env.DB.prepare(
      "update platforms set status = 'SUSPENDED', suspended_from = 'EMAIL_PENDING' where platform_id = ?",
    )
      .bind(platform_id)
      .run();
    expect((await refuse(mailedToken(world, email))).status).toBe(204);
    expect(await rowsOf("platforms", platform_id)).toHaveLength(1);
    expect(faultsOf(await verify(mailedToken(world, email), PASSWORD))).toEqual(USED_UP);
  });

  it.each([
    ["refused between the two trips of its verification is refused, and the account is gone", true],
    ["verified between the two trips of its refusal is verified, and the account stays", false],
  ])("%s", async (_what, refusedMeanwhile) => {
    const email = freshAddress();
    const { platform_id } = await register(world, email);
    const link = mailedToken(world, email);
    const [act, meanwhile] = refusedMeanwhile
      ? [() => verify(link, PASSWORD), () => refuse(link)]
      : [() => refuse(link), () => verify(link, PASSWORD)];
    let won: Reply | undefined;
    world.meter.beforeBatch(2, async () => {
      won = await meanwhile();
    });
    expect(faultsOf(await act())).toEqual(USED_UP);
    expect(won?.status).toBe(refusedMeanwhile ? 204 : 200);
    const left = refusedMeanwhile ? 0 : 1;
    expect(await rowsOf("platforms", platform_id)).toHaveLength(left);
    expect(await rowsOf("management_keys", platform_id)).toHaveLength(left);
  });
});
