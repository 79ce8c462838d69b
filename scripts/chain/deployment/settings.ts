// Reads the settings of a deployment to a public network from flags and environment variables. Reports all faults at once. No message repeats a
// key, or a node's URL, which may contain a key.
import { parseArgs } from "node:util";
import { type Hex, isAddress, isAddressEqual, keccak256, toHex, zeroAddress } from "viem";
import { privateKeyToAddress } from "viem/accounts";
import type { NetworkInput } from "../../../src/chain/networks.ts";
import { SALT } from "../deploy.ts";
import { DELAYS, type Delays, type Keys } from "../roles.ts";

/** The public networks, each with the first members of its entry in NETWORKS. */
export const TARGETS = {
  "base-sepolia": {
    network: "base-sepolia",
    chain_id: 84_532,
    kind: "testnet",
    required_confirmations: 3,
    explorer: "https://sepolia.basescan.org",
  },
  base: {
    network: "base",
    chain_id: 8_453,
    kind: "mainnet",
    required_confirmations: 12,
    explorer: "https://basescan.org",
  },
} as const satisfies Record<string, Partial<NetworkInput>>;
export type Target = (typeof TARGETS)[keyof typeof TARGETS];

export type Settings = {
  readonly target: Target;
  readonly rpcUrl: string;
  readonly deployerKey: Hex;
  readonly deployer: Hex;
  readonly keys: Keys;
  readonly feeRecipient: Hex;
  readonly token: Hex;
  /** The threshold of an unrated provider, in whole units as decimal digits. */
  readonly base: string;
  readonly delays: Delays;
  readonly salt: Hex;
  readonly dryRun: boolean;
  readonly allowEoaAdmin: boolean;
  readonly out: string | null;
  /** The first block in which a role may have been granted. */
  readonly fromBlock: bigint;
};

/** Says why nothing is deployed, or how the deployed contracts differ from the settings, with a line for each reason. */
export class DeploymentError extends Error {
  readonly faults: readonly string[];
  constructor(...faults: string[]) {
    super(faults.join("\n"));
    this.faults = faults;
  }
}

/** Each flag, with the variable that is read if the flag is missing. */
const VALUES = {
  owner: "OWNER_ADDRESS",
  admin: "ADMIN_ADDRESS",
  registrar: "REGISTRAR_ADDRESS",
  arbiter: "ARBITER_ADDRESS",
  guardian: "GUARDIAN_ADDRESS",
  "fee-recipient": "FEE_RECIPIENT_ADDRESS",
  token: "TOKEN_ADDRESS",
  base: "TOKEN_BASE",
  "wallet-delay-hours": "WALLET_DELAY_HOURS",
  "payout-delay-hours": "PAYOUT_DELAY_HOURS",
  "admin-delay-hours": "ADMIN_DELAY_HOURS",
  "owner-delay-hours": "OWNER_DELAY_HOURS",
  salt: "DEPLOYMENT_SALT",
  "from-block": "FROM_BLOCK",
} as const;
type Value = keyof typeof VALUES;
const ROLE_VALUES = ["owner", "admin", "registrar", "arbiter", "guardian"] as const;
const ADDRESSES = [...ROLE_VALUES, "fee-recipient", "token"] as const;
const DELAY_VALUES = {
  wallet: "wallet-delay-hours",
  payOut: "payout-delay-hours",
  admin: "admin-delay-hours",
  owner: "owner-delay-hours",
} as const;
const HOUR = 3_600;
/** A delay longer than the contract's window for payouts would make payouts impossible. */
const DELAY_HOURS_MAX = 30 * 24;

export const USAGE = `npm run contracts:deploy -- --network base-sepolia|base [--dry-run] [--out <folder>] [--allow-eoa-admin]
  RPC_URL and DEPLOYER_KEY are read only from the environment, so that no process list or history shows them.
  Each of these is a flag, or the variable next to it:
${Object.entries(VALUES)
  .map(([flag, variable]) => `    --${flag.padEnd(20)} ${variable}`)
  .join("\n")}`;

export function readSettings(argv: readonly string[], env: NodeJS.ProcessEnv): Settings {
  const flags = readFlags(argv);
  const faults: string[] = [];
  const name = flags.network;
  if (name === undefined || !Object.hasOwn(TARGETS, name))
    throw new DeploymentError("--network is base-sepolia or base");
  const target = TARGETS[name as keyof typeof TARGETS];
  const given = (value: Value): string | undefined => flags[value] ?? (env[VALUES[value]] || undefined);
  const need = (value: Value): string => {
    const found = given(value);
    if (found === undefined) faults.push(`${VALUES[value]} is missing (or --${value})`);
    return found ?? "";
  };
  const deployer = readDeployer(env["DEPLOYER_KEY"], faults);
  const rpcUrl = readNode(env["RPC_URL"], faults);
  const addresses = Object.fromEntries(ADDRESSES.map((value) => [value, readAddress(value, need(value), faults)]));
  const base = need("base");
  if (base !== "" && !/^(?:0|[1-9]\d{0,11})(?:\.\d{1,18})?$/.test(base)) {
    faults.push("TOKEN_BASE is an amount in whole units, such as 15.00");
  }
  const delays = readDelays(target, given, faults);
  const fromBlock = given("from-block") ?? "0";
  if (!/^\d{1,15}$/.test(fromBlock)) faults.push("FROM_BLOCK is the number of a block");
  faults.push(...findConflicts({ ...addresses, deployer }));
  if (faults.length > 0) throw new DeploymentError(...faults);
  const salt = given("salt");
  const {
    owner,
    admin,
    registrar,
    arbiter,
    guardian,
    "fee-recipient": feeRecipient,
    token,
  } = addresses as Record<string, Hex>;
  return {
    target,
    rpcUrl,
    deployerKey: env["DEPLOYER_KEY"] as Hex,
    deployer: deployer ?? zeroAddress,
    keys: { owner, admin, registrar, arbiter, guardian } as Keys,
    feeRecipient: feeRecipient ?? zeroAddress,
    token: token ?? zeroAddress,
    base,
    delays,
    salt: salt === undefined ? SALT : keccak256(toHex(salt)),
    dryRun: flags["dry-run"] ?? false,
    allowEoaAdmin: flags["allow-eoa-admin"] ?? false,
    out: flags.out ?? null,
    fromBlock: BigInt(fromBlock),
  };
}

function readFlags(argv: readonly string[]) {
  const texts = Object.fromEntries(Object.keys(VALUES).map((flag) => [flag, { type: "string" }])) as Record<
    Value,
    { type: "string" }
  >;
  const switches = { "dry-run": { type: "boolean" }, "allow-eoa-admin": { type: "boolean" } } as const;
  const options = { ...texts, ...switches, network: { type: "string" }, out: { type: "string" } } as const;
  try {
    return parseArgs({ args: [...argv], options, strict: true }).values;
  } catch (error) {
    // The parser's own message may repeat a value.
    const flag = /^Unknown option '(--?[a-z-]+)'/.exec(error instanceof Error ? error.message : "")?.[1];
    throw new DeploymentError(flag === undefined ? "the arguments do not fit the usage" : `there is no flag ${flag}`);
  }
}

function readDeployer(key: string | undefined, faults: string[]): Hex | null {
  if (!key) faults.push("DEPLOYER_KEY is missing");
  else if (!/^0x[0-9a-fA-F]{64}$/.test(key)) faults.push("DEPLOYER_KEY is not a private key: 0x and 64 hex digits");
  else {
    try {
      return privateKeyToAddress(key as Hex);
    } catch {
      faults.push("DEPLOYER_KEY is not a private key of secp256k1");
    }
  }
  return null;
}

function readNode(url: string | undefined, faults: string[]): string {
  const parsed = URL.canParse(url ?? "") ? new URL(url ?? "") : null;
  const isLocal = parsed !== null && ["127.0.0.1", "localhost", "[::1]"].includes(parsed.hostname);
  if (!url) faults.push("RPC_URL is missing");
  else if (parsed?.protocol !== "https:" && !(isLocal && parsed?.protocol === "http:")) {
    faults.push("RPC_URL is not an https address (http is for this machine alone)");
  }
  return url ?? "";
}

function readAddress(value: Value, text: string, faults: string[]): Hex | null {
  if (text === "") return null;
  const variable = VALUES[value];
  if (!isAddress(text)) faults.push(`${variable} is not an address, or its checksum is wrong`);
  else if (isAddressEqual(text, zeroAddress)) faults.push(`${variable} is the zero address`);
  else return text;
  return null;
}

function readDelays(target: Target, given: (value: Value) => string | undefined, faults: string[]): Delays {
  const entries = Object.entries(DELAY_VALUES).map(([delay, value]) => {
    const text = given(value);
    const usual = DELAYS[delay as keyof Delays];
    if (text === undefined) return [delay, usual];
    if (target.kind === "mainnet") faults.push(`${VALUES[value]}: the delays cannot be chosen on ${target.network}`);
    if (!/^\d{1,4}$/.test(text) || Number(text) > DELAY_HOURS_MAX) {
      faults.push(`${VALUES[value]} is a number of hours from 0 to ${DELAY_HOURS_MAX}`);
    }
    return [delay, Number(text) * HOUR];
  });
  return Object.fromEntries(entries) as Delays;
}

/**
 * Returns pairs of roles that have one address and must not. One theft would take both roles; the guardian cannot stop itself; and the deployer,
 * whose key is on an online machine, must keep nothing.
 */
function findConflicts(addresses: Readonly<Record<string, Hex | null>>): string[] {
  const online = ["registrar", "arbiter", "guardian", "deployer"] as const;
  const pairs: (readonly [string, string])[] = [
    ...["admin", ...online].map((name) => ["owner", name] as const),
    ...online.map((name) => ["admin", name] as const),
    ...online.flatMap((name, i) => online.slice(i + 1).map((other) => [name, other] as const)),
    ...online.map((name) => ["fee-recipient", name] as const),
    ...[...ROLE_VALUES, "fee-recipient", "deployer"].map((name) => ["token", name] as const),
  ];
  return pairs.flatMap(([one, other]) => {
    const [first, second] = [addresses[one], addresses[other]];
    return first && second && isAddressEqual(first, second)
      ? [`${one} and ${other} are the same address: name two`]
      : [];
  });
}
