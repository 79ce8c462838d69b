// The second factor at the log-in and at a confirmation (CRED-28): each code counts once, is required only after the right password, and its secret
// is sealed at rest.
import { beforeAll, describe, expect, it } from "vitest";
import { resealTotpSecrets } from "../../src/accounts/totp.ts";
import { createApp } from "../../src/app.ts";
import { CONFIRMATION_MINUTES, LOG_IN_FAILURES_PER_ACCOUNT, MINUTE_MS } from "../../src/core/limits.ts";
import { stopped } from "../support/clock.ts";
import { withVars } from "../support/variants.ts";
import { createWorld, env, expectStatus, type Json } from "../support/world.ts";
import { type Account, freshClient, logIn, mailedToken, PASSWORD, post, postAs, rowsOf, signUp } from "./support.ts";
import { codeNow, enter, type Person, person, refusalOf, STEP_MS, setUpTotp, withTotp } from "./totp-support.ts";

const NEW = "another battery staple";

let world: ReturnType<typeof stopped>;
beforeAll(async () => {
  world = stopped(await createWorld());
});

describe("a log-in with TOTP", () => {
  it("accepts the present code once, also when 10 calls come at once", async () => {
    const one = await withTotp(world);
    const code = codeNow(world, one);
    const replies = await Promise.all(Array.from({ length: 10 }, () => enter(world, one, code)));
    expect(replies.filter(({ status }) => status === 201)).toHaveLength(1);
    const lost = replies.filter(({ status }) => status !== 201).map(refusalOf);
    expect(lost).toEqual(lost.map(() => [401, "invalid_credentials", "totp_invalid"]));
    expect(refusalOf(await enter(world, one, code))).toEqual([401, "invalid_credentials", "totp_invalid"]);
    world.advance(STEP_MS);
    expectStatus(await enter(world, one, ` ${codeNow(world, one).slice(0, 3)} ${codeNow(world, one).slice(3)} `), 201);
  });

  it("accepts a code one step either way, and no further", async () => {
    const one = await withTotp(world);
    world.advance(10 * STEP_MS);
    expect((await enter(world, one, codeNow(world, one, -2))).status).toBe(401);
    expect((await enter(world, one, codeNow(world, one, 2))).status).toBe(401);
    expectStatus(await enter(world, one, codeNow(world, one, -1)), 201);
    expectStatus(await enter(world, one, codeNow(world, one, 1)), 201);
    // A step before the last used one is refused.
    expect((await enter(world, one, codeNow(world, one))).status).toBe(401);
  });

  it("refuses the code that has confirmed the set-up", async () => {
    const one = await person(world);
    const totp = await setUpTotp(world, one.token);
    expect(refusalOf(await enter(world, one, codeNow(world, totp)))).toEqual([
      401,
      "invalid_credentials",
      "totp_invalid",
    ]);
  });

  it("accepts each recovery code once", async () => {
    const one = await withTotp(world);
    const [code = "", other = ""] = one.recoveryCodes;
    const replies = await Promise.all([
      enter(world, one, code),
      enter(world, one, code.toLowerCase().replaceAll("-", "")),
    ]);
    expect(replies.map(({ status }) => status).sort()).toEqual([201, 401]);
    expect((await enter(world, one, code)).status).toBe(401);
    expectStatus(await enter(world, one, other), 201);
    expect(JSON.parse((await rowsOf("passwords", one.platformId))[0].recovery_codes)).toHaveLength(8);
  });

  it("reveals only after the right password that a code is needed", async () => {
    const one = await withTotp(world);
    const wrong = await enter(world, one, codeNow(world, one), freshClient(), "not the password");
    expect(refusalOf(wrong)).toEqual([401, "invalid_credentials", undefined]);
    expect(refusalOf(await enter(world, one, undefined, freshClient(), "not the password"))).toEqual(refusalOf(wrong));
    const needed = await enter(world, one);
    expect(refusalOf(needed)).toEqual([401, "invalid_credentials", "totp_required"]);
    expect(needed.headers.get("www-authenticate")).toBe('Bearer realm="dashboard"');
  });

  it("counts a wrong code as a failed log-in, but not a missing one", async () => {
    const one = await withTotp(world);
    const client = freshClient();
    for (let n = 0; n <= LOG_IN_FAILURES_PER_ACCOUNT; n++)
      expect((await enter(world, one, undefined, client)).body.type).toBe("totp_required");
    for (let n = 0; n < LOG_IN_FAILURES_PER_ACCOUNT; n++)
      expect((await enter(world, one, n % 2 === 0 ? "000000" : "AAAA-BBBB-CCCC-DDDD", client)).body.type).toBe(
        "totp_invalid",
      );
    expect((await enter(world, one, codeNow(world, one), client)).status).toBe(429);
    expectStatus(await enter(world, one, codeNow(world, one)), 201);
  });

  it("is refused if it was judged before TOTP was confirmed", async () => {
    const own = await createWorld();
    const account = await signUp(own);
    const token = await logIn(own, account.email);
    own.meter.beforeBatch(2, async () => void (await setUpTotp(own, token)));
    const reply = await enter(own, account);
    expect(refusalOf(reply)).toEqual([401, "invalid_credentials", "totp_required"]);
    expect(await rowsOf("sessions", account.platformId)).toHaveLength(1);
  });

  it("needs the code after a reset of the password too", async () => {
    const one = await withTotp(world);
    await post(world, "/v1/platform/password/forgot", { email: one.email });
    const body = { token: mailedToken(world, one.email), new_password: NEW };
    expectStatus(await post(world, "/v1/platform/password/reset", body), 200);
    expect(refusalOf(await enter(world, one, undefined, freshClient(), NEW))).toEqual([
      ...[401, "invalid_credentials", "totp_required"],
    ]);
    expectStatus(await enter(world, one, codeNow(world, one), freshClient(), NEW), 201);
  });

  it("accepts a code where none is needed, without judging it", async () => {
    expectStatus(await enter(world, await person(world), "123456"), 201);
  });
});

describe("a confirmation with TOTP", () => {
  const again = ({ token }: Person, body: Json, client = freshClient()) =>
    postAs(world, token, "/v1/platform/sessions/current/confirm", body, client);

  it("takes a code or a recovery code, each once, and no password", async () => {
    const one = await withTotp(world);
    world.advance(CONFIRMATION_MINUTES * MINUTE_MS);
    const rotate = () => postAs(world, one.token, "/v1/platform/keys/rotate", {});
    const byPassword = await again(one, { current_password: PASSWORD });
    expect(refusalOf(byPassword)).toEqual([422, "validation_failed", "totp_required"]);
    expect(byPassword.body.field_errors).toMatchObject([{ field: "totp", code: "required" }]);
    expect(refusalOf(await rotate())).toEqual([403, "forbidden", "confirmation_required"]);
    const code = codeNow(world, one);
    expectStatus(await again(one, { totp: code }), 200);
    expectStatus(await rotate(), 200);
    expect(refusalOf(await again(one, { totp: code }))).toEqual([422, "validation_failed", "totp_invalid"]);
    expectStatus(await again(one, { totp: one.recoveryCodes[0] }), 200);
    expect((await again(one, { totp: one.recoveryCodes[0] })).status).toBe(422);
  });

  it("counts a wrong code as a failed log-in", async () => {
    const one = await withTotp(world);
    const client = freshClient();
    for (let n = 0; n < LOG_IN_FAILURES_PER_ACCOUNT; n++)
      expect((await again(one, { totp: "000000" }, client)).body.type).toBe("totp_invalid");
    expect((await again(one, { totp: codeNow(world, one) }, client)).status).toBe(429);
    expect((await enter(world, one, codeNow(world, one), client)).status).toBe(429);
  });
});

describe("ACCOUNT_SEAL_KEYS", () => {
  let keys = 0;
  const newKey = () => btoa(String.fromCharCode(++keys).repeat(32));
  const sealedBy = async ({ platformId }: Account) => (await rowsOf("passwords", platformId))[0];

  it("opens a secret only for its own account", async () => {
    const [one, two] = [await withTotp(world), await withTotp(world)];
    const { totp_secret } = await sealedBy(one);
    await env.DB.prepare("update passwords set totp_secret = ? where platform_id = ?")
      .bind(totp_secret, two.platformId)
      .run();
    expect((await enter(world, two, codeNow(world, one))).status).toBe(500);
    // A recovery code needs no key.
    expectStatus(await enter(world, two, two.recoveryCodes[0]), 201);
  });

  it("is rotated by a job that seals under the newest key again, after which no older key is needed", async () => {
    const one = await withTotp(world);
    const [older, newer] = [String(world.deps.env.ACCOUNT_SEAL_KEYS), newKey()];
    const at = (ACCOUNT_SEAL_KEYS: string) => withVars(world, { ACCOUNT_SEAL_KEYS });
    const both = at(`${newer},${older}`);
    const found = await resealTotpSecrets.find(both.deps, null, 100);
    expect(found.map(({ id }) => id)).toContain(one.platformId);
    const { platformId } = one;
    expect(await resealTotpSecrets.record(both.deps, platformId)).toBe(true);
    expect(await resealTotpSecrets.record(both.deps, platformId)).toBe(false);
    const again = await resealTotpSecrets.find(both.deps, null, 100);
    expect(again.map(({ id }) => id)).not.toContain(platformId);
    expectStatus(await enter(at(newer), one, codeNow(world, one)), 201);
    world.advance(STEP_MS);
    expect((await enter(at(older), one, codeNow(world, one))).status).toBe(500);
    // A reversed list has another newest key.
    expect(await resealTotpSecrets.record(at(`${older},${newer}`).deps, platformId)).toBe(true);
    expectStatus(await enter(world, one, codeNow(world, one)), 201);
  });

  it.each(["", "x", "aGVsbG8="])("of %j fails every call from the first on", async (keys) => {
    const request = new Request("http://service.test/healthz");
    const answer = await createApp().fetch(request, { ...env, ACCOUNT_SEAL_KEYS: keys });
    expect(answer.status).toBe(500);
    expect(await answer.text()).not.toContain("SEAL");
  });
});
