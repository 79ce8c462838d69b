// The mail binding, watched: what the real one sent cannot be read within workerd, so each mail is kept on its way to it.
import type { Env } from "../../src/context.ts";

export type SentMail = { from: EmailAddress; to: string; subject: string; text: string; html: string };

/** `MAIL` takes the binding's place in an Env; `sent` fills as it sends. */
export function watchMails(binding: SendEmail): { readonly sent: SentMail[]; readonly MAIL: Env["MAIL"] } {
  const sent: SentMail[] = [];
  const send = async (mail: SentMail) => {
    const result = await binding.send(mail);
    sent.push(mail);
    return result;
  };
  return { sent, MAIL: { send } as never };
}
