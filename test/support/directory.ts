// The entries that the directory should have: those of the agents with a certificate, from their rows, and their terms as the job writes them.
type Row = Record<string, unknown>;

/** The entries that agents' rows and markets require. */
const WANTED = `select did, environment, principal_id, status, economic_role, cert_tier, catalog_url, capabilities, agent_rating,
  case status when 'ACTIVE' then 'active' when 'REVOKED' then 'revoked' when 'TERMINATED' then 'revoked' else 'suspended' end as listed_as,
  (select json_group_array(market) from (select distinct market from agent_markets m where m.did = a.did
    and m.environment = a.environment and m.status = 'ACTIVE' order by market)) as markets
  from agents a where certificate_jti is not null order by did`;
const FOUND = `select did, environment, principal_id, status, economic_role, cert_tier, catalog_url, capabilities, agent_rating, listed_as, markets
  from directory_entries order by did`;

/** Returns the entries that differ from the required ones, both sides as JSON, for some agents or for all. */
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
