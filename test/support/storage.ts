// Empty storage with the newest schema: each file that runs in workerd begins with it, and one whose readings grow begins again.
import { reset } from "cloudflare:test";
import { inject } from "vitest";
import { forgetReadings } from "./readings.ts";
import { env } from "./world.ts";

export async function startEmpty(): Promise<void> {
  await emptyStorage();
  await env.DB.batch(inject("schema").map((statement) => env.DB.prepare(statement)));
  forgetReadings();
}

/** Work that the file before left under way may make its tables again. */
async function emptyStorage(): Promise<void> {
  for (;;) {
    await reset();
    const { results } = await env.DB.prepare("select name from sqlite_master where name not like '_cf_%'").all();
    if (results.length === 0) return;
  }
}
