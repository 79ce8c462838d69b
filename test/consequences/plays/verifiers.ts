// Plays of an operator's acts on Verifiers.

import type { World } from "../../support/world.ts";
import { attestedBody, drawKey, patchVerifier, registerVerifier } from "../../verifiers/support.ts";
import { must, type Play, type Plays } from "./stage.ts";

const patching =
  (patch: () => Promise<unknown>, prepare: (world: World, verifierId: string) => Promise<readonly string[]>): Play =>
  async ({ world }) => {
    const { verifier_id } = await registerVerifier(world, [(await drawKey()).jwk]);
    const principal = await prepare(world, verifier_id);
    const body = await patch();
    return async () => {
      await must(200, patchVerifier(world, verifier_id, body));
      return { principal };
    };
  };

const attest = async (world: World, verifierId: string): Promise<readonly string[]> => {
  const body = attestedBody(verifierId);
  return [(await must(201, world.call("POST", "/v1/principals", { body }))).principal_id];
};

export const VERIFIER_PLAYS: Plays = {
  registerVerifier: {
    always: async ({ world }) => {
      const { jwk } = await drawKey();
      return async () => {
        await registerVerifier(world, [jwk]);
        return {};
      };
    },
  },
  patchVerifier: {
    "another name, other keys": patching(
      async () => ({ name: "Acme", jwks: { keys: [(await drawKey("EdDSA")).jwk] } }),
      async () => [],
    ),
    "it is disabled, and has attested principals": patching(async () => ({ status: "disabled" }), attest),
  },
};
