// Keeps the mails that the local Worker sends. wrangler writes each into a temporary folder of its own, whose name changes with
// every start and which it removes at its end; here they stay, oldest first by name.
import { copyFileSync, mkdirSync, readdirSync, renameSync, statSync } from "node:fs";
import { join } from "node:path";

const POLL_MS = 150;
// A file that has not changed for this long is complete.
const SETTLED_MS = 50;

/** Copies what arrives under `temporary` into `mailDir` until the returned function is called. */
export function startMailbox(temporary: string, mailDir: string): () => void {
  mkdirSync(mailDir, { recursive: true });
  const seen = new Set<string>();
  const collect = () => {
    for (const path of mailsIn(temporary)) {
      const { mtimeMs } = statSync(path);
      if (seen.has(path) || Date.now() - mtimeMs < SETTLED_MS) continue;
      seen.add(path);
      const name = `${new Date(mtimeMs).toISOString().replaceAll(":", "")}-${path.split("/").at(-1)}`;
      const draft = join(mailDir, `.${name}`);
      copyFileSync(path, draft);
      renameSync(draft, join(mailDir, name));
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
