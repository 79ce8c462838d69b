// The files of a run, where there is room, in a folder that is memory: every statement that writes waits for its disk otherwise.
import { chmodSync, existsSync, mkdtempSync, rmSync, statfsSync } from "node:fs";
import { join } from "node:path";

/** A tmpfs, on Linux. In a container it may be small. */
const MEMORY = "/dev/shm";
const NEEDED_BYTES = 2 ** 31;

export function keepFilesInMemory(): void {
  if (!existsSync(MEMORY)) return;
  const { bavail, bsize } = statfsSync(MEMORY);
  if (bavail * bsize < NEEDED_BYTES) return;
  const folder = mkdtempSync(join(MEMORY, "tests-"));
  // As /tmp: a test runs a command as another user.
  chmodSync(folder, 0o1777);
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  process.env["TMPDIR"] = folder;
}
