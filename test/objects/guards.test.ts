// The objects that count uses and attempts, each for itself (PRF-7, PRF-8, CRED-21, IDM-5): what is used, what has left its window, and what a
// quiet object keeps.
import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import { MINUTE_MS } from "../../src/core/limits.ts";
import { env } from "../support/world.ts";

const named = <T extends Rpc.DurableObjectBranded>(namespace: DurableObjectNamespace<T>) =>
  namespace.get(namespace.idFromName(crypto.randomUUID()));
const later = () => Date.now() + MINUTE_MS;

describe("a replay guard", () => {
  it("tells the first use from a repetition for the same act, and both from a replay", async () => {
    const guard = named(env.REPLAY);
    expect(await guard.use("mark", "act", later())).toBe("first");
    expect(await guard.use("mark", "act", later())).toBe("same");
    expect(await guard.use("mark", "other", later())).toBe("replay");
    expect(await guard.use("other", "act", later())).toBe("first");
    expect([await guard.isUsedFor("mark", "act"), await guard.isUsedFor("mark", "other")]).toEqual([true, false]);
    expect(await guard.isUsedFor("unused", "act")).toBe(false);
  });

  it("takes no repetition without an act for the same", async () => {
    const guard = named(env.REPLAY);
    expect(await guard.use("mark", "", later())).toBe("first");
    expect(await guard.use("mark", "", later())).toBe("replay");
    expect(await guard.isUsedFor("mark", "")).toBe(false);
  });

  it("forgets a proof once it is stale, and keeps the others over its alarm", async () => {
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
  /** In the year 2100, because the runtime fires alarms that are due. */
  const NOW = 4_102_444_800_000;

  it("counts an account's failures until each has left the window, to the millisecond", async () => {
    const guard = named(env.ATTEMPTS);
    expect(await guard.begin("a", NOW, limits)).toMatchObject({ ok: true });
    expect(await guard.begin("a", NOW + 400, limits)).toMatchObject({ ok: true });
    expect(await guard.begin("a", NOW + 999, limits)).toEqual({ ok: false, retryAfterMs: 1 });
    expect(await guard.begin("a", NOW + 1_000, limits)).toMatchObject({ ok: true });
    expect(await guard.begin("a", NOW + 1_000, limits)).toEqual({ ok: false, retryAfterMs: 400 });
  });

  it("forgets a failure at the very edge of the window", async () => {
    const guard = named(env.ATTEMPTS);
    await guard.begin("a", NOW, limits);
    await guard.begin("b", NOW + limits.windowMs, limits);
    const kept = await runInDurableObject(guard, (_guard, { storage }) =>
      storage.sql.exec("select account from attempts").toArray(),
    );
    expect(kept).toEqual([{ account: "b" }]);
  });

  it("counts an address's failures over all accounts", async () => {
    const guard = named(env.ATTEMPTS);
    for (const account of ["a", "b", "c"]) await guard.begin(account, NOW, limits);
    expect(await guard.begin("d", NOW + 100, limits)).toEqual({ ok: false, retryAfterMs: 900 });
  });

  it("gives back a good attempt, and forgets the failures of one account", async () => {
    const guard = named(env.ATTEMPTS);
    const good = await guard.begin("a", NOW, limits);
    await guard.begin("a", NOW, limits);
    if (!good.ok) throw new Error("refused");
    await guard.giveBack(good.id);
    expect(await guard.begin("a", NOW, limits)).toMatchObject({ ok: true });
    expect(await guard.begin("a", NOW, limits)).toMatchObject({ ok: false });
    await guard.forgive("a");
    expect(await guard.begin("a", NOW, limits)).toMatchObject({ ok: true });
  });

  it("keeps nothing once it was quiet for a window", async () => {
    const guard = named(env.ATTEMPTS);
    await guard.begin("a", NOW, limits);
    await guard.begin("a", NOW, limits);
    expect(await runDurableObjectAlarm(guard)).toBe(true);
    expect(await guard.begin("a", NOW, limits)).toMatchObject({ ok: true });
  });
});

describe("the requests in flight under a credential's keys", () => {
  it("tell a request of the same body from one of another, and let others through", async () => {
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

  it("end with their lease, for a request that crashed never ends", async () => {
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
