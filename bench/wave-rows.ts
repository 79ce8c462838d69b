// Many principals with some agents each, whose attestations all end at one instant, and the rows that the service records of them.
import { SECOND_MS } from "../src/core/limits.ts";
import { type Copies, copiesOfAgent, copiesOfTrade, copyRows } from "./copies.ts";
import { agent, openProvider, type Play, type PlayedAgent, principal } from "./play.ts";
import type { Stage } from "./stage.ts";

export type Wave = { readonly principals: number; readonly agents: number; readonly endsAt: number };

/** A separate status list, so that no place is taken twice. */
const LIST = 2;
const LIST_SIZE = 65_536;

/** Registers one principal and its agents through the API, and copies their rows. */
export async function arrangeWave(play: Play, { principals, agents, endsAt }: Wave): Promise<void> {
  const { stage } = play;
  const principalId = await principal(stage, stage.platform, play.next());
  const provider = await openProvider(stage, principalId);
  const models: PlayedAgent[] = [provider];
  while (models.length < agents) models.push(await agent(stage, stage.platform, "CONSUMER", principalId));
  await stage.sql([
    ...models.map(({ did }) => ({ sql: "update agents set ends_at = ? where did = ?", params: [endsAt, did] })),
    // All notices of an end come before it.
    {
      sql: "update principals set attestation_expires_at = ?, expiry_notice_at = null where principal_id = ?",
      params: [endsAt, principalId],
    },
    { sql: "update attestations set expires_at = ? where principal_id = ?", params: [endsAt, principalId] },
    {
      sql: "insert or ignore into status_lists (list_id, size, created_at, counted_at) values (?, ?, 0, ?)",
      params: [LIST, LIST_SIZE, Date.now()],
    },
  ]);
  const range = { from: 0, to: principals - 1 };
  const own = models.flatMap((model, place) =>
    copiesOfAgent(model, { principalId: numbered(principalId), listId: LIST, idx: `n * ${agents} + ${place}` }),
  );
  for (const copies of [...ofPrincipal(principalId), ...own, ...copiesOfTrade(provider)])
    await copyRows(stage, copies, range);
}

const numbered = (id: string): string => `'${id.slice(0, -4)}' || printf('%04d', n)`;

const ofPrincipal = (principalId: string): Copies[] => {
  const [where, principal_id] = [`principal_id = '${principalId}'`, numbered(principalId)];
  const unique = { external_ref: `'${principalId}-' || n`, name_folded: `name_folded || ' ' || n` };
  return [
    { table: "principals", where, vary: { principal_id, ...unique } },
    { table: "attestations", where, vary: { principal_id } },
  ];
};

/** Lets all attestations end in a moment. */
export async function endSoon({ sql }: Stage, wave: Wave): Promise<Wave> {
  const endsAt = Date.now() + 3 * SECOND_MS;
  const params = [endsAt, wave.endsAt];
  await sql([
    { sql: "update principals set attestation_expires_at = ? where attestation_expires_at = ?", params },
    { sql: "update attestations set expires_at = ? where expires_at = ?", params },
    { sql: "update agents set ends_at = ? where ends_at = ?", params },
  ]);
  return { ...wave, endsAt };
}

export type Recorded = {
  // The rows that are not recorded yet.
  readonly principals: number;
  readonly agents: number;
  readonly cascades: number;
  /** The number of agents with exactly one entry, one event and one directory record. */
  readonly once: number;
};

export const countOpen = async ({ sql }: Stage, { endsAt }: Wave): Promise<number> => {
  const [rows = []] = await sql([
    {
      sql: `select (select count(*) from principals where status = 'ACTIVE' and attestation_expires_at <= ?)
        + (select count(*) from walks where kind = 'cascade') as open`,
      params: [endsAt],
    },
  ]);
  return Number(rows[0]?.["open"]);
};

export async function countRecorded({ sql }: Stage, { endsAt }: Wave): Promise<Recorded> {
  const [rows = []] = await sql([
    {
      sql: `with own as (select did, status from agents where ends_at = ?1),
        entries as (select subject_id as did, count(*) as n from activity_entries where action = 'agent.suspended' group by 1),
        told as (select object ->> 'did' as did, count(*) as n from events where type = 'agent.status_changed' and occurred_at >= ?1
          and object ->> 'status' = 'SUSPENDED' group by 1),
        listed as (select did, count(*) as n from directory_changes where change_type = 'status_changed' and occurred_at >= ?1 group by 1),
        each as (select entries.n = 1 and told.n = 1 and listed.n = 1 and own.status = 'SUSPENDED' as once from own
          left join entries using (did) left join told using (did) left join listed using (did))
        select (select count(*) from principals where attestation_expires_at = ?1 and status <> 'ATTESTATION_EXPIRED') as principals,
          (select count(*) from own where status in ('ACTIVE', 'FUNDING')) as agents,
          (select count(*) from walks where kind = 'cascade') as cascades,
          (select count(*) from each where once) as once`,
      params: [endsAt],
    },
  ]);
  const row = rows[0] ?? {};
  const count = (name: keyof Recorded) => Number(row[name]);
  return {
    principals: count("principals"),
    agents: count("agents"),
    cascades: count("cascades"),
    once: count("once"),
  };
}
