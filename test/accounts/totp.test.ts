// The second factor (CRED-28): a person sets it up, a confirmation puts it into force, and the person or the operator removes it.
import { beforeAll, describe, expect, it } from "vitest";
import { codeAt } from "../../scripts/authenticator.ts";
import { LOG_IN_FAILURES_PER_ACCOUNT } from "../../src/core/limits.ts";
import { stopped } from "../support/clock.ts";
import { dumpDatabase } from "../support/variants.ts";
import { createWorld, expectStatus } from "../support/world.ts";
import { operate } from "./review-support.ts";
import { type Account, bearer, freshClient, logIn, PASSWORD, register, rowsOf } from "./support.ts";
import {
  codeNow,
  confirmSetUp,
  enter,
  person,
  refusalOf,
  removeTotp,
  STEP_MS,
  setUp,
  setUpTotp,
  withTotp,
} from "./totp-support.ts";

let world: ReturnType<typeof stopped>;
beforeAll(async () => {
  world = stopped(await createWorld());
});

const removeByOperator = (platformId: string, reason = "Lost phone.") =>
  operate(world, "POST", `/v1/operator/platforms/${platformId}/totp/remove`, { reason });
const works = async (token: string): Promise<boolean> =>
  (await world.call("GET", "/v1/platform", { key: null, headers: bearer(token) })).status === 200;
const actionsOf = async ({ platformId }: Account) =>
  (await rowsOf("activity_entries", platformId))
    .filter(({ action }) => action.startsWith("account.totp"))
    .map(({ action, actor_type, changes }) => [action, actor_type, changes && JSON.parse(changes)]);
const noticesOf = async ({ platformId }: Account) =>
  (await rowsOf("notices", platformId))
    .filter(({ kind }) => kind.startsWith("customer.totp"))
    .map(({ kind, data }) => [kind, JSON.parse(data).byOperator]);

describe("a set-up", () => {
  it("requires the password, and needs no code until it is confirmed", async () => {
    const one = await person(world);
    const wrong = await setUp(world, one, "not the password");
    expect([wrong.status, wrong.body.code]).toEqual([422, "current_password_invalid"]);
    const made = expectStatus(await setUp(world, one), 200);
    expect(made.otpauth_uri).toContain(`secret=${made.secret}&issuer=`);
    expect(made.recovery_codes).toHaveLength(10);
    expectStatus(await enter(world, one), 201);
    // Another set-up replaces it, and a code of the first is worthless.
    const again = expectStatus(await setUp(world, one), 200);
    expect(refusalOf(await confirmSetUp(world, one, codeAt(made.secret, world.now())))).toEqual([
      ...[422, "validation_failed", "totp_invalid"],
    ]);
    const { confirmed_at } = expectStatus(await confirmSetUp(world, one, codeAt(again.secret, world.now())), 200);
    expect(Date.parse(confirmed_at)).toBe(world.now());
    expect(refusalOf(await enter(world, one))).toEqual([401, "invalid_credentials", "totp_required"]);
  });

  it("that is confirmed ends the other sessions, and is an entry of the log and a notice", async () => {
    const one = await person(world);
    const other = await logIn(world, one.email);
    expectStatus(await setUp(world, one), 200);
    expect(await works(other)).toBe(true);
    await setUpTotp(world, one.token);
    expect([await works(one.token), await works(other)]).toEqual([true, false]);
    expect(await actionsOf(one)).toEqual([["account.totp_enabled", "dashboard_admin", null]]);
    expect(await noticesOf(one)).toEqual([["customer.totp_enabled", false]]);
  });

  it("cannot be confirmed by a recovery code, without a pending set-up, or twice", async () => {
    const one = await person(world);
    expect(refusalOf(await confirmSetUp(world, one, "123456"))).toEqual([409, "invalid_status", undefined]);
    const { secret, recovery_codes } = expectStatus(await setUp(world, one), 200);
    expect(refusalOf(await confirmSetUp(world, one, recovery_codes[0]))).toEqual([
      422,
      "validation_failed",
      "totp_invalid",
    ]);
    expectStatus(await confirmSetUp(world, one, codeAt(secret, world.now())), 200);
    world.advance(STEP_MS);
    expect(refusalOf(await confirmSetUp(world, one, codeAt(secret, world.now())))).toEqual([
      409,
      "invalid_status",
      undefined,
    ]);
  });

  it("is refused while TOTP is in force, after the password is judged", async () => {
    const one = await withTotp(world);
    expect((await setUp(world, one, "not the password")).body.code).toBe("current_password_invalid");
    const before = await rowsOf("passwords", one.platformId);
    expect(refusalOf(await setUp(world, one))).toEqual([409, "invalid_status", undefined]);
    expect(await rowsOf("passwords", one.platformId)).toEqual(before);
  });

  it("stores neither the secret nor a recovery code in the clear", async () => {
    const { secret, recoveryCodes } = await withTotp(world);
    const stored = JSON.stringify(await dumpDatabase());
    for (const text of [secret, ...recoveryCodes, ...recoveryCodes.map((code) => code.replaceAll("-", ""))])
      expect(stored).not.toContain(text);
  });

  it.each(["/v1/platform/totp", "/v1/platform/totp/confirm"])("by %s is only for a person", async (path) => {
    const { key } = await person(world);
    expect((await world.call("POST", path, { key, body: { current_password: PASSWORD } })).status).toBe(401);
  });
});

describe("removing TOTP", () => {
  it("requires the password and a code, ends the other sessions, and is an entry of the log and a notice", async () => {
    const one = await withTotp(world);
    const other = await enter(world, one, one.recoveryCodes[0]);
    expect((await removeTotp(world, one, codeNow(world, one), "not the password")).body.code).toBe(
      "current_password_invalid",
    );
    const refused = await removeTotp(world, one, "000000");
    expect(refusalOf(refused)).toEqual([422, "validation_failed", "totp_invalid"]);
    expect(refused.body.field_errors).toMatchObject([{ field: "code", code: "invalid_value" }]);
    expect((await removeTotp(world, one, codeNow(world, one))).status).toBe(204);
    expect([await works(one.token), await works(other.body.session_token)]).toEqual([true, false]);
    expectStatus(await enter(world, one), 201);
    const { totp_secret, totp_seal_key, recovery_codes } = (await rowsOf("passwords", one.platformId))[0];
    expect([totp_secret, totp_seal_key, recovery_codes]).toEqual([null, null, null]);
    expect((await actionsOf(one)).at(-1)).toEqual(["account.totp_disabled", "dashboard_admin", null]);
    expect((await noticesOf(one)).at(-1)).toEqual(["customer.totp_disabled", false]);
  });

  it("accepts a recovery code too, and is refused if TOTP is not in force", async () => {
    const one = await withTotp(world);
    const [code = ""] = one.recoveryCodes;
    expect((await removeTotp(world, one, code)).status).toBe(204);
    expect(refusalOf(await removeTotp(world, one, code))).toEqual([409, "invalid_status", undefined]);
    // A set-up that waits for its confirmation is not in force.
    expectStatus(await setUp(world, one), 200);
    expect(refusalOf(await removeTotp(world, one, code))).toEqual([409, "invalid_status", undefined]);
  });

  it("counts its failures like those of log-ins", async () => {
    const one = await withTotp(world);
    const client = freshClient();
    for (let n = 0; n < LOG_IN_FAILURES_PER_ACCOUNT; n++)
      expect((await removeTotp(world, one, "000000", PASSWORD, client)).status).toBe(422);
    expect((await removeTotp(world, one, codeNow(world, one), PASSWORD, client)).status).toBe(429);
  });
});

describe("removing TOTP by the operator", () => {
  it("ends every session, and is an entry of both logs and a notice that says who did it", async () => {
    const one = await withTotp(world);
    const removed = expectStatus(await removeByOperator(one.platformId), 200);
    expect(removed).toEqual({ platform_id: one.platformId, removed_at: new Date(world.now()).toISOString() });
    expect(await works(one.token)).toBe(false);
    expectStatus(await enter(world, one), 201);
    const reason = { reason: { from: null, to: "Lost phone." } };
    expect((await actionsOf(one)).at(-1)).toEqual(["account.totp_disabled", "operator", reason]);
    expect((await noticesOf(one)).at(-1)).toEqual(["customer.totp_disabled", true]);
    const [entry] = await rowsOf("operator_entries", one.platformId);
    expect(entry).toMatchObject({ action: "platform.totp_removed", detail: '{"reason":"Lost phone."}' });
  });

  it("is refused if TOTP is not in force, for an unknown account, and without a reason", async () => {
    const { platformId } = await person(world);
    expect(refusalOf(await removeByOperator(platformId))).toEqual([409, "invalid_status", undefined]);
    expect((await removeByOperator("plt_none")).status).toBe(404);
    expect((await removeByOperator(platformId, "")).body.code).toBe("validation_failed");
    const waiting = await register(world);
    expect((await removeByOperator(waiting.platform_id)).status).toBe(409);
  });
});
