// Judges new passwords (CRED-20).
import { type FieldError, toFieldError } from "../core/errors.ts";
import { foldName } from "../core/text.ts";

/** The faults that do not depend on the length: the address itself, and the most common passwords. */
export async function findPasswordFaults(
  assets: Fetcher,
  field: string,
  password: string,
  email: string | undefined,
): Promise<FieldError[]> {
  const folded = foldName(password);
  if (email !== undefined && folded === foldName(email)) {
    return [toFieldError(field, "invalid_value", "Must not be the email address.")];
  }
  return (await readCommonPasswords(assets)).has(folded)
    ? [toFieldError(field, "invalid_value", "Must not be one of the most common passwords of its length.")]
    : [];
}

const loadedLists = new WeakMap<Fetcher, ReadonlySet<string>>();

/** The list is an asset of the Worker, because few calls need it, and is read once in an isolate. No password is judged without it. */
export async function readCommonPasswords(assets: Fetcher): Promise<ReadonlySet<string>> {
  const known = loadedLists.get(assets);
  if (known) return known;
  const stored = await assets.fetch("https://assets.invalid/common-passwords.txt");
  if (!stored.ok) throw new Error(`the list of common passwords is not served: ${stored.status}`);
  const words = new Set((await stored.text()).trim().split("\n"));
  loadedLists.set(assets, words);
  return words;
}
