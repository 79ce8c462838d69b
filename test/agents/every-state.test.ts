// Every status of an agent × every act of its platform, on it or its principal, × both environments, over HTTP (AGT-13 to AGT-20, AGT-30 to AGT-34).
import { beforeAll, describe, expect, it } from "vitest";
import { finishCascades } from "../../src/cascades/cascades.ts";
import type { Environment } from "../../src/core/vocabulary.ts";
import { livePrincipal } from "../promotion/support.ts";
import { isWhole } from "../support/scale.ts";
import { dumpDatabase } from "../support/variants.ts";
import { createWorld, expectStatus, type Json, type Reply, type World } from "../support/world.ts";
import { registerAgent, registrationOf, rowsOf } from "./support.ts";

const STATES = ["DRAFT", "ACTIVE", "SUSPENDED", "FUNDING", "REVOKED", "TERMINATED"] as const;
type State = (typeof STATES)[number];

let world: World;
/** The database as it was before the act. */
let prepared: unknown;

beforeAll(async () => {
  world = await createWorld();
});

type At = { readonly did: string; readonly key: string; readonly environment: Environment };
const patch = (body: Json) => (at: At) => world.call("PATCH", `/v1/agents/${at.did}`, { key: at.key, body });
const status = (to: string) => (at: At) =>
  world.call("PATCH", `/v1/agents/${at.did}/status`, { key: at.key, body: { status: to } });
const post =
  (path: string, body?: Json) =>
  ({ did, key }: At): Promise<Reply> =>
    world.call("POST", `/v1/agents/${did}/${path}`, { key, ...(body && { body }) });

/** Includes the cascade over the principal's agents. */
const onPrincipal =
  (verb: string) =>
  async ({ did, key }: At): Promise<Reply> => {
    const [row] = await rowsOf("agents", "did", did);
    const reply = await world.call("POST", `/v1/principals/${row.principal_id}/${verb}`, { key });
    await world.run(finishCascades);
    return reply;
  };

const ACTS = {
  activate: post("activate"),
  "to ACTIVE": status("ACTIVE"),
  "to SUSPENDED": status("SUSPENDED"),
  "to TERMINATED": status("TERMINATED"),
  revoke: post("revoke", { reason: "Sanctioned." }),
  "rotate the key": post("rotate-key"),
  "reissue the certificate": post("certificate"),
  "edit the identity": patch({ endpoint_url: "https://moved.example/v1" }),
  "edit the scope": ({ did, key }: At) =>
    world.call("PATCH", `/v1/agents/${did}/scope`, { key, body: { capabilities: ["translation", "summary"] } }),
  "transfer, to its own principal": async ({ did, key }: At) => {
    const [row] = await rowsOf("agents", "did", did);
    return post("transfer", { principal_id: row.principal_id })({ did, key, environment: "sandbox" });
  },
  transfer: async (at: At) => {
    const to = at.environment === "production" ? await livePrincipal(world) : await world.principal();
    prepared = await dumpDatabase();
    return post("transfer", { principal_id: to })(at);
  },
  "its principal is suspended": onPrincipal("suspend"),
  "its principal is closed": onPrincipal("close"),
  "promote, by the production key": ({ did }: At) =>
    world.call("POST", `/v1/agents/${did}/environment`, { key: world.liveKey, body: { environment: "production" } }),
} as const;
type Act = keyof typeof ACTS;

/** A cell is the resulting status or the code of the refusal; `=` is an unchanged status, `-` is invalid_status. */
type Row = readonly [cell: string, ...cells: string[]];
/** A principal can be closed only when none of its agents runs. */
const BLOCKED = "close_blocked_open_disputes";
const FINAL = ["agent_status_not_mutable", "agent_status_not_mutable"] as const;
/** Each row is in the order of STATES. */
const TABLE: Readonly<Record<Act, Row>> = {
  activate: ["ACTIVE", "-", "-", "-", "-", "-"],
  "to ACTIVE": ["use_activate_endpoint", "-", "ACTIVE", "-", "-", "-"],
  "to SUSPENDED": ["-", "SUSPENDED", "-", "SUSPENDED", "-", "-"],
  "to TERMINATED": ["TERMINATED", "TERMINATED", "TERMINATED", "TERMINATED", "-", "-"],
  revoke: ["REVOKED", "REVOKED", "REVOKED", "REVOKED", "-", "-"],
  "rotate the key": ["-", "=", "=", "=", "-", "-"],
  "reissue the certificate": ["-", "=", "=", "=", "-", "-"],
  "edit the identity": ["=", "=", "=", "=", ...FINAL],
  "edit the scope": ["=", "=", "=", "=", ...FINAL],
  "transfer, to its own principal": [
    ...["no_changes_requested", "no_changes_requested", "no_changes_requested", "no_changes_requested"],
    ...FINAL,
  ] as unknown as Row,
  transfer: ["=", "=", "=", "=", ...FINAL],
  "its principal is suspended": ["=", "SUSPENDED", "=", "SUSPENDED", "=", "="],
  "its principal is closed": ["REVOKED", BLOCKED, "REVOKED", BLOCKED, "=", "="],
  "promote, by the production key": ["-", "=", "-", "-", "-", "-"],
};
/** The rows that differ in production. */
const IN_PRODUCTION: Readonly<Partial<Record<Act, Row>>> = {
  "promote, by the production key": ["-", "-", "-", "escrow_below_threshold", "-", "-"],
};

/** Production has the sandbox's cells: a short run plays one status of each act there, and the rows that differ. */
const differsInProduction = (act: Act, state: State): boolean => state === "ACTIVE" || act in IN_PRODUCTION;

const cellOf = (environment: Environment, act: Act, state: State): string => {
  const row = (environment === "production" ? IN_PRODUCTION[act] : undefined) ?? TABLE[act];
  return row[STATES.indexOf(state)] ?? "";
};
const isRefusal = (cell: string): boolean => cell === "-" || /^[a-z]/.test(cell);
/** Whether the agent can be used for the next cell after the act. */
const leavesAgent = (act: Act, cell: string): boolean =>
  isRefusal(cell) || (cell === "=" && !/^its principal|^promote/.test(act));

/** Ordered by status; acts that leave the agent unchanged come first. */
const CELLS = (["sandbox", "production"] as const).flatMap((environment) =>
  STATES.flatMap((state) =>
    (Object.keys(ACTS) as Act[])
      .filter((act) => environment === "sandbox" || isWhole() || differsInProduction(act, state))
      .map((act) => [environment, state, act, cellOf(environment, act, state)] as const)
      .sort(([, , one, a], [, , other, b]) => Number(leavesAgent(other, b)) - Number(leavesAgent(one, a))),
  ),
);

/** A status to which no single act leads is written to the row. */
async function agentIn(environment: Environment, state: State): Promise<At> {
  const key = environment === "production" ? world.liveKey : world.key;
  const principalId = environment === "production" ? await livePrincipal(world) : await world.principal();
  const at = {
    did: expectStatus(await registerAgent(world, registrationOf(principalId, "CONSUMER"), key), 201).did,
    key,
  };
  if (state === "DRAFT") return { ...at, environment };
  expectStatus(await post("activate")({ ...at, environment }), 200);
  const by: Readonly<Partial<Record<State, Act>>> = {
    SUSPENDED: "to SUSPENDED",
    TERMINATED: "to TERMINATED",
    REVOKED: "revoke",
  };
  const act = by[state];
  if (act) expectStatus(await ACTS[act]({ ...at, environment }), 200);
  if (state === "FUNDING") await world.deps.db.run(`update agents set status = 'FUNDING' where did = '${at.did}'`);
  return { ...at, environment };
}

/** The agent of the previous cell, if its act left it in its status. */
let kept: (At & { readonly state: State }) | null = null;
async function agentFor(environment: Environment, state: State): Promise<At> {
  const at = kept?.environment === environment && kept.state === state ? kept : await agentIn(environment, state);
  kept = null;
  return at;
}

describe("in every state", () => {
  it.each(CELLS)("%s, %s: %s results in %s", async (environment, state, act, cell) => {
    const at = await agentFor(environment, state);
    if (isRefusal(cell)) prepared = await dumpDatabase();
    const reply = await ACTS[act](at);
    const [row] = await rowsOf("agents", "did", at.did);
    if (isRefusal(cell)) {
      expect(reply.body).toMatchObject({ code: cell === "-" ? "invalid_status" : cell });
      expect(await dumpDatabase()).toEqual(prepared);
    } else {
      expectStatus(reply, 200);
      expect(row.status).toBe(cell === "=" ? state : cell);
    }
    if (leavesAgent(act, cell)) kept = { ...at, state };
  });

  it("has a cell for each act and status", () => {
    expect(CELLS.every(([, , , cell]) => cell !== "")).toBe(true);
  });
});
