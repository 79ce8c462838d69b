// A person's sessions, the confirmation and TOTP, with an account of its own for each call.
import { codeAt } from "../../scripts/authenticator.ts";
import { type Json, pickValue } from "../../scripts/client.ts";
import { CONFIRMATION_MINUTES, DAY_MS, MINUTE_MS } from "../../src/core/limits.ts";
import type { Case } from "../case.ts";
import { type Account, asPerson, openAccount, openSession, openTwoSessions, PASSWORD, post } from "../persons.ts";
import { operate, type Play } from "../play.ts";
import { type Ask, send } from "../wire.ts";

const PATH = "/v1/platform/sessions";
const bearer = (token: string) => ({ Authorization: `Bearer ${token}` });

/** A call of a person that has another session too. */
async function callWithOtherSession(
  play: Play,
  method: string,
  pathOf: (other: string) => string,
  body?: Json,
): Promise<Ask> {
  const { token, other } = await openTwoSessions(play.stage, (await openAccount(play)).platformId);
  return { method, path: pathOf(other), headers: bearer(token), ...(body && { body: JSON.stringify(body) }) };
}

async function must({ stage }: Play, wanted: number, ask: Ask): Promise<Json> {
  const { status, body } = await send(stage.origin, ask);
  if (status !== wanted) throw new Error(`${ask.method} ${ask.path} answered ${status}: ${body.toString()}`);
  return JSON.parse(body.toString()) as Json;
}

/** Enrols a person that has not confirmed its first code yet; returns the app's secret too. */
async function startTotp(play: Play): Promise<{ account: Account; token: string; secret: string; recovery: string }> {
  const account = await openAccount(play);
  const { token } = await openTwoSessions(play.stage, account.platformId);
  const body = JSON.stringify({ current_password: PASSWORD });
  const made = await must(play, 200, { method: "POST", path: "/v1/platform/totp", headers: bearer(token), body });
  const [recovery = ""] = pickValue<readonly string[]>(made, "recovery_codes");
  return { account, token, secret: pickValue(made, "secret"), recovery };
}

/** Enrols a person with confirmed TOTP. */
async function enrolTotp(play: Play) {
  const started = await startTotp(play);
  const at = {
    sql: "update passwords set totp_confirmed_at = 1 where platform_id = ?",
    params: [started.account.platformId],
  };
  await play.stage.sql([at]);
  return started;
}

/** Opens an account that has logged in from here before. */
async function openKnown(play: Play): Promise<Account> {
  const account = await openAccount(play);
  await must(play, 201, post(PATH, { email: account.email, password: PASSWORD }));
  return account;
}

export const SESSIONS: readonly Case[] = [
  {
    route: `POST ${PATH}`,
    status: 201,
    ask: async (play) => post(PATH, { email: (await openKnown(play)).email, password: PASSWORD }),
  },
  {
    route: `POST ${PATH}`,
    variant: "a new device",
    status: 201,
    ask: async (play) => post(PATH, { email: (await openAccount(play)).email, password: PASSWORD }),
  },
  {
    route: `POST ${PATH}`,
    variant: "a code",
    status: 201,
    ask: async (play) => {
      const { account, secret } = await enrolTotp(play);
      return post(PATH, { email: account.email, password: PASSWORD, totp: codeAt(secret, Date.now()) });
    },
  },
  { route: `GET ${PATH}`, status: 200, ask: (play) => callWithOtherSession(play, "GET", () => PATH) },
  {
    route: `DELETE ${PATH}`,
    status: 204,
    ask: (play) => callWithOtherSession(play, "DELETE", () => `${PATH}?others=true`),
  },
  {
    route: `DELETE ${PATH}/{session_id}`,
    status: 204,
    ask: (play) => callWithOtherSession(play, "DELETE", (other) => `${PATH}/${other}`),
  },
  {
    route: `DELETE ${PATH}/current`,
    status: 204,
    ask: async (play) => asPerson(play.stage, await openAccount(play), "DELETE", `${PATH}/current`),
  },
  {
    route: `POST ${PATH}/current/confirm`,
    status: 200,
    ask: async (play) => {
      const body = { current_password: PASSWORD };
      return asPerson(play.stage, await openAccount(play), "POST", `${PATH}/current/confirm`, body);
    },
  },
  {
    route: `POST ${PATH}/current/confirm`,
    variant: "a code",
    status: 200,
    ask: async (play) => {
      const { token, secret } = await enrolTotp(play);
      const body = JSON.stringify({ totp: codeAt(secret, Date.now()) });
      return { method: "POST", path: `${PATH}/current/confirm`, headers: bearer(token), body };
    },
  },
  {
    route: "POST /v1/platform/keys/rotate",
    variant: "to be confirmed",
    status: 403,
    ask: async (play) => {
      const { platformId } = await openAccount(play);
      const token = await openSession(play.stage, platformId, DAY_MS, CONFIRMATION_MINUTES * MINUTE_MS);
      return { method: "POST", path: "/v1/platform/keys/rotate", headers: bearer(token), body: "{}" };
    },
  },
  {
    route: "POST /v1/platform/totp",
    status: 200,
    ask: async (play) =>
      asPerson(play.stage, await openAccount(play), "POST", "/v1/platform/totp", { current_password: PASSWORD }),
  },
  {
    route: "POST /v1/platform/totp/confirm",
    status: 200,
    ask: async (play) => {
      const { token, secret } = await startTotp(play);
      const body = JSON.stringify({ code: codeAt(secret, Date.now()) });
      return { method: "POST", path: "/v1/platform/totp/confirm", headers: bearer(token), body };
    },
  },
  {
    route: "DELETE /v1/platform/totp",
    status: 204,
    ask: async (play) => {
      const { token, recovery } = await enrolTotp(play);
      const body = JSON.stringify({ current_password: PASSWORD, code: recovery });
      return { method: "DELETE", path: "/v1/platform/totp", headers: bearer(token), body };
    },
  },
  {
    route: "POST /v1/operator/platforms/{platform_id}/totp/remove",
    status: 200,
    ask: async (play) => {
      const { account } = await enrolTotp(play);
      const path = `/v1/operator/platforms/${account.platformId}/totp/remove`;
      return operate(play.stage, "POST", path, { reason: "Lost phone." });
    },
  },
];

/** Leaves a secret that is sealed under the service's key, but marked with another key. */
export async function leaveSealedTotp(play: Play): Promise<void> {
  const { account } = await startTotp(play);
  const sql = "update passwords set totp_seal_key = '0' where platform_id = ?";
  await play.stage.sql([{ sql, params: [account.platformId] }]);
}
