// Rotates an agent's key (AGT-32). The new key is valid from the commit on, the previous one until its grace ends, to the second. Each rotation
// ends the grace of any earlier key.
import type { ManagementCall } from "../call.ts";
import { systemClock, toIso } from "../core/clock.ts";
import { HOUR_MS } from "../core/limits.ts";
import { certify } from "../identity/certificate.ts";
import { findListPlace } from "../identity/certificate-store.ts";
import type { AgentWithPrincipal } from "../identity/store.ts";
import { buildSourceReads } from "./find-store.ts";
import { drawKey, toCredentials } from "./keys.ts";
import { refuseUncertified } from "./reissue.ts";
import type { RotatedCredentialsView } from "./responses.ts";
import { reviseAgent, toAidSource } from "./revise.ts";
import type { KeyRotationInput } from "./schema.ts";

export async function rotateAgentKey(
  call: ManagementCall<AgentWithPrincipal>,
  did: string,
  { grace_hours }: KeyRotationInput,
): Promise<RotatedCredentialsView> {
  const { db, tenant, now, deps } = call;
  const { place, caller, object, ...found } = await call.read({
    ...buildSourceReads(db, tenant, did),
    place: findListPlace(db),
  });
  const before = toAidSource(object, found);
  refuseUncertified(before, now);
  // Certificates and proofs are checked against real time, so the grace is in real time too.
  const wall = systemClock.now();
  const { keyId, publicJwk, earlierKey } = before.agent;
  const until = wall + grace_hours * HOUR_MS;
  const kept = grace_hours > 0 && keyId !== null && publicJwk !== null ? { keyId, publicJwk, until } : null;
  const key = await drawKey();
  const agent = { ...before.agent, ...key.columns };
  const certificate = await certify(call, agent, before.principal, place);
  const view = {
    ...(await toCredentials(agent, before.principal, certificate, key)),
    previous_key_expires_at: toIso(until),
  };
  const { statements } = await reviseAgent(
    db,
    deps,
    before,
    {
      set: { ...key.columns, earlierKey: kept },
      newVersion: true,
      certificate,
      endsEarlierKey: earlierKey !== null && earlierKey.until > wall,
      earlierCountUntil: until,
      activity: {
        action: "agent.key_rotated",
        actor: caller.actor,
        changes: { key_id: { from: keyId, to: certificate.row.keyId } },
      },
      events: ["agent.key_rotated"],
      listing: "updated",
    },
    now,
  );
  await call.commit(statements, view);
  return view;
}
