// The Worker's runtime is killed (SIGKILL) during rotations (AGT-32) and promotions (AGT-34) of agents, some of which are committed but not answered.
// After a restart on the same state each one is complete or not begun, and a retry under the same Idempotency-Key completes it once.
import { createPublicKey } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { end } from "./commands.ts";
import { databaseWith, type RunningStack, runtimeOf, startIn } from "./runtime-kill.ts";

/** The number of each act. One of all is committed first, and the kill arrives before its answer or soon after. */
const AT_ONCE = 3;
/** Each kill comes at another moment after the commit. */
const ROUNDS = 3;
/** On a busy machine, all answers may be faster than the kill. */
const ROUNDS_MAX = 12;

type Json = Record<string, unknown>;
type Act = "rotation" | "promotion";
type Attempt = { readonly act: Act; readonly did: string; readonly idempotencyKey: string };
type Answer = { readonly status: number; readonly replayed: boolean; readonly body: Json };

const ACTS = {
  rotation: { path: "rotate-key", body: { grace_hours: 0 }, event: "agent.key_rotated" },
  promotion: { path: "environment", body: { environment: "production" }, event: "agent.promoted" },
} as const;

const dir = mkdtempSync(join(tmpdir(), "agents-"));
let stack: RunningStack;
let live = "";

beforeAll(async () => {
  stack = await startIn(dir);
  const promoted = await must("/v1/platform/promote", {}, stack.service.sandbox_key, 200);
  live = String((promoted["api_key"] as Json)["raw_key"]);
});
afterAll(async () => {
  await end(stack.command, "SIGKILL");
  rmSync(dir, { recursive: true, force: true });
});

describe("rotations and promotions, when the runtime is killed", () => {
  test("are complete or not begun, and a retry completes each once", async () => {
    let between = 0;
    for (let round = 0; round < ROUNDS || (between === 0 && round < ROUNDS_MAX); round++) {
      const attempts = await attemptsOf(round);
      const answered = await killAmong(attempts);
      for (const attempt of attempts) {
        if (made(attempt) && !answered.has(attempt)) between += 1;
        expectWhole(attempt);
      }
      stack = await startIn(dir);
      for (const attempt of attempts) await expectOnce(attempt, answered.get(attempt));
    }
    expect(between).toBeGreaterThan(0);
  });
});

// ---- The agents -------------------------------------------------------------------------------------------------------

async function attemptsOf(round: number): Promise<Attempt[]> {
  const key = stack.service.sandbox_key;
  const principal = await must(
    "/v1/principals",
    {
      legal_name: `Round ${round} Ltd`,
      country: "DE",
      entity_type: "company",
      external_ref: `round-${round}`,
      verification_attestation: { placeholder: true },
    },
    key,
    201,
  );
  const attempts: Attempt[] = [];
  for (let n = 0; n < 2 * AT_ONCE; n++) {
    const agent = await must(
      "/v1/agents",
      {
        principal_id: principal["principal_id"],
        economic_role: "CONSUMER",
        profile: { display_name: "Buyer", description: "Buys." },
        endpoint_url: "https://agent.example/v1",
        scope: { authorized_actions: ["purchase"], capabilities: ["translation"] },
      },
      key,
      201,
    );
    const did = String(agent["did"]);
    await must(`/v1/agents/${did}/activate`, {}, key, 200);
    attempts.push({ act: n % 2 === 0 ? "rotation" : "promotion", did, idempotencyKey: crypto.randomUUID() });
  }
  return attempts;
}

async function send(path: string, body: unknown, key: string, more: Record<string, string> = {}): Promise<Response> {
  const headers = { "Service-Api-Key": key, "Content-Type": "application/json", ...more };
  return fetch(`${stack.service.base_url}${path}`, { method: "POST", headers, body: JSON.stringify(body) });
}

async function must(path: string, body: unknown, key: string, expected: number): Promise<Json> {
  const response = await send(path, body, key);
  const text = await response.text();
  if (response.status !== expected) throw new Error(`${path} answered ${response.status}: ${text}`);
  return JSON.parse(text) as Json;
}

async function attemptOnce({ act, did, idempotencyKey }: Attempt): Promise<Answer> {
  const { path, body } = ACTS[act];
  const key = act === "promotion" ? live : stack.service.sandbox_key;
  const response = await send(`/v1/agents/${did}/${path}`, body, key, { "Idempotency-Key": idempotencyKey });
  const replayed = response.headers.get("Idempotent-Replayed") === "true";
  return { status: response.status, replayed, body: (await response.json()) as Json };
}

// ---- The kill ---------------------------------------------------------------------------------------------------------

/** Kills the runtime as soon as one of the acts is in the database. Returns the answers of those that were answered. */
async function killAmong(attempts: readonly Attempt[]): Promise<Map<Attempt, Answer>> {
  const runtime = runtimeOf(stack);
  const answers = new Map<Attempt, Answer>();
  const sent = attempts.map(async (attempt) => {
    try {
      const answer = await attemptOnce(attempt);
      // The listening process answers 5xx for a dead runtime.
      if (answer.status < 500) answers.set(attempt, answer);
    } catch {
      // The runtime is dead.
    }
  });
  while (!attempts.some(made)) await new Promise(setImmediate);
  process.kill(runtime, "SIGKILL");
  await Promise.all([...sent, stack.command.ended]);
  return answers;
}

// ---- The state at rest ------------------------------------------------------------------------------------------------

function rows(text: string, ...values: string[]): Json[] {
  using database = databaseWith(dir, "d1", "agents");
  return database.prepare(text).all(...values) as Json[];
}

/** An activated agent is at its second version. */
const made = ({ did }: Attempt): boolean =>
  Number(rows("select version from agents where did = ?", did)[0]?.["version"]) > 2;

/** Expects everything that an act leaves, or nothing of it. */
function expectWhole(attempt: Attempt): void {
  const { did, act } = attempt;
  const times = made(attempt) ? 1 : 0;
  const count = (text: string, ...values: string[]) => Number(rows(text, ...values)[0]?.["n"]);
  const { event } = ACTS[act];
  expect({
    events: count("select count(*) n from events where agent_did = ? and type = ?", did, event),
    entries: count("select count(*) n from activity_entries where subject_id = ? and action = ?", did, event),
    replaced: count("select count(*) n from certificates where did = ? and replaced_at is not null", did),
    counting: count("select count(*) n from certificates where did = ? and replaced_at is null", did),
    versions: count("select count(*) n from aid_versions where did = ?", did),
    // Counts the activation and this act: a promotion writes to the feeds of both environments.
    feed: count("select count(*) n from directory_changes where did = ?", did),
  }).toEqual({
    events: times,
    entries: times,
    replaced: times,
    counting: 1,
    versions: 1 + times,
    feed: 1 + times * (act === "promotion" ? 2 : 1),
  });
  const [agent] = rows("select environment from agents where did = ?", did);
  expect(agent?.["environment"]).toBe(act === "promotion" && times === 1 ? "production" : "sandbox");
}

/** Expects that a retry replays a committed act, with the key that only its answer has, and otherwise makes it now. */
async function expectOnce(attempt: Attempt, before: Answer | undefined): Promise<void> {
  const replayed = made(attempt);
  const retried = await attemptOnce(attempt);
  expect([attempt.act, retried.status, retried.replayed]).toEqual([attempt.act, 200, replayed]);
  if (before !== undefined) expect(retried.body).toEqual(before.body);
  expectWhole(attempt);
  const [agent] = rows("select public_jwk from agents where did = ?", attempt.did);
  if (attempt.act === "promotion") return;
  const { x, y } = createPublicKey(String(retried.body["private_key"])).export({ format: "jwk" });
  expect(agent?.["public_jwk"]).toBe(`${x}.${y}`);
}
