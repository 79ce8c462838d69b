// The Worker's runtime is killed (SIGKILL) during many uploads (ACC-20). After a restart on the same state every document has its file, and the
// hourly sweep removes the files without a document.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { EVERY_HOUR, fireCron } from "../../scripts/local-worker.ts";
import { documentParts, formBytes, formHeaders, pdf } from "../support/form.ts";
import { end } from "./commands.ts";
import { databaseWith, type RunningStack, runtimeOf, signUp, startIn } from "./runtime-kill.ts";

const AT_ONCE = 16;
/** The most rounds, because a row may still be written before the kill arrives. */
const ROUNDS = 12;
const TWO_HOURS_MS = 2 * 3_600_000;

const dir = mkdtempSync(join(tmpdir(), "uploads-"));
let stack: RunningStack;
let session: string;

beforeAll(async () => {
  stack = await startIn(dir);
  session = await signUp(stack.service, "founder@startup.example");
});
afterAll(async () => {
  await end(stack.command, "SIGKILL");
  rmSync(dir, { recursive: true, force: true });
});

describe("uploads, when the runtime is killed", () => {
  test("leave no document without its file, and the sweep removes every file without its document", async () => {
    let strays = 0;
    for (let round = 0; round < ROUNDS && strays === 0; round++) {
      await killAmongUploads();
      const [rows, files] = [documentsAtRest(), filesAtRest()];
      expect(rows.length).toBeGreaterThan(0);
      expect(rows.filter((key) => !files.includes(key))).toEqual([]);
      strays = files.length - rows.length;
      letFilesAge();
      stack = await startIn(dir);
    }
    expect(strays).toBeGreaterThan(0);
    await fireCron(stack.service.base_url, EVERY_HOUR);
    await expect.poll(() => filesAtRest().length, { timeout: 1_200_000 }).toBe(documentsAtRest().length);
    expect(filesAtRest()).toEqual(documentsAtRest());
  });
});

// ---- Uploads and the kill ------------------------------------------------------------------------------------------------

async function upload(n: number): Promise<void> {
  // Uploads required types, because an account may have only 50 supporting ones.
  const body = formBytes(documentParts("director_identification", pdf(20_000 + n)));
  const headers = { ...formHeaders(), Authorization: `Bearer ${session}` };
  try {
    const reply = await fetch(`${stack.service.base_url}/v1/platform/documents`, { method: "POST", headers, body });
    await reply.arrayBuffer();
  } catch {
    // The runtime is dead.
  }
}

/** Kills the runtime when an upload has its file, but not its row yet. */
async function killAmongUploads(): Promise<void> {
  const runtime = runtimeOf(stack);
  let [sent, dead] = [0, false];
  const uploader = async () => {
    while (!dead) await upload(sent++);
  };
  // The first upload creates the databases.
  await upload(sent++);
  const uploaders = Array.from({ length: AT_ONCE }, uploader);
  await untilOneIsBetween();
  process.kill(runtime, "SIGKILL");
  dead = true;
  await Promise.all([...uploaders, stack.command.ended]);
}

/** Counts the files before the rows, so an additional file is one whose row does not exist yet. */
async function untilOneIsBetween(): Promise<void> {
  const [files, rows] = [databaseWith(dir, "r2", "_mf_objects"), databaseWith(dir, "d1", "documents")];
  const countFiles = files.prepare("select count(*) as count from _mf_objects");
  const countRows = rows.prepare("select count(*) as count from documents");
  const before = Number(countRows.get()?.["count"]);
  try {
    while (true) {
      const stored = Number(countFiles.get()?.["count"]);
      const known = Number(countRows.get()?.["count"]);
      if (known > before && stored > known) return;
      await new Promise(setImmediate);
    }
  } finally {
    files.close();
    rows.close();
  }
}

// ---- The state at rest --------------------------------------------------------------------------------------------------

function keysIn(kind: "d1" | "r2", table: string, column: string): string[] {
  const database = databaseWith(dir, kind, table);
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

/** Dates the files two hours earlier, as if the kill had been then. */
function letFilesAge(): void {
  const database = databaseWith(dir, "r2", "_mf_objects");
  database.prepare("update _mf_objects set uploaded = uploaded - ?").run(TWO_HOURS_MS);
  database.close();
}
