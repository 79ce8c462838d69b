// Sign-up, keys and promotion.
import { generateManagementKey } from "../../src/accounts/keys.ts";
import type { Case } from "../case.ts";
import { asPerson, mailLink, openAccount, PASSWORD, post } from "../persons.ts";
import { manage, type Play } from "../play.ts";
import type { Ask } from "../wire.ts";

/** Opens an account with a current key of each environment, so that both get the event of a rotation. */
async function prepareRotation(play: Play): Promise<Ask> {
  const account = await openAccount(play, "ACCREDITED");
  const now = Date.now();
  const keys = await Promise.all(
    (["sandbox", "production"] as const).map(async (environment) => ({
      environment,
      ...(await generateManagementKey(environment, ["service"])),
    })),
  );
  await play.stage.sql([
    { sql: "update platforms set promoted_at = ? where platform_id = ?", params: [now, account.platformId] },
    ...keys.map(({ environment, keyHash, keyPrefix }) => ({
      sql: `insert into management_keys (key_hash, key_id, platform_id, environment, key_prefix, created_at)
        values (?, ?, ?, ?, ?, ?)`,
      params: [keyHash, `key_${keyPrefix}`, account.platformId, environment, keyPrefix, now],
    })),
  ]);
  return asPerson(play.stage, account, "POST", "/v1/platform/keys/rotate", { environment: "production" });
}

export const ACCOUNTS: readonly Case[] = [
  {
    route: "POST /v1/platform/register",
    status: 201,
    ask: ({ next }) => post("/v1/platform/register", { email: `new-${next()}@bench.example`, password: PASSWORD }),
  },
  {
    route: "POST /v1/platform/verify-email",
    status: 200,
    ask: async (play) => {
      const account = await openAccount(play, "EMAIL_PENDING");
      return post("/v1/platform/verify-email", {
        token: await mailLink(play.stage, account, "verify_email", account.email),
        password: PASSWORD,
      });
    },
  },
  {
    route: "POST /v1/platform/verify-email/refuse",
    status: 204,
    ask: async (play) => {
      const account = await openAccount(play, "EMAIL_PENDING");
      const token = await mailLink(play.stage, account, "verify_email", account.email);
      return post("/v1/platform/verify-email/refuse", { token });
    },
  },
  {
    route: "POST /v1/platform/verify-email/resend",
    status: 202,
    ask: async (play) =>
      post("/v1/platform/verify-email/resend", { email: (await openAccount(play, "EMAIL_PENDING")).email }),
  },
  {
    route: "POST /v1/platform/promote",
    status: 200,
    ask: async (play) => asPerson(play.stage, await openAccount(play, "ACCREDITED"), "POST", "/v1/platform/promote"),
  },
  { route: "GET /v1/platform/keys", status: 200, ask: ({ stage }) => manage(stage, "GET", "/v1/platform/keys") },
  { route: "POST /v1/platform/keys/rotate", status: 200, ask: prepareRotation },
];
