// Passwords at rest (CRED-20): scrypt with its parameters next to the hash, judged without revealing whether an account exists. Derivations are
// watched, not replaced: each calls the real function.
import crypto from "node:crypto";
import { afterEach, beforeAll, beforeEach, describe, expect, it, type MockInstance, vi } from "vitest";
import { checkPassword, hashPassword } from "../../src/accounts/derivations.ts";
import { findPasswordFaults, readCommonPasswords } from "../../src/accounts/passwords.ts";
import { PASSWORD_MAX_CHARS, PASSWORD_MIN_CHARS } from "../../src/core/limits.ts";
import { createWorld, env, expectStatus, PASSWORD_COST, type World } from "../support/world.ts";
import {
  type Account,
  freshAddress,
  freshClient,
  PASSWORD,
  post,
  register,
  signUp,
  withProductionCost,
} from "./support.ts";

const realScrypt = crypto.scrypt;

describe("a stored password", () => {
  it("is scrypt with N = 2^14, r = 8 and p = 5, its own salt, and no trace of the password", async () => {
    const [first, second] = [await hashPassword(PASSWORD), await hashPassword(PASSWORD)];
    expect(first).toMatch(/^scrypt\$16384\$8\$5\$[\w-]{22}\$[\w-]{43}$/);
    expect(second).not.toBe(first);
    expect(await checkPassword(PASSWORD, first)).toEqual({ matches: true, hash: null });
    expect(await checkPassword(`${PASSWORD} `, first)).toEqual({ matches: false, hash: null });
  });

  it("reports whether it is outdated, and is replaced in the same turn only if it matches", async () => {
    const weak = await hashPassword(PASSWORD, PASSWORD_COST);
    const told: boolean[] = [];
    const next = (outdated: boolean) => {
      told.push(outdated);
      return outdated ? PASSWORD : null;
    };
    expect(await checkPassword("another one", weak, undefined, next)).toEqual({ matches: false, hash: null });
    const { hash } = await checkPassword(PASSWORD, weak, undefined, next);
    expect(hash).toMatch(/^scrypt\$16384\$8\$5\$/);
    expect(await checkPassword(PASSWORD, hash, undefined, next)).toEqual({ matches: true, hash: null });
    expect(told).toEqual([true, false]);
  });

  it("matches however its accents are typed", async () => {
    const hash = await hashPassword("Überraschung im Café".normalize("NFC"));
    expect(await checkPassword("Überraschung im Café".normalize("NFD"), hash)).toMatchObject({ matches: true });
  });

  it("is derived with the current parameters for an unknown address, and never matches", async () => {
    const derived = vi.spyOn(crypto, "scrypt");
    expect(await checkPassword(PASSWORD, null)).toEqual({ matches: false, hash: null });
    expect(derived.mock.calls.map(([, , , options]) => options)).toMatchObject([{ N: 2 ** 14, r: 8, p: 5 }]);
    derived.mockRestore();
  });

  it.each(["", "plain text", "bcrypt$1$2$3$AAAA$AAAA", "scrypt$16384$8$5$AAAA$AAAA"])(
    "cannot be read from %j",
    async (stored) => {
      await expect(checkPassword(PASSWORD, stored)).rejects.toThrow("no hash of a password");
    },
  );
});

describe("a new password", () => {
  it.each([
    ["the address", "Founder@Startup.example"],
    ["one of the most common, in capitals", "1QAZ2WSX3EDC"],
  ])("is faulty when it is %s", async (_what, password) => {
    expect(await findPasswordFaults(env.ASSETS, "password", password, "founder@startup.example")).toMatchObject([
      { field: "password", code: "invalid_value" },
    ]);
  });

  it("is judged by a list of common passwords that satisfy the length limits", async () => {
    const common = await readCommonPasswords(env.ASSETS);
    expect(common.size).toBeGreaterThan(250);
    const lengths = [...common].map((password) => password.length);
    expect(Math.min(...lengths)).toBeGreaterThanOrEqual(PASSWORD_MIN_CHARS);
    expect(Math.max(...lengths)).toBeLessThanOrEqual(PASSWORD_MAX_CHARS);
  });
});

describe("the derivations of a log-in", () => {
  let world: World;
  let account: Account;
  beforeAll(async () => {
    world = withProductionCost(await createWorld());
    account = await signUp(world);
  });
  let derive: MockInstance<typeof crypto.scrypt>;
  beforeEach(() => {
    derive = vi.spyOn(crypto, "scrypt");
  });
  // Other files share these modules.
  afterEach(() => vi.restoreAllMocks());

  const attempt = (email: string, password: string, client = freshClient()) =>
    post(world, "/v1/platform/sessions", { email, password }, client);
  /** The parameters of each derivation. */
  const asked = () => derive.mock.calls.map(([_password, _salt, length, options]) => ({ length, ...options }));
  const CURRENT = { length: 32, N: 2 ** 14, r: 8, p: 5, maxmem: 256 * 2 ** 14 * 8 };

  it.each([
    ["an unknown address", () => freshAddress(), PASSWORD, 401],
    ["a wrong password", () => account.email, "wrong horse battery staple", 401],
    ["the right password", () => account.email, PASSWORD, 201],
  ])("happen once for %s, with the parameters of a new password", async (_what, emailOf, password, status) => {
    expectStatus(await attempt(emailOf(), password), status);
    expect(asked()).toEqual([CURRENT]);
  });

  it("happen once for a new account, with the same parameters", async () => {
    await register(world);
    expect(asked()).toEqual([CURRENT]);
  });

  it("run one at a time when ten calls come at once, and the others wait for their turn", async () => {
    const cheap = await createWorld();
    const { email } = await signUp(cheap);
    derive.mockClear();
    const body = { email, password: PASSWORD };
    const logIn = () => post(cheap, "/v1/platform/sessions", body, freshClient());
    const { promise: allHaveCome, resolve: tellAll } = Promise.withResolvers<void>();
    let [running, most, waits] = [0, 0, 0];
    // The first derivation ends only when the other nine have found no turn and wait.
    derive.mockImplementation(((password, salt, length, options, done) => {
      running += 1;
      most = Math.max(most, running);
      const finish: typeof done = (failed, hash) => {
        running -= 1;
        done(failed, hash);
      };
      allHaveCome.then(() => realScrypt(password, salt, length, options, finish));
    }) as typeof realScrypt);
    const wait = scheduler.wait.bind(scheduler);
    vi.spyOn(scheduler, "wait").mockImplementation((ms, options) => {
      waits += 1;
      if (waits === 9) tellAll();
      return wait(ms, options);
    });
    const replies = await Promise.all(Array.from({ length: 10 }, logIn));
    expect(replies.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 201));
    expect(asked()).toHaveLength(10);
    expect([running, most]).toEqual([0, 1]);
  });
});
