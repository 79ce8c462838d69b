// Plays of the account's profile, and of the agents of its tenant principal.
import { eq } from "drizzle-orm";
import { finishRestatements } from "../../../src/cascades/restate-agents.ts";
import { principals } from "../../../src/db/tables/principals.ts";
import { beginWalk } from "../../../src/jobs/walk-store.ts";
import { accredited } from "../../accounts/review-support.ts";
import { type Account, ADDRESS, PROFILE, patch, readAccount, signUp } from "../../accounts/support.ts";
import { agentBody, env, type World } from "../../support/world.ts";
import { namingContact, namingOwnAddress } from "./passwords.ts";
import { must, type Play, type Plays, store } from "./stage.ts";

/** A new account whose key was used before, so that the play does not write its first use. */
async function account(world: World): Promise<Account> {
  const signedUp = await signUp(world);
  await readAccount(world, signedUp.key);
  return signedUp;
}

const patching =
  (profile: object, change: object): Play =>
  async ({ world }) => {
    const { key, platformId } = await account(world);
    if (Object.keys(profile).length > 0) await must(200, patch(world, key, profile));
    return async () => {
      const { tenant_principal_id: tenant } = await must(200, patch(world, key, change));
      return { account: [platformId], ...(tenant !== null && { principal: [tenant] }) };
    };
  };

const { registration_number, ...ALMOST } = PROFILE;
const NAMED = { legal_name: PROFILE.legal_name, country: PROFILE.country };

type Owned = Account & { readonly tenant: string; readonly dids: readonly string[] };

/** An account whose tenant principal has two agents. */
async function withAgents(world: World, activate: boolean): Promise<Owned> {
  const owner = await account(world);
  const { key } = owner;
  const { tenant_principal_id: tenant } = await must(200, patch(world, key, NAMED));
  const body = { ...agentBody("CONSUMER"), principal_id: tenant };
  const dids: string[] = [];
  for (const _ of [1, 2]) {
    const { did } = await must(201, world.call("POST", "/v1/agents", { key, body }));
    if (activate) await must(200, world.call("POST", `/v1/agents/${did}/activate`, { key }));
    dids.push(did);
  }
  return { ...owner, tenant, dids };
}

const renaming =
  (activate: boolean, change: object): Play =>
  async ({ world }) => {
    const { key, platformId, dids } = await withAgents(world, activate);
    return async () => {
      await must(200, patch(world, key, change));
      return { account: [platformId], agent: dids };
    };
  };

export const PROFILE_PLAYS: Plays = {
  patchPlatform: {
    "a field that is stated nowhere else": patching({}, { website: "https://startup.example/" }),
    "another admin contact": namingContact,
    "the account's own address as the admin contact": namingOwnAddress,
    "an accredited account proposes another name": async ({ world }) => {
      const { platformId, session } = await accredited(world);
      const headers = { Authorization: `Bearer ${session}` };
      return async () => {
        const body = { legal_name: "Renamed Robotics GmbH" };
        await must(200, world.call("PATCH", "/v1/platform", { key: null, headers, body }));
        return { account: [platformId] };
      };
    },
    "an accredited account changes its registered address": async ({ world }) => {
      const { key, platformId } = await account(world);
      await must(200, patch(world, key, PROFILE));
      await env.DB.prepare("update platforms set status = 'ACCREDITED', reviewed = ? where platform_id = ?")
        .bind(JSON.stringify(PROFILE), platformId)
        .run();
      return async () => {
        await must(200, patch(world, key, { registered_address: { ...ADDRESS, line1: "Other Street" } }));
        return { account: [platformId] };
      };
    },
    "the profile is complete": patching(ALMOST, { registration_number }),
    "the name and the country are known": patching({}, NAMED),
    "the name changes": renaming(true, { legal_name: "Renamed Robotics GmbH" }),
    "the country changes, and its agents are DRAFTs": renaming(false, { country: "FR" }),
  },
  restate_agents: {
    // The state that a crash after the batch of the change leaves.
    "a crash left agents that state the old name": async ({ world }) => {
      const { tenant: principalId, dids } = await withAgents(world, true);
      await store(world, (db) => [
        db
          .update(principals)
          .set({ legalName: "Renamed Robotics GmbH" })
          .where(eq(principals.principalId, principalId)),
        beginWalk(db, "restatement", principalId, { startedAt: world.now(), payload: null }),
      ]);
      return async () => {
        await world.run(finishRestatements);
        return { agent: dids };
      };
    },
  },
};
