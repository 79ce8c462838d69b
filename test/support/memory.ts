// The files of a run, where there is room, in a folder that is memory: every statement that writes waits for its disk otherwise.
import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync, statfsSync } from "node:fs";
import { join } from "node:path";

/** A tmpfs, on Linux. In a container it may be small. */
const MEMORY = "/dev/shm";
const NEEDED_BYTES = 2 ** 31;
const PREFIX = "service-tests-";

/** The folder of a run that was killed. */
function isLeft(name: string): boolean {
  const pid = name.startsWith(PREFIX) ? Number.parseInt(name.slice(PREFIX.length), 10) : Number.NaN;
  return pid > 0 && !existsSync(`/proc/${pid}`);
}

export function keepFilesInMemory(): void {
  if (!existsSync(MEMORY)) return;
  const { bavail, bsize } = statfsSync(MEMORY);
  if (bavail * bsize < NEEDED_BYTES) return;
  for (const name of readdirSync(MEMORY))
    if (isLeft(name)) rmSync(join(MEMORY, name), { recursive: true, force: true });
  const folder = mkdtempSync(join(MEMORY, `${PREFIX}${process.pid}-`));
  // As /tmp: a test runs a command as another user.
  chmodSync(folder, 0o1777);
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  process.env["TMPDIR"] = folder;
}
