// Changes the profile of an account (ACC-18). A complete one takes the account to KYB_PENDING, and the tenant principal follows its name and
// country (ACC-6) in the same batch, with the documents of its agents (ACC-19).
import { type ManagementCall, type ManagementCaller, type Precheck, precheck } from "../call.ts";
import { ServiceError, validationError } from "../core/errors.ts";
import { type Move, move } from "../core/machine.ts";
import type { Actor, PlatformStatus } from "../core/vocabulary.ts";
import { type Database, present, type Read, type ReadResults, type Statement } from "../db/batch.ts";
import type { PlatformRow } from "../db/tables/accounts.ts";
import type { PrincipalRow } from "../db/tables/principals.ts";
import { type Changes, recordActivity } from "../journal/activity.ts";
import { contactOf, recordNotice } from "../journal/notices.ts";
import { countryFaults } from "../principals/countries.ts";
import { findPrincipalById, renamePrincipal } from "../principals/store.ts";
import { createTenantPrincipal, type LegalPerson } from "../principals/tenant.ts";
import { restateAgents, restateReads } from "../standing/restate-agents.ts";
import { requireConfirmed } from "./confirmation.ts";
import { refuseInGrace } from "./keys.ts";
import { toPlatformView } from "./profile.ts";
import type { ProfilePatch } from "./profile-schema.ts";
import { missingProfile } from "./requirements.ts";
import { watchIdentity } from "./reviewed.ts";
import { platformMachine } from "./states.ts";
import { findPlatform, tenantPrincipalOf, updatePlatform } from "./store.ts";

export async function patchPlatform(call: ManagementCall, patch: ProfilePatch) {
  const { db, deps } = call;
  // Real time: the account is one for both environments.
  const now = deps.clock.now();
  const { caller, platform: before, ...found } = await call.read(profileReads(call, patch));
  if (!before) throw new ServiceError("invalid_credentials");
  const { platformId } = before;
  refuseKey(caller, patch);
  refuseUnconfirmed(caller, before, patch);
  const faults = profileFaults(call, patch);
  if (faults.length > 0) throw validationError(faults);
  const set = profileOf(patch);
  const changes = changesBetween(before, set);
  if (Object.keys(changes).length === 0) throw new ServiceError("no_changes_requested");

  const after: PlatformRow = { ...before, ...set };
  const moved = completes(after) ? move(platformMachine, before.status, "complete_profile") : undefined;
  const tenant = await followProfile(call, before, after, { ...found, actor: caller.actor }, now);
  const changed = { ...set, ...(tenant.created !== null && { tenantPrincipalId: tenant.created }) };
  const row = { ...after, ...changed, ...(moved && { status: moved.to }) };
  const view = { ...toPlatformView(row), environment: call.environment };
  await call.commit(
    [
      ...updatePlatform(db, before, changed, now, moved),
      ...tenant.statements,
      recordActivity(db, { platformId, environment: call.environment }, now, {
        action: "account.profile_changed",
        actor: caller.actor,
        subject: { type: "platform", id: platformId },
        changes: { ...changes, ...consequencesOf(moved, tenant.created) },
      }),
      ...contactNotice(db, before, row, now),
      ...watchIdentity(db, before, row),
    ],
    view,
  );
  call.background(tenant.rest());
  return view;
}

/** Where notices go from now on; told to the account's own address, which alone is verified. */
function contactNotice(db: Database, before: PlatformRow, after: PlatformRow, now: number): Statement[] {
  const [oldContact, newContact] = [contactOf(before), contactOf(after)];
  if (oldContact === newContact) return [];
  const notice = { kind: "customer.contact_changed", data: { oldContact, newContact } } as const;
  return [recordNotice(db, after, now, notice, before.email)];
}

const completes = (after: PlatformRow): boolean =>
  after.status === "PROFILE_PENDING" && missingProfile(after).length === 0;

const consequencesOf = (moved: Move<PlatformStatus> | undefined, created: string | null): Changes => ({
  ...(moved && { platform_status: { from: moved.from, to: moved.to } }),
  ...(created !== null && { tenant_principal_id: { from: null, to: created } }),
});

// ---- The members of the profile ----------------------------------------------------------------------------------------

type Profile = Partial<
  Pick<
    PlatformRow,
    | "legalName"
    | "tradingName"
    | "registrationNumber"
    | "country"
    | "registeredAddress"
    | "website"
    | "adminContactEmail"
    | "promotionBy"
  >
>;

/** The columns of the members by their names on the wire. */
const COLUMNS: Readonly<Record<keyof ProfilePatch, keyof Profile>> = {
  legal_name: "legalName",
  trading_name: "tradingName",
  registration_number: "registrationNumber",
  country: "country",
  registered_address: "registeredAddress",
  website: "website",
  admin_contact_email: "adminContactEmail",
  promotion_by: "promotionBy",
};
const MEMBERS = Object.keys(COLUMNS) as readonly (keyof ProfilePatch)[];

const profileOf = (patch: ProfilePatch): Profile =>
  Object.fromEntries(
    MEMBERS.filter((member) => patch[member] !== undefined).map((member) => [COLUMNS[member], patch[member]]),
  );

/** The members that get another value. The address is one value: its parts are written in one order. */
function changesBetween(before: PlatformRow, set: Profile): Changes {
  const changed = MEMBERS.filter((member) => {
    const column = COLUMNS[member];
    return column in set && JSON.stringify(set[column]) !== JSON.stringify(before[column]);
  });
  return Object.fromEntries(
    changed.map((member) => [member, { from: before[COLUMNS[member]], to: set[COLUMNS[member]] }]),
  );
}

/** The fault that no schema knows: the service's countries. */
const profileFaults = ({ deps }: ManagementCall, { country }: Pick<ProfilePatch, "country">) =>
  country === undefined ? [] : countryFaults(country, deps.config.jurisdictions);

/** Finds the further faults of a body that the schema refuses. */
export const precheckProfile = (call: ManagementCall, valid: Partial<ProfilePatch>): Precheck =>
  precheck<{ platform: Read<PlatformRow | null> }, ManagementCaller>(
    { platform: findPlatform(call.db, call.tenant.platformId) },
    ({ caller, platform }) => {
      refuseKey(caller, valid);
      if (platform) refuseUnconfirmed(caller, platform, valid);
      return profileFaults(call, valid);
    },
  );

/** Who promotes, and where notices go, is changed by a person who has just proved himself (CRED-30). */
function refuseUnconfirmed(caller: ManagementCaller, before: PlatformRow, patch: Partial<ProfilePatch>): void {
  const { promotion_by = before.promotionBy, admin_contact_email = before.adminContactEmail } = patch;
  const isSame = promotion_by === before.promotionBy && admin_contact_email === before.adminContactEmail;
  if (!isSame) requireConfirmed(caller);
}

/** What only a person changes: whoever has stolen a key must not open production with it (ACC-16). */
function refuseKey(caller: ManagementCaller, { promotion_by }: Partial<ProfilePatch>): void {
  refuseInGrace(caller);
  if (promotion_by === undefined || caller.actor.type !== "management_api") return;
  const message = "Who promotes the account is set by a person: log in, and change promotion_by with the session.";
  throw new ServiceError("forbidden", { message });
}

// ---- The tenant principal ----------------------------------------------------------------------------------------------

/** Where the name or the country is given, also what follows them: the tenant principal and its first agents. */
function profileReads({ db, deps, tenant }: ManagementCall, { legal_name, country }: ProfilePatch) {
  const names = legal_name !== undefined || country !== undefined;
  const principalId = tenantPrincipalOf(tenant.platformId);
  const { agents } = names ? restateReads(deps, principalId) : { agents: null };
  const principal = names ? findPrincipalById(db, principalId) : null;
  return present({ platform: findPlatform(db, tenant.platformId), principal, agents });
}

type Found = Omit<ReadResults<ReturnType<typeof profileReads>>, "platform">;

type Followed = {
  /** The id of a new tenant principal. */
  readonly created: string | null;
  readonly statements: Statement[];
  /** What is left for the time after the commit. */
  readonly rest: () => Promise<void>;
};
const UNMOVED: Followed = { created: null, statements: [], rest: async () => undefined };

/** Makes the tenant principal once its name and country are known, and takes a change of them over to it and to its agents. */
async function followProfile(
  { db, deps }: ManagementCall,
  before: PlatformRow,
  { legalName, country }: PlatformRow,
  { principal, agents = [], actor }: Partial<Found> & { readonly actor: Actor },
  now: number,
): Promise<Followed> {
  if (legalName === null || country === null) return UNMOVED;
  const person: LegalPerson = { legalName, country };
  if (before.tenantPrincipalId === null) {
    const { principalId, statements } = createTenantPrincipal(db, before.platformId, person, actor, now);
    return { ...UNMOVED, created: principalId, statements };
  }
  if (!principal || (principal.legalName === legalName && principal.country === country)) return UNMOVED;
  const renamed: PrincipalRow = { ...principal, ...person, updatedAt: Math.max(now, principal.updatedAt + 1) };
  const { statements, rest } = await restateAgents(deps, renamed, { agents }, now);
  return { created: null, statements: [...renamePrincipal(db, principal, renamed), ...statements], rest };
}
