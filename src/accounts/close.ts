// Closing of an account by its owner (ACC-27): one batch ends the account, its keys, sessions, links, webhook endpoints and password. From that
// commit all its agents count as REVOKED and its principals as CLOSED, and their own rows follow. The history is never deleted.
import { hasAccountDispute } from "../agents/slice-store.ts";
import type { SessionCall } from "../call.ts";
import { cascadeAccount } from "../cascades/cascades.ts";
import { refuseLeft } from "../cascades/store.ts";
import { buildAccountReads } from "../cascades/subjects.ts";
import { toIso } from "../core/clock.ts";
import { ServiceError, toFieldError } from "../core/errors.ts";
import { move } from "../core/machine.ts";
import { foldName } from "../core/text.ts";
import type { PlatformRow } from "../db/tables/accounts.ts";
import { guardEmptyEscrows } from "../escrow/store.ts";
import { recordActivity } from "../journal/activity.ts";
import { recordNotice } from "../journal/notices.ts";
import { deleteEndpointsOf } from "../webhooks/store.ts";
import { requireCurrentPassword } from "./current-password.ts";
import { retentionYears } from "./erase.ts";
import { deleteKeys } from "./key-store.ts";
import { deleteLinks } from "./link-store.ts";
import { deletePassword, findPassword, guardPassword } from "./password-store.ts";
import { deleteDevices, deleteSessions } from "./session-store.ts";
import { platformMachine } from "./states.ts";
import { type Blocking, findBlocking, findPlatform, updatePlatform } from "./store.ts";
import type { ClosingInput } from "./suspension-schema.ts";

const DISPUTED_MESSAGE = "An agent of the account is party to an open dispute.";
const CLOSING_TRIGGER = "principal_closes";

export async function closePlatform(call: SessionCall, { confirmation, current_password }: ClosingInput) {
  const { db, deps, tenant } = call;
  const now = deps.clock.now();
  const {
    caller,
    platform: before,
    stored,
    blocking,
    ...read
  } = await call.read({
    platform: findPlatform(db, tenant.platformId),
    stored: findPassword(db, tenant.platformId),
    blocking: findBlocking(db, tenant.platformId),
    ...buildAccountReads(deps, tenant.platformId, CLOSING_TRIGGER),
  });
  if (!before) throw new ServiceError("invalid_credentials");
  const { platformId, actor } = caller;
  refuseWrongConfirmation(before, confirmation);
  const { before: password } = await requireCurrentPassword(call, caller, stored, current_password);
  refuseBlocked(blocking);
  const found = { ...read, ahead: before.clockOffsetMs };
  const moved = move(platformMachine, before.status, "close");
  const view = { platform_id: platformId, platform_status: moved.to, closed_at: toIso(now) };
  const above = {
    platformId,
    statements: [
      ...updatePlatform(db, before, { closedAt: now }, now, moved),
      // A settlement may have reached an escrow since the read, and a dispute one of its agents.
      guardEmptyEscrows(db, platformId),
      refuseLeft(db, [hasAccountDispute(platformId)]),
      guardPassword(db, platformId, password),
      deleteKeys(db, platformId),
      deleteSessions(db, platformId),
      deleteDevices(db, platformId),
      deleteLinks(db, platformId),
      deletePassword(db, platformId),
      deleteEndpointsOf(db, platformId),
    ],
  };
  const cascading = cascadeAccount(
    deps,
    above,
    { trigger: CLOSING_TRIGGER, reason: "platform", actor },
    found,
    now,
    call.contended,
  );
  await call.commit(
    [
      ...cascading.statements,
      recordActivity(db, { platformId, environment: "sandbox" }, now, {
        action: "account.closed",
        actor,
        subject: { type: "platform", id: platformId },
        changes: { platform_status: { from: moved.from, to: moved.to } },
      }),
      recordNotice(db, before, now, {
        kind: "customer.account_closed",
        data: { retentionYears: retentionYears(deps.env) },
      }),
    ],
    view,
  );
  // A job continues the cascade if this fails.
  call.background(cascading.rest().catch(() => undefined));
  return view;
}

function refuseBlocked(blocking: Blocking | null): void {
  if (!blocking) return;
  const { disputed, did, network } = blocking;
  if (disputed !== null)
    throw new ServiceError("close_blocked_open_disputes", { message: DISPUTED_MESSAGE, detail: { did: disputed } });
  if (did !== null && network !== null) throw new ServiceError("close_blocked_escrow", { detail: { did, network } });
}

/** Compares with the legal name in the profile, or with the account's address if it has no name yet. */
function refuseWrongConfirmation({ legalName, email }: PlatformRow, confirmation: string): void {
  const typed = confirmation.trim().normalize("NFC");
  const matches =
    legalName === null ? foldName(typed) === foldName(email) : typed === legalName.trim().normalize("NFC");
  if (matches) return;
  const wanted = legalName === null ? "the email address of the account" : "the legal name of the account";
  throw new ServiceError("confirmation_mismatch", {
    field_errors: [toFieldError("confirmation", "confirmation_mismatch", `Type ${wanted}.`)],
  });
}
