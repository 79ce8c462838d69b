// Watches the mail binding: workerd cannot read what the real one sent, so each mail is recorded as it is sent.
import type { Env } from "../../src/context.ts";

export type SentMail = { from: EmailAddress; to: string; subject: string; text: string; html: string };

/** `MAIL` replaces the binding in an Env, and `sent` collects its mails. */
export function watchMails(binding: SendEmail): { readonly sent: SentMail[]; readonly MAIL: Env["MAIL"] } {
  const sent: SentMail[] = [];
  const send = async (mail: SentMail) => {
    const result = await binding.send(mail);
    sent.push(mail);
    return result;
  };
  return { sent, MAIL: { send } as never };
}
