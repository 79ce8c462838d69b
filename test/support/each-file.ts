// Before each file that runs in workerd: empty storage, the newest schema, and no memory of the file before. After it: the plans of what it sent.
import { reset } from "cloudflare:test";
import { afterAll, inject } from "vitest";
import { checkPlans, traffic } from "./plans.ts";
import { forgetReadings } from "./readings.ts";
import { env } from "./world.ts";

await emptyStorage();
await env.DB.batch(inject("schema").map((statement) => env.DB.prepare(statement)));
forgetReadings();
traffic.statements.clear();
traffic.callersAnswered = 0;

afterAll(() => checkPlans(env.DB, traffic));

/** Work that the file before left under way may make its tables again. */
async function emptyStorage(): Promise<void> {
  for (;;) {
    await reset();
    const { results } = await env.DB.prepare("select name from sqlite_master where name not like '_cf_%'").all();
    if (results.length === 0) return;
  }
}
