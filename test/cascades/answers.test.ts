// No answer waits for a later slice (PRN-17): a call that stops or reactivates more agents than one batch takes is answered while the others are
// still to be written.
import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { beforeEach, expect, it } from "vitest";
import { finishCascades } from "../../src/cascades/cascades.ts";
import { endAttestations } from "../../src/cascades/expire.ts";
import { HOUR_MS } from "../../src/core/limits.ts";
import { walks } from "../../src/db/tables/walks.ts";
import { failingBatches, withDatabase } from "../support/variants.ts";
import { env, expectStatus, ISSUER, type Json, type World } from "../support/world.ts";
import { attestationBy, drawKey, registerVerifier, type VerifierPair } from "../verifiers/support.ts";
import { crowd, inStatus, operator } from "./account-support.ts";
import { newCustomer, ofPrincipal, regroup, withQueue } from "./customer-support.ts";
import { credential } from "./revocation-support.ts";
import { createSlicedWorld, SLICE } from "./slices.ts";

const COUNT = SLICE + SLICE / 2;

let world: World;
beforeEach(async () => {
  world = await createSlicedWorld();
  await world.deps.db.delete(walks);
});

type Call = { readonly path: string; readonly headers: Record<string, string>; readonly body?: Json };
type Act = {
  readonly name: string;
  /** The number of batches that the answer may wait for. */
  readonly batches: number;
  readonly prepare: (principalId: string) => Promise<Call>;
  /** How many agents are active at the answer, and after the last slice. */
  readonly running: readonly [number, number];
};

const byKey = (path: string, body: Json = {}): Call => ({ path, headers: { "Service-Api-Key": world.key }, body });
const attestations = (principalId: string): string => `/v1/principals/${principalId}/attestations`;
const STOPS = [COUNT - SLICE, 0] as const;

async function revocable(principalId: string): Promise<{ attestation: Json; pair: VerifierPair }> {
  const pair = await drawKey();
  const attestation = attestationBy((await registerVerifier(world, [pair.jwk])).verifier_id);
  expectStatus(await world.call("POST", attestations(principalId), { body: attestation }), 201);
  return { attestation, pair };
}

const ACTS: readonly Act[] = [
  {
    name: "a suspension of a principal",
    batches: 2,
    prepare: async (principalId) => byKey(`/v1/principals/${principalId}/suspend`),
    running: STOPS,
  },
  {
    name: "a suspension of a customer",
    batches: 2,
    prepare: async (principalId) => {
      const customerId = await newCustomer(world);
      expectStatus(await regroup(world, principalId, customerId), 200);
      return byKey(`/v1/customers/${customerId}/suspend`);
    },
    running: STOPS,
  },
  {
    name: "a revocation by a Verifier",
    batches: 2,
    prepare: async (principalId) => {
      const { attestation, pair } = await revocable(principalId);
      const headers = { Authorization: `Bearer ${await credential(pair, attestation)}` };
      return { path: `/v1/attestations/${attestation.attestation_id}/revoke`, headers };
    },
    running: STOPS,
  },
  {
    name: "a revocation by an operator",
    batches: 2,
    prepare: async (principalId) => {
      const { attestation } = await revocable(principalId);
      const body = { verifier_id: attestation.verifier_id };
      return { path: `/v1/attestations/${attestation.attestation_id}/revoke`, headers: operator(), body };
    },
    running: STOPS,
  },
  {
    name: "a renewal that reactivates agents",
    // The places of the new certificates, and the key's last use, take a trip each.
    batches: 4,
    prepare: async (principalId) => {
      const verification_attestation = {
        attestation_id: `att_${crypto.randomUUID()}`,
        verifier_id: "acme-verification",
        model: "kyb",
        issued_at: new Date(world.now() - HOUR_MS).toISOString(),
        expires_at: new Date(world.now() + HOUR_MS).toISOString(),
      };
      expectStatus(await world.call("POST", attestations(principalId), { body: verification_attestation }), 201);
      world.advance(2 * HOUR_MS);
      await world.run(endAttestations);
      await world.run(finishCascades);
      return byKey(attestations(principalId), { placeholder: true, reactivate_agents: true });
    },
    running: [SLICE, COUNT],
  },
];

it.each(ACTS)("the answer to $name waits for the first slice alone", async ({ batches, prepare, running }) => {
  const { first } = await crowd(world, COUNT);
  const { path, headers, body } = await prepare(first.principalId);
  const gate = Promise.withResolvers<void>();
  const slow = failingBatches(env.DB, async (batch): Promise<"never"> => {
    if (batch > batches) await gate.promise;
    return "never";
  });
  const { held, drain } = withQueue(withDatabase(world, slow));
  const context = createExecutionContext();
  const request = new Request(`${ISSUER}${path}`, {
    method: "POST",
    headers: { "Content-Type": "application/json", ...headers },
    ...(body && { body: JSON.stringify(body) }),
  });
  await world.serve(async () => {
    // An answer that waits for a further batch never comes.
    const answered = await held.app.fetch(request, held.deps.env, context);
    expect(answered.ok).toBe(true);
    expect(await inStatus(world, "ACTIVE", "FUNDING")).toHaveLength(running[0]);
    gate.resolve();
    await waitOnExecutionContext(context);
  });
  await drain();
  expect(await inStatus(world, "ACTIVE", "FUNDING")).toHaveLength(running[1]);
  expect((await ofPrincipal(world, first.principalId, "close")).status).toBe(running[1] === 0 ? 200 : 409);
});
