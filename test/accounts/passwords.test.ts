// Passwords at rest (CRED-20): scrypt with its parameters beside the hash; judged without telling whose they are.
import { describe, expect, it } from "vitest";
import { COMMON_PASSWORDS } from "../../src/accounts/common-passwords.ts";
import { checkPassword, hashPassword, passwordFaults } from "../../src/accounts/passwords.ts";
import { PASSWORD_MAX_CHARS, PASSWORD_MIN_CHARS } from "../../src/core/limits.ts";
import { PASSWORD } from "./support.ts";

describe("a stored password", () => {
  it("is scrypt with N = 2^14, r = 8 and p = 5, a salt of its own, and nothing of the password", async () => {
    const [first, second] = [await hashPassword(PASSWORD), await hashPassword(PASSWORD)];
    expect(first).toMatch(/^scrypt\$16384\$8\$5\$[\w-]{22}\$[\w-]{43}$/);
    expect(second).not.toBe(first);
    expect(await checkPassword(PASSWORD, first)).toEqual({ matches: true, outdated: false });
    expect(await checkPassword(`${PASSWORD} `, first)).toEqual({ matches: false, outdated: false });
  });

  it("matches however its accents are typed", async () => {
    const hash = await hashPassword("Überraschung im Café".normalize("NFC"));
    expect(await checkPassword("Überraschung im Café".normalize("NFD"), hash)).toMatchObject({ matches: true });
  });

  // Not outdated: the derivation for nobody has the parameters of a new password.
  it("is derived for nobody with today's parameters, and never matches", async () => {
    expect(await checkPassword(PASSWORD, null)).toEqual({ matches: false, outdated: false });
  });

  it.each(["", "plain text", "bcrypt$1$2$3$AAAA$AAAA", "scrypt$16384$8$5$AAAA$AAAA"])(
    "is never read from %j",
    async (stored) => {
      await expect(checkPassword(PASSWORD, stored)).rejects.toThrow("no hash of a password");
    },
  );
});

describe("a new password", () => {
  it.each([
    ["the address", "Founder@Startup.example"],
    ["one of the commonest, in capitals", "1QAZ2WSX3EDC"],
  ])("is faulty when it is %s", (_what, password) => {
    expect(passwordFaults("password", password, "founder@startup.example")).toMatchObject([
      { field: "password", code: "invalid_value" },
    ]);
  });

  it("is judged by a list of common passwords that could be chosen at all", () => {
    expect(COMMON_PASSWORDS.size).toBeGreaterThan(250);
    const lengths = [...COMMON_PASSWORDS].map((password) => password.length);
    expect(Math.min(...lengths)).toBeGreaterThanOrEqual(PASSWORD_MIN_CHARS);
    expect(Math.max(...lengths)).toBeLessThanOrEqual(PASSWORD_MAX_CHARS);
  });
});
