// Keeps the mails that the local Worker sends. wrangler writes each into a temporary folder of its own, whose name changes with
// every start and which it removes at its end; here they stay, oldest first by name. It writes the bodies alone and logs to whom they go, so
// a text is kept under the header that the log gives.
import { copyFileSync, mkdirSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";

const POLL_MS = 150;
// A file that has not changed for this long is complete.
const SETTLED_MS = 50;
// The log names a mail right after its files are written. A text that it does not name by then is kept without a header.
const HEADER_WAIT_MS = 2_000;

/** Copies what arrives under `temporary` into `mailDir` until the returned function is called. `logFile`: of the Worker. */
export function startMailbox(temporary: string, mailDir: string, logFile: string): () => void {
  mkdirSync(mailDir, { recursive: true });
  const seen = new Set<string>();
  const collect = () => {
    for (const path of mailsIn(temporary)) {
      if (seen.has(path)) continue;
      const { mtimeMs } = statSync(path);
      const age = Date.now() - mtimeMs;
      if (age < SETTLED_MS) continue;
      const header = path.endsWith(".txt") ? headerOf(path, logFile) : "";
      if (header === null && age < HEADER_WAIT_MS) continue;
      seen.add(path);
      keep(path, header ?? "", join(mailDir, mailName(path, mtimeMs)));
    }
  };
  const timer = setInterval(() => {
    try {
      collect();
    } catch {
      // The folder disappeared while it was read: the Worker is ending or restarting.
    }
  }, POLL_MS);
  return () => clearInterval(timer);
}

const mailName = (path: string, at: number): string =>
  `${new Date(at).toISOString().replaceAll(":", "")}-${basename(path)}`;

/** A reader never meets a part of a mail. */
function keep(path: string, header: string, file: string): void {
  const draft = join(file, "..", `.${basename(file)}`);
  if (header === "") copyFileSync(path, draft);
  else writeFileSync(draft, `${header}\n\n${readFileSync(path, "utf8")}`);
  renameSync(draft, file);
}

/** From, To and Subject of a text, as the log gives them before it names the file; null while it does not. */
function headerOf(path: string, logFile: string): string | null {
  const log = readFileSync(logFile, "utf8");
  const named = log.lastIndexOf(basename(path));
  const begins = log.lastIndexOf("\nFrom: ", named);
  return named < 0 || begins < 0 ? null : (log.slice(begins + 1, named).split("\n\n")[0] ?? null);
}

// <temporary>/miniflare-<session>/email/<email|email-text|email-html|email-attachment>/<id>.<extension>
function mailsIn(temporary: string): string[] {
  return list(temporary)
    .filter((session) => session.startsWith("miniflare-"))
    .map((session) => join(temporary, session, "email"))
    .flatMap((folder) => list(folder).map((kind) => join(folder, kind)))
    .flatMap((folder) => list(folder).map((name) => join(folder, name)));
}

function list(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
