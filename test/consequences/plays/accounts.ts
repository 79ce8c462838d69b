// Plays of operations on the platform account.
import { type Account, freshAddress, mailedToken, PASSWORD, post, signUp } from "../../accounts/support.ts";
import type { Parties } from "../../support/consequences.ts";
import { env, type World } from "../../support/world.ts";
import { confirmingContact, refusingContact, refusingNewAddress, verifyingNewAddress } from "./passwords.ts";
import { MINUTE, must, type Play, type Plays } from "./stage.ts";

/** A play of one account, which is signed up first. */
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
    "a new account": async ({ world }) => {
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
    "a new address": verifyingNewAddress,
    "an admin contact": confirmingContact,
  },
  refuseVerification: {
    "a new account": async ({ world }) => {
      const email = freshAddress();
      await register(world, email);
      const party = await partyOf(email);
      return async () => {
        await must(204, post(world, "/v1/platform/verify-email/refuse", { token: mailedToken(world, email) }));
        return party;
      };
    },
    "a new address": refusingNewAddress,
    "an admin contact": refusingContact,
  },
  resendVerification: {
    "an account is not verified yet": async ({ world }) => {
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
  promotePlatform: { always: ofAccount((_world, account) => accredit(account), promote) },
  rotateKey: {
    "an account with one key": ofAccount(async () => undefined, rotate),
    "an account in production": ofAccount(async (world, account) => {
      await accredit(account);
      await promote(world, account);
    }, rotate),
  },
};
