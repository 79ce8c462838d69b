// Codes of an authenticator app (CRED-28) against the vectors of the RFCs, and recovery codes.
import { describe, expect, it } from "vitest";
import { codeAt } from "../../scripts/authenticator.ts";
import {
  computeTotpCode,
  drawRecoveryCodes,
  drawTotpSecret,
  findMatchingStep,
  normalizeCode,
  toAppSecret,
  toTimeStep,
} from "../../src/accounts/totp.ts";
import { computeSha256Hex, encodeBase32, encodeUtf8 } from "../../src/core/encoding.ts";
import { RECOVERY_CODES, SECOND_MS, TOTP_STEP_SECONDS } from "../../src/core/limits.ts";

const SECRET = encodeUtf8("12345678901234567890");
const STEP_MS = TOTP_STEP_SECONDS * SECOND_MS;

describe("a code", () => {
  it.each([
    [59, "287082"],
    [1_111_111_109, "081804"],
    [1_111_111_111, "050471"],
    [1_234_567_890, "005924"],
    [2_000_000_000, "279037"],
    [20_000_000_000, "353130"],
  ])("of second %i equals that of RFC 6238, appendix B", async (second, code) => {
    expect(await computeTotpCode(SECRET, toTimeStep(second * SECOND_MS))).toBe(code);
  });

  it("of counters 0 to 9 equals that of RFC 4226, appendix D", async () => {
    const codes = await Promise.all(Array.from({ length: 10 }, (_, counter) => computeTotpCode(SECRET, counter)));
    expect(codes).toEqual([
      ...["755224", "287082", "359152", "969429", "338314", "254676", "287922", "162583", "399871", "520489"],
    ]);
  });

  it("counts in its step and one step either way, and only after the last used one", async () => {
    const now = 1_000 * STEP_MS + 7;
    const stepsTaken = (usedStep: number) =>
      Promise.all(
        [998, 999, 1_000, 1_001, 1_002].map(async (step) =>
          findMatchingStep(SECRET, await computeTotpCode(SECRET, step), now, usedStep),
        ),
      );
    expect(await stepsTaken(0)).toEqual([null, 999, 1_000, 1_001, null]);
    expect(await stepsTaken(999)).toEqual([null, null, 1_000, 1_001, null]);
    expect(await stepsTaken(1_001)).toEqual([null, null, null, null, null]);
  });
});

describe("a secret", () => {
  it("is shown in base32 as apps read it, with the issuer and the address", () => {
    expect(toAppSecret(SECRET, "Acme & Sons", "a+b@c.example")).toEqual({
      secret: "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ",
      otpauth_uri:
        "otpauth://totp/Acme%20%26%20Sons:a%2Bb%40c.example?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ" +
        "&issuer=Acme%20%26%20Sons&algorithm=SHA1&digits=6&period=30",
    });
  });

  it("gives an app that reads it the same codes as the service", async () => {
    const secret = drawTotpSecret();
    expect(secret).toHaveLength(20);
    const now = Date.parse("2026-11-21T09:30:00Z");
    expect(codeAt(toAppSecret(secret, "A", "b").secret, now)).toBe(await computeTotpCode(secret, toTimeStep(now)));
  });
});

describe("recovery codes", () => {
  it("are ten, all different, in groups of four, and stored only as hashes", async () => {
    const codes = await drawRecoveryCodes();
    expect(new Set(codes.map(({ code }) => code)).size).toBe(RECOVERY_CODES);
    for (const { code, hash } of codes) {
      expect(code).toMatch(/^[A-Z2-7]{4}(-[A-Z2-7]{4}){3}$/);
      expect(hash).toBe(await computeSha256Hex(normalizeCode(` ${code.toLowerCase().replaceAll("-", " ")} `)));
    }
  });
});

it("encodes base32 like RFC 4648, section 10, without padding", () => {
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
  const texts = ["", "fooba", "foobarfoob"];
  expect(texts.map((text) => encodeBase32(encodeUtf8(text), alphabet))).toEqual(["", "MZXW6YTB", "MZXW6YTBOJTG633C"]);
});
