// Plays of passwords, of the address, of announcements, and of the jobs of accounts.
import { announceJob } from "../../../src/accounts/announcements.ts";
import { pruneCredentials } from "../../../src/accounts/erase.ts";
import { mailNotices } from "../../../src/accounts/notices.ts";
import { removeUnverified } from "../../../src/accounts/sign-up.ts";
import { NOTICE_MAILS_PER_HOUR } from "../../../src/core/limits.ts";
import { recordNotice } from "../../../src/journal/alerts.ts";
import {
  type Account,
  freshAddress,
  logIn,
  mailedToken,
  PASSWORD,
  post,
  postAs,
  register,
  signUp,
} from "../../accounts/support.ts";
import { env, type World } from "../../support/world.ts";
import { must, ofNobody, operator, type Play, type Plays, store } from "./stage.ts";

const NEW_PASSWORD = "another battery staple";
const NOTICE = { kind: "maintenance", subject: "Maintenance on Sunday", text: "From 02:00 to 02:10 UTC." };

/** A play of one account with a session. `prepare` returns a value for the act. */
export const ofPerson =
  <T>(
    prepare: (world: World, account: Account, token: string) => Promise<T>,
    act: (world: World, account: Account, token: string, prepared: T) => Promise<unknown>,
  ): Play =>
  async ({ world }) => {
    const account = await signUp(world);
    const token = await logIn(world, account.email);
    const prepared = await prepare(world, account, token);
    return async () => {
      await act(world, account, token, prepared);
      return { account: [account.platformId] };
    };
  };

const forgot = (world: World, email: string) => must(202, post(world, "/v1/platform/password/forgot", { email }));
const askMove = (world: World, token: string, email: string) =>
  must(202, postAs(world, token, "/v1/platform/email", { new_email: email, current_password: PASSWORD }));
const change = (world: World, token: string) => {
  const body = { current_password: PASSWORD, new_password: NEW_PASSWORD };
  return must(200, postAs(world, token, "/v1/platform/password", body));
};
const sendNotice = (world: World) =>
  must(202, world.call("POST", "/v1/operator/notices", { ...operator(), body: NOTICE }));
const run = async (sql: string, ...params: unknown[]) => {
  await env.DB.prepare(sql)
    .bind(...params)
    .run();
};

const nothing = async () => undefined;

/** For verifyEmail. */
export const verifyingNewAddress: Play = ofPerson(
  async (world, _account, token) => {
    const email = freshAddress();
    await askMove(world, token, email);
    return mailedToken(world, email);
  },
  (world, _account, _token, link) =>
    must(200, post(world, "/v1/platform/verify-email", { token: link, password: PASSWORD })),
);

/** For refuseVerification. */
export const refusingNewAddress: Play = ofPerson(
  async (world, _account, token) => {
    const email = freshAddress();
    await askMove(world, token, email);
    return mailedToken(world, email);
  },
  (world, _account, _token, link) => must(204, post(world, "/v1/platform/verify-email/refuse", { token: link })),
);

const nameContact = async (world: World, token: string, admin_contact_email: string) => {
  const headers = { Authorization: `Bearer ${token}` };
  await must(200, world.call("PATCH", "/v1/platform", { key: null, headers, body: { admin_contact_email } }));
};
const waitingContact = async (world: World, _account: Account, token: string) => {
  const email = freshAddress();
  await nameContact(world, token, email);
  return mailedToken(world, email);
};

/** For verifyEmail. */
export const confirmingContact: Play = ofPerson(waitingContact, (world, _account, _token, link) =>
  must(200, post(world, "/v1/platform/verify-email", { token: link })),
);

/** For refuseVerification. */
export const refusingContact: Play = ofPerson(waitingContact, (world, _account, _token, link) =>
  must(204, post(world, "/v1/platform/verify-email/refuse", { token: link })),
);

/** For patchPlatform. */
export const namingContact: Play = ofPerson(nothing, (world, _account, token) =>
  nameContact(world, token, freshAddress()),
);

/** For patchPlatform. */
export const namingOwnAddress: Play = ofPerson(
  async (world, account, token) => {
    const link = await waitingContact(world, account, token);
    await must(200, post(world, "/v1/platform/verify-email", { token: link }));
  },
  (world, { email }, token) => nameContact(world, token, email),
);

/** Leaves an announcement that all accounts but this one have received. */
async function leaveUnreached(world: World, { platformId }: Account): Promise<void> {
  await run("delete from walks where kind = 'announcement'");
  await sendNotice(world);
  await run(
    "update walks set after_id = (select max(platform_id) from platforms where platform_id < ?) where kind = 'announcement'",
    platformId,
  );
}

async function endCredentials(world: World, { key, platformId }: Account): Promise<void> {
  await must(200, world.call("POST", "/v1/platform/keys/rotate", { key, body: {} }));
  await run("update seen_devices set seen_at = 1 where platform_id = ?", platformId);
  for (const table of ["sessions", "account_links", "management_keys"]) {
    const ended = table === "management_keys" ? " and expires_at is not null" : "";
    await run(`update ${table} set expires_at = 1 where platform_id = ?${ended}`, platformId);
  }
}

/** Leaves notices of one account only. */
async function leaveDue(
  world: World,
  kind: "customer.password_changed" | "customer.account_closed",
  count: number,
): Promise<void> {
  await run("delete from notices");
  const { platformId } = world;
  const platform = { platformId, legalName: null, email: freshAddress(), adminContactEmail: null };
  const notice = { kind, data: { retentionYears: 5 } } as const;
  for (let n = 0; n < count; n++) await store(world, (db) => recordNotice(db, platform, world.now(), notice));
}

export const PASSWORD_PLAYS: Plays = {
  changePassword: {
    "the account has other sessions": ofPerson(
      (world, { email }) => logIn(world, email),
      (world, _account, token) => change(world, token),
    ),
    "links to reset it and to change the address are open": ofPerson(
      async (world, { email }, token) => {
        await forgot(world, email);
        await askMove(world, token, freshAddress());
      },
      (world, _account, token) => change(world, token),
    ),
  },
  forgotPassword: {
    "the verified address of an account": ofPerson(nothing, (world, { email }) => forgot(world, email)),
    "any other address": ofNobody(nothing, (world) => forgot(world, freshAddress())),
  },
  resetPassword: {
    always: ofPerson(
      async (world, { email }) => {
        await forgot(world, email);
        return mailedToken(world, email);
      },
      (world, _account, _token, link) =>
        must(200, post(world, "/v1/platform/password/reset", { token: link, new_password: NEW_PASSWORD })),
    ),
  },
  changeEmail: { always: ofPerson(nothing, (world, _account, token) => askMove(world, token, freshAddress())) },
  announceToAll: { always: ofNobody(nothing, sendNotice) },
  remove_unverified_accounts: {
    "an account was not verified in seven days": ofNobody(
      async (world) => {
        const { platform_id: platformId } = await register(world);
        await run("update platforms set created_at = 0 where platform_id = ?", platformId);
      },
      (world) => world.run(removeUnverified),
    ),
  },
  prune_account_credentials: {
    "a session, a link and a key have ended, and a device was last seen 90 days ago": ofPerson(
      endCredentials,
      (world) => world.run(pruneCredentials),
    ),
  },
  announce: {
    "an account has not received an announcement yet": ofPerson(leaveUnreached, (world) => world.run(announceJob)),
  },
  mail_notices: {
    "a security notice to the owner is due": ofNobody(
      (world) => leaveDue(world, "customer.password_changed", 1),
      (world) => world.run(mailNotices),
    ),
    "another notice is due": ofNobody(
      (world) => leaveDue(world, "customer.account_closed", 1),
      (world) => world.run(mailNotices),
    ),
    "more notices are due than an hour has room for": ofNobody(
      (world) => leaveDue(world, "customer.account_closed", NOTICE_MAILS_PER_HOUR + 1),
      (world) => world.run(mailNotices),
    ),
  },
};
