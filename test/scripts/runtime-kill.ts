// Shared by the tests that kill the Worker's runtime (SIGKILL): a stack in a folder, an account of it, and the databases on its disk, which are read
// while the stack runs and after it died.
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { requestMailedToken } from "../../scripts/mail-links.ts";
import type { ServiceDescription } from "../../scripts/stack.ts";
import { type Command, described, FREE_PORTS, launch, root } from "./commands.ts";
import { descendantsOf, runtimesAmong } from "./processes.ts";

/** The service writes to the same file, so the second writer waits. */
const BUSY_MS = 10_000;

export type RunningStack = { readonly command: Command; readonly service: ServiceDescription };

/** Starts a stack on the state that the folder has. */
export async function startIn(dir: string): Promise<RunningStack> {
  const command = launch(process.execPath, [join(root, "scripts/start.ts"), "--dir", dir, ...FREE_PORTS]);
  return { command, service: await described(command, dir) };
}

export const runtimeOf = ({ command }: RunningStack): number => runtimeBelow(command.child.pid ?? 0);

/** The runtime that runs the Worker, not the one that listens. */
export function runtimeBelow(pid: number): number {
  const { worker } = runtimesAmong(descendantsOf(pid));
  if (worker === undefined) throw new Error("no runtime runs the Worker");
  return worker;
}

/** The database of a kind that has the table. `waitMs`: how long it waits for another writer. */
export function databaseWith(dir: string, kind: "d1" | "r2" | "do", table: string, waitMs = BUSY_MS): DatabaseSync {
  const folder = join(dir, "state/v3", kind);
  const files = readdirSync(folder, { recursive: true }).map(String);
  for (const name of files.filter((file) => file.endsWith(".sqlite"))) {
    const database = new DatabaseSync(join(folder, name), { timeout: waitMs });
    const found = database.prepare("select 1 from sqlite_master where type = 'table' and name = ?").get(table);
    if (found !== undefined) return database;
    database.close();
  }
  throw new Error(`no database of ${kind} has ${table}`);
}

/** Signs up by the mailed link, and returns the token of a session. */
export async function signUp(service: ServiceDescription, email: string): Promise<string> {
  const account = { email, password: "correct horse battery staple" };
  const token = await requestMailedToken(service, email, () => post(service, "/v1/platform/register", account, 201));
  await post(service, "/v1/platform/verify-email", { token, password: account.password }, 200);
  const begun = await post(service, "/v1/platform/sessions", account, 201);
  return String(begun["session_token"]);
}

async function post(
  { base_url }: ServiceDescription,
  path: string,
  body: unknown,
  expected: number,
): Promise<Record<string, unknown>> {
  const headers = { "Content-Type": "application/json" };
  const response = await fetch(`${base_url}${path}`, { method: "POST", headers, body: JSON.stringify(body) });
  const text = await response.text();
  if (response.status !== expected) throw new Error(`${path} answered ${response.status}: ${text}`);
  return JSON.parse(text) as Record<string, unknown>;
}
