// Judges passwords: new ones (CRED-20), and the current one wherever a session's call requires it again (CRED-25) or a mailed link is opened
// (ACC-10), because a session or a link alone cannot take over an account. Failures count like those of log-ins.
import type { PersonCaller, PublicCall, SessionCall } from "../call.ts";
import { toClientSubnet } from "../core/client-network.ts";
import { type FieldError, ServiceError, toFieldError } from "../core/errors.ts";
import { foldName } from "../core/text.ts";
import {
  beginAttempt,
  checkPresentedPassword,
  judgeAttempt,
  type MarkFailed,
  refuseStrangerNetwork,
} from "./attempts.ts";

/** The faults of a new password that do not depend on the length: the address itself, and the most common passwords. */
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

// ---- The current password ------------------------------------------------------------------------------------------------

/** `before`: the stored hash, which the commit guards on. `hash`: the hash of the next password, if any. */
type ProvenPassword = { readonly before: string; readonly hash: string | null };

/**
 * Judges the proof of a session's person as one attempt.
 * @throws ServiceError what the judge throws, or `rate_limited` after too many failures
 */
export async function judgePerson<T>(
  call: SessionCall,
  { actor, network }: PersonCaller,
  judgement: (wrong: MarkFailed) => Promise<T>,
): Promise<T> {
  const { deps, clientAddress, background } = call;
  const attempt = await beginAttempt(deps, clientAddress, actor.id);
  return judgeAttempt(attempt, background, async (wrong) => {
    refuseStrangerNetwork(attempt, network === toClientSubnet(clientAddress));
    return judgement(wrong);
  });
}

/**
 * `stored`: the hash as it was read, null for an account without a password.
 * @throws ServiceError `current_password_invalid`, or `rate_limited` after too many failures
 */
export const requireCurrentPassword = (
  call: SessionCall,
  caller: PersonCaller,
  stored: string | null,
  password: string,
  next?: string,
): Promise<ProvenPassword> =>
  judgePerson(call, caller, (wrong) =>
    judgePassword(call, wrong, stored, { password, field: "current_password", next }),
  );

/** Like `requireCurrentPassword`, for a mailed link. The link proves the address, so every network counts as known. */
export async function requirePasswordOf(
  call: PublicCall,
  email: string,
  stored: string | null,
  password: string,
): Promise<ProvenPassword> {
  const attempt = await beginAttempt(call.deps, call.clientAddress, email);
  return judgeAttempt(attempt, call.background, (wrong) =>
    judgePassword(call, wrong, stored, { password, field: "password" }),
  );
}

/** `field`: the name of the password in the body. */
export async function judgePassword(
  { deps }: SessionCall | PublicCall,
  wrong: MarkFailed,
  stored: string | null,
  { password, field, next }: { readonly password: string; readonly field: string; readonly next?: string | undefined },
): Promise<ProvenPassword> {
  const { matches, hash } = await checkPresentedPassword(deps, wrong, password, stored, () => next ?? null);
  if (matches && stored !== null) return { before: stored, hash };
  const fault = toFieldError(field, "current_password_invalid", "Must be the account's password.");
  throw wrong(new ServiceError("current_password_invalid", { field_errors: [fault] }));
}
