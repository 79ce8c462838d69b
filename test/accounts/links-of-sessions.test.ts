// Ending another session also ends the links that it may have requested (CRED-23, CRED-27, CRED-28): a thief who was locked out cannot come back by
// a mailed link.
import { expect, it } from "vitest";
import { stopped } from "../support/clock.ts";
import { createWorld, expectStatus, type World } from "../support/world.ts";
import { operate } from "./review-support.ts";
import { bearer, freshAddress, freshClient, logIn, mailedToken, PASSWORD, post, postAs, signUp } from "./support.ts";
import { setUpTotp } from "./totp-support.ts";

const SESSIONS = "/v1/platform/sessions";
const VERIFY = "/v1/platform/verify-email";

type Scene = { readonly world: World; readonly platformId: string; readonly owner: string; readonly thief: string };

const byOwner = ({ world, owner }: Scene, method: string, path: string, body?: unknown) =>
  world.call(method, path, { key: null, headers: bearer(owner), ...(body !== undefined && { body }) });

const ENDS: Readonly<Record<string, (scene: Scene) => Promise<unknown>>> = {
  "the end of that session": async (scene) => {
    const { data } = expectStatus(await byOwner(scene, "GET", SESSIONS), 200);
    for (const { session_id, current } of data) {
      if (!current) await byOwner(scene, "DELETE", `${SESSIONS}/${session_id}`);
    }
  },
  "the end of all others": (scene) => byOwner(scene, "DELETE", `${SESSIONS}?others=true`),
  "the end of all others, once he has logged out": async (scene) => {
    await scene.world.call("DELETE", `${SESSIONS}/current`, { key: null, headers: bearer(scene.thief) });
    return byOwner(scene, "DELETE", `${SESSIONS}?others=true`);
  },
  "another password": async ({ world, owner }) => {
    const body = { current_password: PASSWORD, new_password: "another battery staple" };
    return expectStatus(await postAs(world, owner, "/v1/platform/password", body, freshClient()), 200);
  },
  "a set-up of TOTP": ({ world, owner }) => setUpTotp(world, owner),
};

/** A thief's session that has requested links to the thief's address, as the contact and as the account's. */
async function scene(): Promise<Scene & { readonly links: readonly string[] }> {
  const world = stopped(await createWorld());
  const { email, platformId } = await signUp(world);
  const [owner, thief] = [await logIn(world, email), await logIn(world, email)];
  return { world, platformId, owner, thief, links: await askForLinks(world, thief) };
}

async function askForLinks(world: World, token: string): Promise<string[]> {
  const [contact, address] = [freshAddress(), freshAddress()];
  const body = { admin_contact_email: contact };
  expectStatus(await world.call("PATCH", "/v1/platform", { key: null, headers: bearer(token), body }), 200);
  const move = { new_email: address, current_password: PASSWORD };
  expectStatus(await postAs(world, token, "/v1/platform/email", move, freshClient()), 202);
  return [mailedToken(world, contact), mailedToken(world, address)];
}

const open = async (world: World, [contact, address]: readonly string[], password = PASSWORD) => [
  (await post(world, VERIFY, { token: contact })).status,
  (await post(world, VERIFY, { token: address, password }, freshClient())).status,
];

it.each(Object.entries(ENDS))("%s ends the links to another address and contact", async (what, end) => {
  const { links, ...of } = await scene();
  await end(of);
  expect((await of.world.call("GET", "/v1/platform", { key: null, headers: bearer(of.thief) })).status).toBe(401);
  const password = what === "another password" ? "another battery staple" : PASSWORD;
  expect(await open(of.world, links, password)).toEqual([422, 422]);
});

it("TOTP that an operator removes ends them too", async () => {
  const { world, platformId, owner } = await scene();
  await setUpTotp(world, owner);
  world.advance(60_000);
  const links = await askForLinks(world, owner).catch(() => []);
  expect(links).toHaveLength(2);
  const path = `/v1/operator/platforms/${platformId}/totp/remove`;
  expectStatus(await operate(world, "POST", path, { reason: "The phone was lost." }), 200);
  expect(await open(world, links)).toEqual([422, 422]);
});

it("a log-out keeps them, because the person may still wait for a mail", async () => {
  const { world, thief, links } = await scene();
  expect((await world.call("DELETE", `${SESSIONS}/current`, { key: null, headers: bearer(thief) })).status).toBe(204);
  expect(await open(world, links)).toEqual([200, 200]);
});
