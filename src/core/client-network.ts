// The networks of a client's address, by which limits are counted (CRED-20, CRED-21). One subscriber of IPv6 has a whole /64: counted by the
// full address, he would have 2^64 of every limit.

const GROUPS = 8;
const CLIENT_GROUPS = 4;
const NETWORK_GROUPS = 3;

/** The address itself, or the first 64 bits of an IPv6 address. An IPv4 address in IPv6 form counts as IPv4. */
export function clientNetwork(address: string): string {
  const groups = ipv6Groups(address);
  return groups === null ? ipv4Of(address) : `${groups.slice(0, CLIENT_GROUPS).join(":")}::/64`;
}

/** The network that a provider assigns as one: the /24 of an IPv4 address, the /48 of an IPv6 address. Any other text is its own network. */
export function providerNetwork(address: string): string {
  const groups = ipv6Groups(address);
  if (groups !== null) return `${groups.slice(0, NETWORK_GROUPS).join(":")}::/48`;
  return ipv4Of(address).replace(/^(\d+\.\d+\.\d+)\.\d+$/, "$1.0/24");
}

const MAPPED = /^(?:::ffff:|0(?::0){4}:ffff:)(\d{1,3}(?:\.\d{1,3}){3})$/i;
const ipv4Of = (address: string): string => MAPPED.exec(address)?.[1] ?? address;

/** The eight groups of an IPv6 address without leading zeros; null for any other. */
function ipv6Groups(address: string): string[] | null {
  if (!address.includes(":") || MAPPED.test(address)) return null;
  const [before = "", after] = address.toLowerCase().split("%")[0]?.split("::") ?? [];
  const head = before === "" ? [] : before.split(":");
  const tail = after === undefined || after === "" ? [] : after.split(":");
  const zeros = after === undefined ? [] : Array.from({ length: GROUPS - head.length - tail.length }, () => "0");
  return [...head, ...zeros, ...tail].map((group) => group.replace(/^0+(?=.)/, ""));
}
