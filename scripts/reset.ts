// `npm run reset`: deletes the local service: secrets, database, chains and mails. `--dir` or DEV_DIR names another folder.
import { existsSync, rmdirSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { DEFAULT_DIR, removeBareFiles } from "./local-worker.ts";
import { StackError, toErrorLine, toShortPath } from "./processes.ts";
import { findRunningStack, OWNED, requireOwnFolder } from "./stack.ts";

try {
  const dir = resolve(readDir() || process.env["DEV_DIR"] || DEFAULT_DIR);
  reset(dir);
  console.log(`${toShortPath(dir)} is empty: the next start begins afresh`);
} catch (error) {
  const line = toErrorLine(error);
  console.error(line === null ? error : `Cannot reset: ${line}`);
  process.exitCode = 1;
}

function reset(dir: string): void {
  const pid = findRunningStack(dir);
  if (pid !== null)
    throw new StackError(`a service is running from ${toShortPath(dir)} (process ${pid}); end it first`);
  if (existsSync(dir)) requireOwnFolder(dir);
  for (const name of OWNED) rmSync(join(dir, name), { recursive: true, force: true });
  removeBareFiles(dir);
  try {
    rmdirSync(dir);
  } catch {
    // The folder is missing, or has foreign files.
  }
}

function readDir(): string | undefined {
  try {
    return parseArgs({ options: { dir: { type: "string" } } }).values.dir;
  } catch (error) {
    throw new StackError(error instanceof Error ? error.message : String(error));
  }
}
