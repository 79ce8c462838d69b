// The stored names of a client's device and network (CRED-27).
import { describe, expect, it } from "vitest";
import { describeDevice } from "../../src/accounts/sessions.ts";
import { toClientSubnet } from "../../src/core/client-network.ts";

const SAFARI = "Version/18.5 Safari/605.1.15";
const CHROME = "AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36";

describe("the name of a device", () => {
  it.each([
    [`Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${CHROME}`, "Chrome on Windows"],
    [`Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${CHROME} Edg/140.0.0.0`, "Edge on Windows"],
    [`Mozilla/5.0 (X11; Linux x86_64) ${CHROME} OPR/120.0.0.0`, "Opera on Linux"],
    ["Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0", "Firefox on Linux"],
    [
      `Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) ${SAFARI}`,
      "Safari on macOS",
    ],
    [
      "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 CriOS/140.0 Safari/604.1",
      "Chrome on iPhone",
    ],
    [`Mozilla/5.0 (Linux; Android 16; Pixel 9) ${CHROME}`, "Chrome on Android"],
    ["curl/8.14.1", "curl"],
    ["python-requests/2.32", "python-requests"],
    ["", "Unknown device"],
    ["\u202e\u0000evil", "Unknown device"],
    ["Überbrowser/1.0", "Unknown device"],
  ])("for %j is %s", (userAgent, name) => {
    expect(describeDevice(userAgent)).toBe(name);
  });

  it("is bounded, and is ASCII without control characters, whatever is sent", () => {
    for (const text of ["a".repeat(10_000), "ok\u0007\u202e\nfake", "x<script>", "Firefox/\u0000 Windows\u202e"]) {
      expect(describeDevice(text)).toMatch(/^[ -~]{1,60}$/);
    }
    expect(describeDevice("a".repeat(10_000))).toHaveLength(40);
  });
});

describe("the network of an address", () => {
  it.each([
    ["203.0.113.77", "203.0.113.0/24"],
    ["::ffff:203.0.113.77", "203.0.113.0/24"],
    ["::FFFF:cb00:714d", "203.0.113.0/24"],
    ["0000:0:0:0:0:ffff:203.0.113.77", "203.0.113.0/24"],
    ["1::ffff:cb00:714d", "1:0:0::/48"],
    ["2001:db8:7:9::1", "2001:db8:7::/48"],
    ["2001:0DB8:0007:0009:0:0:0:1", "2001:db8:7::/48"],
    ["2001:db8::1", "2001:db8:0::/48"],
    ["::1", "0:0:0::/48"],
    ["fe80::1%eth0", "fe80:0:0::/48"],
    ["local", "local"],
    ["", "local"],
    ["a:b\u202e:c", "local"],
    ["1:2:3:4:5:6:7:8:9:10::", "1:2:3::/48"],
  ])("%j is %s", (address, network) => {
    expect(toClientSubnet(address)).toBe(network);
  });
});
