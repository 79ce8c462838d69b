// The Worker's runtime is killed (SIGKILL) while many uploads run (ACC-20): after a restart on the same state every document has its file,
// and the hourly sweep removes the files that no document has.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { EVERY_HOUR, fireCron } from "../../scripts/local-worker.ts";
import type { ServiceDescription } from "../../scripts/stack.ts";
import { documentParts, formBytes, formHeaders, pdf } from "../support/form.ts";
import { type Command, described, end, FREE_PORTS, launch, root } from "./commands.ts";
import { descendantsOf, listenerAmong, nameOf } from "./processes.ts";

const START_MS = 120_000;
const AT_ONCE = 16;
/** Some uploads are between their file and their row at any moment; this often a kill may meet none of them. */
const ROUNDS = 4;
const TWO_HOURS_MS = 2 * 3_600_000;

const dir = mkdtempSync(join(tmpdir(), "uploads-"));
let running: Command;
let service: ServiceDescription;
let session: string;

const start = async (): Promise<void> => {
  running = launch(process.execPath, [join(root, "scripts/start.ts"), "--dir", dir, ...FREE_PORTS]);
  service = await described(running, dir);
};

beforeAll(async () => {
  await start();
  session = await signUp();
}, START_MS);
afterAll(async () => {
  await end(running, "SIGKILL");
  rmSync(dir, { recursive: true, force: true });
});

describe("uploads, when the runtime is killed", { timeout: ROUNDS * START_MS }, () => {
  test("leave no document without its file, and the sweep removes every file without its document", async () => {
    let strays = 0;
    for (let round = 0; round < ROUNDS && strays === 0; round++) {
      await killAmongUploads();
      const [rows, files] = [documentsAtRest(), filesAtRest()];
      expect(rows.length).toBeGreaterThan(0);
      expect(rows.filter((key) => !files.includes(key))).toEqual([]);
      strays = files.length - rows.length;
      letFilesAge();
      await start();
    }
    expect(strays).toBeGreaterThan(0);
    await fireCron(service.base_url, EVERY_HOUR);
    await expect.poll(() => filesAtRest().length, { timeout: 30_000 }).toBe(documentsAtRest().length);
    expect(filesAtRest()).toEqual(documentsAtRest());
  });
});

// ---- The account -----------------------------------------------------------------------------------------------------

const post = (path: string, body: unknown): Promise<Response> =>
  fetch(`${service.base_url}${path}`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });

async function signUp(): Promise<string> {
  const account = { email: "founder@startup.example", password: "correct horse battery staple" };
  expect((await post("/v1/platform/register", account)).status).toBe(201);
  expect((await post("/v1/platform/verify-email", { token: await mailedToken() })).status).toBe(200);
  const begun = (await (await post("/v1/platform/sessions", account)).json()) as { session_token: string };
  return begun.session_token;
}

async function mailedToken(): Promise<string> {
  while (true) {
    const mails = readdirSync(service.mail_dir).map((name) => readFileSync(join(service.mail_dir, name), "utf8"));
    const token = mails.map((mail) => /[?&]token=([\w-]{43})/.exec(mail)?.[1]).find((found) => found !== undefined);
    if (token !== undefined) return token;
    await sleep(100);
  }
}

// ---- Uploads and the kill ------------------------------------------------------------------------------------------------

async function upload(n: number): Promise<boolean> {
  // Required types, because of supporting ones an account has 50 at most.
  const body = formBytes(documentParts("director_identification", pdf(20_000 + n)));
  const headers = { ...formHeaders(), Authorization: `Bearer ${session}` };
  try {
    const reply = await fetch(`${service.base_url}/v1/platform/documents`, { method: "POST", headers, body });
    await reply.arrayBuffer();
    return reply.status === 201;
  } catch {
    return false;
  }
}

/** Kills the runtime as soon as some uploads are done and the others are on their way. */
async function killAmongUploads(): Promise<void> {
  const runtime = runtimeOf(running);
  let [sent, done, dead] = [0, 0, false];
  const uploader = async () => {
    while (!dead) {
      if (await upload(sent++)) done += 1;
      if (done >= AT_ONCE && !dead) {
        dead = true;
        process.kill(runtime, "SIGKILL");
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, uploader));
  await running.ended;
}

/** The runtime that runs the Worker, and not the one that listens. */
function runtimeOf({ child }: Command): number {
  const started = descendantsOf(child.pid ?? 0);
  const listener = listenerAmong(started, Number(new URL(service.base_url).port));
  const runtime = started.find((pid) => pid !== listener && /\bworkerd serve\b/.test(nameOf(pid)));
  if (runtime === undefined) throw new Error("no runtime runs the Worker");
  return runtime;
}

// ---- What is at rest -----------------------------------------------------------------------------------------------------

/** The database of a kind that has the table. */
function databaseWith(kind: string, table: string): DatabaseSync {
  const folder = join(dir, "state/v3", kind);
  const files = readdirSync(folder, { recursive: true }).map(String);
  for (const name of files.filter((file) => file.endsWith(".sqlite"))) {
    const database = new DatabaseSync(join(folder, name));
    const found = database.prepare("select 1 from sqlite_master where type = 'table' and name = ?").get(table);
    if (found !== undefined) return database;
    database.close();
  }
  throw new Error(`no database of ${kind} has ${table}`);
}

function keysIn(kind: string, table: string, column: string): string[] {
  const database = databaseWith(kind, table);
  try {
    return database
      .prepare(`select ${column} as key from ${table} order by 1`)
      .all()
      .map(({ key }) => String(key));
  } finally {
    database.close();
  }
}

const documentsAtRest = () => keysIn("d1", "documents", "platform_id || '/' || document_id");
const filesAtRest = () => keysIn("r2", "_mf_objects", "key");

/** As if the kill had been two hours ago. */
function letFilesAge(): void {
  const database = databaseWith("r2", "_mf_objects");
  database.prepare("update _mf_objects set uploaded = uploaded - ?").run(TWO_HOURS_MS);
  database.close();
}
