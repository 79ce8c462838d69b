// Reads the mails of a running stack as their addressee would, because the token of a mailed link is only in its mail.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { must } from "./client.ts";
import { sleep } from "./processes.ts";
import type { ServiceDescription } from "./stack.ts";

const POLL_MS = 100;
const WAIT_MS = 60_000;

export type ReceivedMail = { readonly to: string; readonly subject: string; readonly text: string };

/** The mails to an address, oldest first. */
export function readMailsTo({ mail_dir }: ServiceDescription, address: string): ReceivedMail[] {
  return readdirSync(mail_dir)
    .filter((name) => name.endsWith(".txt") && !name.startsWith("."))
    .sort()
    .map((name) => readMail(readFileSync(join(mail_dir, name), "utf8")))
    .filter(({ to }) => to === address);
}

function readMail(kept: string): ReceivedMail {
  const end = kept.indexOf("\n\n");
  const header = kept.slice(0, end);
  const field = (name: string): string => new RegExp(`^${name}: (.*)$`, "m").exec(header)?.[1] ?? "";
  return { to: field("To"), subject: field("Subject"), text: kept.slice(end + 2) };
}

const listTokens = (service: ServiceDescription, address: string): string[] =>
  readMailsTo(service, address).flatMap(({ text }) => /[?&]token=([\w-]+)/.exec(text)?.[1] ?? []);

/**
 * Runs the call that mails a link to an address, waits for the mail, and returns the link's token.
 * @throws Surprise if no link arrives
 */
export async function requestMailedToken(
  service: ServiceDescription,
  address: string,
  ask: () => Promise<unknown>,
): Promise<string> {
  const known = new Set(listTokens(service, address));
  await ask();
  for (const deadline = Date.now() + WAIT_MS; Date.now() < deadline; await sleep(POLL_MS)) {
    const token = listTokens(service, address).findLast((one) => !known.has(one));
    if (token !== undefined) return token;
  }
  must(false, `no link was mailed to ${address}: see ${service.mail_dir}`);
}
