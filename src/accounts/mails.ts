// Sends a mail of the catalogue to an address of an account (MAIL-5).
import type { Deps } from "../context.ts";
import type { MailData, MailKind } from "../mail/kinds.ts";
import { composeMail, sendMail } from "../mail/mail.ts";

/** @throws what the binding throws: the mail is then not sent */
export const sendMailTo = <K extends MailKind>(
  { env, config }: Deps,
  to: string,
  kind: K,
  data: MailData[K],
): Promise<void> =>
  sendMail(env.MAIL, { name: config.operatorName, email: env.MAIL_FROM }, to, composeMail(kind, data, config));

/** The cause for the log, without the address and the text of the mail. */
export const toLoggedCause = (thrown: unknown): string => (thrown instanceof Error ? thrown.name : "unknown");
