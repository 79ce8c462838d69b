// The directory's entries as they have to be: those of the agents with a certificate, as their rows say them, and their terms as the job has
// written them.
type Row = Record<string, unknown>;

/** By an agent's row and its markets. */
const WANTED = `select did, environment, principal_id, status, economic_role, cert_tier, catalog_url, capabilities, agent_rating,
  case status when 'ACTIVE' then 'active' when 'REVOKED' then 'revoked' when 'TERMINATED' then 'revoked' else 'suspended' end as listed_as,
  (select json_group_array(market) from (select distinct market from agent_markets m where m.did = a.did
    and m.environment = a.environment and m.status = 'ACTIVE' order by market)) as markets
  from agents a where certificate_jti is not null order by did`;
const FOUND = `select did, environment, principal_id, status, economic_role, cert_tier, catalog_url, capabilities, agent_rating, listed_as, markets
  from directory_entries order by did`;

/** Entries that are not what they have to be, both sides as JSON; of some agents, or of all. */
export async function entryFaults(
  d1: D1Database,
  of?: readonly string[],
): Promise<{ wanted: string; found: string }[]> {
  const [wanted, found] = await d1.batch<Row>([d1.prepare(WANTED), d1.prepare(FOUND)]);
  const byDid = (rows: readonly Row[] = []) => new Map(rows.map((row) => [String(row["did"]), textOf(row)]));
  const [right, stored] = [byDid(wanted?.results), byDid(found?.results)];
  return (of ?? [...new Set([...right.keys(), ...stored.keys()])])
    .map((did) => ({ wanted: right.get(did) ?? "none", found: stored.get(did) ?? "none" }))
    .filter((one) => one.wanted !== one.found);
}

const textOf = (row: Row): string => JSON.stringify(Object.entries(row).sort(([a], [b]) => (a < b ? -1 : 1)));
