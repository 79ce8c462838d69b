// `npm run contracts:deploy` refuses missing, misspelt and dangerous settings before it asks a node, and reports all of them at once.
import { expect, test } from "vitest";
import { DeploymentError, readSettings, USAGE } from "../../scripts/chain/deployment/settings.ts";
import { DELAYS } from "../../scripts/chain/roles.ts";

const address = (digits: string) => `0x${digits.repeat(20)}`;
const KEY = `0x${"11".repeat(32)}`;
/** The address of that key. */
const DEPLOYER = "0x19E7E376E7C213B7E7e7e46cc70A5dD086DAff2A";
const ENV = {
  RPC_URL: "https://node.example/v2/0123456789abcdef",
  DEPLOYER_KEY: KEY,
  OWNER_ADDRESS: address("a0"),
  ADMIN_ADDRESS: address("a1"),
  REGISTRAR_ADDRESS: address("a2"),
  ARBITER_ADDRESS: address("a3"),
  GUARDIAN_ADDRESS: address("a4"),
  FEE_RECIPIENT_ADDRESS: address("a5"),
  TOKEN_ADDRESS: address("a6"),
  TOKEN_BASE: "15.00",
};
const SEPOLIA = ["--network", "base-sepolia"];
const BASE = ["--network", "base"];

function faultsOf(argv: readonly string[], env: NodeJS.ProcessEnv = {}): readonly string[] {
  try {
    readSettings(argv, { ...ENV, ...env });
    return [];
  } catch (error) {
    if (!(error instanceof DeploymentError)) throw error;
    return error.faults;
  }
}

test("flags have precedence over variables, and on base the delays are those of production", () => {
  const settings = readSettings([...BASE, "--registrar", address("b2"), "--dry-run", "--out", "x"], ENV);
  expect(settings).toMatchObject({
    deployer: DEPLOYER,
    keys: { owner: ENV.OWNER_ADDRESS, admin: ENV.ADMIN_ADDRESS, registrar: address("b2") },
    feeRecipient: ENV.FEE_RECIPIENT_ADDRESS,
    delays: { wallet: 48 * 3_600, payOut: 24 * 3_600, admin: 48 * 3_600, owner: 168 * 3_600 },
    ...{ base: "15.00", dryRun: true, allowEoaAdmin: false, out: "x", fromBlock: 0n },
  });
});

test("on base-sepolia a delay may differ, and is that of production if it is not named", () => {
  const { delays } = readSettings([...SEPOLIA, "--wallet-delay-hours", "0"], ENV);
  expect(delays).toEqual({ ...DELAYS, wallet: 0 });
});

test.each(["OWNER_ADDRESS", "ADMIN_ADDRESS"] as const)("the fees may go to %s", (cold) => {
  expect(faultsOf(BASE, { FEE_RECIPIENT_ADDRESS: ENV[cold] })).toEqual([]);
});

test.each(Object.keys(ENV))("%s is required", (variable) => {
  for (const value of ["", undefined]) {
    expect(faultsOf(SEPOLIA, { [variable]: value })).toEqual([expect.stringMatching(`^${variable} is missing`)]);
  }
});

test("all missing settings are reported at once", () => {
  const none = Object.fromEntries(Object.keys(ENV).map((variable) => [variable, undefined]));
  expect(faultsOf(SEPOLIA, none)).toHaveLength(Object.keys(ENV).length);
});

test.each<[string, string[], NodeJS.ProcessEnv, string]>([
  ["no network", [], {}, "--network is base-sepolia or base"],
  ["another network", ["--network", "mainnet"], {}, "--network is base-sepolia or base"],
  ["a name of every object", ["--network", "toString"], {}, "--network is base-sepolia or base"],
  ["a node by http", SEPOLIA, { RPC_URL: "http://node.example" }, "RPC_URL is not an https address"],
  ["a node that is no address", SEPOLIA, { RPC_URL: "node" }, "RPC_URL is not an https address"],
  ["a short key", SEPOLIA, { DEPLOYER_KEY: KEY.slice(0, -1) }, "DEPLOYER_KEY is not a private key"],
  ["a key beyond the curve", SEPOLIA, { DEPLOYER_KEY: `0x${"f".repeat(64)}` }, "DEPLOYER_KEY is not a private key"],
  ["the key 0", SEPOLIA, { DEPLOYER_KEY: `0x${"0".repeat(64)}` }, "DEPLOYER_KEY is not a private key"],
  ["a wrong checksum", SEPOLIA, { ADMIN_ADDRESS: DEPLOYER.replace("E7E", "e7E") }, "ADMIN_ADDRESS is not an address"],
  ["the zero address", SEPOLIA, { ADMIN_ADDRESS: address("00") }, "ADMIN_ADDRESS is the zero address"],
  ["a base in words", SEPOLIA, { TOKEN_BASE: "fifteen" }, "TOKEN_BASE is an amount"],
  ["a negative base", SEPOLIA, { TOKEN_BASE: "-1" }, "TOKEN_BASE is an amount"],
  [
    "a delay on base",
    [...BASE, "--admin-delay-hours", "48"],
    {},
    "ADMIN_DELAY_HOURS: the delays cannot be chosen on base",
  ],
  ["a delay in words", SEPOLIA, { WALLET_DELAY_HOURS: "1h" }, "WALLET_DELAY_HOURS is a number of hours"],
  ["a delay of a year", SEPOLIA, { WALLET_DELAY_HOURS: "8760" }, "WALLET_DELAY_HOURS is a number of hours"],
  ["a block in words", [...SEPOLIA, "--from-block", "latest"], {}, "FROM_BLOCK is the number of a block"],
  ["an unknown flag", [...SEPOLIA, "--force"], {}, "there is no flag --force"],
  ["the key as a flag", [...SEPOLIA, `--deployer-key=${KEY}`], {}, "there is no flag --deployer-key"],
  ["the key as an argument", [...SEPOLIA, KEY], {}, "the arguments do not fit the usage"],
])("%s is refused, and no value is repeated", (_, argv, env, fault) => {
  const faults = faultsOf(argv, env);
  expect(faults).toEqual([expect.stringContaining(fault)]);
  for (const secret of [KEY, "0123456789abcdef", env["RPC_URL"] ?? ENV.RPC_URL, env["DEPLOYER_KEY"] ?? KEY]) {
    expect(faults.join()).not.toContain(secret);
  }
});

const VARIABLES: Record<string, keyof typeof ENV> = {
  owner: "OWNER_ADDRESS",
  admin: "ADMIN_ADDRESS",
  registrar: "REGISTRAR_ADDRESS",
  arbiter: "ARBITER_ADDRESS",
  guardian: "GUARDIAN_ADDRESS",
  "fee-recipient": "FEE_RECIPIENT_ADDRESS",
  token: "TOKEN_ADDRESS",
};
const NAMES = Object.keys(VARIABLES);
const ALLOWED = new Set(["owner fee-recipient", "admin fee-recipient"]);
const PAIRS = NAMES.flatMap((one, i) => NAMES.slice(i + 1).map((other) => [one, other] as const));
test.each(PAIRS.filter((pair) => !ALLOWED.has(pair.join(" "))))(
  "%s and %s are two addresses, in any case",
  (one, other) => {
    const [first = "", second = ""] = [VARIABLES[one], VARIABLES[other]];
    // One address in two spellings.
    const env = { [first]: DEPLOYER_LIKE, [second]: DEPLOYER_LIKE.toLowerCase() };
    expect(faultsOf(BASE, env)).toEqual([expect.stringMatching(/^\S+ and \S+ are the same address: name two$/)]);
  },
);
const DEPLOYER_LIKE = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913";

test.each(NAMES)("the deployer is not the %s", (name) => {
  const faults = faultsOf(SEPOLIA, { [VARIABLES[name] ?? ""]: DEPLOYER });
  expect(faults).toEqual([expect.stringContaining("deployer")]);
});

test("the usage names every variable", () => {
  for (const variable of Object.keys(ENV)) expect(USAGE).toContain(variable);
});
