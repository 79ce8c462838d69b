// Keeps the mails that the local Worker sends, oldest first by name. wrangler writes each into a temporary folder, whose name changes with every
// start, and which it removes at its end. It writes only the bodies and logs the addresses, so a text is stored with the header from the log.
import { copyFileSync, mkdirSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";

const POLL_MS = 150;
// A file that has not changed for this long is complete.
const SETTLED_MS = 50;
// The log names a mail right after its files are written. A text that it has not named within this time is stored without a header.
const HEADER_WAIT_MS = 2_000;

/** Copies new files under `temporary` into `mailDir` until the returned function is called. `logFile`: the Worker's log. */
export function startMailbox(temporary: string, mailDir: string, logFile: string): () => void {
  mkdirSync(mailDir, { recursive: true });
  const seen = new Set<string>();
  const collect = () => {
    for (const path of findMailFiles(temporary)) {
      if (seen.has(path)) continue;
      const { mtimeMs } = statSync(path);
      const age = Date.now() - mtimeMs;
      if (age < SETTLED_MS) continue;
      const header = path.endsWith(".txt") ? findHeader(path, logFile) : "";
      if (header === null && age < HEADER_WAIT_MS) continue;
      seen.add(path);
      keepMail(path, header ?? "", join(mailDir, mailName(path, mtimeMs)));
    }
  };
  const timer = setInterval(() => {
    try {
      collect();
    } catch {
      // The folder disappeared during the read: the Worker is ending or restarting.
    }
  }, POLL_MS);
  return () => clearInterval(timer);
}

const mailName = (path: string, at: number): string =>
  `${new Date(at).toISOString().replaceAll(":", "")}-${basename(path)}`;

/** Renames a complete draft, so that a reader never sees part of a mail. */
function keepMail(path: string, header: string, file: string): void {
  const draft = join(file, "..", `.${basename(file)}`);
  if (header === "") copyFileSync(path, draft);
  else writeFileSync(draft, `${header}\n\n${readFileSync(path, "utf8")}`);
  renameSync(draft, file);
}

/** The From, To and Subject of a text, which the log has before it names the file; null if it has not named it yet. */
function findHeader(path: string, logFile: string): string | null {
  const log = readFileSync(logFile, "utf8");
  const named = log.lastIndexOf(basename(path));
  const begins = log.lastIndexOf("\nFrom: ", named);
  return named < 0 || begins < 0 ? null : (log.slice(begins + 1, named).split("\n\n")[0] ?? null);
}

// <temporary>/miniflare-<session>/email/<email|email-text|email-html|email-attachment>/<id>.<extension>
function findMailFiles(temporary: string): string[] {
  return listFolder(temporary)
    .filter((session) => session.startsWith("miniflare-"))
    .map((session) => join(temporary, session, "email"))
    .flatMap((folder) => listFolder(folder).map((kind) => join(folder, kind)))
    .flatMap((folder) => listFolder(folder).map((name) => join(folder, name)));
}

function listFolder(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
