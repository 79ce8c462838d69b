// Promotion to production (ACC-16): once, after accreditation. It issues the production key; it moves no agent and opens no market.
import { type ManagementCall, type ManagementCaller, type Precheck, precheck } from "../call.ts";
import { toIso } from "../core/clock.ts";
import { requireConfirmed } from "../core/confirmed.ts";
import { ServiceError } from "../core/errors.ts";
import { requireProduction } from "../core/production.ts";
import { recordActivity } from "../journal/activity.ts";
import { recordNotice } from "../journal/notices.ts";
import { issueKey, refuseInGrace } from "./keys.ts";
import { findPlatform, updatePlatform } from "./store.ts";

/** The precheck that the session is confirmed; the request has no body. */
export const precheckAccountPromotion = (): Precheck =>
  precheck<Record<never, never>, ManagementCaller>({}, ({ caller }) => {
    requireConfirmed(caller);
    return [];
  });

export async function promotePlatform(call: ManagementCall) {
  const { db, deps, tenant } = call;
  const now = deps.clock.now();
  const { caller, platform } = await call.read({ platform: findPlatform(db, tenant.platformId) });
  if (!platform) throw new ServiceError("invalid_credentials");
  requireProduction("promote", caller);
  refuseInGrace(caller);
  if (platform.promotionBy === "session" && caller.actor.type === "management_api") {
    const message = "Only a person can promote this account: log in, and promote it with the session.";
    throw new ServiceError("forbidden", { message });
  }
  requireConfirmed(caller);
  const { platformId } = platform;
  const owner = { platformId, environment: "production" } as const;
  const key = await issueKey(deps, owner, caller.actor, now);
  const view = {
    environment: owner.environment,
    promoted_at: toIso(now),
    live_key_issued: true,
    api_key: key.view,
  };
  await call.commit(
    [
      // Guards on the account as it was read: of several promotions, one finds it unpromoted.
      ...updatePlatform(db, platform, { promotedAt: now }, now),
      recordActivity(db, owner, now, {
        action: "account.promoted",
        actor: caller.actor,
        subject: { type: "platform", id: platformId },
        changes: { promoted_at: { from: null, to: toIso(now) } },
      }),
      ...key.statements,
      recordNotice(db, platform, now, { kind: "customer.key_issued", data: key.notice }),
    ],
    view,
  );
  return view;
}
