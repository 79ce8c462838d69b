// The tiers of a principal: the one that its attestation states, the one that its agents' roles need, and the warning to a platform that ignores them
// (PRN-10).
import { eq } from "drizzle-orm";
import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { finishCascades } from "../../src/cascades/cascades.ts";
import type { Environment } from "../../src/core/vocabulary.ts";
import { commit } from "../../src/db/batch.ts";
import { agents } from "../../src/db/tables/agents.ts";
import { principals } from "../../src/db/tables/principals.ts";
import { SLICE } from "../../src/jobs/walk.ts";
import { close, dieBefore, givePassword } from "../cascades/account-support.ts";
import { copyDid } from "../support/copies.ts";
import { runs } from "../support/scale.ts";
import { dumpDatabase } from "../support/variants.ts";
import { agentBody, createWorld, env, expectStatus, type Json, principalBody, type World } from "../support/world.ts";

const HOUR_MS = 3_600_000;

let world: World;
beforeAll(async () => {
  world = await createWorld();
});

/** A Verifier's attestation. The sandbox takes any. */
const attested = (overrides: Record<string, unknown>): Record<string, unknown> => ({
  verification_attestation: {
    attestation_id: `att_${crypto.randomUUID()}`,
    verifier_id: "ver_1",
    model: "kyb",
    issued_at: new Date(world.now() - HOUR_MS).toISOString(),
    expires_at: new Date(world.now() + HOUR_MS).toISOString(),
    ...overrides,
  },
});

const read = async (principalId: string, of = world): Promise<Json> =>
  expectStatus(await of.call("GET", `/v1/principals/${principalId}`), 200);
const tiersOf = async (principalId: string, of = world): Promise<unknown[]> => {
  const { attested_tier, required_tier } = await read(principalId, of);
  return [attested_tier, required_tier];
};
const register = (role: "CONSUMER" | "PROVIDER", principalId: string, headers = {}, of = world) =>
  of.call("POST", "/v1/agents", { body: { ...agentBody(role), principal_id: principalId }, headers });
const activate = (did: string, headers = {}) => world.call("POST", `/v1/agents/${did}/activate`, { headers });
const become = (did: string, status: string, of = world) =>
  of.call("PATCH", `/v1/agents/${did}/status`, { body: { status } });

const WARNING = {
  code: "attestation_tier_below_role",
  message:
    "The principal is attested at TIER_1, but a PROVIDER needs TIER_2: the agent must not transact until that tier is attested.",
  attested_tier: "TIER_1",
  required_tier: "TIER_2",
};

describe("the attested tier", () => {
  it.each([
    ["a person's attestation", () => attested({ model: "kyc" }), "TIER_1"],
    ["a business's attestation", () => attested({ model: "kyb" }), "TIER_2"],
    ["an attestation that states its tier", () => attested({ model: "kyc", tier: "TIER_3" }), "TIER_3"],
    ["an attestation below its model's tier", () => attested({ model: "kyb", tier: "TIER_1" }), "TIER_1"],
    ["a placeholder", () => ({}), "TIER_3"],
    [
      "a placeholder with a tier",
      () => ({ verification_attestation: { placeholder: true, tier: "TIER_1" } }),
      "TIER_1",
    ],
  ])("of %s is right", async (_of, overrides, expected) => {
    const answer = expectStatus(await world.call("POST", "/v1/principals", { body: principalBody(overrides()) }), 201);
    expect([answer.attested_tier, answer.required_tier]).toEqual([expected, "TIER_1"]);
    expect(await read(answer.principal_id)).toEqual(answer);
    const listed = expectStatus(await world.call("GET", "/v1/principals?limit=1"), 200).data[0];
    expect(listed).toEqual(answer);
  });
});

describe("the required tier", () => {
  it("is that of the highest role among the agents that have not ended", async () => {
    const principalId = await world.principal();
    const required = async () => (await tiersOf(principalId))[1];
    const did = async (role: "CONSUMER" | "PROVIDER") => expectStatus(await register(role, principalId), 201).did;
    await did("CONSUMER");
    expect(await required()).toBe("TIER_1");
    const [one, two] = [await did("PROVIDER"), await did("PROVIDER")];
    expect(await required()).toBe("TIER_2");
    expectStatus(await become(one, "TERMINATED"), 200);
    expect(await required()).toBe("TIER_2");
    expectStatus(await activate(two), 200);
    expectStatus(await become(two, "SUSPENDED"), 200);
    expect(await required()).toBe("TIER_2");
    expectStatus(await become(two, "TERMINATED"), 200);
    expect(await required()).toBe("TIER_1");
  });

  it("costs no further row in a page of principals", async () => {
    const reader = await createWorld();
    const rows = async () => {
      reader.meter.reset();
      expectStatus(await reader.call("GET", "/v1/principals"), 200);
      return reader.meter.reading.rowsRead;
    };
    const principalId = await reader.principal();
    const before = await rows();
    for (let n = 0; n < 3; n++) expectStatus(await register("PROVIDER", principalId, {}, reader), 201);
    expect(await rows()).toBe(before);
    expect((await tiersOf(principalId, reader))[1]).toBe("TIER_2");
  });

  it("of a closed principal is the lowest from the commit on, whatever is still to be written", async () => {
    const of = await createWorld();
    const { did, principalId } = await of.agent("PROVIDER");
    expectStatus(await of.call("POST", `/v1/principals/${principalId}/suspend`), 200);
    const answer = expectStatus(await of.call("POST", `/v1/principals/${principalId}/close`), 200);
    expect(answer.required_tier).toBe("TIER_1");
    expect(await read(principalId, of)).toEqual(answer);
    // Nothing is counted twice.
    expect((await become(did, "TERMINATED", of)).status).toBe(409);
    expect(await counted(of)).toEqual(await expected(of));
  });
});

describe("an agent above the attested tier", () => {
  it("is registered and activated, with a warning each time", async () => {
    const principalId = await world.principal(attested({ model: "kyc" }));
    const draft = expectStatus(await register("PROVIDER", principalId), 201);
    expect(draft.warnings).toEqual([WARNING]);
    const active = expectStatus(await activate(draft.did), 200);
    expect([active.status, active.warnings]).toEqual(["ACTIVE", [WARNING]]);
    expect(await tiersOf(principalId)).toEqual(["TIER_1", "TIER_2"]);
  });

  it("gets the warning again in the replay of an Idempotency-Key", async () => {
    const principalId = await world.principal(attested({ tier: "TIER_1" }));
    const headers = { "Idempotency-Key": crypto.randomUUID() };
    const first = await register("PROVIDER", principalId, headers);
    const again = await register("PROVIDER", principalId, headers);
    expect([first.body.warnings, again.body]).toEqual([[WARNING], first.body]);
    expect(again.headers.get("Idempotent-Replayed")).toBe("true");
    const { did } = first.body;
    const [one, two] = [await activate(did, headers), await activate(did, headers)];
    expect([one.body.warnings, two.body]).toEqual([[WARNING], one.body]);
    // Both calls counted one agent.
    expect(await counted(world)).toEqual(await expected(world));
  });

  it.each([
    ["a provider of a business", "PROVIDER", () => attested({ model: "kyb" })],
    ["a provider of a person at a higher tier", "PROVIDER", () => attested({ model: "kyc", tier: "TIER_2" })],
    ["a consumer of a person", "CONSUMER", () => attested({ model: "kyc" })],
    ["a provider under a placeholder", "PROVIDER", () => ({})],
  ] as const)("gets an empty list of warnings if it is %s", async (_what, role, overrides) => {
    const draft = expectStatus(await register(role, await world.principal(overrides())), 201);
    expect(draft.warnings).toEqual([]);
    expect(expectStatus(await activate(draft.did), 200).warnings).toEqual([]);
  });

  it("is warned at its activation by the attestation of that moment", async () => {
    const principalId = await world.principal(attested({ model: "kyc" }));
    const draft = expectStatus(await register("PROVIDER", principalId), 201);
    const { verification_attestation: body } = attested({ model: "kyb" });
    expectStatus(await world.call("POST", `/v1/principals/${principalId}/attestations`, { body }), 201);
    expect(await tiersOf(principalId)).toEqual(["TIER_2", "TIER_2"]);
    expect(expectStatus(await activate(draft.did), 200).warnings).toEqual([]);
  });

  it("has no warning in its signed document", async () => {
    const { did } = await world.agent("PROVIDER", { principal_id: await world.principal(attested({ model: "kyc" })) });
    const aid = expectStatus(await world.call("GET", `/v1/agents/${did}/aid`, { key: null }), 200);
    expect(aid).not.toHaveProperty("warnings");
  });
});

// ---- The count -----------------------------------------------------------------------------------------------------------

type Counts = Readonly<Record<string, number>>;
const rows = async (of: World, text: string): Promise<Counts> => {
  const { results } = await env.DB.prepare(text).bind(of.platformId).all<{ id: string; n: number }>();
  return Object.fromEntries(results.map(({ id, n }) => [id, n]));
};
/** The counts in the principals' rows. */
const counted = (of: World): Promise<Counts> =>
  rows(of, "select principal_id as id, providers as n from principals where platform_id = ?");
/** The counts of their agents. Those of a CLOSED principal have ended, whether or not their rows say so yet. */
const expected = (of: World): Promise<Counts> =>
  rows(
    of,
    `select p.principal_id as id, count(a.did) as n from principals p left join agents a on a.principal_id = p.principal_id
       and a.economic_role = 'PROVIDER' and a.status not in ('REVOKED', 'TERMINATED') and p.status <> 'CLOSED'
     where p.platform_id = ? group by p.principal_id`,
  );

const ACTS = [
  "provider",
  "consumer",
  "activate",
  "SUSPENDED",
  "ACTIVE",
  "TERMINATED",
  "suspend",
  "reactivate",
  "close",
];
const step = fc.record({ act: fc.constantFrom(...ACTS), at: fc.nat(5) });

describe("the count of agents that sell", () => {
  it("equals the number of agents after any acts, accepted or refused", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 30 }), async (steps) => {
        const of = await createWorld();
        const ids = [await of.principal(), await of.principal(), await of.principal()];
        const dids: string[] = [];
        for (const { act, at } of steps) {
          const principalId = ids[at % ids.length] ?? "";
          const did = dids[at % Math.max(dids.length, 1)];
          if (act === "provider" || act === "consumer") {
            const reply = await register(act === "provider" ? "PROVIDER" : "CONSUMER", principalId, {}, of);
            if (reply.status === 201) dids.push(reply.body.did);
          } else if (act === act.toUpperCase()) {
            if (did !== undefined) await become(did, act, of);
          } else if (act === "activate") {
            if (did !== undefined) await of.call("POST", `/v1/agents/${did}/activate`);
          } else await of.call("POST", `/v1/principals/${principalId}/${act}`);
          expect(await counted(of)).toEqual(await expected(of));
        }
      }),
      { ...runs(), numRuns: 6 },
    );
  });

  it("equals the number of agents after twenty registrations and ends at once", async () => {
    const of = await createWorld();
    const principalId = await of.principal();
    const registered = await Promise.all(Array.from({ length: 20 }, () => register("PROVIDER", principalId, {}, of)));
    const dids = registered.map((reply) => expectStatus(reply, 201).did);
    expect(await counted(of)).toMatchObject({ [principalId]: 20 });
    await Promise.all([...dids.slice(0, 10), ...dids.slice(0, 10)].map((did) => become(did, "TERMINATED", of)));
    expect(await counted(of)).toMatchObject({ [principalId]: 10 });
    expect(await counted(of)).toEqual(await expected(of));
  });

  it("equals the number of agents if a principal is closed while one agent is registered and one is terminated", async () => {
    const of = await createWorld();
    for (let n = 0; n < 10; n++) {
      const principalId = await of.principal();
      const { did } = expectStatus(await register("PROVIDER", principalId, {}, of), 201);
      await Promise.all([
        become(did, "TERMINATED", of),
        of.call("POST", `/v1/principals/${principalId}/close`),
        register("PROVIDER", principalId, {}, of),
      ]);
      await of.run(finishCascades);
      expect(await counted(of)).toEqual(await expected(of));
    }
  });

  // The closing decides on a count that has changed when it is written.
  it("is zero if an agent is registered between the reading and the commit of a closing", async () => {
    const of = await createWorld();
    const principalId = await of.principal();
    of.meter.beforeBatch(2, async () => expectStatus(await register("PROVIDER", principalId, {}, of), 201));
    expectStatus(await of.call("POST", `/v1/principals/${principalId}/close`), 200);
    expect(await counted(of)).toMatchObject({ [principalId]: 0 });
    expect(await counted(of)).toEqual(await expected(of));
  });

  it("equals the number of agents after the closing of an account that died between two slices", async () => {
    const of = await createWorld();
    await givePassword(of);
    const { did, principalId } = await of.draft("PROVIDER");
    await of.draft("PROVIDER");
    const { db } = of.deps;
    const [row] = await db.select().from(agents).where(eq(agents.did, did));
    if (!row) throw new Error("no agent");
    await commit(
      db,
      Array.from({ length: SLICE }, (_, n) => db.insert(agents).values({ ...row, did: copyDid(did, n) })),
    );
    await db
      .update(principals)
      .set({ providers: SLICE + 1 })
      .where(eq(principals.principalId, principalId));
    expect(await counted(of)).toEqual(await expected(of));
    await of.person("GET", "/v1/platform");
    dieBefore(of, 3);
    expectStatus(await close(of), 200);
    expect(Object.values(await expected(of)).some((count) => count > 0)).toBe(true);
    await of.run(finishCascades);
    expect(Object.values(await counted(of)).every((count) => count === 0)).toBe(true);
    expect(await counted(of)).toEqual(await expected(of));
  });

  it("changes nothing else of the principal, so a patch that was decided before is not refused for it", async () => {
    const principalId = await world.principal();
    const before = await read(principalId);
    expectStatus(await register("PROVIDER", principalId), 201);
    expect(await read(principalId)).toEqual({ ...before, required_tier: "TIER_2" });
    world.meter.reset();
    world.meter.beforeBatch(2, async () => expectStatus(await register("PROVIDER", principalId), 201));
    const body = { metadata: { crm: "north" } };
    expectStatus(await world.call("PATCH", `/v1/principals/${principalId}`, { body }), 200);
    // Two trips of the patch, and two of the registration.
    expect(world.meter.reading.trips).toBe(4);
  });

  it("stays as it is if a registration or an agent's end is refused", async () => {
    const principalId = await world.principal();
    const { did } = expectStatus(await register("PROVIDER", principalId), 201);
    expectStatus(await become(did, "TERMINATED"), 200);
    const before = await dumpDatabase();
    expect((await become(did, "TERMINATED")).status).toBe(409);
    expect((await register("PROVIDER", "prn_unknown")).status).toBe(422);
    expect(await dumpDatabase()).toEqual(before);
  });
});

describe("the tenant principal", () => {
  it("shows its tiers in both environments", async () => {
    const of = await createWorld();
    const read = async (key: string) =>
      expectStatus(await of.call("GET", `/v1/principals/${of.tenantPrincipalId}`, { key }), 200);
    expectStatus(await register("PROVIDER", of.tenantPrincipalId, {}, of), 201);
    const keys: Record<Environment, string> = { sandbox: of.key, production: of.liveKey };
    for (const key of Object.values(keys)) {
      expect(await read(key)).toMatchObject({ attested_tier: expect.any(String), required_tier: "TIER_2" });
    }
  });
});
