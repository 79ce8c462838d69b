// The keys of Cloudflare Access: reading, keeping and withdrawing them (CRED-19).
import { SignJWT } from "jose";
import { beforeAll, describe, expect, inject, it, vi } from "vitest";
import type { AccessTiming } from "../../src/auth/access.ts";
import { drawTeamKey, openTeam, Team, type TeamKey, withAccess } from "../support/access.ts";
import { createWorld, type World } from "../support/world.ts";
import { access, bearer, callOperator, outcomeOf } from "./support.ts";

vi.spyOn(console, "info").mockImplementation(() => undefined);
const errors = vi.spyOn(console, "error").mockImplementation(() => undefined);
/** A clock that only a test moves, and the timing of readings on it. */
const clock = { ms: 0 };
const TIMING: AccessTiming = { timeoutMs: 60_000, maxAgeMs: 60_000, restMs: 10_000, now: () => clock.ms };

let world: World;
let team: Team;
let stranger: TeamKey;
beforeAll(async () => {
  world = await createWorld();
  team = await openTeam();
  stranger = await drawTeamKey();
});

const refused = [401, "invalid_credentials"];
const failed = [500, "internal_error"];
const advance = (ms: number): void => {
  clock.ms += ms;
};

describe("the team's keys", () => {
  it("are read when the first token arrives, and then not again", async () => {
    const fresh = await openTeam();
    const own = withAccess(world, fresh);
    expect(await outcomeOf(own, bearer(inject("operatorKey")))).toBe(200);
    expect(await fresh.reads()).toBe(0);
    for (let i = 0; i < 5; i++) expect(await outcomeOf(own, access(await fresh.sign()))).toBe(200);
    expect(await fresh.reads()).toBe(1);
  });

  it("are not read for a token that no key could verify", async () => {
    const fresh = await openTeam();
    const own = withAccess(world, fresh);
    const hs256 = await new SignJWT(fresh.claims()).setProtectedHeader({ alg: "HS256" }).sign(new Uint8Array(32));
    for (const token of ["nonsense", "a.b.c", hs256]) expect(await outcomeOf(own, access(token))).toEqual(refused);
    expect(await fresh.reads()).toBe(0);
  });

  it("may be several: tokens of the last key count until it is withdrawn", async () => {
    const fresh = await openTeam();
    const next = await drawTeamKey();
    await fresh.publish(next, fresh.key);
    const own = withAccess(world, fresh);
    expect(await outcomeOf(own, access(await fresh.sign()))).toBe(200);
    expect(await outcomeOf(own, access(await fresh.sign({}, next)))).toBe(200);
  });

  it("are read again for the first token that names a new key", async () => {
    const fresh = await openTeam();
    const own = withAccess(world, fresh, TIMING);
    expect(await outcomeOf(own, access(await fresh.sign()))).toBe(200);
    const next = await drawTeamKey();
    await fresh.publish(next, fresh.key);
    advance(TIMING.restMs - 1);
    expect(await outcomeOf(own, access(await fresh.sign({}, next)))).toEqual(refused);
    expect(await fresh.reads()).toBe(1);
    advance(1);
    expect(await outcomeOf(own, access(await fresh.sign({}, next)))).toBe(200);
    expect(await outcomeOf(own, access(await fresh.sign()))).toBe(200);
    expect(await fresh.reads()).toBe(2);
  });

  it("stop counting after they were withdrawn, once the kept keys are too old", async () => {
    const fresh = await openTeam();
    const own = withAccess(world, fresh, TIMING);
    const token = access(await fresh.sign());
    expect(await outcomeOf(own, token)).toBe(200);
    await fresh.publish(await drawTeamKey());
    advance(TIMING.maxAgeMs - 1);
    expect(await outcomeOf(own, token)).toBe(200);
    advance(1);
    expect(await outcomeOf(own, token)).toEqual(refused);
  });

  it("are read once for any number of unknown key ids", async () => {
    const fresh = await openTeam();
    const own = withAccess(world, fresh, TIMING);
    for (let i = 0; i < 20; i++) {
      expect(await outcomeOf(own, access(await fresh.sign({}, stranger, crypto.randomUUID())))).toEqual(refused);
    }
    expect(await fresh.reads()).toBe(1);
    expect(await outcomeOf(own, access(await fresh.sign()))).toBe(200);
  });
});

describe("keys that cannot be read", () => {
  const BROKEN: [string, Parameters<Team["answer"]>[0]][] = [
    ["an error", { status: 503, body: "" }],
    ["a redirection", { status: 302, body: "", headers: { Location: "/elsewhere" } }],
    ["no JSON", { status: 200, body: "<html>" }],
    ["no set of keys", { status: 200, body: '{"keys":"none"}' }],
  ];

  it.each(BROKEN)(
    "because of %s fail the call and the following calls, which do not read them again",
    async (_name, how) => {
      const fresh = await openTeam();
      await fresh.answer(how);
      const own = withAccess(world, fresh, TIMING);
      const token = access(await fresh.sign());
      for (let i = 0; i < 3; i++) expect(await outcomeOf(own, token)).toEqual(failed);
      expect(await fresh.reads()).toBe(1);
      expect(await outcomeOf(own, bearer(inject("operatorKey")))).toBe(200);
    },
  );

  it("because the server does not answer in time fail the call and the following calls", async () => {
    const fresh = await openTeam();
    await fresh.answer({ status: 0, body: "" });
    const own = withAccess(world, fresh, { ...TIMING, timeoutMs: 1 });
    const token = access(await fresh.sign());
    for (let i = 0; i < 3; i++) expect(await outcomeOf(own, token)).toEqual(failed);
    // The only reading may be aborted before the server sees it.
    expect(await fresh.reads()).toBeLessThanOrEqual(1);
  });

  it("because no server answers fail the call in the flat envelope, without the cause", async () => {
    const nowhere = new Team("http://127.0.0.1:9", team.key);
    const reply = await callOperator(withAccess(world, nowhere), access(await nowhere.sign()));
    expect(reply.status).toBe(500);
    expect(reply.body).toMatchObject({ code: "internal_error", status: 500, error: "internal_error" });
    const { request_id: _drawn, ...said } = reply.body;
    expect(JSON.stringify(said)).not.toMatch(/access|key|127/i);
    expect(errors.mock.calls.flat().join("\n")).toContain("the keys of Access");
  });

  it("are read again after a pause, and then the call succeeds", async () => {
    const fresh = await openTeam();
    await fresh.answer({ status: 503, body: "" });
    const own = withAccess(world, fresh, TIMING);
    const token = access(await fresh.sign());
    expect(await outcomeOf(own, token)).toEqual(failed);
    await fresh.publish(fresh.key);
    advance(TIMING.restMs);
    expect(await outcomeOf(own, token)).toBe(200);
  });

  it("do not stop tokens of keys that were read before", async () => {
    const fresh = await openTeam();
    const own = withAccess(world, fresh, TIMING);
    const token = access(await fresh.sign());
    expect(await outcomeOf(own, token)).toBe(200);
    await fresh.answer({ status: 503, body: "" });
    advance(TIMING.restMs);
    expect(await outcomeOf(own, access(await fresh.sign({}, stranger)))).toEqual(failed);
    expect(await outcomeOf(own, token)).toBe(200);
  });
});
