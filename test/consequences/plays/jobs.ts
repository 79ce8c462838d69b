// Plays of the other jobs, of alerts, and of running jobs and messages.
import { eq, sql } from "drizzle-orm";
import { notifyExpiring } from "../../../src/accounts/notices.ts";
import { finishCascades } from "../../../src/cascades/cascades.ts";
import { endAttestations } from "../../../src/cascades/expire.ts";
import { authorityKeys, statusLists } from "../../../src/db/tables/agents.ts";
import { alertMails } from "../../../src/db/tables/journal.ts";
import { principals } from "../../../src/db/tables/principals.ts";
import { noteAuthorityKeys } from "../../../src/identity/authority.ts";
import { openStatusLists } from "../../../src/identity/open-status-list.ts";
import { mailAlertsJob } from "../../../src/jobs/alerts.ts";
import type { EachJob } from "../../../src/jobs/job.ts";
import { runMessage } from "../../../src/jobs/run.ts";
import { startJobs } from "../../../src/jobs/start.ts";
import { pruneIdempotencyOutcomes, signActivityHeads } from "../../../src/jobs/tend.ts";
import { beginWalk, beginWalks } from "../../../src/jobs/walk-store.ts";
import { checkChain } from "../../../src/journal/activity-heads.ts";
import { raiseAlert } from "../../../src/journal/alerts.ts";
import { runMessages } from "../../../src/queue.ts";
import { withVars } from "../../support/variants.ts";
import { env, principalBody, type World } from "../../support/world.ts";
import {
  anHour,
  DAY,
  HOUR,
  MINUTE,
  must,
  ofNobody,
  operator,
  type Play,
  type Plays,
  type Stage,
  store,
} from "./stage.ts";
import { CASCADE_PLAYS } from "./suspensions.ts";

// ---- Alerts --------------------------------------------------------------------------------------------------------------

/** Raises an alert and returns its id. */
async function raised(world: World): Promise<string> {
  const subject = crypto.randomUUID();
  await store(world, (db) => raiseAlert(db, { kind: "waiting_transaction", subject, message: "It waits." }));
  const { data } = await must(200, world.call("GET", "/v1/operator/alerts?limit=100", operator()));
  return data.find((alert: { subject: string }) => alert.subject === subject).alert_id;
}
const acknowledge = (world: World, alertId: string) =>
  must(200, world.call("POST", `/v1/operator/alerts/${alertId}/acknowledge`, operator()));

const acknowledging =
  (prepare: (world: World, alertId: string) => Promise<unknown>): Play =>
  async ({ world }) => {
    const alertId = await raised(world);
    await prepare(world, alertId);
    return async () => {
      await acknowledge(world, alertId);
      return {};
    };
  };

const withAddress = (world: World) => withVars(world, { OPERATOR_ALERT_EMAIL: "operator@service.test" });
const mail = (world: World) => world.run(mailAlertsJob, withAddress(world).deps);

// ---- Attestations and cascades -------------------------------------------------------------------------------------------

type Standing = { readonly principalId: string; readonly dids: readonly string[] };

/** A principal whose attestation has ended, with a number of active agents. */
async function ended({ world }: Stage, agents: number): Promise<Standing> {
  world.advance(HOUR);
  await world.run(endAttestations);
  const principalId = await world.principal(anHour(world));
  const dids: string[] = [];
  for (let n = 0; n < agents; n++) dids.push((await world.consumer({ principal_id: principalId })).did);
  world.advance(HOUR);
  return { principalId, dids };
}

const ending =
  (agents: number): Play =>
  async (stage) => {
    const { principalId, dids } = await ended(stage, agents);
    return async () => {
      await stage.world.run(endAttestations);
      return { principal: [principalId], agent: dids };
    };
  };

/** A principal whose attestation ends in an hour, `hours` of which have passed when the job runs. */
const expiring =
  (hours: number): Play =>
  async ({ world }) => {
    await world.run(notifyExpiring);
    const principalId = await world.principal(anHour(world));
    world.advance(hours * HOUR);
    return async () => {
      if ((await world.run(notifyExpiring)) !== 1) throw new Error("nothing was due");
      return { principal: [principalId] };
    };
  };

/** The state that a crash after the principal's batch leaves. */
async function unfinished(stage: Stage): Promise<Standing> {
  const { world } = stage;
  const standing = await ended(stage, 2);
  const { principalId } = standing;
  const actor = { type: "system", id: "attestation_expiry" } as const;
  await store(world, (db) => [
    db.update(principals).set({ status: "ATTESTATION_EXPIRED" }).where(eq(principals.principalId, principalId)),
    beginWalk(db, "cascade", principalId, {
      trigger: "principal_stops",
      payload: { reason: "attestation", actor },
      startedAt: world.now(),
    }),
  ]);
  return standing;
}

/** The state that a crash after a customer's batch leaves of a principal that did not fit into the batch. */
const unreported =
  (trigger: "principal_stops" | "principal_returns", agents: number): Play =>
  async ({ world }) => {
    const principalId = await world.principal(anHour(world));
    const dids: string[] = [];
    for (let n = 0; n < agents; n++) dids.push((await world.consumer({ principal_id: principalId })).did);
    const [from, to, action] =
      trigger === "principal_stops"
        ? (["ACTIVE", "SUSPENDED", "principal.suspended"] as const)
        : (["SUSPENDED", "ACTIVE", "principal.reactivated"] as const);
    const at = world.now();
    const actor = { type: "management_api", id: "service_sandbox_abcdef" } as const;
    await store(world, (db) => [
      db
        .update(principals)
        .set({ status: to, customerStopped: to === "SUSPENDED" })
        .where(eq(principals.principalId, principalId)),
      beginWalks(db, "cascade", {
        subject: sql`${principalId}`,
        from: sql`(select 1)`,
        startedAt: at,
        trigger,
        payload: { reason: "principal", actor },
        report: sql`${JSON.stringify([{ action, actor, at, changes: { status: { from, to } } }])}`,
      }),
    ]);
    return async () => {
      await world.run(finishCascades);
      return { principal: [principalId], agent: dids };
    };
  };

// ---- Running -------------------------------------------------------------------------------------------------------------

const job = (name: string, due: number | null): EachJob => ({
  kind: "each",
  name,
  find: async () => (due === null ? [] : [{ at: due, id: "row" }]),
  record: async () => {
    throw new Error("this row cannot be recorded");
  },
});
const IDLE = job("a job that finds nothing", null);
const failing = job("a job that fails", Date.now());

const dead = { body: { kind: "run", job: "a job" }, attempts: 3, ack: () => undefined, retry: () => undefined };

const nothing = async () => undefined;

export const JOB_PLAYS: Plays = {
  acknowledgeAlert: { open: acknowledging(nothing), "acknowledged already": acknowledging(acknowledge) },
  prune_idempotency_outcomes: {
    "a window is over": ofNobody(
      async (world) => {
        const headers = { "Idempotency-Key": crypto.randomUUID() };
        await must(201, world.call("POST", "/v1/principals", { body: principalBody(), headers }));
        world.advance(DAY);
      },
      (world) => world.run(pruneIdempotencyOutcomes),
    ),
  },
  end_attestations: { "it has active agents": ending(2), "it has no active agents": ending(0) },
  notify_expiring: {
    "an attestation ends in 30, 7 or 1 days": expiring(0),
    "it has ended or was revoked meanwhile": expiring(1),
  },
  finish_cascades: {
    ...CASCADE_PLAYS,
    "a crash left principals of a suspended customer, and their agents": unreported("principal_stops", 2),
    "a crash left principals of a reactivated customer": unreported("principal_returns", 0),
    "a crash left active agents": async (stage) => {
      const { dids } = await unfinished(stage);
      return async () => {
        await stage.world.run(finishCascades);
        return { agent: dids };
      };
    },
  },
  open_status_lists: {
    "the newest list is counted": ofNobody(
      (world) => store(world, (db) => db.update(statusLists).set({ countedAt: 0 })),
      (world) => world.run(openStatusLists),
    ),
  },
  note_authority_keys: {
    "a key is published, signs, or leaves without having signed": ofNobody(
      (world) => store(world, (db) => db.delete(authorityKeys)),
      (world) => world.run(noteAuthorityKeys),
    ),
    "a key that is needed is missing": ofNobody(
      async (world) => {
        await world.run(noteAuthorityKeys);
        const now = Date.now();
        const before = now - 2 * DAY;
        const gone = { kid: "gone", publishedAt: before, signsFrom: before, signedUntil: before };
        await store(world, (db) => db.update(authorityKeys).set({ publishedAt: before }));
        await store(world, (db) => db.insert(authorityKeys).values(gone));
      },
      (world) => world.run(noteAuthorityKeys),
    ),
  },
  sign_activity_heads: {
    "entries were added since the last head": ofNobody(
      async (world) => {
        await world.run(signActivityHeads);
        await world.principal();
        world.advance(DAY);
      },
      ({ deps, platformId }) => checkChain(deps, platformId),
    ),
    "no entry was added": ofNobody(
      async (world) => {
        await world.run(signActivityHeads);
        world.advance(DAY);
      },
      ({ deps, platformId }) => checkChain(deps, platformId),
    ),
  },
  mail_alerts: {
    "an alert was never mailed, and its kind's hour is over": ofNobody(async (world) => {
      await mail(world);
      await store(world, (db) => raiseAlert(db, { kind: "low_gas", subject: crypto.randomUUID(), message: "Low." }));
      await store(world, (db) => db.delete(alertMails));
    }, mail),
  },
  job: {
    "nothing is due": ofNobody(nothing, ({ deps }) => startJobs(deps, [IDLE])),
    "something is due": ofNobody(nothing, (world) => startJobs(world.deps, [job("a job that runs", world.now())])),
    "what it finds has been due for ten minutes": ofNobody(nothing, (world) =>
      startJobs(world.deps, [job("a job that is late", world.now() - 11 * MINUTE)]),
    ),
    "one of its rows fails": ofNobody(
      ({ deps }) => startJobs(deps, [failing]),
      ({ deps }) => runMessage(deps, [failing], { kind: "record", job: failing.name, ids: ["row"] }),
    ),
  },
  message: {
    "its last attempt failed": ofNobody(nothing, () =>
      runMessages({ queue: "agent-accountability-jobs-dead", messages: [dead] } as never, env),
    ),
  },
};
