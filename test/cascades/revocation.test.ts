// Revoking an attestation (PRN-25) stops every principal that it backs, on every platform, and all their agents.
import { beforeAll, beforeEach, describe, expect, inject, it } from "vitest";
import { finishCascades } from "../../src/cascades/cascades.ts";
import { endAttestations } from "../../src/cascades/expire.ts";
import { HOUR_MS } from "../../src/core/limits.ts";
import { walks } from "../../src/db/tables/walks.ts";
import { openIntent, seller } from "../payments/support.ts";
import { createWorld, expectStatus, type Json, principalBody, type Reply, type World } from "../support/world.ts";
import { attestationBy, drawKey, registerVerifier, type VerifierPair } from "../verifiers/support.ts";
import {
  crowd,
  dieBefore,
  each,
  entriesOf,
  inStatus,
  operator,
  outcome,
  storedAgent,
  suspensions,
} from "./account-support.ts";
import { credential, revoke, revokeAs } from "./revocation-support.ts";
import { createSlicedWorld, SLICE } from "./slices.ts";

let world: World;
let other: World;
let pair: VerifierPair;
let verifierId: string;
beforeAll(async () => {
  other = await createWorld();
  pair = await drawKey();
  verifierId = (await registerVerifier(other, [pair.jwk])).verifier_id;
});
beforeEach(async () => {
  world = await createSlicedWorld();
  // Removes cascades that an earlier test left unfinished.
  await world.deps.db.delete(walks);
});

const register = async (attestation: Json, of = world): Promise<string> =>
  expectStatus(
    await of.call("POST", "/v1/principals", { body: principalBody({ verification_attestation: attestation }) }),
    201,
  ).principal_id;
const read = async (principalId: string, of = world): Promise<Json> =>
  expectStatus(await of.call("GET", `/v1/principals/${principalId}`), 200);
const take = async (attestation: Json, body?: Json): Promise<Reply> =>
  revoke(world, attestation.attestation_id, await credential(pair, attestation), body);
const REVOKED = { status: "ATTESTATION_EXPIRED", status_reason: "attestation_revoked" };

describe("a Verifier that revokes its attestation", () => {
  it("stops every principal that it backs and all their agents, on both platforms, in the commit of the answer", async () => {
    const attestation = attestationBy(verifierId);
    const [mine, second, theirs] = [
      await register(attestation),
      await register(attestation),
      await register(attestation, other),
    ];
    const agents = [
      await world.consumer({ principal_id: mine }),
      await world.consumer({ principal_id: second }),
      await other.consumer({ principal_id: theirs }),
    ];
    const unconcerned = await world.consumer();
    const shop = await seller(await createWorld());
    const answer = expectStatus(await take(attestation, { reason: "The company is dissolved." }), 200);
    expect(answer).toEqual({
      attestation_id: attestation.attestation_id,
      verifier_id: verifierId,
      status: "revoked",
      revoked_at: answer.revoked_at,
    });
    expect(await read(mine)).toMatchObject(REVOKED);
    expect(await read(second)).toMatchObject(REVOKED);
    expect(await read(theirs, other)).toMatchObject(REVOKED);
    for (const [agent, of] of [
      [agents[0], world],
      [agents[1], world],
      [agents[2], other],
    ] as const) {
      if (!agent) throw new Error("no agent");
      expect(await storedAgent(of, agent.did)).toMatchObject({ status: "SUSPENDED", suspensionReason: "attestation" });
      expect(outcome(await openIntent(of, agent, shop, "10.00"))).toEqual([409, "agent_not_active"]);
    }
    expect((await storedAgent(world, unconcerned.did))?.status).toBe("ACTIVE");
    expect(await suspensions(world)).toEqual(
      each(
        agents
          .slice(0, 2)
          .map(({ did }) => did)
          .sort(),
      ),
    );
    const entries = await entriesOf(world, "principal.attestation_revoked");
    expect(entries.map(({ subjectId }) => subjectId).sort()).toEqual([mine, second].sort());
    expect(entries[0]).toMatchObject({ actorType: "verifier", actorId: verifierId });
    const { data } = expectStatus(await world.call("GET", `/v1/principals/${mine}/attestations`), 200);
    expect(data).toMatchObject([
      { status: "revoked", revoked_at: answer.revoked_at, revocation_reason: "The company is dissolved." },
    ]);
  });

  it("leaves another Verifier's attestation with the same id", async () => {
    const attestation = attestationBy(verifierId);
    const namesake = attestationBy("acme-verification", Date.now(), { attestation_id: attestation.attestation_id });
    const [mine, theirs] = [await register(attestation), await register(namesake)];
    expectStatus(await take(attestation), 200);
    expect([(await read(mine)).status, (await read(theirs)).status]).toEqual(["ATTESTATION_EXPIRED", "ACTIVE"]);
    const { data } = expectStatus(await world.call("GET", `/v1/principals/${theirs}/attestations`), 200);
    expect(data).toMatchObject([{ status: "current", revoked_at: null }]);
    // A principal that has had both attestations is not stopped by the earlier one.
    const both = await register(attestationBy(verifierId));
    const [earlier, later] = [attestationBy(verifierId), "acme-verification"];
    for (const body of [earlier, { ...earlier, verifier_id: later }]) {
      expectStatus(await world.call("POST", `/v1/principals/${both}/attestations`, { body }), 201);
    }
    expectStatus(await take(earlier), 200);
    expect((await read(both)).status).toBe("ACTIVE");
  });

  it("gets the same answer again, and nothing else happens", async () => {
    const attestation = attestationBy(verifierId);
    await register(attestation);
    const first = expectStatus(await take(attestation), 200);
    world.advance(1_000);
    expect(expectStatus(await take(attestation, { reason: "Again." }), 200)).toEqual(first);
    expect(await entriesOf(world, "principal.attestation_revoked")).toHaveLength(1);
  });

  it("leaves principals that another attestation backs by then, and keeps other stops", async () => {
    const attestation = attestationBy(verifierId);
    const [renewed, suspended, closed] = [
      await register(attestation),
      await register(attestation),
      await register(attestation),
    ];
    expectStatus(
      await world.call("POST", `/v1/principals/${renewed}/attestations`, { body: { placeholder: true } }),
      201,
    );
    expectStatus(await world.call("POST", `/v1/principals/${suspended}/suspend`), 200);
    expectStatus(await world.call("POST", `/v1/principals/${closed}/close`), 200);
    expectStatus(await take(attestation), 200);
    expect((await read(renewed)).status).toBe("ACTIVE");
    expect(await read(suspended)).toMatchObject({ status: "SUSPENDED", status_reason: "platform" });
    expect((await read(closed)).status).toBe("CLOSED");
    expect(expectStatus(await world.call("POST", `/v1/principals/${suspended}/reactivate`), 200)).toMatchObject(
      REVOKED,
    );
    const { data } = expectStatus(await world.call("GET", `/v1/principals/${renewed}/attestations`), 200);
    expect(data.map(({ status }: Json) => status)).toEqual(["current", "revoked"]);
  });

  it("shows the revocation even if the attestation has ended, recorded or not", async () => {
    const attestation = attestationBy(verifierId);
    const [principalId, late] = [await register(attestation), await register(attestation)];
    world.advance(400 * 24 * HOUR_MS);
    await world.run(endAttestations);
    expect((await read(principalId)).status_reason).toBe("attestation_expired");
    world.advance(-400 * 24 * HOUR_MS);
    expectStatus(await take(attestation), 200);
    expect([await read(principalId), await read(late)]).toMatchObject([REVOKED, REVOKED]);
  });

  it("cannot record it again, but another one makes the principal and its agents ACTIVE", async () => {
    const attestation = attestationBy(verifierId);
    const agent = await world.consumer({ principal_id: await register(attestation) });
    expectStatus(await take(attestation), 200);
    const path = `/v1/principals/${agent.principalId}/attestations`;
    for (const reply of [
      await world.call("POST", `/v1/principals/${await world.principal()}/attestations`, { body: attestation }),
      await world.call("POST", "/v1/principals", { body: principalBody({ verification_attestation: attestation }) }),
    ]) {
      expect(outcome(reply)).toEqual([422, "validation_failed"]);
      expect(reply.body.field_errors[0]).toMatchObject({
        code: "invalid_value",
        message: "The attestation was revoked.",
      });
    }
    const body = { ...attestationBy(verifierId), reactivate_agents: true };
    expect(expectStatus(await world.call("POST", path, { body }), 201).principal_status).toBe("ACTIVE");
    expect((await storedAgent(world, agent.did))?.status).toBe("ACTIVE");
    expect(await read(agent.principalId)).toMatchObject({ status: "ACTIVE", status_reason: null });
  });

  it("reports each agent once, even if the isolate dies between the slices", async () => {
    const attestation = attestationBy(verifierId);
    const { first, dids } = await crowd(world, 2 * SLICE + SLICE / 2);
    expectStatus(
      await world.call("POST", `/v1/principals/${first.principalId}/attestations`, { body: attestation }),
      201,
    );
    dieBefore(world, 3);
    expectStatus(await take(attestation), 200);
    expect((await inStatus(world, "ACTIVE", "FUNDING")).length).toBe(dids.length - SLICE);
    await world.run(finishCascades);
    expect(await inStatus(world, "ACTIVE", "FUNDING")).toEqual([]);
    expect(await suspensions(world)).toEqual(each(dids));
    expect(await entriesOf(world, "principal.attestation_revoked")).toHaveLength(1);
  });

  it.each<[string, (revocation: () => Promise<Reply>, renewal: () => Promise<Reply>) => Promise<Reply[]>]>([
    ["comes before the renewal", async (revocation, renewal) => [await revocation(), await renewal()]],
    ["comes between the renewal's reading and its commit", (revocation, renewal) => playWithin(renewal, revocation)],
    ["has read when the renewal comes, and commits after it", (revocation, renewal) => playWithin(revocation, renewal)],
    ["comes after the renewal", async (revocation, renewal) => [await renewal(), await revocation()]],
  ])("leaves a renewed principal and its agents ACTIVE if it %s", async (_when, play) => {
    const attestation = attestationBy(verifierId);
    const principalId = await register(attestation);
    const body = { ...attestationBy(verifierId), reactivate_agents: true };
    const { did } = await world.consumer({ principal_id: principalId });
    const replies = await play(
      () => take(attestation),
      () => world.call("POST", `/v1/principals/${principalId}/attestations`, { body }),
    );
    expect(replies.map(({ status }) => status).sort()).toEqual([200, 201]);
    await world.run(finishCascades);
    expect((await read(principalId)).status).toBe("ACTIVE");
    expect((await storedAgent(world, did))?.status).toBe("ACTIVE");
  });
});

/** Plays `inner` between the reading and the commit of `outer`. */
async function playWithin(outer: () => Promise<Reply>, inner: () => Promise<Reply>): Promise<Reply[]> {
  const replies: Reply[] = [];
  world.meter.beforeBatch(2, async () => void replies.push(await inner()));
  replies.push(await outer());
  return replies;
}

describe("an operator that revokes an attestation", () => {
  const ask = (attestationId: string, body: Json): Promise<Reply> => revokeAs(world, attestationId, operator(), body);

  it("names the Verifier, and the reason for the operators' log", async () => {
    const attestation = attestationBy("acme-verification");
    const principalId = await register(attestation);
    const body = { verifier_id: "acme-verification", reason: "Forged." };
    expectStatus(await ask(attestation.attestation_id, body), 200);
    expect(await read(principalId)).toMatchObject(REVOKED);
    const { data } = expectStatus(
      await world.call("GET", "/v1/operator/activity?action=attestation.revoked&limit=1", {
        key: null,
        headers: operator(),
      }),
      200,
    );
    expect(data).toMatchObject([{ subject: { type: "attestation", id: attestation.attestation_id }, detail: body }]);
    expect((await entriesOf(world, "principal.attestation_revoked"))[0]).toMatchObject({ actorType: "operator" });
  });

  it("is refused without the Verifier, with an unknown field, and for an attestation that was never recorded", async () => {
    const attestation = attestationBy(verifierId);
    await register(attestation);
    const id = attestation.attestation_id;
    expect((await ask(id, {})).body.field_errors).toMatchObject([{ field: "verifier_id", code: "required" }]);
    expect(outcome(await ask(id, { verifier_id: verifierId, colour: "red" }))).toEqual([422, "validation_failed"]);
    expect(outcome(await ask(id, { verifier_id: "acme-verification" }))).toEqual([404, "not_found"]);
    expect(outcome(await ask("att_nobody", { verifier_id: verifierId }))).toEqual([404, "not_found"]);
    expect(inject("operatorKey")).toBeTruthy();
  });
});
