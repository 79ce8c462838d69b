// Limits of an account's own keys (ACC-16 to ACC-18): a replaced key cannot take the account over from its replacement, and where a person promotes,
// no key opens production.
import { beforeAll, describe, expect, it } from "vitest";
import { createWorld, env, expectStatus, type Json, type Reply, type World } from "../support/world.ts";
import { type Account, bearer, logIn, readAccount, rowsOf, signUp } from "./support.ts";

let world: World;
beforeAll(async () => {
  world = await createWorld();
});

const accredited = async (): Promise<Account> => {
  const made = await signUp(world);
  await env.DB.prepare("update platforms set status = 'ACCREDITED' where platform_id = ?").bind(made.platformId).run();
  return made;
};
type Headers = Record<string, string>;
const rotate = (key: string, body: Json = {}, headers: Headers = {}) =>
  world.call("POST", "/v1/platform/keys/rotate", { key, body, headers });
const promote = (key: string, headers: Headers = {}) => world.call("POST", "/v1/platform/promote", { key, headers });
const patch = (key: string, body: Json) => world.call("PATCH", "/v1/platform", { key, body });
const codeOf = ({ status, body }: Reply) => [status, body.code];
const FORBIDDEN = [403, "forbidden"];

describe("a key in its grace", () => {
  it("reads and writes, but does not rotate, promote or change the account; the current key does", async () => {
    const { key: old, platformId } = await accredited();
    const { api_key } = expectStatus(await rotate(old, { grace_hours: 24 }), 200);
    const current = api_key.raw_key;
    expectStatus(await world.call("GET", "/v1/platform/keys", { key: old }), 200);
    expectStatus(await world.call("POST", "/v1/customers", { key: old, body: { name: "Client" } }), 201);

    const keys = await rowsOf("management_keys", platformId);
    const refused = [
      await rotate(old),
      await rotate(old, { grace_hours: 24 }),
      await rotate(old, { grace_hours: "a day" }),
      await promote(old),
      await patch(old, { trading_name: "Thief" }),
      await patch(old, { trading_name: 7 }),
    ];
    expect(refused.map(codeOf)).toEqual(refused.map(() => FORBIDDEN));
    expect(await rowsOf("management_keys", platformId)).toEqual(keys);
    expect(await readAccount(world, current)).toMatchObject({ trading_name: null, promoted_at: null });

    expectStatus(await patch(current, { trading_name: "Owner" }), 200);
    expectStatus(await promote(current), 200);
    expectStatus(await rotate(current), 200);
    expect((await world.call("GET", "/v1/platform", { key: old })).status).toBe(401);
  });

  it("gets the stored outcome of the rotation that replaced it", async () => {
    const { key: old } = await signUp(world);
    const headers = { "Idempotency-Key": crypto.randomUUID() };
    const rotated = expectStatus(await rotate(old, { grace_hours: 24 }, headers), 200);
    expect((await rotate(old, { grace_hours: 24 }, headers)).body).toEqual(rotated);
    expect(codeOf(await rotate(old, { grace_hours: 24 }, { "Idempotency-Key": crypto.randomUUID() }))).toEqual(
      FORBIDDEN,
    );
  });

  it("of production does not rotate either", async () => {
    const { key } = await accredited();
    const live = expectStatus(await promote(key), 200).api_key.raw_key;
    expectStatus(await rotate(live, { grace_hours: 1 }), 200);
    expect(codeOf(await rotate(live))).toEqual(FORBIDDEN);
    expect(codeOf(await patch(live, { trading_name: "Thief" }))).toEqual(FORBIDDEN);
    // A promoted account answers every credential that it is already promoted.
    expect(codeOf(await promote(live))).toEqual([409, "already_promoted"]);
  });
});

describe("promotion_by", () => {
  const bySession = async ({ email }: Account): Promise<Headers> => bearer(await logIn(world, email));
  const asPerson = async (account: Account, body: Json): Promise<Reply> =>
    world.call("PATCH", "/v1/platform", { key: null, headers: await bySession(account), body });

  it("is key at first, is changed only by a session, and its change is in the log", async () => {
    const account = await signUp(world);
    expect((await readAccount(world, account.key)).promotion_by).toBe("key");
    for (const promotion_by of ["session", "key"])
      expect(codeOf(await patch(account.key, { promotion_by }))).toEqual(FORBIDDEN);
    expect(codeOf(await patch(account.key, { promotion_by: "session", country: "de" }))).toEqual(FORBIDDEN);
    expect(expectStatus(await asPerson(account, { promotion_by: "session" }), 200).promotion_by).toBe("session");
    expect(codeOf(await asPerson(account, { promotion_by: "session" }))).toEqual([400, "no_changes_requested"]);
    expect(codeOf(await asPerson(account, { promotion_by: "operator" }))).toEqual([422, "validation_failed"]);
    const log = "/v1/platform/activity?action=account.profile_changed";
    expect(expectStatus(await world.call("GET", log, { key: account.key }), 200).data).toMatchObject([
      {
        actor: { type: "dashboard_admin", id: account.email },
        changes: { promotion_by: { from: "key", to: "session" } },
      },
    ]);
  });

  it("session keeps every key from opening production, after the refusals that apply to every caller", async () => {
    const account = await signUp(world);
    expectStatus(await asPerson(account, { promotion_by: "session" }), 200);
    expect(codeOf(await promote(account.key))).toEqual([409, "not_accredited"]);
    await env.DB.prepare("update platforms set status = 'ACCREDITED' where platform_id = ?")
      .bind(account.platformId)
      .run();
    const headers = { "Idempotency-Key": crypto.randomUUID() };
    expect(codeOf(await promote(account.key, headers))).toEqual(FORBIDDEN);
    const keys = await rowsOf("management_keys", account.platformId);
    expect(keys.map(({ environment }) => environment)).toEqual(["sandbox"]);
    const session = await bySession(account);
    const promoted = await world.call("POST", "/v1/platform/promote", { key: null, headers: session });
    expect(expectStatus(promoted, 200).api_key.environment).toBe("production");
    expect(codeOf(await promote(account.key))).toEqual([409, "already_promoted"]);
  });
});
