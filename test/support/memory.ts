// Moves the temporary folder of a test run to a RAM disk, because every database commit would wait for a real disk.
import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync, statfsSync } from "node:fs";
import { join } from "node:path";

/** A tmpfs on Linux. Containers often limit it to 64 MB. */
const MEMORY = "/dev/shm";
const NEEDED_BYTES = 2 ** 31;
const PREFIX = "service-tests-";

/** True if the folder belongs to a run that was killed. */
function isAbandoned(name: string): boolean {
  const pid = name.startsWith(PREFIX) ? Number.parseInt(name.slice(PREFIX.length), 10) : Number.NaN;
  return pid > 0 && !existsSync(`/proc/${pid}`);
}

export function keepFilesInMemory(): void {
  if (!existsSync(MEMORY)) return;
  const { bavail, bsize } = statfsSync(MEMORY);
  if (bavail * bsize < NEEDED_BYTES) return;
  for (const name of readdirSync(MEMORY))
    if (isAbandoned(name)) rmSync(join(MEMORY, name), { recursive: true, force: true });
  const folder = mkdtempSync(join(MEMORY, `${PREFIX}${process.pid}-`));
  // Writable for all users like /tmp, because a test runs a command as another user.
  chmodSync(folder, 0o1777);
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  process.env["TMPDIR"] = folder;
}
