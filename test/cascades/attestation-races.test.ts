// An attestation that another call records or revokes between the reading and the commit of a call (PRN-21, PRN-22, PRN-25).
import { eq } from "drizzle-orm";
import { beforeEach, describe, expect, it } from "vitest";
import { commit } from "../../src/db/batch.ts";
import { attestations } from "../../src/db/tables/principals.ts";
import { walks } from "../../src/db/tables/walks.ts";
import { createWorld, expectStatus, type Json, principalBody, type Reply, type World } from "../support/world.ts";
import {
  attestationBy,
  drawKey,
  faultsOf,
  patchVerifier,
  registerVerifier,
  type VerifierPair,
} from "../verifiers/support.ts";
import { operator, outcome } from "./account-support.ts";
import { credential, revoke, revokeAs } from "./revocation-support.ts";

let world: World;
let other: World;
let pair: VerifierPair;
let verifierId: string;
let attestation: Json;
beforeEach(async () => {
  [world, other, pair] = [await createWorld(), await createWorld(), await drawKey()];
  // Removes cascades that an earlier test left unfinished.
  await world.deps.db.delete(walks);
  verifierId = (await registerVerifier(other, [pair.jwk])).verifier_id;
  attestation = attestationBy(verifierId);
});

const register = (given: Json, of = world): Promise<Reply> =>
  of.call("POST", "/v1/principals", { body: principalBody({ verification_attestation: given }) });
const registered = async (given: Json, of = world): Promise<string> =>
  expectStatus(await register(given, of), 201).principal_id;
const record = (principalId: string, given: Json): Promise<Reply> =>
  world.call("POST", `/v1/principals/${principalId}/attestations`, { body: given });
const take = async (given: Json, of = world): Promise<Reply> =>
  revoke(of, given.attestation_id, await credential(pair, given));
const statusOf = async (principalId: string): Promise<string> =>
  expectStatus(await world.call("GET", `/v1/principals/${principalId}`), 200).status;
const disable = async (): Promise<void> =>
  void expectStatus(await patchVerifier(other, verifierId, { status: "disabled" }), 200);
/** Runs an act between the reading and the commit of the world's next call. */
const meanwhile = (act: () => Promise<unknown>): void => world.meter.beforeBatch(2, async () => void (await act()));

describe("an attestation that is revoked between the reading and the commit", () => {
  const taken = () => take(attestation, other).then((reply) => expectStatus(reply, 200));

  it("is refused at a registration", async () => {
    await registered(attestation, other);
    meanwhile(taken);
    const fault = ["verification_attestation.attestation_id", "invalid_value"];
    expect(faultsOf(await register(attestation))).toEqual([422, "validation_failed", [fault]]);
  });

  it("is refused when it is recorded", async () => {
    await registered(attestation, other);
    const principalId = await world.principal();
    meanwhile(taken);
    const fault = ["attestation_id", "invalid_value"];
    expect(faultsOf(await record(principalId, attestation))).toEqual([422, "validation_failed", [fault]]);
  });

  // Another attestation backs the principals by then, so no guard of a principal reveals the other call.
  it.each<[string, () => Promise<Reply>]>([
    ["credential", () => take(attestation)],
    [
      "surface",
      () => revokeAs(world, attestation.attestation_id, operator(), { verifier_id: verifierId, reason: "Forged." }),
    ],
  ])("by another %s is revoked once, and both answers have the same instant", async (_what, late) => {
    const principalId = await registered(attestation);
    expectStatus(await record(principalId, attestationBy(verifierId)), 201);
    let first: Json | null = null;
    meanwhile(async () => {
      first = await taken();
      world.advance(5_000);
    });
    expect(expectStatus(await late(), 200)).toEqual(first);
    const { data } = expectStatus(await world.call("GET", `/v1/principals/${principalId}/attestations`), 200);
    expect(data[1]).toMatchObject({ revoked_at: (first as Json | null)?.revoked_at, revocation_reason: null });
  });
});

describe("a Verifier that is disabled between the reading and the commit", () => {
  it("cannot revoke an attestation", async () => {
    const principalId = await registered(attestation);
    meanwhile(disable);
    expect(outcome(await take(attestation))).toEqual([401, "invalid_credentials"]);
    expect(await statusOf(principalId)).toBe("ACTIVE");
  });

  it("attests nothing, neither at a registration nor when an attestation is recorded", async () => {
    const principalId = await world.principal();
    meanwhile(disable);
    expect(faultsOf(await record(principalId, attestation))).toEqual([
      422,
      "validation_failed",
      [["verifier_id", "invalid_value"]],
    ]);
    expectStatus(await patchVerifier(other, verifierId, { status: "enabled" }), 200);
    meanwhile(disable);
    const fault = ["verification_attestation.verifier_id", "invalid_value"];
    expect(faultsOf(await register(attestation))).toEqual([422, "validation_failed", [fault]]);
  });
});

describe("an attestation that backs two thousand principals already", () => {
  const BACKED = 2_000;
  const readBy = async (work: () => Promise<unknown>): Promise<number> => {
    world.meter.reset();
    await work();
    return world.meter.reading.rowsRead;
  };

  it("costs a registration and a recording only a few rows read", async () => {
    await registered(attestation);
    const own = await world.principal();
    const { db } = world.deps;
    const [row] = await db.select().from(attestations).where(eq(attestations.verifierId, verifierId));
    if (!row) throw new Error("no attestation");
    const copies = Array.from({ length: BACKED }, (_, i) => ({ ...row, principalId: `prn_copy${i}` }));
    for (let at = 0; at < copies.length; at += 100) {
      await commit(
        db,
        copies.slice(at, at + 100).map((copy) => db.insert(attestations).values(copy)),
      );
    }
    expect(await readBy(() => registered(attestation))).toBeLessThan(50);
    expect(await readBy(async () => expectStatus(await record(own, attestation), 201))).toBeLessThan(50);
  });
});
