// An account on its way through the review, as its person and the operator play it over HTTP.
import { inject } from "vitest";
import { REQUIRED_DOCUMENTS } from "../../src/core/vocabulary.ts";
import { documentParts, type FormPart, formBytes, formHeaders } from "../support/form.ts";
import { type CallOptions, env, expectStatus, type Json, type Reply, type World } from "../support/world.ts";
import { type Account, bearer, logIn, signUp } from "./support.ts";

export type Person = Account & { readonly session: string };

const COMPLETE = {
  registration_number: "HRB 4711",
  country: "DE",
  registered_address: { line1: "Hauptstr. 1", city: "Berlin", postal_code: "10115", country: "DE" },
};

/** A person with a session, whose account is KYB_PENDING. */
export async function complete(world: World): Promise<Person> {
  const account = await signUp(world);
  const body = { ...COMPLETE, legal_name: `Company ${account.platformId}` };
  expectStatus(await world.call("PATCH", "/v1/platform", { key: account.key, body }), 200);
  return { ...account, session: await logIn(world, account.email) };
}

export const patchProfile = (world: World, { key }: Pick<Account, "key">, body: unknown): Promise<Reply> =>
  world.call("PATCH", "/v1/platform", { key, body });

/** A person's call. */
export const ask = (
  world: World,
  { session }: Pick<Person, "session">,
  method: string,
  path: string,
  { headers = {}, ...options }: Omit<CallOptions, "key"> = {},
): Promise<Reply> => world.call(method, path, { ...options, key: null, headers: { ...bearer(session), ...headers } });

/** Sends a form unchanged. */
export const sendForm = (
  world: World,
  person: Pick<Person, "session">,
  parts: readonly FormPart[],
  headers: Record<string, string> = {},
): Promise<Reply> =>
  ask(world, person, "POST", "/v1/platform/documents", {
    rawBody: formBytes(parts),
    headers: { ...formHeaders(), ...headers },
  });

export const submit = async (world: World, person: Pick<Person, "session">, type: string): Promise<Json> =>
  expectStatus(await sendForm(world, person, documentParts(type)), 201);

/** With every required document, IN_REVIEW. */
export async function inReview(world: World): Promise<Person> {
  const person = await complete(world);
  for (const type of REQUIRED_DOCUMENTS) await submit(world, person, type);
  expectStatus(await ask(world, person, "POST", "/v1/platform/verification"), 200);
  return person;
}

/** With the approval of an operator, ACCREDITED. */
export async function accredited(world: World): Promise<Person> {
  const person = await inReview(world);
  expectStatus(await decide(world, person, { decision: "approve" }), 200);
  return person;
}

export const operate = (world: World, method: string, path: string, body?: unknown): Promise<Reply> =>
  world.call(method, path, {
    key: null,
    headers: { Authorization: `Bearer ${inject("operatorKey")}` },
    ...(body !== undefined && { body }),
  });

export const decide = (world: World, { platformId }: Pick<Person, "platformId">, body: unknown): Promise<Reply> =>
  operate(world, "POST", `/v1/operator/platforms/${platformId}/decision`, body);

export const accountOf = async (world: World, { key }: Pick<Account, "key">): Promise<Json> =>
  expectStatus(await world.call("GET", "/v1/platform", { key }), 200);

/** The keys of all files at rest, of one account or of all. */
export async function storedFiles(platformId = ""): Promise<string[]> {
  const { objects } = await env.DOCUMENTS.list({ prefix: platformId });
  return objects.map(({ key }) => key).sort();
}
