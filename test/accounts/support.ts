// An account from its sign-up on, as a person would play it: by the mailed links and over HTTP.
import { withDeps } from "../support/variants.ts";
import { env, expectStatus, type Json, type World } from "../support/world.ts";

export const PASSWORD = "correct horse battery staple";

let counter = 0;
export const freshAddress = (): string => `founder-${Date.now().toString(36)}-${++counter}@startup.example`;

/** The token of the last link that was mailed to the address. */
export function mailedToken(world: World, address: string): string {
  const mail = world.mails.findLast(({ to }) => to === address);
  const token = /[?&]token=([\w-]+)/.exec(mail?.text ?? "")?.[1];
  if (token === undefined) throw new Error(`no link was mailed to ${address}`);
  return token;
}

export const post = (world: World, path: string, body?: unknown, headers: Record<string, string> = {}) =>
  world.call("POST", path, { key: null, headers, ...(body !== undefined && { body }) });

/** Registers and returns the account as it is answered. */
export async function register(world: World, email = freshAddress()): Promise<Json> {
  return expectStatus(await post(world, "/v1/platform/register", { email, password: PASSWORD }), 201);
}

export type Account = { platformId: string; email: string; key: string };

/** A verified account with its sandbox key. */
export async function signUp(world: World, email = freshAddress()): Promise<Account> {
  await register(world, email);
  const token = mailedToken(world, email);
  const verified = expectStatus(await post(world, "/v1/platform/verify-email", { token, password: PASSWORD }), 200);
  return { platformId: verified.platform_id, email, key: verified.api_key.raw_key };
}

export async function logIn(world: World, email: string, password = PASSWORD): Promise<string> {
  return expectStatus(await post(world, "/v1/platform/sessions", { email, password }), 201).session_token;
}

export const bearer = (token: string): Record<string, string> => ({ Authorization: `Bearer ${token}` });

export const ADDRESS = { line1: "Hauptstr. 1", city: "Berlin", postal_code: "10115", country: "DE" };

/** The members that the review needs. The admin contact is the account's own address from the sign-up on. */
export const PROFILE = {
  legal_name: "Startup Robotics GmbH",
  registration_number: "HRB 4711",
  country: "DE",
  registered_address: ADDRESS,
};

export const patch = (world: World, key: string, body: unknown) => world.call("PATCH", "/v1/platform", { key, body });

export const readAccount = async (world: World, key: string): Promise<Json> =>
  expectStatus(await world.call("GET", "/v1/platform", { key }), 200);
/** Calls as a client of another address, because failures are counted by address. */
export const from = (address: string): Record<string, string> => ({ "CF-Connecting-IP": address });

/** Another client for each call. */
let clients = 0;
export const freshClient = (): Record<string, string> => from(`198.51.${Math.floor(++clients / 250)}.${clients % 250}`);

/** The number of links that were mailed to an address. */
export const linksTo = (world: World, address: string): number =>
  world.mails.filter(({ to, text }) => to === address && /[?&]token=/.test(text)).length;

/** A call of the session that a log-in begins. */
export const postAs = (
  world: World,
  token: string,
  path: string,
  body: unknown,
  headers: Record<string, string> = {},
) => post(world, path, body, { ...bearer(token), ...headers });

/** Stored rows of an account, by table. */
export async function rowsOf(table: string, platformId: string): Promise<Json[]> {
  const { results } = await env.DB.prepare(`select * from ${table} where platform_id = ?`).bind(platformId).all();
  return results;
}

/** A copy of the world, in which passwords cost as much as in production. */
export function withProductionCost(world: World): World {
  const { passwordCost: _cheap, ...deps } = world.deps;
  return withDeps(world, deps);
}
