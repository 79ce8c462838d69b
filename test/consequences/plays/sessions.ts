// Plays of operations on sessions and on TOTP.
import { scryptSync } from "node:crypto";
import { codeAt } from "../../../scripts/authenticator.ts";
import { resealTotpSecrets } from "../../../src/accounts/totp.ts";
import { encodeBase64Url } from "../../../src/core/encoding.ts";
import { LOG_IN_FAILURES_A_DAY } from "../../../src/core/limits.ts";
import { type Account, bearer, from, logIn, PASSWORD, post, postAs, signUp } from "../../accounts/support.ts";
import { setUpTotp } from "../../accounts/totp-support.ts";
import { withVars } from "../../support/variants.ts";
import { env, type World } from "../../support/world.ts";
import { ofPerson } from "./passwords.ts";
import { must, operator, type Play, type Plays } from "./stage.ts";

const PATH = "/v1/platform/sessions";
const nothing = async () => undefined;

/** A log-in of an account that was just verified. */
const entering =
  (
    prepare: (world: World, account: Account) => Promise<unknown>,
    act: (world: World, account: Account) => Promise<unknown>,
  ): Play =>
  async ({ world }) => {
    const account = await signUp(world);
    await prepare(world, account);
    return async () => {
      await act(world, account);
      return { account: [account.platformId] };
    };
  };

/** Stores the derivation of the shared password with weaker parameters, as an earlier version would have. */
async function weaken({ platformId }: Account): Promise<void> {
  const salt = new Uint8Array(16);
  const hash = scryptSync(PASSWORD, salt, 32, { N: 4096, r: 8, p: 1 });
  const stored = ["scrypt", 4096, 8, 1, encodeBase64Url(salt), encodeBase64Url(hash)].join("$");
  await env.DB.prepare("update passwords set hash = ? where platform_id = ?").bind(stored, platformId).run();
}

/** A wrong password from the n-th network. */
const guess = (world: World, { email }: Account, n: number) =>
  must(401, post(world, PATH, { email, password: "wrong horse battery staple" }, from(`10.9.${n}.1`)));

const end = (world: World, token: string, path: string) =>
  must(204, world.call("DELETE", `${PATH}${path}`, { key: null, headers: bearer(token) }));
const confirm = (world: World, token: string, body: object) =>
  must(200, postAs(world, token, `${PATH}/current/confirm`, body));
const startTotp = (world: World, token: string) =>
  must(200, postAs(world, token, "/v1/platform/totp", { current_password: PASSWORD }));

/** A person with TOTP and another session. */
async function withOther(world: World, { email }: Account, token: string) {
  const totp = await setUpTotp(world, token);
  await must(201, post(world, PATH, { email, password: PASSWORD, totp: totp.recoveryCodes[0] }));
  return totp;
}

export const SESSION_PLAYS: Plays = {
  logIn: {
    "from a known device and network": entering(nothing, (world, { email }) => logIn(world, email)),
    "from another device or network": entering(nothing, (world, { email }) =>
      must(201, post(world, PATH, { email, password: PASSWORD }, from("203.0.113.7"))),
    ),
    "the password was derived with other parameters than today's, or a code was used": entering(
      (_world, account) => weaken(account),
      (world, { email }) => logIn(world, email),
    ),
    "it is the hundredth failure within 24 hours": entering(
      async (world, account) => {
        for (let n = 1; n < LOG_IN_FAILURES_A_DAY; n++) await guess(world, account, n);
      },
      (world, account) => guess(world, account, LOG_IN_FAILURES_A_DAY),
    ),
  },
  logOut: { always: ofPerson(nothing, (world, _account, token) => end(world, token, "/current")) },
  endSession: {
    always: ofPerson(
      async (world, { email }) =>
        (await must(201, post(world, PATH, { email, password: PASSWORD }))).session_id as string,
      (world, _account, token, id) => end(world, token, `/${id}`),
    ),
  },
  endOtherSessions: {
    "there are others": ofPerson(
      (world, { email }) => logIn(world, email),
      (world, _account, token) => end(world, token, "?others=true"),
    ),
    "there is none": ofPerson(nothing, (world, _account, token) => end(world, token, "?others=true")),
  },
  confirmSession: {
    "by the password": ofPerson(nothing, (world, _account, token) =>
      confirm(world, token, { current_password: PASSWORD }),
    ),
    "by a code": ofPerson(
      (world, _account, token) => setUpTotp(world, token),
      (world, _account, token, { recoveryCodes }) => confirm(world, token, { totp: recoveryCodes[0] }),
    ),
  },
  setUpTotp: { always: ofPerson(nothing, (world, _account, token) => startTotp(world, token)) },
  confirmTotp: {
    "the account has other sessions": ofPerson(
      async (world, { email }, token) => {
        await logIn(world, email);
        return startTotp(world, token);
      },
      (world, _account, token, { secret }) =>
        must(200, postAs(world, token, "/v1/platform/totp/confirm", { code: codeAt(secret, world.now()) })),
    ),
  },
  removeTotp: {
    "the account has other sessions": ofPerson(withOther, (world, _account, token, { recoveryCodes }) => {
      const body = { current_password: PASSWORD, code: recoveryCodes[1] };
      return must(204, world.call("DELETE", "/v1/platform/totp", { key: null, headers: bearer(token), body }));
    }),
  },
  removePlatformTotp: {
    "the account has sessions": ofPerson(withOther, (world, { platformId }) => {
      const path = `/v1/operator/platforms/${platformId}/totp/remove`;
      return must(200, world.call("POST", path, { ...operator(), body: { reason: "Lost phone." } }));
    }),
  },
  reseal_totp_secrets: {
    "a secret is sealed under an older key": ofPerson(
      (world, _account, token) => startTotp(world, token),
      async (world) => {
        const newer = btoa("\x01".repeat(32));
        const keys = `${newer},${world.deps.env.ACCOUNT_SEAL_KEYS}`;
        await withVars(world, { ACCOUNT_SEAL_KEYS: keys }).run(resealTotpSecrets);
      },
    ),
  },
};
