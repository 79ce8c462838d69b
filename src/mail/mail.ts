// Composes a mail of the catalogue, and hands it to the mail binding (MAIL-1, MAIL-5).
import { CATALOGUE } from "./catalogue.ts";
import type { MailData, MailKind } from "./kinds.ts";
import { layOut, type Mail, type Sender, toOneLine } from "./layout.ts";

export function composeMail<K extends MailKind>(kind: K, data: MailData[K], sender: Sender): Mail {
  return layOut(CATALOGUE[kind](data, sender), sender);
}

/** @throws what the binding throws; the mail is not sent then */
export async function sendMail(binding: SendEmail, from: EmailAddress, to: string, mail: Mail): Promise<void> {
  await binding.send({ from: { name: toOneLine(from.name), email: from.email }, to, ...mail });
}
