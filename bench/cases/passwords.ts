// Log-in, the password and the address, each with an account of its own for each call, and a session and a mailed link if the call needs one. Also an
// operator's announcement, and the rows that the jobs of accounts find due.
import type { Case } from "../case.ts";
import { asPerson, mailLink, openAccount, openSession, PASSWORD, post } from "../persons.ts";
import { operate, type Play } from "../play.ts";

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

const NEW_PASSWORD = "a longer walk by the sea";

export const PASSWORDS: readonly Case[] = [
  {
    route: "POST /v1/platform/password",
    status: 200,
    ask: async (play) => {
      const body = { current_password: PASSWORD, new_password: NEW_PASSWORD };
      return asPerson(play.stage, await openAccount(play), "POST", "/v1/platform/password", body);
    },
  },
  {
    route: "POST /v1/platform/password/forgot",
    status: 202,
    ask: async (play) => post("/v1/platform/password/forgot", { email: (await openAccount(play)).email }),
  },
  {
    route: "POST /v1/platform/password/reset",
    status: 200,
    ask: async (play) => {
      const account = await openAccount(play);
      const token = await mailLink(play.stage, account, "reset_password", account.email);
      return post("/v1/platform/password/reset", { token, new_password: NEW_PASSWORD });
    },
  },
  {
    route: "POST /v1/platform/email",
    status: 202,
    ask: async (play) => {
      const body = { new_email: `moved-${play.next()}@bench.example`, current_password: PASSWORD };
      return asPerson(play.stage, await openAccount(play), "POST", "/v1/platform/email", body);
    },
  },
  {
    route: "POST /v1/platform/verify-email",
    variant: "a new address",
    status: 200,
    ask: async (play) => {
      const account = await openAccount(play);
      const token = await mailLink(play.stage, account, "change_email", `moved-${play.next()}@bench.example`);
      return post("/v1/platform/verify-email", { token, password: PASSWORD });
    },
  },
  {
    route: "GET /v1/platform/verify-email",
    status: 200,
    ask: () => ({ method: "GET", path: "/v1/platform/verify-email?token=abc" }),
  },
  {
    route: "GET /v1/platform/password/reset",
    status: 200,
    ask: () => ({ method: "GET", path: "/v1/platform/password/reset?token=abc" }),
  },
  {
    route: "POST /v1/operator/notices",
    status: 202,
    ask: ({ stage, next }) => {
      const body = { kind: "maintenance", subject: `Maintenance ${next()}`, text: "From 02:00 to 02:10 UTC." };
      return operate(stage, "POST", "/v1/operator/notices", body);
    },
  },
];

// ---- Rows that are due to the jobs of accounts --------------------------------------------------------------------------

export const leaveUnverified = (play: Play) => openAccount(play, "EMAIL_PENDING", 8 * DAY_MS);

export const endSession = async (play: Play) =>
  openSession(play.stage, (await openAccount(play)).platformId, -SECOND_MS);

/** Leaves an announcement that only the last account has not received. */
export async function leaveUnreached({ stage, next }: Play): Promise<void> {
  const id = `ann_B${next()}`;
  await stage.sql([
    { sql: "delete from walks where kind = 'announcement'" },
    {
      sql: `insert into announcements (announcement_id, kind, subject, text, created_at)
        values (?, 'maintenance', 'Maintenance', 'On Sunday.', ?)`,
      params: [id, Date.now()],
    },
    {
      sql: `insert into walks (kind, subject, started_at, after_at, after_id, payload)
        select 'announcement', ?, ?, 0, max(platform_id), '{"kind":"maintenance"}' from platforms
        where platform_id < (select max(platform_id) from platforms where status = 'PROFILE_PENDING')`,
      params: [id, Date.now()],
    },
  ]);
}
