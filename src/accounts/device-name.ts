// Names the network and the device of a log-in (CRED-27). A User-Agent may contain any text, so only a word of the tables or a short ASCII product
// name is stored.
import type { PublicCall } from "../call.ts";
import { toClientSubnet } from "../core/client-network.ts";

/** The mark in the text, and the name. The first match counts, because most browsers also name others. */
const BROWSERS = [
  ["Edg", "Edge"],
  ["OPR/", "Opera"],
  ["SamsungBrowser/", "Samsung Internet"],
  ["Firefox/", "Firefox"],
  ["FxiOS/", "Firefox"],
  ["CriOS/", "Chrome"],
  ["Chrome/", "Chrome"],
  ["Safari/", "Safari"],
] as const;
const SYSTEMS = [
  ["iPhone", "iPhone"],
  ["iPad", "iPad"],
  ["Android", "Android"],
  ["Windows", "Windows"],
  ["Mac OS X", "macOS"],
  ["CrOS", "ChromeOS"],
  ["Linux", "Linux"],
] as const;
/** The first product of a client that is not a browser, without its version. */
const PRODUCT = /^[A-Za-z0-9._-]{1,40}/;

export const toLogInPlace = ({ clientAddress, userAgent }: Pick<PublicCall, "clientAddress" | "userAgent">) => ({
  device: describeDevice(userAgent),
  network: toClientSubnet(clientAddress),
});

export function describeDevice(userAgent: string): string {
  const named = (table: readonly (readonly [string, string])[]) =>
    table.find(([mark]) => userAgent.includes(mark))?.[1];
  const what = named(BROWSERS) ?? PRODUCT.exec(userAgent)?.[0] ?? "Unknown device";
  const system = named(SYSTEMS);
  return system === undefined ? what : `${what} on ${system}`;
}
