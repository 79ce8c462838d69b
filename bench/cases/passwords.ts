// Log-in, the password and the address: of an account of its own for each call, with a session and a mailed link where the call needs one.
// And the announcement of an operator, and what is due to the jobs of accounts.
import { hashPassword } from "../../src/accounts/passwords.ts";
import { sha256Hex } from "../../src/core/encoding.ts";
import type { Case } from "../case.ts";
import { operate, type Play } from "../play.ts";
import type { Ask } from "../wire.ts";

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

const PASSWORD = "a long walk by the river";
const NEW_PASSWORD = "a longer walk by the sea";
const hash = hashPassword(PASSWORD);

type Account = { readonly platformId: string; readonly email: string };

const random = (): string => Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString("base64url");

async function openAccount({ stage, next }: Play, status = "PROFILE_PENDING", age = 0): Promise<Account> {
  const n = String(next()).padStart(25, "0");
  const account = { platformId: `plt_B${n}`, email: `person-${n}@bench.example` };
  const { platformId, email } = account;
  const at = Date.now() - age;
  await stage.sql([
    {
      sql: `insert into platforms (platform_id, status, email, email_folded, admin_contact_email, documents, created_at, updated_at)
        values (?, ?, ?, ?, ?, '{}', ?, ?)`,
      params: [platformId, status, email, email, email, at, at],
    },
    {
      sql: "insert into passwords (platform_id, hash, changed_at) values (?, ?, ?)",
      params: [platformId, await hash, at],
    },
  ]);
  return account;
}

async function openSession({ stage }: Play, { platformId }: Account, life = HOUR_MS): Promise<string> {
  const token = `ses_${random()}`;
  const now = Date.now();
  const sql = "insert into sessions (token_hash, platform_id, created_at, used_at, expires_at) values (?, ?, ?, ?, ?)";
  await stage.sql([{ sql, params: [await sha256Hex(token), platformId, now, now, now + life] }]);
  return token;
}

async function mailLink({ stage }: Play, { platformId }: Account, kind: string, email: string): Promise<string> {
  const token = random();
  const now = Date.now();
  const sql =
    "insert into account_links (token_hash, platform_id, kind, email, created_at, expires_at) values (?, ?, ?, ?, ?, ?)";
  await stage.sql([{ sql, params: [await sha256Hex(token), platformId, kind, email, now, now + DAY_MS] }]);
  return token;
}

const post = (path: string, body: unknown, headers: Record<string, string> = {}): Ask => ({
  method: "POST",
  path,
  headers,
  body: JSON.stringify(body),
});

const asPerson = async (play: Play, account: Account, path: string, body: unknown): Promise<Ask> =>
  post(path, body, { Authorization: `Bearer ${await openSession(play, account)}` });

export const PASSWORDS: readonly Case[] = [
  {
    route: "POST /v1/platform/sessions",
    status: 201,
    ask: async (play) => {
      const { email } = await openAccount(play);
      return post("/v1/platform/sessions", { email, password: PASSWORD });
    },
  },
  {
    route: "POST /v1/platform/password",
    status: 200,
    ask: async (play) => {
      const body = { current_password: PASSWORD, new_password: NEW_PASSWORD };
      return asPerson(play, await openAccount(play), "/v1/platform/password", body);
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
      const token = await mailLink(play, account, "reset_password", account.email);
      return post("/v1/platform/password/reset", { token, new_password: NEW_PASSWORD });
    },
  },
  {
    route: "POST /v1/platform/email",
    status: 202,
    ask: async (play) => {
      const body = { new_email: `moved-${play.next()}@bench.example`, current_password: PASSWORD };
      return asPerson(play, await openAccount(play), "/v1/platform/email", body);
    },
  },
  {
    route: "POST /v1/platform/verify-email",
    variant: "a new address",
    status: 200,
    ask: async (play) => {
      const account = await openAccount(play);
      const token = await mailLink(play, account, "change_email", `moved-${play.next()}@bench.example`);
      return post("/v1/platform/verify-email", { token });
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

// ---- What is due to the jobs of accounts ---------------------------------------------------------------------------------

export const leaveUnverified = (play: Play) => openAccount(play, "EMAIL_PENDING", 8 * DAY_MS);

export const endSession = async (play: Play) => openSession(play, await openAccount(play), -SECOND_MS);

/** An announcement that the last account alone has not heard. */
export async function leaveUnreached({ stage, next }: Play): Promise<void> {
  await stage.sql([
    { sql: "delete from announcements" },
    {
      sql: `insert into announcements (announcement_id, kind, subject, text, created_at, reached)
        select ?, 'maintenance', 'Maintenance', 'On Sunday.', ?, max(platform_id) from platforms
        where platform_id < (select max(platform_id) from platforms where status = 'PROFILE_PENDING')`,
      params: [`ann_B${next()}`, Date.now()],
    },
  ]);
}

export async function leaveNotice({ stage, next }: Play): Promise<void> {
  const now = Date.now() - SECOND_MS;
  const data = JSON.stringify({ account: "Bench", at: now });
  await stage.sql([
    {
      sql: `insert into notices (notice_id, platform_id, kind, recipient, data, created_at, due_at)
        values (?, ?, 'customer.password_changed', 'person@bench.example', ?, ?, ?)`,
      params: [`ntc_B${next()}`, stage.platform.platformId, data, now, now],
    },
  ]);
}
