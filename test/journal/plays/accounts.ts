// Plays of the consequences of operations on the platform account.
import { scryptSync } from "node:crypto";
import { encodeBase64Url } from "../../../src/core/encoding.ts";
import {
  type Account,
  bearer,
  freshAddress,
  logIn,
  mailedToken,
  PASSWORD,
  post,
  signUp,
} from "../../accounts/support.ts";
import type { Parties } from "../../support/consequences.ts";
import { env, type World } from "../../support/world.ts";
import { confirmingContact, refusingContact, refusingNewAddress, verifyingNewAddress } from "./passwords.ts";
import { MINUTE, must, type Play, type Plays } from "./stage.ts";

/** A play of one account, which is signed up before it. */
const ofAccount =
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

const partyOf = async (email: string): Promise<Parties> => {
  const found = env.DB.prepare("select platform_id as id from platforms where email = ?").bind(email);
  return { account: [(await found.first<{ id: string }>())?.id ?? ""] };
};

const register = (world: World, email: string) =>
  must(201, post(world, "/v1/platform/register", { email, password: PASSWORD }));

const accredit = ({ platformId }: Account) =>
  env.DB.prepare("update platforms set status = 'ACCREDITED' where platform_id = ?").bind(platformId).run();
const promote = (world: World, { key }: Account) => must(200, world.call("POST", "/v1/platform/promote", { key }));
const rotate = (world: World, { key }: Account) =>
  must(200, world.call("POST", "/v1/platform/keys/rotate", { key, body: {} }));

/** Stores the derivation of the shared password with weaker parameters, as an earlier version would have. */
async function weaken({ platformId }: Account): Promise<void> {
  const salt = new Uint8Array(16);
  const hash = scryptSync(PASSWORD, salt, 32, { N: 4096, r: 8, p: 1 });
  const stored = ["scrypt", 4096, 8, 1, encodeBase64Url(salt), encodeBase64Url(hash)].join("$");
  await env.DB.prepare("update passwords set hash = ? where platform_id = ?").bind(stored, platformId).run();
}

export const ACCOUNT_PLAYS: Plays = {
  registerPlatform: {
    always:
      async ({ world }) =>
      async () => {
        const email = freshAddress();
        await register(world, email);
        return partyOf(email);
      },
  },
  verifyEmail: {
    "of a new account": async ({ world }) => {
      const email = freshAddress();
      await register(world, email);
      return async () => {
        await must(
          200,
          post(world, "/v1/platform/verify-email", { token: mailedToken(world, email), password: PASSWORD }),
        );
        return partyOf(email);
      };
    },
    "of a new address": verifyingNewAddress,
    "of an admin contact": confirmingContact,
  },
  refuseVerification: {
    "of a new account": async ({ world }) => {
      const email = freshAddress();
      await register(world, email);
      const party = await partyOf(email);
      return async () => {
        await must(204, post(world, "/v1/platform/verify-email/refuse", { token: mailedToken(world, email) }));
        return party;
      };
    },
    "of a new address": refusingNewAddress,
    "of an admin contact": refusingContact,
  },
  resendVerification: {
    "of an account that waits for it": async ({ world }) => {
      const email = freshAddress();
      await register(world, email);
      // The last link is two minutes old.
      await env.DB.prepare("update account_links set created_at = created_at - ? where email = ?")
        .bind(2 * MINUTE, email)
        .run();
      return async () => {
        await must(202, post(world, "/v1/platform/verify-email/resend", { email }));
        return partyOf(email);
      };
    },
  },
  logIn: {
    always: ofAccount(
      async () => undefined,
      (world, { email }) => logIn(world, email),
    ),
    "the password was derived with other parameters than today's": ofAccount(
      (_world, account) => weaken(account),
      (world, { email }) => logIn(world, email),
    ),
  },
  logOut: {
    always: async ({ world }) => {
      const { platformId, email } = await signUp(world);
      const headers = bearer(await logIn(world, email));
      return async () => {
        await must(204, world.call("DELETE", "/v1/platform/sessions/current", { key: null, headers }));
        return { account: [platformId] };
      };
    },
  },
  promotePlatform: { always: ofAccount((_world, account) => accredit(account), promote) },
  rotateKey: {
    "of an account with one key": ofAccount(async () => undefined, rotate),
    "of an account in production": ofAccount(async (world, account) => {
      await accredit(account);
      await promote(world, account);
    }, rotate),
  },
};
