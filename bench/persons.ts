// Shared by the cases of accounts: opens an account for each call, with a session and a mailed link if the call needs one.
import { scheduler } from "node:timers/promises";
import { hashPassword } from "../src/accounts/derivations.ts";
import { computeSha256Hex } from "../src/core/encoding.ts";
import { createId } from "../src/core/ids.ts";
import type { Play } from "./play.ts";
import type { Stage } from "./stage.ts";
import type { Ask } from "./wire.ts";

const SECOND_MS = 1_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

export const PASSWORD = "a long walk by the river";
// The Worker's runtime has `scheduler` as a global, Node only as a module.
Object.assign(globalThis, { scheduler });
export const hash = hashPassword(PASSWORD);

type Sql = Pick<Stage, "sql">;
export type Account = { readonly platformId: string; readonly email: string };

const random = (): string => Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString("base64url");

export async function openAccount({ stage, next }: Play, status = "PROFILE_PENDING", age = 0): Promise<Account> {
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

/** `confirmed`: how long ago the session was confirmed. */
export async function openSession({ sql }: Sql, platformId: string, life = HOUR_MS, confirmed = 0): Promise<string> {
  const token = `ses_${random()}`;
  const now = Date.now();
  const text = `insert into sessions
    (token_hash, session_id, platform_id, created_at, confirmed_at, used_at, expires_at) values (?, ?, ?, ?, ?, ?, ?)`;
  const params = [
    await computeSha256Hex(token),
    createId("ses", now),
    platformId,
    now,
    now - confirmed,
    now,
    now + life,
  ];
  await sql([{ sql: text, params }]);
  return token;
}

/** Opens two sessions of an account; returns the token of the first and the id of the second. */
export async function openTwoSessions(stage: Sql, platformId: string): Promise<{ token: string; other: string }> {
  const token = await openSession(stage, platformId);
  const hash = await computeSha256Hex(await openSession(stage, platformId));
  const [rows] = await stage.sql([{ sql: "select session_id from sessions where token_hash = ?", params: [hash] }]);
  return { token, other: String(rows?.[0]?.["session_id"]) };
}

export async function mailLink({ sql }: Sql, { platformId }: Account, kind: string, email: string): Promise<string> {
  const token = random();
  const now = Date.now();
  const text =
    "insert into account_links (token_hash, platform_id, kind, email, created_at, expires_at) values (?, ?, ?, ?, ?, ?)";
  await sql([{ sql: text, params: [await computeSha256Hex(token), platformId, kind, email, now, now + DAY_MS] }]);
  return token;
}

/** Leaves an account with a row in each table that an account may have rows in. */
export async function leaveAccount(play: Play): Promise<void> {
  const { stage, next } = play;
  const account = await openAccount(play);
  await openSession(stage, account.platformId);
  await mailLink(stage, account, "reset_password", account.email);
  const [id, now] = [next(), Date.now()];
  const document = [`doc_B${id}`, account.platformId, now];
  await stage.sql([
    {
      sql: `insert into documents (document_id, platform_id, type, status, file_name, media_type, size_bytes, sha256, created_at)
        values (?, ?, 'supporting', 'current', 'a.pdf', 'application/pdf', 1, '', ?)`,
      params: document,
    },
    {
      sql: `insert into announcements (announcement_id, kind, subject, text, created_at)
        values (?, 'maintenance', 'Maintenance', 'On Sunday.', ?)`,
      params: [`ann_B${id}`, now],
    },
  ]);
  await leaveNotice(play);
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

/** A call without a credential. */
export const post = (path: string, body: unknown): Ask => ({
  method: "POST",
  path,
  headers: {},
  body: JSON.stringify(body),
});

/** A call of a person, with a session of its own. */
export async function asPerson(
  stage: Sql,
  { platformId }: Pick<Account, "platformId">,
  method: string,
  path: string,
  body?: unknown,
): Promise<Ask> {
  const headers = { Authorization: `Bearer ${await openSession(stage, platformId)}` };
  return { method, path, headers, ...(body !== undefined && { body: JSON.stringify(body) }) };
}
