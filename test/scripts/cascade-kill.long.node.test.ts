// The Worker's runtime is killed (SIGKILL) among the slices of a cascade's suspension and of a reinstatement (PRN-17, PRN-21). After a restart on the
// same state the jobs finish it, and each agent has its entry, its event and its directory record once.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { end } from "./commands.ts";
import { databaseWith, type RunningStack, runtimeOf, startIn } from "./runtime-kill.ts";

/** A job of every minute continues the work that no other job does. */
const DONE_WITHIN_MS = 1_200_000;
const SLICE = 200;
/** Ten slices. The kill comes after the second, in the third or soon after. */
const AGENTS = 10 * SLICE;

const dir = mkdtempSync(join(tmpdir(), "standing-"));
let stack: RunningStack;
let principalId: string;
let attestation: { attestation_id: string; verifier_id: string };
let did: string;

beforeAll(async () => {
  stack = await startIn(dir);
  const principal = await manage("POST", "/v1/principals", {
    legal_name: "Crowded Ltd",
    country: "DE",
    entity_type: "company",
    external_ref: "crowded",
    verification_attestation: { placeholder: true },
  });
  principalId = String(principal["principal_id"]);
  attestation = principal["verification_attestation"] as typeof attestation;
  const agent = await manage("POST", "/v1/agents", {
    principal_id: principalId,
    economic_role: "CONSUMER",
    profile: { display_name: "Buyer", description: "Buys." },
    endpoint_url: "https://agent.example/v1",
    scope: { authorized_actions: ["purchase"], capabilities: ["translation"] },
  });
  did = String(agent["did"]);
  await manage("POST", `/v1/agents/${did}/activate`);
  multiply();
});
afterAll(async () => {
  await end(stack.command, "SIGKILL");
  rmSync(dir, { recursive: true, force: true });
});

describe("when the runtime is killed after the second of ten slices,", () => {
  test("a cascade suspends each agent once", async () => {
    await killAmong("SUSPENDED", () =>
      call("POST", `/v1/attestations/${attestation.attestation_id}/revoke`, {
        headers: { Authorization: `Bearer ${stack.service.operator_key}` },
        body: { verifier_id: attestation.verifier_id, reason: "Forged." },
      }),
    );
    expect(await publicStatus()).toBe("SUSPENDED");
    await until("SUSPENDED", AGENTS);
    expect(reports("agent.suspended", "SUSPENDED")).toEqual({ ...ONCE_EACH, records: AGENTS });
  });

  test("a renewal reactivates each agent once, under one new certificate", async () => {
    const body = { placeholder: true, reactivate_agents: true };
    await killAmong("ACTIVE", () => manage("POST", `/v1/principals/${principalId}/attestations`, body));
    await until("ACTIVE", AGENTS);
    expect(await publicStatus()).toBe("ACTIVE");
    // The feed also has the suspensions.
    expect(reports("agent.reactivated", "ACTIVE")).toEqual({ ...ONCE_EACH, records: 2 * AGENTS });
    expect(certificates()).toEqual({ issued: 2 * AGENTS, current: AGENTS, certified: AGENTS });
  });
});

// ---- The agents -------------------------------------------------------------------------------------------------------

type Json = Record<string, unknown>;

async function call(method: string, path: string, { headers = {}, body }: { headers?: object; body?: object }) {
  const response = await fetch(`${stack.service.base_url}${path}`, {
    method,
    headers: { "Content-Type": "application/json", ...headers },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${path} answered ${response.status}: ${text}`);
  return JSON.parse(text) as Json;
}

const manage = (method: string, path: string, body?: object): Promise<Json> =>
  call(method, path, { headers: { "Service-Api-Key": stack.service.sandbox_key }, ...(body && { body }) });

const publicStatus = async (): Promise<unknown> => (await call("GET", `/v1/agents/${did}/status`, {}))["status"];

/** Copies the agent in the database, each with its document and its certificate, because signing is not tested here. */
function multiply(): void {
  const copy = "'did:aeap:' || printf('%08x', n) || '-0000-4000-8000-000000000000'";
  const tables: Record<string, Record<string, string>> = {
    agents: { did: copy, key_id: "m.key_id || n", certificate_jti: "'crt_' || n", created_at: "m.created_at + n" },
    aids: { did: copy },
    aid_versions: { did: copy },
    certificates: { did: copy, jti: "'crt_' || n", key_id: "m.key_id || n", idx: "(m.idx + n) % 65536" },
  };
  using database = databaseWith(dir, "d1", "agents");
  for (const [table, vary] of Object.entries(tables)) {
    const columns = database
      .prepare("select name from pragma_table_info(?)")
      .all(table)
      .map(({ name }) => String(name));
    const picked = columns.map((name) => vary[name] ?? `m.${name}`).join(", ");
    database.exec(`insert into ${table} (${columns.join(", ")})
      with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < ${AGENTS - 1})
      select ${picked} from (select * from ${table} where did = '${did}') m, numbers`);
  }
  expect(inStatus(database, "ACTIVE")).toBe(AGENTS);
}

const inStatus = (database: DatabaseSync, status: string): number =>
  Number(
    database
      .prepare("select count(*) as many from agents where principal_id = ? and status = ?")
      .get(principalId, status)?.["many"],
  );

// ---- The kill ---------------------------------------------------------------------------------------------------------

/** Retries while the act is refused with 409, because the end of the cascade before may not be recorded yet. */
async function onceFree(act: () => Promise<unknown>): Promise<unknown> {
  for (;;) {
    try {
      return await act();
    } catch (thrown) {
      if (!(thrown instanceof Error) || !thrown.message.includes("answered 409")) throw thrown;
      await sleep(200);
    }
  }
}

/** Kills the runtime once the first two slices have the status, and starts it again on the state that it left. */
async function killAmong(status: string, act: () => Promise<unknown>): Promise<void> {
  const runtime = runtimeOf(stack);
  // The call is answered after the first slice, or not at all.
  const answered = onceFree(act).catch(() => undefined);
  {
    using database = databaseWith(dir, "d1", "agents");
    while (inStatus(database, status) < 2 * SLICE) await new Promise(setImmediate);
    process.kill(runtime, "SIGKILL");
  }
  await Promise.all([answered, stack.command.ended]);
  {
    using database = databaseWith(dir, "d1", "agents");
    const reached = inStatus(database, status);
    expect(reached % SLICE).toBe(0);
    expect(reached).toBeLessThan(AGENTS);
  }
  stack = await startIn(dir);
}

async function until(status: string, count: number): Promise<void> {
  using database = databaseWith(dir, "d1", "agents");
  const last = Date.now() + DONE_WITHIN_MS;
  while (inStatus(database, status) < count) {
    if (Date.now() > last) throw new Error(`only ${inStatus(database, status)} of ${count} are ${status}`);
    await sleep(200);
  }
}

// ---- The state at rest ------------------------------------------------------------------------------------------------

const ONCE_EACH = { entries: AGENTS, entered: AGENTS, events: AGENTS, told: AGENTS, listed: AGENTS };

/** The number of records of the agents' last move in the log, in the outbox and in the directory's feed, and the number of agents. */
function reports(action: string, status: string): Record<string, unknown> {
  using database = databaseWith(dir, "d1", "agents");
  const one = (text: string, ...values: string[]) => database.prepare(text).get(...values) ?? {};
  const mine = "in (select did from agents where principal_id = ?)";
  return {
    ...one(
      `select count(*) as entries, count(distinct subject_id) as entered from activity_entries
       where action = ? and subject_id ${mine}`,
      action,
      principalId,
    ),
    ...one(
      `select count(*) as events, count(distinct object ->> 'did') as told from events
       where type = 'agent.status_changed' and object ->> 'status' = ? and object ->> 'did' ${mine}
         and seq > (select max(seq) from events where type = 'principal.status_changed' and object ->> 'status' = ?)`,
      status,
      principalId,
      status === "ACTIVE" ? "ACTIVE" : "ATTESTATION_EXPIRED",
    ),
    ...one(
      `select count(*) as records, count(distinct did) as listed from directory_changes
       where change_type = 'status_changed' and did ${mine}`,
      principalId,
    ),
  };
}

function certificates(): Record<string, unknown> {
  using database = databaseWith(dir, "d1", "certificates");
  const found = database
    .prepare(
      `select count(*) as issued, count(*) filter (where replaced_at is null) as current,
         count(distinct case when replaced_at is null then did end) as certified
       from certificates where did in (select did from agents where principal_id = ?)`,
    )
    .get(principalId);
  return { ...found };
}
