// Single-use links by mail (ACC-10): the address proves itself by opening one. The token is in the mail alone, so a mail that is lost is
// not sent again: the next one carries another token.
import type { Deps } from "../context.ts";
import { HOUR_MS, LINK_HOURS } from "../core/limits.ts";
import type { LinkKind } from "../core/vocabulary.ts";
import type { Database, Statement } from "../db/batch.ts";
import { insertLink } from "./link-store.ts";
import { newLinkToken } from "./tokens.ts";

const PATHS: Readonly<Record<LinkKind, string>> = {
  verify_email: "/v1/platform/verify-email",
  change_email: "/v1/platform/verify-email",
  reset_password: "/v1/platform/password/reset",
};

const SUBJECTS: Readonly<Record<LinkKind, string>> = {
  verify_email: "Verify your email address",
  change_email: "Verify your new email address",
  reset_password: "Choose a new password",
};

export type NewLink = { readonly statement: Statement; readonly send: (deps: Deps) => Promise<void> };

/** A new link: its row for the commit, and its mail for the time after. */
export async function createLink(
  db: Database,
  to: { readonly platformId: string; readonly kind: LinkKind; readonly email: string },
  now: number,
): Promise<NewLink> {
  const { token, tokenHash } = await newLinkToken();
  const row = { ...to, tokenHash, createdAt: now, expiresAt: now + LINK_HOURS * HOUR_MS, usedAt: null };
  return {
    statement: insertLink(db, row),
    send: async ({ env, config }) => {
      const url = `${config.issuer}${PATHS[to.kind]}?token=${token}`;
      const text = `${SUBJECTS[to.kind]}: ${url}\n\nThe link works once, within ${LINK_HOURS} hours.`;
      await env.MAIL.send({ from: env.MAIL_FROM, to: to.email, subject: SUBJECTS[to.kind], text });
    },
  };
}

/** Sends after the answer. A failure is logged, without the address or the token. */
export const sendLink = (deps: Deps, { send }: NewLink): Promise<void> =>
  send(deps).catch((thrown: unknown) => {
    const message = thrown instanceof Error ? thrown.name : "unknown";
    console.error(JSON.stringify({ event: "mail_failed", message }));
  });
