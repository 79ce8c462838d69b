// Plays of the attestations of principals.
import { endAttestations } from "../../../src/cascades/expire.ts";
import { operator } from "../../cascades/account-support.ts";
import { credential, revoke, revokeAs } from "../../cascades/revocation-support.ts";
import { agentBody, principalBody, type World } from "../../support/world.ts";
import { attestationBy, drawKey, registerVerifier } from "../../verifiers/support.ts";
import { anHour, must, type Play, type Plays } from "./stage.ts";

const HOUR_MS = 3_600_000;

type Owned = { readonly principalId: string; readonly did: string };

async function withAgent(world: World): Promise<Owned> {
  const body = principalBody(anHour(world));
  const { principal_id } = await must(201, world.call("POST", "/v1/principals", { body }));
  const draft = { ...agentBody("CONSUMER"), principal_id };
  const { did } = await must(201, world.call("POST", "/v1/agents", { body: draft }));
  await must(200, world.call("POST", `/v1/agents/${did}/activate`));
  return { principalId: principal_id, did };
}

const record = (world: World, principalId: string, more = {}) =>
  must(201, world.call("POST", `/v1/principals/${principalId}/attestations`, { body: { placeholder: true, ...more } }));

/** Records another attestation of a principal with an agent, after `before`. */
const recording =
  (before: (world: World, owned: Owned) => Promise<unknown>, more = {}): Play =>
  async ({ world }) => {
    const owned = await withAgent(world);
    await before(world, owned);
    return async () => {
      await record(world, owned.principalId, more);
      return { principal: [owned.principalId], agent: [owned.did] };
    };
  };

const waits = async (world: World): Promise<void> => world.advance(HOUR_MS);
const ends = async (world: World): Promise<void> => {
  world.advance(HOUR_MS);
  await world.run(endAttestations);
};

/** A principal with an attestation of a registered Verifier, and the calls that can revoke it. */
async function backed(world: World) {
  const pair = await drawKey();
  const { verifier_id: verifierId } = await registerVerifier(world, [pair.jwk]);
  const attestation = attestationBy(verifierId);
  const body = principalBody({ verification_attestation: attestation });
  const { principal_id: principalId } = await must(201, world.call("POST", "/v1/principals", { body }));
  const byOperator = () =>
    must(200, revokeAs(world, attestation.attestation_id, operator(), { verifier_id: verifierId }));
  const byVerifier = async () =>
    must(200, revoke(world, attestation.attestation_id, await credential(pair, attestation)));
  return { principalId, byOperator, byVerifier };
}

export const ATTESTATION_PLAYS: Plays = {
  revokeAttestation: {
    "by its Verifier, for a principal with an active agent": async ({ world }) => {
      const { principalId, byVerifier } = await backed(world);
      const { did } = await world.consumer({ principal_id: principalId });
      return async () => {
        await byVerifier();
        return { principal: [principalId], agent: [did] };
      };
    },
    "by an operator, for a principal without agents": async ({ world }) => {
      const { principalId, byOperator } = await backed(world);
      return async () => {
        await byOperator();
        return { principal: [principalId] };
      };
    },
    "by an operator, after another attestation was recorded": async ({ world }) => {
      const { principalId, byOperator } = await backed(world);
      await record(world, principalId);
      return async () => {
        await byOperator();
        return { principal: [principalId] };
      };
    },
  },
  recordAttestation: {
    "before the last one ends, with an active agent": recording(async () => undefined),
    "after the end, with a suspended agent": recording(ends),
    "after an end that no job has recorded, with an active agent": recording(waits),
    "after the end, and its agents are reactivated": recording(ends, { reactivate_agents: true }),
    SUSPENDED: async ({ world }) => {
      const { principal_id: principalId } = await must(
        201,
        world.call("POST", "/v1/principals", { body: principalBody() }),
      );
      await must(200, world.call("POST", `/v1/principals/${principalId}/suspend`));
      return async () => {
        await record(world, principalId);
        return { principal: [principalId] };
      };
    },
  },
};
