// Every state of an agent × every act of its platform, on it or on its principal, × both environments, over HTTP (AGT-13 to AGT-20, AGT-30 to AGT-34).
import { beforeAll, describe, expect, it } from "vitest";
import type { Environment } from "../../src/core/vocabulary.ts";
import { SUBSCRIBERS } from "../../src/cron.ts";
import { activityLogOf } from "../../src/journal/activity-chain.ts";
import { handOnEvents } from "../../src/journal/outbox.ts";
import { hashUnlessOthersDo } from "../../src/journal/running-log.ts";
import { finishCascades } from "../../src/standing/cascades.ts";
import { livePrincipal } from "../promotion/support.ts";
import { dumpDatabase } from "../support/variants.ts";
import { createWorld, expectStatus, type Json, type Reply, type World } from "../support/world.ts";
import { registerAgent, registrationOf, rowsOf } from "./support.ts";

const STATES = ["DRAFT", "ACTIVE", "SUSPENDED", "FUNDING", "REVOKED", "TERMINATED"] as const;
type State = (typeof STATES)[number];

let world: World;
/** The database before the act. */
let prepared: unknown;

/** The queue hands on events and hashes the log a second behind each act: it has nothing left to write then. */
async function dumpOnceQuiet(): Promise<unknown> {
  await handOnEvents(world.deps, SUBSCRIBERS);
  await hashUnlessOthersDo(world.deps, activityLogOf(world.deps, world.platformId));
  return dumpDatabase();
}
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

/** With what follows from it for the principal's agents. */
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
    prepared = await dumpOnceQuiet();
    return post("transfer", { principal_id: to })(at);
  },
  "its principal is suspended": onPrincipal("suspend"),
  "its principal is closed": onPrincipal("close"),
  "promote, by the production key": ({ did }: At) =>
    world.call("POST", `/v1/agents/${did}/environment`, { key: world.liveKey, body: { environment: "production" } }),
} as const;
type Act = keyof typeof ACTS;

/** A cell is the state afterwards, or the code of the refusal; `=` is the same state, `-` is invalid_status. */
type Row = readonly [cell: string, ...cells: string[]];
/** A principal is closed once none of its agents runs. */
const BLOCKED = "close_blocked_open_disputes";
const FINAL = ["agent_status_not_mutable", "agent_status_not_mutable"] as const;
/** In the order of STATES. */
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
/** What differs in production. */
const IN_PRODUCTION: Readonly<Partial<Record<Act, Row>>> = {
  "promote, by the production key": ["-", "-", "-", "escrow_below_threshold", "-", "-"],
};

const cellOf = (environment: Environment, act: Act, state: State): string => {
  const row = (environment === "production" ? IN_PRODUCTION[act] : undefined) ?? TABLE[act];
  return row[STATES.indexOf(state)] ?? "";
};
const CELLS = (["sandbox", "production"] as const).flatMap((environment) =>
  (Object.keys(ACTS) as Act[]).flatMap((act) =>
    STATES.map((state) => [environment, state, act, cellOf(environment, act, state)] as const),
  ),
);

/** States that no single act leads to are written to the row. */
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

describe("in every state", () => {
  it.each(CELLS)("%s, %s: %s is %s", async (environment, state, act, cell) => {
    const at = await agentIn(environment, state);
    prepared = await dumpOnceQuiet();
    const reply = await ACTS[act](at);
    const [row] = await rowsOf("agents", "did", at.did);
    const code = cell === "-" ? "invalid_status" : cell;
    if (/^[a-z]/.test(code)) {
      expect(reply.body).toMatchObject({ code });
      expect(await dumpDatabase()).toEqual(prepared);
    } else {
      expectStatus(reply, 200);
      expect(row.status).toBe(cell === "=" ? state : cell);
    }
  });

  it("has a cell for each", () => {
    expect(CELLS.every(([, , , cell]) => cell !== "")).toBe(true);
  });
});
