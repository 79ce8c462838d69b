// Plays every cell and line of docs/security.md: the acts that a thief can do with each credential, and the acts that end it.
import { describe, expect, inject, it } from "vitest";
import page from "../../docs/security.md?raw";
import { computeSha256Hex } from "../../src/core/encoding.ts";
import { MINUTE_MS } from "../../src/core/limits.ts";
import { bearer, freshClient, logIn, mailedToken, PASSWORD, post, postAs, signUp } from "../accounts/support.ts";
import { setUpTotp } from "../accounts/totp-support.ts";
import { credential, revoke } from "../cascades/revocation-support.ts";
import { noticesOf } from "../support/notices.ts";
import { withVars } from "../support/variants.ts";
import { createWorld, expectStatus, type Json, type Reply, type World } from "../support/world.ts";
import { operate, patchVerifier } from "../verifiers/support.ts";
import { callOperator } from "./support.ts";
import { ACTS, attestedBy, bodyOf, setStage, THIEVES } from "./thefts.ts";

/** The cells of the table under a heading. The first row is its header. */
const tableUnder = (heading: string): string[][] => {
  const section = page.split(/^## /m).find((one) => one.startsWith(heading)) ?? "";
  const lines = section.split("\n").filter((line) => /^\|(?!---)/.test(line));
  return lines.map((line) => line.split("|").slice(1, -1)).map((cells) => cells.map((cell) => cell.trim()));
};

/** An answer, in the notation of the page. */
function cellOf({ status, body, text }: Reply): string {
  if (status < 300) return "yes";
  if (status === 401) return "–";
  if (body.type === "confirmation_required") return "confirm";
  if (body.code === "current_password_invalid") return "password";
  if ([403, 404, 409].includes(status)) return "no";
  throw new Error(`${status} ${text}`);
}

describe("each cell of the table", () => {
  const [header = [], ...rows] = tableUnder("Who can do what");

  it("has its act and its credential here", () => {
    expect(header.slice(1)).toEqual(Object.keys(THIEVES));
    expect(rows.map(([act]) => act)).toEqual(Object.keys(ACTS));
  });

  it.each(Object.entries(THIEVES))("is the outcome of a stolen %s", async (holder, thiefOf) => {
    const stage = await setStage();
    const thief = await thiefOf(stage);
    const played: [string, string][] = [];
    for (const [name, actOf] of Object.entries(ACTS)) {
      const act = actOf(stage, holder);
      const rawBody = bodyOf(act.body);
      const sent = { key: null, headers: await thief(act), ...(rawBody !== "" && { rawBody }) };
      played.push([name, cellOf(await stage.world.call(act.method, act.path, sent))]);
    }
    const column = header.indexOf(holder);
    expect(played).toEqual(rows.map((row) => [row[0], row[column]]));
  });
});

// ---- Consequences, and how each ends -------------------------------------------------------------------------------------------

const SESSIONS = "/v1/platform/sessions";
const OTHER = "the thief's own password";

const enter = (world: World, email: string, password: string): Promise<Reply> =>
  post(world, SESSIONS, { email, password }, freshClient());
const statusOf = async (world: World, headers: Record<string, string>): Promise<number> =>
  (await world.call("GET", "/v1/platform", { key: null, headers })).status;
const byKey = (world: World, key: string) => statusOf(world, { "Service-Api-Key": key });
const bySession = (world: World, token: string) => statusOf(world, bearer(token));
const refusalOf = ({ status, body }: Reply): unknown => [status, body?.type ?? body?.code];

/** Sets another password, as any reader of the mailbox can. */
async function reset(world: World, email: string, new_password: string): Promise<void> {
  expectStatus(await post(world, "/v1/platform/password/forgot", { email }, freshClient()), 202);
  const token = mailedToken(world, email);
  const reply = await post(world, "/v1/platform/password/reset", { token, new_password }, freshClient());
  expectStatus(reply, 200);
}
const change = async (world: World, token: string, current_password = PASSWORD): Promise<void> => {
  const body = { current_password, new_password: OTHER };
  expectStatus(await postAs(world, token, "/v1/platform/password", body, freshClient()), 200);
};
const rotate = async (world: World, key: string, grace_hours: number): Promise<string> =>
  expectStatus(await world.call("POST", "/v1/platform/keys/rotate", { key, body: { grace_hours } }), 200).api_key
    .raw_key;
const kindsTo = async (platformId: string): Promise<Json> =>
  (await noticesOf({ platformId })).map(({ kind, recipient }) => [kind, recipient]);

const LINES: Readonly<Record<string, (world: World) => Promise<void>>> = {
  password: async (world) => {
    const { email, platformId } = await signUp(world);
    const owner = await logIn(world, email);
    const thief = expectStatus(await enter(world, email, PASSWORD), 201).session_token;
    expect(await kindsTo(platformId)).toContainEqual(["customer.session_opened", email]);
    await change(world, owner);
    expect([await bySession(world, thief), (await enter(world, email, PASSWORD)).status]).toEqual([401, 401]);
    const again = expectStatus(await enter(world, email, OTHER), 201).session_token;
    await reset(world, email, PASSWORD);
    expect([await bySession(world, again), (await enter(world, email, OTHER)).status]).toEqual([401, 401]);
  },
  "password, with TOTP": async (world) => {
    const { email, platformId } = await signUp(world);
    const owner = await logIn(world, email);
    await setUpTotp(world, owner);
    const before = await kindsTo(platformId);
    expect(refusalOf(await enter(world, email, PASSWORD))).toEqual([401, "totp_required"]);
    expect(await kindsTo(platformId)).toEqual(before);
    await change(world, owner);
    expect(refusalOf(await enter(world, email, PASSWORD))).toEqual([401, "invalid_credentials"]);
  },
  mailbox: async (world) => {
    const { email, platformId } = await signUp(world);
    await reset(world, email, OTHER);
    const thief = expectStatus(await enter(world, email, OTHER), 201).session_token;
    expect(await kindsTo(platformId)).toContainEqual(["customer.password_reset", email]);
    const path = `/v1/operator/platforms/${platformId}/suspend`;
    expectStatus(await operate(world, "POST", path, { reason: "The mailbox was stolen." }), 200);
    expect([await bySession(world, thief), (await enter(world, email, OTHER)).status]).toEqual([403, 403]);
  },
  "mailbox, with TOTP": async (world) => {
    const { email } = await signUp(world);
    await setUpTotp(world, await logIn(world, email));
    await reset(world, email, OTHER);
    expect(refusalOf(await enter(world, email, OTHER))).toEqual([401, "totp_required"]);
    // A link is mailed once a minute.
    world.advance(MINUTE_MS);
    await reset(world, email, PASSWORD);
    expect(refusalOf(await enter(world, email, OTHER))).toEqual([401, "invalid_credentials"]);
  },
  session: async (world) => {
    const { email } = await signUp(world);
    const owner = await logIn(world, email);
    const ends: ((id: string) => Promise<unknown>)[] = [
      (id) => world.call("DELETE", `${SESSIONS}/${id}`, { key: null, headers: bearer(owner) }),
      () => world.call("DELETE", `${SESSIONS}?others=true`, { key: null, headers: bearer(owner) }),
      () => change(world, owner),
    ];
    for (const end of ends) {
      const stolen = expectStatus(await enter(world, email, PASSWORD), 201);
      expect(await bySession(world, stolen.session_token)).toBe(200);
      await end(stolen.session_id);
      expect(await bySession(world, stolen.session_token)).toBe(401);
    }
  },
  "session and password": async (world) => {
    const moving = async (to: string) => {
      const account = await signUp(world);
      const stolen = await logIn(world, account.email);
      // A thief may also set up TOTP.
      await setUpTotp(world, stolen);
      const move = { new_email: to, current_password: PASSWORD };
      expectStatus(await postAs(world, stolen, "/v1/platform/email", move, freshClient()), 202);
      const opened = { token: mailedToken(world, to), password: PASSWORD };
      const open = async () => (await post(world, "/v1/platform/verify-email", opened, freshClient())).status;
      return { ...account, stolen, open };
    };
    const late = await moving("late@thief.example");
    await change(world, late.stolen);
    expect(await late.open()).toBe(422);
    const moved = await moving("thief@thief.example");
    expect(await moved.open()).toBe(200);
    expect(await kindsTo(moved.platformId)).toEqual(
      expect.arrayContaining([moved.email, "thief@thief.example"].map((to) => ["customer.email_changed", to])),
    );
  },
  key: async (world) => {
    const { key } = await signUp(world);
    const current = await rotate(world, key, 0);
    expect([await byKey(world, key), await byKey(world, current)]).toEqual([401, 200]);
  },
  "key in its grace": async (world) => {
    const { key } = await signUp(world);
    const current = await rotate(world, key, 24);
    expect(await byKey(world, key)).toBe(200);
    expectStatus(await world.call("POST", "/v1/customers", { key, body: { name: "Client" } }), 201);
    const { data: keys } = expectStatus(await world.call("GET", "/v1/platform/keys", { key: current }), 200);
    const stolen = keys.find(({ key_prefix }: Json) => key.startsWith(key_prefix));
    expect(stolen.last_used_at).toEqual(expect.any(String));
    await rotate(world, current, 24);
    expect([await byKey(world, key), await byKey(world, current)]).toEqual([401, 200]);
  },
  "agent's key": async (world) => {
    const [rotated, suspended] = [await world.consumer(), await world.consumer()];
    const list = (agent: typeof rotated) => world.as(agent, "GET", "/v1/payment-intents");
    const agent = ({ did }: typeof rotated) => `/v1/agents/${did}`;
    expect([(await list(rotated)).status, (await list(suspended)).status]).toEqual([200, 200]);
    expectStatus(await world.call("POST", `${agent(rotated)}/rotate-key`), 200);
    expectStatus(await world.call("PATCH", `${agent(suspended)}/status`, { body: { status: "SUSPENDED" } }), 200);
    expect(refusalOf(await list(rotated))).toEqual([401, "aeap_verification_failed"]);
    expect(refusalOf(await list(suspended))).toEqual([409, "agent_not_active"]);
    const { data } = expectStatus(await world.call("GET", `${agent(suspended)}/events`), 200);
    expect(data.map(({ type }: Json) => type)).toContain("agent.status_changed");
  },
  "Verifier's key": async (world) => {
    const [removed, disabled, used] = [await attestedBy(world), await attestedBy(world), await attestedBy(world)];
    const revoking = async ({ pair, attestation }: typeof used) =>
      (await revoke(world, attestation.attestation_id, await credential(pair, attestation))).status;
    const other = await attestedBy(world);
    const { attestation } = removed;
    expectStatus(await patchVerifier(world, attestation.verifier_id, { jwks: { keys: [other.pair.jwk] } }), 200);
    expectStatus(await patchVerifier(world, disabled.attestation.verifier_id, { status: "disabled" }), 200);
    expect([await revoking(removed), await revoking(disabled), await revoking(used)]).toEqual([401, 401, 200]);
    const path = "/v1/events?type=principal.status_changed";
    expect(expectStatus(await world.call("GET", path), 200).data).toHaveLength(1);
  },
  "operator's key": async (world) => {
    const stolen = bearer(inject("operatorKey"));
    expect((await callOperator(world, stolen)).status).toBe(200);
    const { platformId } = await signUp(world);
    const path = `/v1/operator/platforms/${platformId}/suspend`;
    expectStatus(await operate(world, "POST", path, { reason: "A thief says so." }), 200);
    const { data } = expectStatus(await operate(world, "GET", "/v1/operator/activity?limit=1"), 200);
    expect(data).toMatchObject([{ subject: { id: platformId } }]);
    const replaced = withVars(world, { OPERATOR_KEY_HASHES: await computeSha256Hex("another key") });
    expect((await callOperator(replaced, stolen)).status).toBe(401);
  },
};

describe("each line of the consequences", () => {
  const [, ...rows] = tableUnder("Consequences");

  it("is played here", () => expect(rows.map(([stolen]) => stolen)).toEqual(Object.keys(LINES)));

  it.each(Object.entries(LINES))("is the consequence of a stolen %s", async (_stolen, play) => {
    await play(await createWorld());
  });
});
