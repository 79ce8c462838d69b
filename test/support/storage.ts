// Empty storage with the newest schema: each file that runs in workerd starts with it, and a file whose readings grow can start with it again.
import { reset } from "cloudflare:test";
import { inject } from "vitest";
import { forgetReadings } from "./readings.ts";
import { env } from "./world.ts";

export async function startEmpty(): Promise<void> {
  await emptyStorage();
  await env.DB.batch(inject("schema").map((statement) => env.DB.prepare(statement)));
  forgetReadings();
}

const RESETS_MAX = 100;
/** `reset` may skip an object that the previous file still uses. */
async function emptyStorage(): Promise<void> {
  for (let resets = 0; resets < RESETS_MAX; resets++) {
    await reset();
    if (await isEmpty()) return;
  }
  throw new Error(`the storage is not empty after ${RESETS_MAX} resets`);
}

async function isEmpty(): Promise<boolean> {
  const { results } = await env.DB.prepare("select name from sqlite_master where name not like '_cf_%'").all();
  if (results.length > 0) return false;
  const { objects } = await env.DOCUMENTS.list({ limit: 1 });
  return objects.length === 0;
}
