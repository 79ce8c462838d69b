// Sign-up (ACC-10): register, verify by the mailed link, log in, use the key.
import { beforeAll, describe, expect, it } from "vitest";
import { computeSha256Hex } from "../../src/core/encoding.ts";
import { DAY_MS, HOUR_MS, LINK_HOURS } from "../../src/core/limits.ts";
import { stopped } from "../support/clock.ts";
import { dumpDatabase } from "../support/variants.ts";
import { createWorld, expectStatus, principalBody, type World } from "../support/world.ts";
import { freshAddress, freshClient, mailedToken, PASSWORD, post, register, signUp } from "./support.ts";

let world: World;
beforeAll(async () => {
  world = await createWorld();
});

/** Uses another client for each call, because attempts of one client are limited. */
const verify = (token: string, headers: Record<string, string> = {}) =>
  post(world, "/v1/platform/verify-email", { token, password: PASSWORD }, { ...freshClient(), ...headers });

describe("registration", () => {
  it("creates an EMAIL_PENDING account and mails one link to its address", async () => {
    const email = freshAddress();
    const account = await register(world, email);
    expect(account).toMatchObject({
      platform_status: "EMAIL_PENDING",
      email,
      legal_name: null,
      tenant_principal_id: null,
      requirements: { currently_due: ["email_verification"] },
    });
    expect(world.mails.filter(({ to }) => to === email)).toHaveLength(1);
    expect(mailedToken(world, email)).toMatch(/^[\w-]{43}$/);
  });

  it("refuses an address that has an account, in any case, and also while the account is unverified", async () => {
    const email = freshAddress();
    await register(world, email);
    const mails = world.mails.length;
    const before = await dumpDatabase();
    const again = await post(world, "/v1/platform/register", { email: email.toUpperCase(), password: PASSWORD });
    expect([again.status, again.body.code]).toEqual([409, "email_exists"]);
    expect(await dumpDatabase()).toEqual(before);
    expect(world.mails).toHaveLength(mails);
  });

  it("makes one account from 20 simultaneous registrations", async () => {
    const email = freshAddress();
    const replies = await Promise.all(
      Array.from({ length: 20 }, () => post(world, "/v1/platform/register", { email, password: PASSWORD })),
    );
    expect(replies.map(({ status }) => status).sort()).toEqual([201, ...Array.from({ length: 19 }, () => 409)]);
  });

  it("names every fault of a body at once", async () => {
    const body = { email: "nobody", password: "short", legal_name: "", colour: "red" };
    const reply = await post(world, "/v1/platform/register", body);
    expect([reply.status, reply.body.code]).toEqual([422, "validation_failed"]);
    const faults = reply.body.field_errors.map(({ field, code }: { field: string; code: string }) => [field, code]);
    expect(faults).toEqual(
      expect.arrayContaining([
        ["email", "invalid_format"],
        ["password", "too_short"],
        ["legal_name", "too_short"],
        ["colour", "unknown_field"],
      ]),
    );
  });

  it.each([
    ["the address itself", (email: string) => email.toUpperCase()],
    ["one of the most common", () => "1qaz2wsx3edc"],
    ["11 characters", () => "abcdefghijk"],
    ["129 characters", () => "x".repeat(129)],
  ])("refuses a password that is %s", async (_what, make) => {
    const email = freshAddress();
    const reply = await post(world, "/v1/platform/register", { email, password: make(email) });
    expect(reply.status).toBe(422);
    expect(reply.body.field_errors[0].field).toBe("password");
    expect(JSON.stringify(await dumpDatabase())).not.toContain(email);
  });

  it("replays under its Idempotency-Key, and stores nothing from which a password could be guessed", async () => {
    const [email, key] = [freshAddress(), crypto.randomUUID()];
    const send = (password: string) =>
      post(world, "/v1/platform/register", { email, password }, { "Idempotency-Key": key });
    const first = expectStatus(await send(PASSWORD), 201);
    const again = await send(PASSWORD);
    expect([again.status, again.body]).toEqual([201, first]);
    expect(again.headers.get("idempotent-replayed")).toBe("true");
    const other = await send(`${PASSWORD}!`);
    expect([other.status, other.body.code]).toEqual([422, "idempotency_key_reused"]);
    const stored = JSON.stringify(await dumpDatabase());
    expect(stored).not.toContain(PASSWORD);
    const bodyHash = await computeSha256Hex(JSON.stringify({ email, password: PASSWORD }));
    expect(stored).not.toContain(bodyHash);
  });
});

describe("the mailed link", () => {
  it("verifies the address, begins the account, and gives a sandbox key that works at once", async () => {
    const { key, platformId } = await signUp(world);
    expect(key).toMatch(/^service_sandbox_/);
    const account = expectStatus(await world.call("GET", "/v1/platform", { key }), 200);
    expect(account).toMatchObject({ platform_id: platformId, platform_status: "PROFILE_PENDING" });
    // The sandbox never waits for a review.
    expect((await world.call("POST", "/v1/principals", { key, body: principalBody() })).status).toBe(201);
  });

  it("is used up by one of 50 simultaneous verifications, which issues one key", async () => {
    const email = freshAddress();
    const { platform_id: platformId } = await register(world, email);
    const token = mailedToken(world, email);
    const replies = await Promise.all(Array.from({ length: 50 }, () => verify(token)));
    expect(replies.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(replies.filter(({ status }) => status === 422)).toHaveLength(49);
    const { management_keys: keys = [] } = await dumpDatabase();
    expect(keys.filter((row) => row.includes(platformId))).toHaveLength(1);
  });

  it("gives the same key again under its Idempotency-Key, which the service cannot read at rest", async () => {
    const email = freshAddress();
    await register(world, email);
    const token = mailedToken(world, email);
    const headers = { "Idempotency-Key": crypto.randomUUID() };
    const first = expectStatus(await verify(token, headers), 200);
    const again = await verify(token, headers);
    expect([again.status, again.body]).toEqual([200, first]);
    const stored = JSON.stringify(await dumpDatabase());
    for (const secret of [first.api_key.raw_key, token]) expect(stored).not.toContain(secret);
  });

  it.each([
    ["unknown", async () => "x".repeat(43)],
    [
      "used",
      async (email: string) => {
        const token = mailedToken(world, email);
        await verify(token);
        return token;
      },
    ],
  ])("is refused when it is %s, with the same words", async (_what, make) => {
    const email = freshAddress();
    await register(world, email);
    const token = await make(email);
    const before = await dumpDatabase();
    const reply = await verify(token);
    expect([reply.status, reply.body.code]).toEqual([422, "validation_failed"]);
    expect(reply.body.field_errors).toEqual([
      { field: "token", code: "invalid_value", message: "The link is unknown, used or expired." },
    ]);
    expect(await dumpDatabase()).toEqual(before);
  });

  it("ends after exactly 24 hours", async () => {
    const later = stopped(await createWorld());
    const email = freshAddress();
    await register(later, email);
    const token = mailedToken(later, email);
    const other = freshAddress();
    await register(later, other);
    later.advance(LINK_HOURS * HOUR_MS - 1);
    expectStatus(
      await post(later, "/v1/platform/verify-email", { token: mailedToken(later, other), password: PASSWORD }),
      200,
    );
    later.advance(1);
    expect((await post(later, "/v1/platform/verify-email", { token, password: PASSWORD })).status).toBe(422);
  });

  it("is mailed again on request, and the earlier one ends; the answer is the same for every address", async () => {
    const later = stopped(await createWorld());
    const email = freshAddress();
    await register(later, email);
    const first = mailedToken(later, email);
    const resend = (address: string) => post(later, "/v1/platform/verify-email/resend", { email: address });
    // Less than a minute after the last one.
    const tooSoon = await resend(email);
    expect(mailedToken(later, email)).toBe(first);
    later.advance(61_000);
    const again = await resend(email);
    const unknown = await resend(freshAddress());
    expect(again.status).toBe(202);
    expect([tooSoon.body, unknown.body]).toEqual([again.body, again.body]);
    const second = mailedToken(later, email);
    expect(second).not.toBe(first);
    expect((await post(later, "/v1/platform/verify-email", { token: first, password: PASSWORD })).status).toBe(422);
    expect((await post(later, "/v1/platform/verify-email", { token: second, password: PASSWORD })).status).toBe(200);
    later.advance(DAY_MS);
    await resend(email);
    expect(later.mails.filter(({ to }) => to === email)).toHaveLength(2);
  });
});
