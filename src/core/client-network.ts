// The network of a client's address, which limits are counted by (CRED-21). One subscriber of IPv6 has a whole /64: counted by the full
// address, he would have 2^64 of every limit.

const GROUPS = 8;
const PREFIX_GROUPS = 4;

/** The address itself, or the first 64 bits of an IPv6 address. An IPv4 address in IPv6 form counts as IPv4. */
export function clientNetwork(address: string): string {
  if (!address.includes(":")) return address;
  const mapped = /^(?:::ffff:|0(?::0){4}:ffff:)(\d{1,3}(?:\.\d{1,3}){3})$/i.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  const [before = "", after] = address.toLowerCase().split("%")[0]?.split("::") ?? [];
  const head = before === "" ? [] : before.split(":");
  const tail = after === undefined || after === "" ? [] : after.split(":");
  const zeros = after === undefined ? [] : Array.from({ length: GROUPS - head.length - tail.length }, () => "0");
  const groups = [...head, ...zeros, ...tail].map((group) => group.replace(/^0+(?=.)/, ""));
  return `${groups.slice(0, PREFIX_GROUPS).join(":")}::/64`;
}
