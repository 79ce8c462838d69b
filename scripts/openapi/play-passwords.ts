// Plays what a person does with a password and an address, by the mailed links of an account of its own; and an operator's announcement.

import { must, pick } from "../client.ts";
import { mailedToken } from "../mail-links.ts";
import type { Stage } from "./stage.ts";

const [FIRST, SECOND, THIRD] = ["a long walk by the river", "a longer walk by the sea", "the longest walk of them all"];

export async function playPasswords(stage: Stage): Promise<void> {
  const stamp = Date.now().toString(36);
  const [email, moved] = [`ines.${stamp}@atelier.example`, `office.${stamp}@atelier.example`];
  const link = (address: string, ask: () => Promise<unknown>) => mailedToken(stage.service, address, ask);
  const begun = await link(email, () => stage.ask("registerPlatform", { body: { email, password: FIRST } }));
  await stage.show("openVerificationPage", { query: { token: begun } });
  await stage.ask("verifyEmail", { body: { token: begun } });

  const forgotten = await link(email, () => stage.show("forgotPassword", { body: { email } }));
  await stage.show("openResetPage", { query: { token: forgotten } });
  await stage.show("resetPassword", { body: { token: forgotten, new_password: SECOND } });

  const first = await logIn(stage, email, SECOND);
  const body = { new_email: moved, current_password: SECOND };
  const proof = await link(moved, () => stage.show("changeEmail", { headers: first, body }));
  const verified = await stage.ask("verifyEmail", { body: { token: proof } });
  must(pick(verified, "email") === moved, "the account has moved to the new address");

  const second = await logIn(stage, moved, SECOND);
  await stage.show("changePassword", { headers: second, body: { current_password: SECOND, new_password: THIRD } });
}

async function logIn(stage: Stage, email: string, password: string | undefined): Promise<Record<string, string>> {
  const session = await stage.ask("logIn", { body: { email, password } });
  return { Authorization: `Bearer ${pick<string>(session, "session_token")}` };
}

export async function announce(stage: Stage): Promise<void> {
  await stage.show("announceToAll", {
    body: {
      kind: "maintenance",
      subject: "Maintenance on Sunday, 6 December",
      text: "The service pauses from 02:00 to 02:10 UTC.\n\nA payment that is made meanwhile is facilitated afterwards.",
    },
  });
}
