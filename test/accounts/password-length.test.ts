// The length limits of a password apply to its NFKC form, so composed and decomposed accents are equal (ACC-10, CRED-22).
import { beforeAll, describe, expect, it } from "vitest";
import { createWorld, expectStatus, type Reply, type World } from "../support/world.ts";
import { bearer, freshAddress, freshClient, logIn, mailedToken, PASSWORD, post, postAs, signUp } from "./support.ts";

let world: World;
beforeAll(async () => {
  world = await createWorld();
});

const COMPOSED = "ä".repeat(128);
/** 256 code units. */
const DECOMPOSED = COMPOSED.normalize("NFD");
/** Twelve code units, and six letters. */
const SHORT = "äöüéèà".normalize("NFD");

const register = (password: string) =>
  post(world, "/v1/platform/register", { email: freshAddress(), password }, freshClient());
async function reset(password: string): Promise<Reply> {
  const { email } = await signUp(world);
  await post(world, "/v1/platform/password/forgot", { email });
  const token = mailedToken(world, email);
  return post(world, "/v1/platform/password/reset", { token, new_password: password }, freshClient());
}
async function change(password: string): Promise<Reply> {
  const token = await logIn(world, (await signUp(world)).email);
  const body = { current_password: PASSWORD, new_password: password };
  return postAs(world, token, "/v1/platform/password", body, freshClient());
}

describe.each([
  ["a sign-up", register, "password"],
  ["a reset", reset, "new_password"],
  ["a change", change, "new_password"],
] as const)("%s", (_what, set, field) => {
  it("accepts 128 letters, composed or decomposed", async () => {
    for (const password of [COMPOSED, DECOMPOSED]) expect((await set(password)).status).toBeLessThan(300);
  });

  it.each([
    ["six decomposed letters", SHORT, "too_short"],
    ["129 decomposed letters", `${DECOMPOSED}${"ä".normalize("NFD")}`, "too_long"],
  ])("refuses %s", async (_many, password, code) => {
    const { status, body } = await set(password);
    expect([status, body.field_errors]).toEqual([422, [expect.objectContaining({ field, code })]]);
  });
});

it("accepts either form of a password at log-in, email change and closing", async () => {
  const email = freshAddress();
  expectStatus(await post(world, "/v1/platform/register", { email, password: COMPOSED }, freshClient()), 201);
  await post(world, "/v1/platform/verify-email", { token: mailedToken(world, email), password: DECOMPOSED });
  const token = await logIn(world, email, DECOMPOSED);
  const address = { new_email: freshAddress(), current_password: DECOMPOSED };
  expect((await postAs(world, token, "/v1/platform/email", address, freshClient())).status).toBeLessThan(300);
  const closing = { confirmation: email, current_password: DECOMPOSED };
  expectStatus(await post(world, "/v1/platform/close", closing, { ...bearer(token), ...freshClient() }), 200);
});
