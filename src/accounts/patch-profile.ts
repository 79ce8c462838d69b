// Changes the profile of an account (ACC-18). A complete profile takes the account to KYB_PENDING, and the tenant principal follows its name and
// country (ACC-6) in the same batch, with the documents of its agents (ACC-19). After submission, the account's identity changes only by an
// operator's decision: a person proposes it (ACC-30).
import { type ManagementCall, type ManagementCaller, type Precheck, precheck } from "../call.ts";
import { buildRestateReads, restateAgents } from "../cascades/restate-agents.ts";
import type { Deps } from "../context.ts";
import { ServiceError, toValidationError } from "../core/errors.ts";
import { type Move, move } from "../core/machine.ts";
import type { Actor, PlatformStatus } from "../core/vocabulary.ts";
import { requireConfirmed } from "../core/volume.ts";
import { type Database, dropAbsentReads, type ReadResults, type Statement } from "../db/batch.ts";
import type { PlatformRow } from "../db/tables/accounts.ts";
import type { PrincipalRow } from "../db/tables/principals.ts";
import { type Changes, recordActivity } from "../journal/activity.ts";
import { createTenantPrincipal, findCountryFaults, type LegalPerson } from "../principals/register.ts";
import { findPrincipalById, renamePrincipal } from "../principals/store.ts";
import { buildContactReads, changeContact } from "./contact.ts";
import { refuseInGrace } from "./keys.ts";
import { sendLink } from "./links.ts";
import {
  alertChangedIdentity,
  applyPatchToProposal,
  findChangedIdentity,
  findMissingProfile,
  needsDecision,
  reportProposal,
  toPlatformView,
} from "./profile.ts";
import type { ProfilePatch } from "./schema.ts";
import { platformMachine } from "./states.ts";
import { findPlatform, selectTenantPrincipal, updatePlatform } from "./store.ts";

export async function patchPlatform(call: ManagementCall, patch: ProfilePatch) {
  const { db, deps, environment } = call;
  // Real time, because the account is the same in both environments.
  const now = deps.clock.now();
  const { caller, platform: before, ...found } = await call.read(await buildProfilePatchReads(call, patch, now));
  if (!before) throw new ServiceError("invalid_credentials");
  refuseKeyForPersonal(caller, before, patch);
  requireConfirmedForGuarded(caller, before, patch);
  const faults = findProfileFaults(call, patch);
  if (faults.length > 0) throw toValidationError(faults);

  const { platformId } = before;
  const pendingProfile = applyPatchToProposal(caller, before, patch, now);
  const contact = await changeContact(db, before, patch, { ...found, actor: caller.actor }, now);
  const set = { ...toChangedColumns(before, patch), ...contact.set };
  const changes = { ...diffProfile(before, set), ...contact.changes };
  const isProposed = pendingProfile !== before.pendingProfile;
  if (Object.keys(changes).length === 0 && !isProposed && !contact.asksForMail) {
    throw new ServiceError("no_changes_requested");
  }

  const after: PlatformRow = { ...before, ...set, pendingProfile };
  const moved = completesProfile(after) ? move(platformMachine, before.status, "complete_profile") : undefined;
  const tenant = await followProfile(deps, before, after, { ...found, actor: caller.actor }, now);
  const changed = { ...set, pendingProfile, ...(tenant.created !== null && { tenantPrincipalId: tenant.created }) };
  const row = { ...after, ...changed, ...(moved && { status: moved.to }) };
  const view = { ...toPlatformView(row), environment };
  const owner = { platformId, environment };
  await call.commit(
    [
      ...updatePlatform(db, before, changed, now, moved),
      ...tenant.statements,
      ...(Object.keys(changes).length > 0
        ? [
            recordActivity(db, owner, now, {
              action: "account.profile_changed",
              actor: caller.actor,
              subject: { type: "platform", id: platformId },
              changes: { ...changes, ...toPatchStatements(moved, tenant.created) },
            }),
          ]
        : []),
      ...contact.statements,
      ...(isProposed ? reportProposal(db, before, pendingProfile, { owner, actor: caller.actor, now }) : []),
      ...alertChangedIdentity(db, before, row),
    ],
    view,
  );
  if (contact.link !== null) call.background(sendLink(deps, contact.link));
  call.background(tenant.rest());
  return view;
}

const completesProfile = (after: PlatformRow): boolean =>
  after.status === "PROFILE_PENDING" && findMissingProfile(after).length === 0;

const toPatchStatements = (moved: Move<PlatformStatus> | undefined, created: string | null): Changes => ({
  ...(moved && { platform_status: { from: moved.from, to: moved.to } }),
  ...(created !== null && { tenant_principal_id: { from: null, to: created } }),
});

async function buildProfilePatchReads({ db, deps, tenant }: ManagementCall, patch: ProfilePatch, now: number) {
  const { platformId } = tenant;
  const follows = patch.legal_name !== undefined || patch.country !== undefined;
  return {
    platform: findPlatform(db, platformId),
    ...buildFollowReads(deps, platformId, follows),
    ...(await buildContactReads(db, platformId, patch, now)),
  };
}

// ---- The members of the profile ----------------------------------------------------------------------------------------

/** The columns of the members that change immediately, by their names on the wire. A contact waits for its link, an identity for a decision. */
const COLUMNS = {
  legal_name: "legalName",
  trading_name: "tradingName",
  registration_number: "registrationNumber",
  country: "country",
  registered_address: "registeredAddress",
  website: "website",
  promotion_by: "promotionBy",
} as const satisfies Partial<Record<keyof ProfilePatch, keyof PlatformRow>>;
type Member = keyof typeof COLUMNS;
const MEMBERS = Object.keys(COLUMNS) as readonly Member[];
type Profile = Partial<Pick<PlatformRow, (typeof COLUMNS)[Member]>>;

const toChangedColumns = (before: PlatformRow, patch: ProfilePatch): Profile =>
  Object.fromEntries(
    MEMBERS.filter((member) => patch[member] !== undefined && !needsDecision(before, member)).map((member) => [
      COLUMNS[member],
      patch[member],
    ]),
  );

/** The members that get another value. The address is one value: its parts are written in one order. */
function diffProfile(before: PlatformRow, set: Profile): Changes {
  const changed = MEMBERS.filter((member) => {
    const column = COLUMNS[member];
    return column in set && JSON.stringify(set[column]) !== JSON.stringify(before[column]);
  });
  return Object.fromEntries(
    changed.map((member) => [member, { from: before[COLUMNS[member]], to: set[COLUMNS[member]] }]),
  );
}

const findProfileFaults = ({ deps }: ManagementCall, { country }: Pick<ProfilePatch, "country">) =>
  country === undefined ? [] : findCountryFaults(country, deps.config.jurisdictions);

/** Finds the further faults of a body that the schema refuses. */
export const precheckProfile = (call: ManagementCall, valid: Partial<ProfilePatch>): Precheck =>
  precheck<{ platform: ReturnType<typeof findPlatform> }, ManagementCaller>(
    { platform: findPlatform(call.db, call.tenant.platformId) },
    ({ caller, platform }) => {
      if (!platform) throw new ServiceError("invalid_credentials");
      refuseKeyForPersonal(caller, platform, valid);
      requireConfirmedForGuarded(caller, platform, valid);
      return findProfileFaults(call, valid);
    },
  );

/** Only a freshly confirmed person may change who promotes the account and where its notices go (CRED-30). */
function requireConfirmedForGuarded(caller: ManagementCaller, before: PlatformRow, patch: Partial<ProfilePatch>): void {
  const { promotion_by = before.promotionBy, admin_contact_email = before.adminContactEmail } = patch;
  const isSame = promotion_by === before.promotionBy && admin_contact_email === before.adminContactEmail;
  if (!isSame) requireConfirmed(caller);
}

/** Refuses changes that only a person makes: a stolen key must not open production, redirect notices or rename the account (ACC-16). */
function refuseKeyForPersonal(caller: ManagementCaller, platform: PlatformRow, patch: Partial<ProfilePatch>): void {
  refuseInGrace(caller);
  if (caller.actor.type !== "management_api") return;
  const { promotion_by, admin_contact_email: contact } = patch;
  const refused =
    (promotion_by !== undefined && "promotion_by") ||
    (contact !== undefined && contact !== platform.adminContactEmail && "admin_contact_email") ||
    findChangedIdentity(platform, patch);
  if (!refused) return;
  const message = `Only a person can change ${refused}: log in, and change it with the session.`;
  throw new ServiceError("forbidden", { message });
}

// ---- What follows the name and the country (ACC-6, ACC-19) ---------------------------------------------------------------

/** Reads the tenant principal and its first agents if the name or the country may change. */
export function buildFollowReads(
  deps: Deps,
  platformId: Parameters<typeof selectTenantPrincipal>[0],
  mayChange: boolean,
) {
  const principalId = selectTenantPrincipal(platformId);
  const { agents } = mayChange ? buildRestateReads(deps, principalId) : { agents: null };
  return dropAbsentReads({ principal: mayChange ? findPrincipalById(deps.db, principalId) : null, agents });
}

type FollowFacts = Partial<ReadResults<ReturnType<typeof buildFollowReads>>> & { readonly actor: Actor };

type ProfileFollowUp = {
  readonly created: string | null;
  readonly statements: Statement[];
  /** Restates further agents, after the commit. */
  readonly rest: () => Promise<void>;
};
const NOTHING_TO_FOLLOW: ProfileFollowUp = { created: null, statements: [], rest: async () => undefined };

/** Creates the tenant principal once its name and country are known, and copies later changes to it and to its agents. */
export async function followProfile(
  deps: Deps & { readonly db: Database },
  before: PlatformRow,
  { legalName, country }: PlatformRow,
  { principal, agents = [], actor }: FollowFacts,
  now: number,
): Promise<ProfileFollowUp> {
  if (legalName === null || country === null) return NOTHING_TO_FOLLOW;
  const person: LegalPerson = { legalName, country };
  if (before.tenantPrincipalId === null) {
    const { principalId, statements } = createTenantPrincipal(deps.db, before.platformId, person, actor, now);
    return { ...NOTHING_TO_FOLLOW, created: principalId, statements };
  }
  if (!principal || (principal.legalName === legalName && principal.country === country)) return NOTHING_TO_FOLLOW;
  const renamed: PrincipalRow = { ...principal, ...person, updatedAt: Math.max(now, principal.updatedAt + 1) };
  const { statements, rest } = await restateAgents(deps, renamed, { agents }, now);
  return { created: null, statements: [...renamePrincipal(deps.db, principal, renamed), ...statements], rest };
}
