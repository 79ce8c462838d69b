// `npm run reset`: forgets the local service: secrets, database, chains and mails. `--dir` or DEV_DIR names another folder.
import { rmdirSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { OWNED, runningFrom, shown } from "./stack.ts";

const { values } = parseArgs({ options: { dir: { type: "string" } } });
const dir = resolve(values.dir ?? process.env["DEV_DIR"] ?? join(import.meta.dirname, "../.dev"));

const pid = runningFrom(dir);
if (pid !== null) {
  console.error(`Cannot reset: a service is running from ${shown(dir)} (process ${pid}); end it first`);
  process.exit(1);
}
for (const name of OWNED) rmSync(join(dir, name), { recursive: true, force: true });
try {
  rmdirSync(dir);
} catch {
  // Never there, or with something of somebody else's in it.
}
console.log(`${shown(dir)} is empty: the next start begins afresh`);
