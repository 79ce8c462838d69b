// A person with TOTP, whose clock stands still, who sets it up, logs in with it and removes it.
import { codeAt } from "../../scripts/authenticator.ts";
import { SECOND_MS, TOTP_STEP_SECONDS } from "../../src/core/limits.ts";
import type { stopped } from "../support/clock.ts";
import { expectStatus, type Json, type Reply, type World } from "../support/world.ts";
import { type Account, bearer, freshClient, logIn, PASSWORD, post, postAs, signUp } from "./support.ts";

export const STEP_MS = TOTP_STEP_SECONDS * SECOND_MS;

type Stopped = ReturnType<typeof stopped>;
export type Person = Account & { readonly token: string };
export type Totp = { readonly secret: string; readonly recoveryCodes: readonly string[] };

export async function person(world: World): Promise<Person> {
  const account = await signUp(world);
  return { ...account, token: await logIn(world, account.email) };
}

/** Sets TOTP up by a session and confirms it with the code of the world's time, which is then used up. */
export async function setUpTotp(world: World, token: string): Promise<Totp> {
  const made = expectStatus(await postAs(world, token, "/v1/platform/totp", { current_password: PASSWORD }), 200);
  const { secret, recovery_codes: recoveryCodes } = made;
  const code = codeAt(secret, world.now());
  expectStatus(await postAs(world, token, "/v1/platform/totp/confirm", { code }), 200);
  return { secret, recoveryCodes };
}

/** A person with TOTP, in the step after the one that confirmed it. */
export async function withTotp(world: Stopped): Promise<Person & Totp> {
  const one = await person(world);
  const totp = await setUpTotp(world, one.token);
  world.advance(STEP_MS);
  return { ...one, ...totp };
}

export const codeNow = (world: World, { secret }: Totp, steps = 0): string =>
  codeAt(secret, world.now() + steps * STEP_MS);

export const enter = (
  world: World,
  { email }: Account,
  totp?: string,
  client = freshClient(),
  password = PASSWORD,
): Promise<Reply> =>
  post(world, "/v1/platform/sessions", { email, password, ...(totp !== undefined && { totp }) }, client);

export const setUp = (world: World, { token }: Person, current_password = PASSWORD) =>
  postAs(world, token, "/v1/platform/totp", { current_password }, freshClient());

export const confirmSetUp = (world: World, { token }: Person, code: string) =>
  postAs(world, token, "/v1/platform/totp/confirm", { code }, freshClient());

export const removeTotp = (
  world: World,
  { token }: Person,
  code: string,
  current_password = PASSWORD,
  client = freshClient(),
): Promise<Reply> => {
  const headers = { ...bearer(token), ...client };
  return world.call("DELETE", "/v1/platform/totp", { key: null, headers, body: { current_password, code } });
};

export const refusalOf = ({ status, body }: Reply): Json => [status, body.code, body.type];
