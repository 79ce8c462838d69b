// The tenant principal follows the name and the country of the profile, and so do the documents of its agents (ACC-6, ACC-19).

import { buildRestateReads, restateAgents } from "../cascades/restate-agents.ts";
import type { Deps } from "../context.ts";
import type { Actor } from "../core/vocabulary.ts";
import { type Database, dropAbsentReads, type ReadResults, type Statement } from "../db/batch.ts";
import type { PlatformRow } from "../db/tables/accounts.ts";
import type { PrincipalRow } from "../db/tables/principals.ts";
import { findPrincipalById, renamePrincipal } from "../principals/store.ts";
import { createTenantPrincipal, type LegalPerson } from "../principals/tenant.ts";
import { selectTenantPrincipal } from "./store.ts";

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
