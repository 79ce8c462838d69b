// Runs before each file in workerd. Files come one after another to a worker, which keeps the modules that it has loaded; each begins with
// empty databases, objects and buckets.
import { reset } from "cloudflare:test";
import { afterAll } from "vitest";
import { checkPlans } from "./plans.ts";
import { env, forgetWorlds, traffic } from "./world.ts";

await reset();
forgetWorlds();
afterAll(() => checkPlans(env.DB, traffic));
