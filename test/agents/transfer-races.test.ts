// A transfer at the same moment as other decisions about the agent and its two principals (AGT-33).
import { eq } from "drizzle-orm";
import { beforeEach, describe, expect, it } from "vitest";
import { finishCascades } from "../../src/cascades/cascades.ts";
import { endAttestations } from "../../src/cascades/expire.ts";
import { finishRestatements } from "../../src/cascades/restate-agents.ts";
import { HOUR_MS } from "../../src/core/limits.ts";
import { commit } from "../../src/db/batch.ts";
import { agents } from "../../src/db/tables/agents.ts";
import { SLICE } from "../../src/jobs/walk.ts";
import { storedAgent } from "../cascades/account-support.ts";
import { createWorld, expectStatus, type Json, type Reply, type World } from "../support/world.ts";
import { registerAgent, registrationOf } from "./support.ts";

let world: World;
beforeEach(async () => {
  world = await createWorld();
});

const transfer = (did: string, principal_id: string): Promise<Reply> =>
  world.call("POST", `/v1/agents/${did}/transfer`, { body: { principal_id } });
const given = (lasts: number): Json => ({
  attestation_id: `att_${crypto.randomUUID()}`,
  verifier_id: "acme-verification",
  model: "kyb",
  issued_at: new Date(world.now() - HOUR_MS).toISOString(),
  expires_at: new Date(world.now() + lasts).toISOString(),
});

describe("an agent that was stopped with its old principal", () => {
  it("is not reactivated with the agents of the new principal", async () => {
    const agent = await world.consumer({
      principal_id: await world.principal({ verification_attestation: given(HOUR_MS) }),
    });
    world.advance(2 * HOUR_MS);
    await world.run(endAttestations);
    const to = await world.principal();
    const { suspension_reason } = expectStatus(await transfer(agent.did, to), 200);
    expect(suspension_reason).toBe("platform");
    const body = { ...given(HOUR_MS), reactivate_agents: true };
    expectStatus(await world.call("POST", `/v1/principals/${to}/attestations`, { body }), 201);
    await world.run(finishRestatements);
    expect((await storedAgent(world, agent.did))?.status).toBe("SUSPENDED");
    const returned = await world.call("PATCH", `/v1/agents/${agent.did}/status`, { body: { status: "ACTIVE" } });
    expect(expectStatus(returned, 200).status).toBe("ACTIVE");
  });
});

describe("at the same moment", () => {
  it("a registration leaves no delegate with another principal than its delegator's", async () => {
    const head = await world.consumer();
    const to = await world.principal();
    const body = registrationOf(head.principalId, "CONSUMER", { delegated_by: head.did });
    world.meter.beforeBatch(2, async () => expectStatus(await transfer(head.did, to), 200));
    const reply = await registerAgent(world, body);
    expect([reply.status, reply.body.field_errors?.[0]?.field]).toEqual([422, "delegated_by"]);
    const owners = await world.deps.db.select().from(agents).where(eq(agents.principalId, head.principalId));
    expect(owners).toEqual([]);
  });

  it.each(["SUSPENDED", "DRAFT"] as const)(
    "the end of a principal with many agents also ends an agent that is %s",
    async (state) => {
      const principalId = await world.principal();
      const first = await world.draft("CONSUMER", { principal_id: principalId });
      await precede(first.did, SLICE);
      const agent = state === "DRAFT" ? first : await world.consumer({ principal_id: principalId });
      if (state === "SUSPENDED") {
        const body = { status: "SUSPENDED" };
        expectStatus(await world.call("PATCH", `/v1/agents/${agent.did}/status`, { body }), 200);
      }
      const to = await world.principal();
      world.meter.beforeBatch(2, () => close(principalId));
      const reply = await transfer(agent.did, to);
      await world.run(finishCascades);
      expect([reply.status, reply.body.code]).toEqual([409, "agent_status_not_mutable"]);
      expect(await storedAgent(world, agent.did)).toMatchObject({ status: "REVOKED", principalId });
    },
  );
});

/** Closes a principal, but the slices after the first are not written yet. */
async function close(principalId: string): Promise<void> {
  world.meter.beforeBatch(3, () => Promise.reject(new Error("the isolate died")));
  expectStatus(await world.call("POST", `/v1/principals/${principalId}/close`), 200);
}

describe("the end of an attestation in the agent's row (PRN-14) is the new principal's", () => {
  const ends = async (of: string) => (await storedAgent(world, of))?.endsAt;
  const attested = (expires_at: string, overrides: Json = {}): Json => ({ ...given(0), expires_at, ...overrides });
  const attest = async (principalId: string, body: Json): Promise<Json> =>
    expectStatus(await world.call("POST", `/v1/principals/${principalId}/attestations`, { body }), 201);
  const at = (hours: number): string => new Date(world.now() + hours * HOUR_MS).toISOString();

  it("also if the old one gets a new attestation at the same moment", async () => {
    const until = at(48);
    const [from, to] = [
      await world.principal({ verification_attestation: attested(until) }),
      await world.principal({ verification_attestation: attested(until) }),
    ];
    const { did } = await world.consumer({ principal_id: from });
    world.meter.beforeBatch(2, () => attest(from, attested(at(96))));
    expectStatus(await transfer(did, to), 200);
    expect(await ends(did)).toBe(Date.parse(until));
  });

  it("and the document names the new one's attestation, even if it is renewed with the same end", async () => {
    const until = at(48);
    const to = await world.principal({ verification_attestation: attested(until) });
    const { did } = await world.consumer();
    const next = attested(until);
    world.meter.beforeBatch(2, () => attest(to, next));
    expectStatus(await transfer(did, to), 200);
    const { identity } = expectStatus(await world.call("GET", `/v1/agents/${did}/aid`, { key: null }), 200);
    expect(identity.principal.verification.attestation_id).toBe(next.attestation_id);
  });

  it("also if a slice of the old one's agents is being restated", async () => {
    const from = await world.principal();
    const [first, to] = [await world.draft("CONSUMER", { principal_id: from }), await world.principal()];
    await precede(first.did, SLICE);
    const { did } = await world.consumer({ principal_id: from });
    const until = await ends((await world.consumer({ principal_id: to })).did);
    // The call makes two trips; the third reads the second slice.
    world.meter.beforeBatch(4, async () => expectStatus(await transfer(did, to), 200));
    await attest(from, attested(at(96)));
    await world.run(finishRestatements);
    expect(await storedAgent(world, did)).toMatchObject({ principalId: to, endsAt: until });
  });
});

/** Inserts this many copies of an agent, older than it. */
async function precede(did: string, count: number): Promise<void> {
  const { db } = world.deps;
  const row = await storedAgent(world, did);
  if (!row) throw new Error("no agent");
  const copies = Array.from({ length: count }, () => ({ ...row, did: `did:aeap:${crypto.randomUUID()}` }));
  await commit(
    db,
    copies.map((copy) => db.insert(agents).values({ ...copy, createdAt: row.createdAt - 1 })),
  );
}
