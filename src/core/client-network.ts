// The network of a client's address: limits are counted by it (CRED-21), and its owner is shown it (CRED-27). An IPv6 subscriber has a whole /64:
// counted by full address, a subscriber would have 2^64 times every limit.

const GROUPS = 8;
const PREFIX_GROUPS = 4;
const SUBNET_GROUPS = 3;
const IPV4 = /^(\d{1,3}\.\d{1,3}\.\d{1,3})\.\d{1,3}$/;
const GROUP = /^[0-9a-f]{1,4}$/;

/** The address itself, or the first 64 bits of an IPv6 address. An IPv4 address in IPv6 form counts as IPv4. */
export function toClientNetwork(address: string): string {
  const plain = toDottedIpv4(address);
  return plain.includes(":") ? `${splitGroups(plain).slice(0, PREFIX_GROUPS).join(":")}::/64` : plain;
}

/** The /24 of an IPv4 address or the /48 of an IPv6 address; `local` for any other text. */
export function toClientSubnet(address: string): string {
  const plain = toDottedIpv4(address);
  const [, ipv4] = IPV4.exec(plain) ?? [];
  if (ipv4 !== undefined) return `${ipv4}.0/24`;
  const groups = plain.includes(":") ? splitGroups(plain).slice(0, SUBNET_GROUPS) : [];
  return groups.length > 0 && groups.every((group) => GROUP.test(group)) ? `${groups.join(":")}::/48` : "local";
}

/** Converts an IPv4 address in IPv6 form (`::ffff:`), in any notation, to dotted form. */
function toDottedIpv4(address: string): string {
  const groups = address.includes(":") ? splitGroups(address) : [];
  const [, dotted] = /^0(?::0)*:ffff:(\d{1,3}(?:\.\d{1,3}){3})$/.exec(groups.join(":")) ?? [];
  if (dotted !== undefined) return dotted;
  const [, high, low] = /^(?:0:){5}ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(groups.join(":")) ?? [];
  if (high === undefined || low === undefined) return address;
  const bits = [high, low].map((group) => Number.parseInt(group, 16));
  return bits.flatMap((group) => [group >> 8, group & 255]).join(".");
}

function splitGroups(address: string): string[] {
  const [before = "", after] = address.toLowerCase().split("%")[0]?.split("::") ?? [];
  const head = before === "" ? [] : before.split(":");
  const tail = after === undefined || after === "" ? [] : after.split(":");
  const missing = Math.max(0, GROUPS - head.length - tail.length);
  const zeros = after === undefined ? [] : Array.from({ length: missing }, () => "0");
  return [...head, ...zeros, ...tail].map((group) => group.replace(/^0+(?=.)/, ""));
}
