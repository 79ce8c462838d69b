// Refused calls of each operation on a provider's vault, for test/journal/refusals.test.ts.

import { NETWORK } from "../consequences/plays/stage.ts";
import type { Reply, World } from "../support/world.ts";
import type { Refusal } from "./account-refusals.ts";

type Known = { readonly world: World; readonly provider: string; readonly consumer: string };

/** `at` returns its values once the tests run. */
export function vaultRefusals(at: () => Known): Readonly<Record<string, readonly Refusal[]>> {
  const post = (did: string, path: string, body: unknown): Promise<Reply> =>
    at().world.call("POST", `/v1/agents/${did}/escrow/${path}`, { body });
  return {
    releaseAgentEscrow: [
      ["no network", "validation_failed", () => post(at().provider, "release", {})],
      ["an unknown network", "validation_failed", () => post(at().provider, "release", { network: "x" })],
      ["nothing to release", "invalid_status", () => post(at().provider, "release", { network: NETWORK })],
      ["a consumer", "role_not_permitted", () => post(at().consumer, "release", { network: NETWORK })],
    ],
    syncAgentEscrow: [
      ["an unknown agent", "not_found", () => post("did:aeap:none", "sync", {})],
      ["a consumer", "role_not_permitted", () => post(at().consumer, "sync", {})],
    ],
  };
}
