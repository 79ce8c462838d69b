// Checks the address of an endpoint (EVT-21) when it is created or changed, and again before each delivery. The service calls any address that a
// customer names, so it must refuse hosts behind a firewall and services of the cloud itself. The URL parser has already normalized every notation of
// an IP address.

const LENGTH_MAX = 2_000;

/** Why an address is refused: the message for its field. */
export type AddressFault = string;

export type AddressRules = {
  /** True in local development, where the receiver runs on the same machine, so that http to this machine is accepted too. */
  readonly local: boolean;
  /** The host of the service itself, which must not call itself in circles. */
  readonly own: string;
};

const LOCAL_HOSTS: ReadonlySet<string> = new Set(["127.0.0.1", "[::1]", "localhost"]);

/** Names of internal hosts. Each also covers all names that end with it. */
const INTERNAL_HOSTS = [
  "localhost",
  "local",
  "localdomain",
  "internal",
  "intranet",
  "private",
  "corp",
  "home",
  "lan",
  "intra",
  "svc",
  "consul",
  "home.arpa",
  "in-addr.arpa",
  "ip6.arpa",
  "onion",
  "test",
  "invalid",
  // Instance metadata of clouds.
  "metadata.azure.com",
  "metadata.goog",
  "instance-data.ec2",
  "metadata.packet.net",
  "rancher-metadata.rancher",
  // Public names that resolve to the caller's own machine or network.
  "localtest.me",
  "lvh.me",
  "vcap.me",
  "lacolhost.com",
  "yoogle.com",
  "127-0-0-1.org.uk",
  "lcl.host",
  "traefik.me",
  "local.gd",
  // Names that resolve to the address that they spell.
  "nip.io",
  "sslip.io",
  "xip.io",
] as const;

/** Null if the address is accepted. Never throws, whatever `text` holds. */
export function judgeAddress(text: string, { local, own }: AddressRules): AddressFault | null {
  if (text.length > LENGTH_MAX) return `Must have at most ${LENGTH_MAX} characters.`;
  // The parser drops or replaces these silently.
  if (/[\s\p{Cc}\\]/u.test(text)) return "Must not have white space, control characters or backslashes.";
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null) return "Must be an absolute URL.";
  if (url.username !== "" || url.password !== "") return "Must not carry credentials.";
  if (url.hash !== "" || text.includes("#")) return "Must not have a fragment.";
  if (local && (url.protocol === "http:" || url.protocol === "https:") && LOCAL_HOSTS.has(url.hostname)) return null;
  if (url.protocol !== "https:") return "Must be an https URL.";
  return judgeHost(url.hostname, own);
}

const IP_REFUSED = "Must name a host by its domain name: IP addresses are not accepted.";
const NOT_PUBLIC = "Must name a host of the public internet.";

function judgeHost(hostname: string, own: string): AddressFault | null {
  if (hostname.startsWith("[") || /^\d+(\.\d+){3}$/.test(hostname)) return IP_REFUSED;
  const name = hostname.replace(/(?<!\.)\.+$/, "");
  // The parser accepts some names that no host can have.
  if (!/^(?=.{1,253}$)([a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?\.)+[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])$/.test(name))
    return NOT_PUBLIC;
  if (name === own) return "Must not be this service.";
  return INTERNAL_HOSTS.some((end) => name === end || name.endsWith(`.${end}`)) ? NOT_PUBLIC : null;
}

// ---- Addresses of a name -------------------------------------------------------------------------------------------------

/** True for an address of the public internet: not loopback, private, link-local, carrier-grade NAT, cloud, test or multicast. */
export const isPublicAddress = (address: string): boolean =>
  address.includes(":") ? isPublicV6(address) : isPublicV4(address);

const NON_PUBLIC_V4: readonly (readonly [string, number])[] = [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 4],
  ["240.0.0.0", 4],
  // Instance metadata and resolver of a cloud, at an address outside the other ranges.
  ["168.63.129.16", 32],
];

function parseV4(text: string): number | null {
  const parts = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(text)?.slice(1).map(Number);
  return parts?.every((part) => part < 256) ? parts.reduce((sum, part) => sum * 256 + part, 0) : null;
}

function isPublicV4(text: string): boolean {
  const address = parseV4(text);
  if (address === null) return false;
  return !NON_PUBLIC_V4.some(([from, bits]) => {
    const size = 2 ** (32 - bits);
    return Math.floor(address / size) === Math.floor((parseV4(from) ?? 0) / size);
  });
}

/**
 * Global unicast is 2000::/3. Not public within it are protocol assignments with Teredo, documentation, and 6to4, whose addresses carry a v4 address.
 */
function isPublicV6(text: string): boolean {
  const [first = 0, second = 0] = parseV6(text) ?? [];
  if (first < 0x2000 || first > 0x3fff) return false;
  if (first === 0x2001 && (second < 0x0200 || second === 0x0db8)) return false;
  return first !== 0x2002 && first !== 0x3fff;
}

/** The eight groups of the address; null if the text is not one. */
function parseV6(text: string): number[] | null {
  if (!URL.canParse(`http://[${text}]/`)) return null;
  const [head = "", tail] = new URL(`http://[${text}]/`).hostname.slice(1, -1).split("::");
  const groups = (part: string) => (part === "" ? [] : part.split(":").map((group) => Number.parseInt(group, 16)));
  if (tail === undefined) return groups(head);
  const zeros = 8 - groups(head).length - groups(tail).length;
  return [...groups(head), ...new Array<number>(zeros).fill(0), ...groups(tail)];
}
