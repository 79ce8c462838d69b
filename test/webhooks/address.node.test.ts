// Which addresses an endpoint may have (EVT-21): those that would make the service call internal hosts are refused.
import { describe, expect, it } from "vitest";
import { isPublicAddress, judgeAddress } from "../../src/webhooks/address.ts";
import { HOSTILE } from "./hostile.ts";

const DEPLOYED = { local: false, own: "issuer.example" };
const LOCAL = { local: true, own: "127.0.0.1" };

describe("judgeAddress", () => {
  it("is tested with enough distinct hostile addresses", () => {
    expect(new Set(HOSTILE).size).toBe(HOSTILE.length);
    expect(HOSTILE.length).toBeGreaterThanOrEqual(60);
  });

  it.each(HOSTILE)("refuses %s", (text) => {
    expect(judgeAddress(text, DEPLOYED)).toEqual(expect.stringMatching(/^Must .*\.$/));
  });

  it.each([
    "internal",
    "local",
    "lan",
    "home.arpa",
    "svc",
    "cluster.local",
    "consul",
    "intra",
    "lcl.host",
    "traefik.me",
    "local.gd",
  ])("refuses hosts that end with %s, but not hosts that only look like it", (end) => {
    for (const host of [end, `a.${end}`, `a.b.${end}.`, `A.${end.toUpperCase()}`])
      expect(judgeAddress(`https://${host}/hook`, DEPLOYED), host).not.toBeNull();
    for (const host of [`x${end}.example`, `${end}.example.com`])
      expect(judgeAddress(`https://${host}/hook`, DEPLOYED), host).toBeNull();
  });

  it.each(["https://intranet/", "https://db/", "https://vault:8200/"])("refuses %s, which has no dot", (text) => {
    expect(judgeAddress(text, DEPLOYED)).not.toBeNull();
  });

  it.each([
    "https://example.com/hook",
    "https://example.com:8443/hook?tenant=4711",
    "https://hooks.example.co.uk/a/b%20c",
    "https://xn--bcher-kva.example/",
    "https://bücher.example/",
    "https://example.com./hook",
    "https://1.example.com/",
    "https://internal.example.com/",
    "https://10-0-0-1.example.com/",
  ])("accepts %s", (text) => {
    expect(judgeAddress(text, DEPLOYED)).toBeNull();
  });

  it.each(["http://127.0.0.1:8080/hook", "http://localhost:3000/", "http://[::1]:9/", "https://localhost/"])(
    "accepts %s in local development only",
    (text) => {
      expect(judgeAddress(text, LOCAL)).toBeNull();
      expect(judgeAddress(text, DEPLOYED)).not.toBeNull();
    },
  );

  it.each([
    "http://127.0.0.2/",
    "http://0.0.0.0/",
    "http://example.com/",
    "http://user@localhost/",
    "http://localhost/#x",
    "https://10.0.0.1/",
  ])("refuses %s in local development too", (text) => {
    expect(judgeAddress(text, LOCAL)).not.toBeNull();
  });
});

describe("a resolved address", () => {
  it.each([
    ...["0.1.2.3", "10.1.2.3", "100.64.0.1", "100.127.255.255", "127.9.9.9", "169.254.169.254", "172.31.255.255"],
    ...[
      "192.0.0.8",
      "192.0.2.1",
      "192.168.0.1",
      "198.19.0.1",
      "198.51.100.1",
      "203.0.113.9",
      "224.0.0.1",
      "255.255.255.255",
    ],
    ...[
      "168.63.129.16",
      "::",
      "::1",
      "::ffff:8.8.8.8",
      "64:ff9b::808:808",
      "fe80::1",
      "fd00::1",
      "ff02::1",
      "2001:db8::1",
    ],
    ...["2001::1", "2002:808:808::", "3fff::1", "999.1.1.1", "8.8.8", "x", "", "1:2:3"],
  ])("%s is not public", (address) => {
    expect(isPublicAddress(address)).toBe(false);
  });

  it.each([
    "8.8.8.8",
    "1.1.1.1",
    "100.63.255.255",
    "100.128.0.1",
    "172.32.0.1",
    "2606:4700::1111",
    "2a00:1450:4001:80b::200e",
    "2001:4860:4860::8888",
  ])("%s is public", (address) => {
    expect(isPublicAddress(address)).toBe(true);
  });
});
