// The sessions of an account, for its owner (CRED-27): the device and network of each log-in, and the end of one session, of the others, or of all.
import { beforeAll, describe, expect, it } from "vitest";
import { HOUR_MS, SESSION_IDLE_HOURS } from "../../src/core/limits.ts";
import { stopped } from "../support/clock.ts";
import { dumpDatabase } from "../support/variants.ts";
import { createWorld, expectStatus, type Json, type Reply, type World } from "../support/world.ts";
import { type Account, bearer, from, PASSWORD, post, rowsOf, signUp } from "./support.ts";

const PATH = "/v1/platform/sessions";
const FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";

/** Its clock only moves at each log-in, so that sessions have an order. */
let world: Stopped;
let account: Account;
beforeAll(async () => {
  world = stopped(await createWorld());
});

type Stopped = ReturnType<typeof stopped>;

type Session = { readonly token: string; readonly id: string };

async function begin(email = account.email, headers: Record<string, string> = {}, at = world): Promise<Session> {
  at.advance(1);
  const { session_token, session_id } = expectStatus(await post(at, PATH, { email, password: PASSWORD }, headers), 201);
  return { token: session_token, id: session_id };
}
const as = ({ token }: Session, method: string, path = PATH, at: World = world): Promise<Reply> =>
  at.call(method, path, { key: null, headers: bearer(token) });
const listed = async (session: Session, query = ""): Promise<Json> =>
  expectStatus(await as(session, "GET", `${PATH}${query}`), 200);
const idsOf = ({ data }: Json): string[] => data.map(({ session_id }: Json) => session_id);
const works = async (session: Session): Promise<boolean> => (await as(session, "GET")).status === 200;
const endings = async (platformId: string) =>
  (await rowsOf("activity_entries", platformId))
    .filter(({ action }) => action === "session.ended")
    .map(({ subject_type, subject_id, changes }) => [subject_type, subject_id, changes && JSON.parse(changes)]);

describe("the list of sessions", () => {
  it("names each with its device and network, latest first, and marks the calling one", async () => {
    account = await signUp(world);
    const first = await begin(account.email, { "User-Agent": FIREFOX, ...from("203.0.113.77") });
    const second = await begin(account.email, { "User-Agent": "curl/8.14", ...from("2001:db8:7:9::1") });
    const page = await listed(first);
    expect(page).toMatchObject({ has_more: false, next_cursor: null });
    expect(page.data).toEqual([
      {
        ...{ session_id: second.id, created_at: expect.any(String), last_used_at: expect.any(String) },
        ...{ device: "curl", network: "2001:db8:7::/48", current: false },
      },
      {
        ...{ session_id: first.id, created_at: expect.any(String), last_used_at: expect.any(String) },
        ...{ device: "Firefox on Linux", network: "203.0.113.0/24", current: true },
      },
    ]);
    expect((await listed(second)).data.map(({ current }: Json) => current)).toEqual([true, false]);
  });

  it("is paged, without ended sessions and those of other accounts", async () => {
    account = await signUp(world);
    const ended = await begin();
    world.advance(SESSION_IDLE_HOURS * HOUR_MS);
    await begin((await signUp(world)).email);
    const kept = [await begin(), await begin(), await begin()];
    const [one] = kept;
    if (!one) throw new Error("there is none");
    const pages: string[][] = [];
    for (let query = "?limit=2"; query !== ""; ) {
      const { body } = await as(one, "GET", `${PATH}${query}`);
      pages.push(idsOf(body));
      query = body.has_more ? `?limit=2&cursor=${body.next_cursor}` : "";
    }
    expect(pages).toEqual([[kept[2]?.id, kept[1]?.id], [kept[0]?.id]]);
    expect(pages.flat()).not.toContain(ended.id);
  });

  it("is only for a person", async () => {
    expect((await world.call("GET", PATH)).status).toBe(401);
  });
});

describe("the end of a session", () => {
  it("is requested by another session, takes effect at once, and is an entry of the log", async () => {
    account = await signUp(world);
    const [thief, owner, third] = [await begin(), await begin(), await begin()];
    expect((await as(owner, "DELETE", `${PATH}/${thief.id}`)).status).toBe(204);
    expect(await Promise.all([thief, owner, third].map(works))).toEqual([false, true, true]);
    expect(await endings(account.platformId)).toEqual([["session", thief.id, null]]);
    expect((await as(owner, "DELETE", `${PATH}/${thief.id}`)).status).toBe(404);
  });

  it("of the calling one by its id or as `current` logs out, and removes the cookie", async () => {
    account = await signUp(world);
    const [one, two, rest] = [await begin(), await begin(), await begin()];
    for (const reply of [await as(one, "DELETE", `${PATH}/${one.id}`), await as(two, "DELETE", `${PATH}/current`)]) {
      expect([reply.status, reply.headers.get("set-cookie")]).toEqual([204, expect.stringContaining("Max-Age=0")]);
    }
    const another = await as(rest, "DELETE", `${PATH}/${(await begin()).id}`);
    expect([another.status, another.headers.get("set-cookie")]).toEqual([204, null]);
    expect((await endings(account.platformId)).slice(0, 2)).toEqual([
      ["session", one.id, null],
      ["session", two.id, null],
    ]);
  });

  it.each([
    ["another account's", async () => (await begin((await signUp(world)).email)).id],
    ["an unknown one", async () => "ses_01M8HFXTQFFYBR3Q6K2K4D5Z2J"],
    ["a token", async (own: Session) => own.token],
  ])("is 404 for %s, before any fault of the call, and ends nothing", async (_what, idOf) => {
    account = await signUp(world);
    const own = await begin();
    const id = await idOf(own);
    const before = (await dumpDatabase())["sessions"];
    for (const path of [`${PATH}/${id}`, `${PATH}/${id}?colour=red`]) {
      const reply = await as(own, "DELETE", path);
      expect([reply.status, reply.body.code]).toEqual([404, "not_found"]);
    }
    expect((await dumpDatabase())["sessions"]).toEqual(before);
  });

  it("happens once when two calls come at once", async () => {
    const own = stopped(await createWorld());
    account = await signUp(own);
    const [one, two] = [await begin(account.email, {}, own), await begin(account.email, {}, own)];
    own.meter.beforeBatch(2, async () => {
      expect((await as(two, "DELETE", `${PATH}/current`, own)).status).toBe(204);
    });
    expect((await as(one, "DELETE", `${PATH}/${two.id}`, own)).status).toBe(404);
    expect(await endings(account.platformId)).toEqual([["session", two.id, null]]);
  });
});

describe("the end of the other sessions", () => {
  it("keeps only the calling one, and is one entry that says how many there were", async () => {
    account = await signUp(world);
    const stranger = await begin((await signUp(world)).email);
    const [one, two, three] = [await begin(), await begin(), await begin()];
    expect((await as(two, "DELETE", `${PATH}?others=true`)).status).toBe(204);
    expect(await Promise.all([one, two, three, stranger].map(works))).toEqual([false, true, false, true]);
    const ended = ["platform", account.platformId, { sessions: { from: 3, to: 1 } }];
    expect(await endings(account.platformId)).toEqual([ended]);
    // No session is left to end, so no entry is written.
    expect((await as(two, "DELETE", `${PATH}?others=true`)).status).toBe(204);
    expect(await endings(account.platformId)).toEqual([ended]);
  });

  it.each([
    ["", "required"],
    ["?others=false", "invalid_value"],
    ["?others=", "invalid_value"],
  ])("is refused without its parameter: %j is %s", async (query, code) => {
    account = await signUp(world);
    const [one, two] = [await begin(), await begin()];
    const reply = await as(one, "DELETE", `${PATH}${query}`);
    expect([reply.status, reply.body.code]).toEqual([422, "validation_failed"]);
    expect(reply.body.field_errors).toMatchObject([{ field: "others", code }]);
    expect(await works(two)).toBe(true);
  });
});
