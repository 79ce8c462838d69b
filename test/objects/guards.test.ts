// Tests the objects that count uses and attempts, each by itself (PRF-7, PRF-8, CRED-21, IDM-5): uses, the end of a window, and what a quiet object
// keeps.
import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import { MINUTE_MS } from "../../src/core/limits.ts";
import type { AttemptGuard } from "../../src/objects/guards.ts";
import { env } from "../support/world.ts";

const named = <T extends Rpc.DurableObjectBranded>(namespace: DurableObjectNamespace<T>) =>
  namespace.get(namespace.idFromName(crypto.randomUUID()));
const later = () => Date.now() + MINUTE_MS;

describe("a replay guard", () => {
  it("distinguishes the first use, a repetition for the same act, and a replay", async () => {
    const guard = named(env.REPLAY);
    expect(await guard.use("mark", "act", later())).toBe("first");
    expect(await guard.use("mark", "act", later())).toBe("same");
    expect(await guard.use("mark", "other", later())).toBe("replay");
    expect(await guard.use("other", "act", later())).toBe("first");
    expect([await guard.isUsedFor("mark", "act"), await guard.isUsedFor("mark", "other")]).toEqual([true, false]);
    expect(await guard.isUsedFor("unused", "act")).toBe(false);
  });

  it("treats a repetition without an act as a replay", async () => {
    const guard = named(env.REPLAY);
    expect(await guard.use("mark", "", later())).toBe("first");
    expect(await guard.use("mark", "", later())).toBe("replay");
    expect(await guard.isUsedFor("mark", "")).toBe(false);
  });

  it("forgets a proof once it is stale, and keeps the others when its alarm fires", async () => {
    const guard = named(env.REPLAY);
    await guard.use("stale", "", Date.now() - 1);
    await guard.use("fresh", "", later());
    expect(await runDurableObjectAlarm(guard)).toBe(true);
    expect(await guard.use("stale", "", later())).toBe("first");
    expect(await guard.use("fresh", "", later())).toBe("replay");
    // The others become stale later.
    expect(await runDurableObjectAlarm(guard)).toBe(true);
  });

  it("sets no further alarm when nothing is left", async () => {
    const guard = named(env.REPLAY);
    await guard.use("stale", "", Date.now() - 1);
    expect(await runDurableObjectAlarm(guard)).toBe(true);
    expect(await runDurableObjectAlarm(guard)).toBe(false);
    expect(await guard.use("stale", "", later())).toBe("first");
  });
});

describe("an attempt guard", () => {
  const limits = { windowMs: 1_000, perAccount: 2, perAddress: 3 };
  const UNBOUND = { atOnce: 1, everyMs: 0 };
  type Guard = ReturnType<typeof named<AttemptGuard>>;
  const by = (account: string, address = "192.0.2.1") => ({ account, address });
  const begin = (guard: Guard, account: string, now: number, bucket = UNBOUND) =>
    guard.begin(by(account), now, limits, bucket);
  /** In the year 2100, because the runtime fires alarms that are due. */
  const NOW = 4_102_444_800_000;

  it("counts an account's failures until each has left the window, to the millisecond", async () => {
    const guard = named(env.ATTEMPTS);
    expect(await begin(guard, "a", NOW)).toMatchObject({ ok: true });
    expect(await begin(guard, "a", NOW + 400)).toMatchObject({ ok: true });
    expect(await begin(guard, "a", NOW + 999)).toEqual({ ok: false, retryAfterMs: 1 });
    expect(await begin(guard, "a", NOW + 1_000)).toMatchObject({ ok: true });
    expect(await begin(guard, "a", NOW + 1_000)).toEqual({ ok: false, retryAfterMs: 400 });
  });

  it("forgets a failure at the very edge of the window", async () => {
    const guard = named(env.ATTEMPTS);
    await begin(guard, "a", NOW);
    await begin(guard, "b", NOW + limits.windowMs);
    const kept = await runInDurableObject(guard, (_guard, { storage }) =>
      storage.sql.exec("select account from failures").toArray(),
    );
    expect(kept).toEqual([{ account: "b" }]);
  });

  it("counts an address's failures across all accounts", async () => {
    const guard = named(env.ATTEMPTS);
    for (const account of ["a", "b", "c"]) await begin(guard, account, NOW);
    expect(await begin(guard, "d", NOW + 100)).toEqual({ ok: false, retryAfterMs: 900 });
  });

  it("removes a good attempt, and forgets the failures of one account", async () => {
    const guard = named(env.ATTEMPTS);
    const good = await begin(guard, "a", NOW);
    await begin(guard, "a", NOW);
    if (!good.ok) throw new Error("refused");
    await guard.giveBack(good.id);
    expect(await begin(guard, "a", NOW)).toMatchObject({ ok: true });
    expect(await begin(guard, "a", NOW)).toMatchObject({ ok: false });
    await guard.forgive(by("a"));
    expect(await begin(guard, "a", NOW)).toMatchObject({ ok: true });
  });

  it("counts and forgives each client of the network separately", async () => {
    const guard = named(env.ATTEMPTS);
    const other = by("a", "192.0.2.2");
    for (const client of [by("a"), other])
      for (let n = 0; n < limits.perAccount; n++)
        expect(await guard.begin(client, NOW, limits, UNBOUND)).toMatchObject({ ok: true });
    expect(await begin(guard, "a", NOW)).toMatchObject({ ok: false });
    await guard.forgive(other);
    expect(await begin(guard, "a", NOW)).toMatchObject({ ok: false });
    expect(await guard.begin(other, NOW, limits, UNBOUND)).toMatchObject({ ok: true });
  });

  it("has places for a number of derivations at once, then for one in each interval, whether they belong to attempts or not", async () => {
    const guard = named(env.ATTEMPTS);
    const bucket = { atOnce: 3, everyMs: 100 };
    expect(await guard.derive(NOW, bucket)).toEqual({ ok: true });
    expect(await begin(guard, "a", NOW, bucket)).toMatchObject({ ok: true });
    expect(await guard.derive(NOW, bucket)).toEqual({ ok: true });
    for (const asked of [guard.derive(NOW, bucket), begin(guard, "b", NOW, bucket)])
      expect(await asked).toEqual({ ok: false, retryAfterMs: 100 });
    expect(await guard.derive(NOW + 99, bucket)).toEqual({ ok: false, retryAfterMs: 1 });
    expect(await guard.derive(NOW + 100, bucket)).toEqual({ ok: true });
    expect(await guard.derive(NOW + 100, bucket)).toEqual({ ok: false, retryAfterMs: 100 });
    // After a rest there are as many places as at the beginning.
    for (let n = 0; n < bucket.atOnce; n++) expect(await guard.derive(NOW + 400, bucket)).toEqual({ ok: true });
    expect(await guard.derive(NOW + 400, bucket)).toEqual({ ok: false, retryAfterMs: 100 });
  });

  it("takes no place for an attempt that it refuses, and counts no attempt that has no place", async () => {
    const guard = named(env.ATTEMPTS);
    const bucket = { atOnce: 3, everyMs: 100 };
    for (let n = 0; n < limits.perAccount; n++) await begin(guard, "a", NOW, bucket);
    expect(await begin(guard, "a", NOW, bucket)).toMatchObject({ ok: false, retryAfterMs: limits.windowMs });
    expect(await guard.derive(NOW, bucket)).toEqual({ ok: true });
    expect(await begin(guard, "b", NOW, bucket)).toMatchObject({ ok: false, retryAfterMs: 100 });
    expect(await begin(guard, "c", NOW, UNBOUND)).toMatchObject({ ok: true });
  });

  it("forgets a taken place only when it is free again", async () => {
    const guard = named(env.ATTEMPTS);
    await guard.derive(NOW, { atOnce: 1, everyMs: 5_000 });
    await begin(guard, "a", NOW + 5_000);
    await guard.derive(NOW + 5_000, { atOnce: 1, everyMs: 1 });
    const alarm = await runInDurableObject(guard, (_guard, { storage }) => storage.getAlarm());
    expect(alarm).toBe(NOW + 5_000 + limits.windowMs);
  });

  it("keeps nothing after it was quiet for a window", async () => {
    const guard = named(env.ATTEMPTS);
    await begin(guard, "a", NOW);
    await begin(guard, "a", NOW);
    expect(await runDurableObjectAlarm(guard)).toBe(true);
    expect(await begin(guard, "a", NOW)).toMatchObject({ ok: true });
  });
});

describe("the idempotency object of a credential", () => {
  it("distinguishes a request with the same body from one with another body, and lets other keys through", async () => {
    const object = named(env.IDEMPOTENCY);
    const begun = await object.begin("key", "body");
    if (begun.state !== "go") throw new Error(begun.state);
    expect(await object.begin("key", "body")).toEqual({ state: "processing" });
    expect(await object.begin("key", "other")).toEqual({ state: "other_body" });
    expect(await object.begin("another", "body")).toMatchObject({ state: "go" });
    await object.end("key", "someone else's token");
    expect(await object.begin("key", "body")).toEqual({ state: "processing" });
    await object.end("key", begun.token);
    expect(await object.begin("key", "other")).toMatchObject({ state: "go" });
  });

  it("frees a key at the end of its lease, because a crashed request never ends", async () => {
    const object = named(env.IDEMPOTENCY);
    for (const key of ["crashed", "young"]) expect(await object.begin(key, "body")).toMatchObject({ state: "go" });
    await runInDurableObject(object, (instance) => {
      const inFlight = Reflect.get(instance, "inFlight") as Map<string, { until: number }>;
      const lease = inFlight.get("crashed");
      if (lease) lease.until = Date.now();
    });
    expect(await object.begin("young", "body")).toEqual({ state: "processing" });
    expect(await object.begin("crashed", "body")).toMatchObject({ state: "go" });
  });
});
