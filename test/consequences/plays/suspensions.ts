// Plays of an account's suspension, reinstatement and closing, and of their cascades after a crash.
import { eq, inArray } from "drizzle-orm";
import { finishCascades } from "../../../src/cascades/cascades.ts";
import { STOPPED_BY } from "../../../src/cascades/subjects.ts";
import type { CascadeTrigger } from "../../../src/core/vocabulary.ts";
import { platforms } from "../../../src/db/tables/accounts.ts";
import { agents, certificates } from "../../../src/db/tables/agents.ts";
import { principals } from "../../../src/db/tables/principals.ts";
import { toListedNumber } from "../../../src/identity/certificate-store.ts";
import { beginWalk } from "../../../src/jobs/walk-store.ts";
import { type Account, bearer, logIn, PASSWORD, post, signUp } from "../../accounts/support.ts";
import { agentBody, principalBody, type World } from "../../support/world.ts";
import { anHour, HOUR, must, operator, type Play, type Plays, store } from "./stage.ts";

type Owned = Account & { readonly principal: readonly string[]; readonly agent: readonly string[] };

/** An account with a principal and a number of active agents. */
async function owning(world: World, count: number): Promise<Owned> {
  const account = await signUp(world);
  const { key } = account;
  if (count === 0) return { ...account, principal: [], agent: [] };
  const body = principalBody(anHour(world));
  const { principal_id } = await must(201, world.call("POST", "/v1/principals", { key, body }));
  const dids: string[] = [];
  for (let n = 0; n < count; n++) {
    const draft = { ...agentBody("CONSUMER"), principal_id };
    const { did } = await must(201, world.call("POST", "/v1/agents", { key, body: draft }));
    await must(200, world.call("POST", `/v1/agents/${did}/activate`, { key }));
    dids.push(did);
  }
  return { ...account, principal: [principal_id], agent: dids };
}

const partiesOf = ({ platformId, principal, agent }: Owned) => ({ account: [platformId], principal, agent });

const decide = (world: World, { platformId }: Account, decision: string) =>
  must(
    200,
    world.call("POST", `/v1/operator/platforms/${platformId}/${decision}`, {
      ...operator(),
      body: { reason: "Chargebacks." },
    }),
  );

const deciding =
  (decision: string, count: number, prepare: (world: World, owned: Owned) => Promise<unknown>): Play =>
  async ({ world }) => {
    const owned = await owning(world, count);
    await prepare(world, owned);
    return async () => {
      await decide(world, owned, decision);
      return partiesOf(owned);
    };
  };

const suspend = (world: World, owned: Owned) => decide(world, owned, "suspend");
const nothing = async () => undefined;

/** The state that an unfunded promotion leaves. */
const wait = (world: World, { agent }: Owned) =>
  store(world, (db) => [
    db
      .update(agents)
      .set({ status: "FUNDING" })
      .where(inArray(agents.did, [...agent])),
    db
      .update(certificates)
      .set({ listedStatus: toListedNumber("FUNDING") })
      .where(inArray(certificates.did, [...agent])),
  ]);

const closing =
  (count: number): Play =>
  async ({ world }) => {
    const owned = await owning(world, count);
    const headers = bearer(await logIn(world, owned.email));
    const body = { confirmation: owned.email, current_password: PASSWORD };
    return async () => {
      await must(200, post(world, "/v1/platform/close", body, headers));
      return partiesOf(owned);
    };
  };

/** The state that a crash after the first commit leaves, before any agent has followed. */
const left =
  (trigger: CascadeTrigger, prepare: (world: World, owned: Owned) => Promise<unknown> = nothing): Play =>
  async ({ world }) => {
    const owned = await owning(world, 2);
    await prepare(world, owned);
    const accountStopped = STOPPED_BY[trigger];
    const { platformId } = owned;
    const actor = { type: "operator", id: "op_1" } as const;
    await store(world, (db) => [
      db
        .update(platforms)
        .set({ status: accountStopped ?? "PROFILE_PENDING" })
        .where(eq(platforms.platformId, platformId)),
      db.update(principals).set({ accountStopped }).where(eq(principals.platformId, platformId)),
      beginWalk(db, "cascade", platformId, { trigger, payload: { reason: "operator", actor }, startedAt: world.now() }),
    ]);
    return async () => {
      await world.run(finishCascades);
      return partiesOf(owned);
    };
  };

const suspendAndWaitAnHour = async (world: World, owned: Owned) => {
  await suspend(world, owned);
  world.advance(HOUR);
};

export const STANDING_PLAYS: Plays = {
  suspendPlatform: {
    "it has active agents": deciding("suspend", 2, nothing),
    "it has no active agents": deciding("suspend", 0, nothing),
  },
  reinstatePlatform: {
    "its agents were suspended with it": deciding("reinstate", 2, suspend),
    "its agents were suspended with it, in FUNDING": deciding("reinstate", 2, async (world, owned) => {
      await wait(world, owned);
      await suspend(world, owned);
    }),
    "the attestation of their principal has ended meanwhile": deciding("reinstate", 2, suspendAndWaitAnHour),
  },
  closePlatform: { "it has active agents": closing(2), "it has neither agents nor principals": closing(0) },
};

/** The cases of a whole account; the job's other plays are in jobs.ts. */
export const CASCADE_PLAYS: Plays[string] = {
  "a crash left active agents of a suspended account": left("principal_stops"),
  "a crash left agents that were suspended with their account": left("account_returns", suspend),
  "a crash left agents that were suspended with their account, and their attestation has ended": left(
    "account_returns",
    suspendAndWaitAnHour,
  ),
  "a crash left agents and principals of a closed account": left("principal_closes"),
};
