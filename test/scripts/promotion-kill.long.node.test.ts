// The Worker's runtime is killed (SIGKILL) during promotions (ACC-16), some of which are committed but not answered. After a restart on the same
// state, a retry under the same Idempotency-Key answers the key that was issued, and issues no other one (IDM-3, IDM-8).
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { end } from "./commands.ts";
import { databaseWith, type RunningStack, runtimeOf, signUp, startIn } from "./runtime-kill.ts";

/** The number in each round. One of them is committed first, and the kill arrives before its answer or soon after. */
const AT_ONCE = 4;
/** Each kill comes at another moment after the commit, and may come after the answer. */
const ROUNDS = 3;
/** On a busy machine, all answers may be faster than the kill. */
const ROUNDS_MAX = 12;

type Account = { readonly email: string; readonly session: string; readonly idempotencyKey: string };
type Answer = { readonly status: number; readonly replayed: boolean; readonly key: string };
/** The state of a promotion when the runtime died. */
type Fate = { readonly account: Account; readonly before: Answer | null; readonly issued: string[] };

const dir = mkdtempSync(join(tmpdir(), "promotions-"));
let stack: RunningStack;

beforeAll(async () => {
  stack = await startIn(dir);
});
afterAll(async () => {
  await end(stack.command, "SIGKILL");
  rmSync(dir, { recursive: true, force: true });
});

describe("a promotion, when the runtime is killed", () => {
  test("issues one production key, which a retry answers even if the promotion was committed but not answered", async () => {
    let between = 0;
    for (let round = 0; round < ROUNDS || (between === 0 && round < ROUNDS_MAX); round++) {
      const accounts = await accreditedAccounts(round);
      const fates = await killAmongPromotions(accounts);
      between += fates.filter(({ before, issued }) => before === null && issued.length === 1).length;
      stack = await startIn(dir);
      for (const fate of fates) await expectOneKey(fate);
    }
    expect(between).toBeGreaterThan(0);
  });
});

// ---- The accounts -----------------------------------------------------------------------------------------------------

/** Signs accounts up by their mailed links, and accredits them in the database, because the review is not tested here. */
async function accreditedAccounts(round: number): Promise<Account[]> {
  const accounts: Account[] = [];
  for (let n = 0; n < AT_ONCE; n++) {
    const email = `founder-${round}-${n}@startup.example`;
    accounts.push({ email, session: await signUp(stack.service, email), idempotencyKey: crypto.randomUUID() });
  }
  using database = databaseWith(dir, "d1", "platforms");
  const accredit = database.prepare("update platforms set status = 'ACCREDITED' where email = ?");
  for (const { email } of accounts) expect(accredit.run(email).changes).toBe(1);
  return accounts;
}

async function promote({ session, idempotencyKey }: Account): Promise<Answer> {
  const response = await fetch(`${stack.service.base_url}/v1/platform/promote`, {
    method: "POST",
    headers: { Authorization: `Bearer ${session}`, "Idempotency-Key": idempotencyKey },
  });
  const answer = (await response.json()) as { api_key?: { raw_key: string } };
  const replayed = response.headers.get("Idempotent-Replayed") === "true";
  return { status: response.status, replayed, key: answer.api_key?.raw_key ?? "" };
}

// ---- The kill ---------------------------------------------------------------------------------------------------------

/** Kills the runtime as soon as a production key is in the database. */
async function killAmongPromotions(accounts: readonly Account[]): Promise<Fate[]> {
  const runtime = runtimeOf(stack);
  const answers = new Map<Account, Answer>();
  const promoting = accounts.map(async (account) => {
    try {
      answers.set(account, await promote(account));
    } catch {
      // The runtime is dead.
    }
  });
  await untilOneIsCommitted(accounts);
  process.kill(runtime, "SIGKILL");
  await Promise.all([...promoting, stack.command.ended]);
  return accounts.map((account) => ({
    account,
    // The listening process answers 5xx for a dead runtime.
    before: answered(answers.get(account)),
    issued: productionKeysOf(account),
  }));
}

const answered = (answer: Answer | undefined): Answer | null =>
  answer === undefined || answer.status >= 500 ? null : answer;

async function untilOneIsCommitted(accounts: readonly Account[]): Promise<void> {
  using database = databaseWith(dir, "d1", "management_keys");
  while (accounts.every((account) => keysIn(database, account).length === 0)) {
    await new Promise(setImmediate);
  }
}

// ---- The state at rest ------------------------------------------------------------------------------------------------

/** The ids of the account's production keys, valid or ended. */
function productionKeysOf(account: Account): string[] {
  using database = databaseWith(dir, "d1", "management_keys");
  return keysIn(database, account);
}

const keysIn = (database: DatabaseSync, { email }: Account): string[] =>
  database
    .prepare(
      `select key_id from management_keys join platforms using (platform_id)
       where email = ? and environment = 'production'`,
    )
    .all(email)
    .map(({ key_id }) => String(key_id));

/** Expects that a retry replays a committed promotion with its key, and otherwise makes it now; either way there is one key, and it works. */
async function expectOneKey({ account, before, issued }: Fate): Promise<void> {
  const retried = await promote(account);
  expect(retried).toMatchObject({ status: 200, replayed: issued.length === 1 });
  if (before !== null) expect(retried.key).toBe(before.key);
  const keys = productionKeysOf(account);
  expect(keys).toHaveLength(1);
  if (issued.length > 0) expect(keys).toEqual(issued);
  const headers = { "Service-Api-Key": retried.key };
  const response = await fetch(`${stack.service.base_url}/v1/platform`, { headers });
  expect(response.status).toBe(200);
  expect(await response.json()).toMatchObject({ environment: "production", email: account.email });
}
