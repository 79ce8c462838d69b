// All rows that a rotation or a promotion of an agent writes, so that a test sees whether a crash leaves all of them or none.
import { rows } from "../promotion/support.ts";
import { type Agent, expectStatus, type Json, type Reply, type World } from "../support/world.ts";

type Act = {
  readonly event: "agent.key_rotated" | "agent.promoted";
  /** The number of directory records: a promotion is in the feeds of both environments. */
  readonly listed: number;
  readonly environment: "sandbox" | "production";
};
export const ROTATION: Act = { event: "agent.key_rotated", listed: 1, environment: "sandbox" };
export const PROMOTION: Act = { event: "agent.promoted", listed: 2, environment: "production" };

/** A new consumer of the principal, and the idempotency key with which its call is repeated. */
export async function newStage(world: World, principal_id: string) {
  const agent = await world.consumer({ principal_id });
  return { world, agent, headers: { "Idempotency-Key": crypto.randomUUID() } };
}
export type Stage = Awaited<ReturnType<typeof newStage>>;

/** How often the act was made: an activated consumer is at its second version. */
export async function timesMade({ agent: { did } }: Stage): Promise<number> {
  const [row] = await rows("select version from agents where did = ?", did);
  return row.version - 2;
}

/** The rows that the act has left for an agent. */
export async function left({ agent: { did } }: Stage, { event }: Act): Promise<Json> {
  const [counted] = await rows(
    `select (select count(*) from events where agent_did = ?1 and type = ?2) as events,
       (select count(*) from activity_entries where subject_id = ?1 and action = ?2) as entries,
       (select count(*) from certificates where did = ?1 and replaced_at is not null) as replaced,
       (select count(*) from certificates where did = ?1 and replaced_at is null) as counting,
       (select count(*) from aid_versions where did = ?1) as versions,
       (select count(*) from directory_changes where did = ?1) as listed,
       (select environment from agents where did = ?1) as environment`,
    did,
    event,
  );
  return counted;
}

/** The rows that `times` acts leave: the activation has left one certificate, one version and one directory record. */
export const leftBy = (times: number, { listed, environment }: Act): Json => ({
  events: times,
  entries: times,
  replaced: times,
  counting: 1,
  versions: 1 + times,
  listed: 1 + times * listed,
  environment: times === 0 ? "sandbox" : environment,
});

/** Expects that a retry replays the first call's answer if that was committed, and otherwise makes the act. */
export function expectReplay(reply: Reply, times: number): Json {
  expectStatus(reply, 200);
  if ((reply.headers.get("Idempotent-Replayed") === "true") !== (times === 1))
    throw new Error(`made ${times} times, and replayed: ${reply.headers.get("Idempotent-Replayed")}`);
  return reply.body;
}

/** Whether the agent is admitted with its credentials. */
export const isAdmitted = async ({ world }: Stage, agent: Agent): Promise<boolean> =>
  (await world.as(agent, "GET", "/v1/payment-intents/pin_none")).status === 404;
