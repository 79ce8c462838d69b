// Promotion to production (ACC-16): it happens once, and production answers by the state of the account.
import { beforeAll, describe, expect, it } from "vitest";
import { PRODUCTION, type PRODUCTION_STAGES } from "../../src/core/roles.ts";
import { PLATFORM_STATUSES } from "../../src/core/vocabulary.ts";
import { market, marketsPath } from "../markets/support.ts";
import { isWhole } from "../support/scale.ts";
import { dumpDatabase } from "../support/variants.ts";
import {
  agentBody,
  createWorld,
  env,
  expectStatus,
  type Json,
  principalBody,
  type Reply,
  type World,
} from "../support/world.ts";
import { ask, complete, decide, inReview, operate, type Person } from "./review-support.ts";
import { type Account, bearer, logIn, PASSWORD, post, register, rowsOf, signUp } from "./support.ts";

const AT_ONCE = isWhole() ? 50 : 10;

let world: World;
let account: Account;
beforeAll(async () => {
  world = await createWorld();
});

/** A separate account at the given stage. */
async function accountAt(stage: (typeof PRODUCTION_STAGES)[number]): Promise<Account> {
  const made = await signUp(world);
  if (stage === "unaccredited") return made;
  await accredit(made);
  if (stage === "promoted") expectStatus(await promote(made.key), 200);
  return made;
}
const accredit = ({ platformId }: Account) =>
  env.DB.prepare("update platforms set status = 'ACCREDITED' where platform_id = ?").bind(platformId).run();

const promote = (key: string, headers: Record<string, string> = {}) =>
  world.call("POST", "/v1/platform/promote", { key, headers });
const keysOf = async (key: string): Promise<Json[]> =>
  expectStatus(await world.call("GET", "/v1/platform/keys", { key }), 200).data;

describe("promotion", () => {
  it("issues a production key that works at once, and changes nothing else", async () => {
    account = await accountAt("accredited");
    const promoted = expectStatus(await promote(account.key), 200);
    expect(promoted).toMatchObject({ environment: "production", live_key_issued: true });
    const { raw_key: live, key_prefix: prefix } = promoted.api_key;
    expect(live).toMatch(/^service_live_/);
    expect(live.startsWith(prefix)).toBe(true);
    const read = expectStatus(await world.call("GET", "/v1/platform", { key: live }), 200);
    expect(read).toMatchObject({ environment: "production", promoted_at: promoted.promoted_at });
    expect((await keysOf(live)).map(({ environment }) => environment)).toEqual(["production", "sandbox"]);
  });

  it.each([
    ["none", () => ({})],
    ["one", (_at: number, one: string) => ({ "Idempotency-Key": one })],
  ])("issues one key for simultaneous calls with this number of Idempotency-Keys: %s", async (_name, headersOf) => {
    const { key, platformId } = await accountAt("accredited");
    const one = crypto.randomUUID();
    const replies = await Promise.all(Array.from({ length: AT_ONCE }, (_, at) => promote(key, headersOf(at, one))));
    const secrets = new Set(replies.filter(({ status }) => status === 200).map(({ body }) => body.api_key.raw_key));
    expect(secrets.size).toBe(1);
    const codes = new Set(replies.filter(({ status }) => status !== 200).map(({ body }) => body.code));
    for (const code of codes) expect(["already_promoted", "idempotency_key_processing"]).toContain(code);
    const stored = await env.DB.prepare(
      "select count(*) as n from management_keys where platform_id = ? and environment = 'production'",
    ).bind(platformId);
    expect((await stored.first<{ n: number }>())?.n).toBe(1);
    const replay = await promote(key, headersOf(0, one));
    const [secret] = secrets;
    if (_name === "one") expect([replay.status, replay.body.api_key.raw_key]).toEqual([200, secret]);
    else expect([replay.status, replay.body.code]).toEqual([409, "already_promoted"]);
  });

  it("is refused to another credential under the same Idempotency-Key, with the reason", async () => {
    const { key, email } = await accountAt("accredited");
    const headers = { "Idempotency-Key": crypto.randomUUID() };
    expectStatus(await promote(key, headers), 200);
    const session = bearer(await logIn(world, email));
    const reply = await world.call("POST", "/v1/platform/promote", { key: null, headers: { ...headers, ...session } });
    expect([reply.status, reply.body.code, reply.body.type]).toEqual([
      422,
      "idempotency_key_reused",
      "other_credential",
    ]);
  });
});

describe("state × production action", () => {
  type Action = "open_market" | "read" | "rotate_key" | "promote";
  type Owner = Person & { readonly provider: string };
  const inProduction = ({ session }: Owner) => ({ ...bearer(session), "Service-Environment": "production" });
  /** In the order in which they are tried: a promotion changes the answers of the others. */
  const ACTIONS: Readonly<Record<Action, (of: Owner) => Promise<Reply>>> = {
    open_market: (of) =>
      world.call("POST", marketsPath(of.provider), {
        key: null,
        headers: inProduction(of),
        body: { markets: [market()] },
      }),
    read: (of) => world.call("GET", "/v1/agents", { key: null, headers: inProduction(of) }),
    rotate_key: (of) => ask(world, of, "POST", "/v1/platform/keys/rotate", { body: { environment: "production" } }),
    promote: ({ key }) => promote(key),
  };

  async function provide(person: Person): Promise<Owner> {
    const made = async (path: string, body?: unknown, status = 201) =>
      expectStatus(await world.call("POST", path, { key: person.key, body }), status);
    const { principal_id } = await made("/v1/principals", principalBody());
    const { did } = await made("/v1/agents", { ...agentBody("PROVIDER"), principal_id });
    await made(`/v1/agents/${did}/activate`, undefined, 200);
    return { ...person, provider: did };
  }
  async function begun(): Promise<Owner> {
    const made = await signUp(world);
    return provide({ ...made, session: await logIn(world, made.email) });
  }
  async function approved(): Promise<Owner> {
    const owner = await provide(await inReview(world));
    expectStatus(await decide(world, owner, { decision: "approve" }), 200);
    return owner;
  }
  async function promoted(): Promise<Owner> {
    const owner = await approved();
    expectStatus(await promote(owner.key), 200);
    return owner;
  }
  async function suspended(): Promise<Owner> {
    const owner = await promoted();
    const path = `/v1/operator/platforms/${owner.platformId}/suspend`;
    expectStatus(await operate(world, "POST", path, { reason: "Chargebacks." }), 200);
    return owner;
  }
  async function closed(): Promise<Owner> {
    const owner = await begun();
    const body = { confirmation: owner.email, current_password: PASSWORD };
    expectStatus(await ask(world, owner, "POST", "/v1/platform/close", { body }), 200);
    return owner;
  }

  type Outcome = 200 | `${number} ${string}`;
  const each = (outcome: Outcome): Record<Action, Outcome> => ({
    open_market: outcome,
    read: outcome,
    rotate_key: outcome,
    promote: outcome,
  });
  const unaccredited = { ...each("409 not_accredited"), rotate_key: "409 key_not_provisioned" } as const;
  const accredited = {
    ...each("409 production_locked"),
    rotate_key: "409 key_not_provisioned",
    promote: 200,
  } as const;

  const STATES: [string, () => Promise<Owner>, Record<Action, Outcome>][] = [
    ["PROFILE_PENDING", begun, unaccredited],
    ["KYB_PENDING", async () => provide(await complete(world)), unaccredited],
    ["IN_REVIEW", async () => provide(await inReview(world)), unaccredited],
    ["ACCREDITED", approved, accredited],
    ["ACCREDITED, and promoted", promoted, { ...each(200), promote: "409 already_promoted" }],
    ["SUSPENDED", suspended, each("403 account_suspended")],
    ["CLOSED", closed, each("401 invalid_credentials")],
  ];

  it.each(STATES)("%s: permits its actions, and the others change nothing", async (_state, make, expected) => {
    const owner = await make();
    const seen: Partial<Record<Action, Outcome>> = {};
    for (const action of Object.keys(ACTIONS) as Action[]) {
      const before = await dumpDatabase();
      const { status, body } = await ACTIONS[action](owner);
      seen[action] = status === 200 ? 200 : `${status} ${body.code}`;
      if (status !== 200) expect([action, await dumpDatabase()]).toEqual([action, before]);
    }
    expect(seen).toEqual(expected);
  });

  it("EMAIL_PENDING: has neither a key nor a session that could try", async () => {
    const { email, platform_id: platformId } = await register(world);
    expect(await rowsOf("management_keys", platformId)).toEqual([]);
    const reply = await post(world, "/v1/platform/sessions", { email, password: PASSWORD });
    expect([reply.status, reply.body.code]).toEqual([403, "email_not_verified"]);
    expect(await rowsOf("sessions", platformId)).toEqual([]);
  });

  it("covers every state", () => {
    const named = STATES.map(([state]) => state.split(",")[0]);
    expect(new Set(["EMAIL_PENDING", ...named])).toEqual(new Set(PLATFORM_STATUSES));
  });

  it("equals the table of the specification", () => {
    expect(PRODUCTION).toEqual({
      promote: { unaccredited: "not_accredited", accredited: null, promoted: "already_promoted" },
      rotate_key: { unaccredited: "key_not_provisioned", accredited: "key_not_provisioned", promoted: null },
      act: { unaccredited: "not_accredited", accredited: "production_locked", promoted: null },
    });
  });
});
