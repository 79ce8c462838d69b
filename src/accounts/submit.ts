// Submits an account for the review (ACC-21).
import type { SessionCall } from "../call.ts";
import { toIso } from "../core/clock.ts";
import { ServiceError, toFieldError, toValidationError } from "../core/errors.ts";
import { move } from "../core/machine.ts";
import { recordActivity } from "../journal/activity.ts";
import { raiseAlert } from "../journal/alerts.ts";
import { toPlatformView } from "./profile.ts";
import { findMissingDocuments } from "./requirements.ts";
import { toReviewedProfile } from "./reviewed.ts";
import { platformMachine } from "./states.ts";
import { findPlatform, updatePlatform } from "./store.ts";

export async function submitVerification(call: SessionCall) {
  const { db, deps, environment } = call;
  const now = deps.clock.now();
  const { caller, platform: before } = await call.read({ platform: findPlatform(db, call.tenant.platformId) });
  if (!before) throw new ServiceError("invalid_credentials");
  const moved = move(platformMachine, before.status, "submit");
  const missing = findMissingDocuments(before);
  if (missing.length > 0) {
    const message = "This document is missing.";
    throw toValidationError(missing.map((type) => toFieldError(type, "missing_fields", message)));
  }
  const { platformId } = before;
  // Clears an earlier decision, which the log keeps.
  const set = {
    submittedAt: now,
    reviewed: toReviewedProfile(before),
    decision: null,
    decisionReason: null,
    decidedAt: null,
  };
  const view = { ...toPlatformView({ ...before, ...set, status: moved.to }), environment };
  await call.commit(
    [
      ...updatePlatform(db, before, set, now, moved),
      recordActivity(db, { platformId, environment }, now, {
        action: "account.verification_submitted",
        actor: caller.actor,
        subject: { type: "platform", id: platformId },
        changes: { platform_status: { from: moved.from, to: moved.to } },
      }),
      // Each submission has its own alert, because the previous one may still be unacknowledged.
      raiseAlert(db, {
        kind: "review_waiting",
        subject: `${platformId} submitted ${toIso(now)}`,
        message: `An account waits for its review: GET /v1/operator/platforms/${platformId}.`,
      }),
    ],
    view,
  );
  return view;
}
