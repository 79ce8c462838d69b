// Tests every error of the settlement contract with its values (CHN-1 to CHN-7), and the errors of a wrong deployment.
import {
  type Abi,
  BaseError,
  decodeErrorResult,
  encodeDeployData,
  encodeFunctionData,
  getAddress,
  type Hex,
} from "viem";
import { expect, test } from "vitest";
import { settlementAbi } from "../../scripts/chain/abi.ts";
import { artifacts } from "../../scripts/chain/deploy.ts";
import { ROLES } from "../../scripts/chain/roles.ts";
import { hashIntent } from "../../src/chain/hashes.ts";
import { documented } from "./natspec.ts";
import {
  CONSUMER,
  type Facts,
  factsOf,
  INTENT,
  OTHER_PROVIDER,
  type Person,
  PROVIDER,
  pay,
  paymentOf,
  REASON,
  REFUSALS,
  revertIn,
  THRESHOLD,
  UNIT,
  useWorld,
  type World,
  ZERO_ADDRESS,
  ZERO_HASH,
} from "./support.ts";
import { createTestContract, testContracts } from "./test-contracts.ts";

type Refused = {
  readonly call: string;
  readonly by?: Person;
  /** Called without the authority, although the call needs a role. */
  readonly direct?: true;
  readonly before?: () => Promise<unknown>;
  readonly args: () => Promise<readonly unknown[]> | readonly unknown[];
  readonly says: () => Promise<readonly unknown[]> | readonly unknown[];
};

let world: World;
let token: Hex;
let takingToken: Hex;
let facts: Facts;
useWorld(async (built) => {
  world = built;
  token = built.chain.token;
  takingToken = await createTestContract(world, "TakingToken", []);
  facts = await factsOf(world, await pay(world, 10n * UNIT));
});

const ROLE_OF: ReadonlyMap<string, Person> = new Map(
  Object.values(ROLES).flatMap(({ functions, holder }) => functions.map((name) => [name, holder] as const)),
);
const NOTHING = () => [];
const HELD = 999_500n;
// Code that returns 1 as a balance, and false for a transfer.
const FALSE_TOKEN: Hex = "0x604436105f5260205ff3";
const falseToken = getAddress(`0x${"fa15e".padStart(40, "0")}`);
async function listTakingToken(): Promise<void> {
  const { abi } = testContracts.TakingToken;
  await world.act("admin", "listToken", [takingToken, THRESHOLD]);
  await world.act("registrar", "registerProvider", [PROVIDER, takingToken, who("wallet"), THRESHOLD]);
  await world.sendTo("other", takingToken, abi, "mint", [who("consumer"), 10n * UNIT]);
  await world.sendTo("consumer", takingToken, abi, "approve", [contract(), 10n * UNIT]);
}
const makeFalseToken = () => world.client.setCode({ address: falseToken, bytecode: FALSE_TOKEN });
const waitFor = async (seconds: number): Promise<void> => {
  await world.client.increaseTime({ seconds });
  await world.client.mine({ blocks: 1 });
};
const intent = (hash: Hex, amount = UNIT) => [token, amount, PROVIDER, CONSUMER, hash];
const register = (change: { provider?: Hex; token?: Hex; wallet?: Hex; threshold?: bigint }) => {
  const { provider = OTHER_PROVIDER, token: of = token, wallet = world.people.other.address } = change;
  return [provider, of, wallet, change.threshold ?? THRESHOLD];
};

const REFUSED: Readonly<Record<string, readonly Refused[]>> = {
  NotAuthority: [{ call: "pause", by: "guardian", direct: true, args: NOTHING, says: () => [who("guardian")] }],
  ZeroAmount: [
    { call: "settle", args: () => [paymentOf(world, { amount: 0n })], says: NOTHING },
    { call: "sweepFees", args: () => [token], says: NOTHING, before: () => world.send("other", "sweepFees", [token]) },
  ],
  ZeroHash: [
    { call: "payIntent", args: () => intent(ZERO_HASH), says: NOTHING },
    { call: "keyOf", args: () => [paymentOf(world, { intentHash: ZERO_HASH })], says: NOTHING },
    { call: "registerProvider", args: () => register({ provider: ZERO_HASH }), says: NOTHING },
  ],
  ZeroAddress: [
    { call: "setFeeRecipient", args: () => [ZERO_ADDRESS], says: NOTHING },
    { call: "settle", args: () => [paymentOf(world, { refundTo: ZERO_ADDRESS })], says: NOTHING },
  ],
  PaymentsPaused: [
    { call: "payIntent", args: () => intent(INTENT), says: NOTHING, before: () => world.act("guardian", "pause", []) },
  ],
  UnknownToken: [
    { call: "pay", args: () => [who("other"), 1n, PROVIDER, CONSUMER], says: () => [who("other")] },
    { call: "registerProvider", args: () => register({ token: who("other") }), says: () => [who("other")] },
    { call: "listToken", args: () => [who("other"), 1n], says: () => [who("other")] },
  ],
  UnknownProvider: [
    { call: "pay", args: () => [token, 1n, OTHER_PROVIDER, CONSUMER], says: () => [OTHER_PROVIDER, token] },
    { call: "quote", args: () => [token, 1n, OTHER_PROVIDER], says: () => [OTHER_PROVIDER, token] },
    { call: "releaseSurplus", args: () => [OTHER_PROVIDER, token], says: () => [OTHER_PROVIDER, token] },
    { call: "setReserve", args: () => [OTHER_PROVIDER, token, 1n], says: () => [OTHER_PROVIDER, token] },
    { call: "setLowThreshold", args: () => [OTHER_PROVIDER, token, 0n, 0n], says: () => [OTHER_PROVIDER, token] },
    {
      call: "moveOperationalWallet",
      args: () => [OTHER_PROVIDER, token, who("other")],
      says: () => [OTHER_PROVIDER, token],
    },
  ],
  UnknownSettlement: [
    { call: "refund", args: () => [{ ...facts, key: REASON }, 1n], says: () => [REASON] },
    { call: "payOut", args: () => [{ ...facts, paidOut: 1n }, 1n], says: () => [facts.key] },
    { call: "setRefundTo", args: () => [{ ...facts, paidOut: 1n }, who("other")], says: () => [facts.key] },
    { call: "moveRefundTo", args: () => [{ ...facts, paidOut: 1n }, who("other")], says: () => [facts.key] },
  ],
  ProviderExists: [
    {
      call: "registerProvider",
      args: () => register({ provider: PROVIDER }),
      says: () => [PROVIDER, token],
    },
  ],
  AlreadyPaid: [
    {
      call: "payIntent",
      args: () => intent(INTENT),
      says: async () => [await world.read("keyOf", [paymentOf(world, { amount: UNIT })])],
      before: () => world.send("consumer", "payIntent", intent(INTENT)),
    },
  ],
  PayerDiffers: [
    {
      call: "payIntent",
      by: "consumer",
      args: () => intent(hashIntent("pin_1", who("other"))),
      says: () => [who("other")],
    },
  ],
  InvalidWallet: [
    { call: "setFeeRecipient", args: () => [contract()], says: () => [contract()] },
    {
      call: "setOperationalWallet",
      args: async () => [PROVIDER, token, who("wallet"), await world.vault(PROVIDER)],
      says: async () => [await world.vault(PROVIDER)],
    },
  ],
  WalletDiffers: [
    {
      call: "registerProvider",
      args: () => register({ provider: PROVIDER, token: takingToken }),
      says: () => [who("wallet")],
      before: () => world.act("admin", "listToken", [takingToken, THRESHOLD]),
    },
    {
      call: "settle",
      args: () => [paymentOf(world, { operationalWallet: who("other") })],
      says: () => [who("wallet")],
    },
    { call: "moveOperationalWallet", args: () => [PROVIDER, token, who("consumer")], says: () => [who("wallet")] },
  ],
  AmountNotReceived: [
    {
      call: "settle",
      args: () => [paymentOf(world, { token: takingToken })],
      says: () => [9_900_000n, 10n * UNIT],
      before: listTakingToken,
    },
  ],
  RefundToDiffers: [
    { call: "moveRefundTo", by: "other", args: () => [facts, who("other")], says: () => [who("consumer")] },
  ],
  RefundToAccepted: [{ call: "setRefundTo", args: () => [facts, who("other")], says: () => [who("consumer")] }],
  DeadlinePassed: [{ call: "settle", args: () => [paymentOf(world, { deadline: 7n })], says: () => [7n] }],
  FeeTooHigh: [
    { call: "settle", args: () => [paymentOf(world, { maxFeeBps: 4 })], says: () => [5n, 4n] },
    { call: "setFeeBps", args: () => [51n], says: () => [51n, 50n] },
    // The value is not cut to sixteen bits before it is compared.
    { call: "setFeeBps", args: () => [65_541n], says: () => [65_541n, 50n] },
  ],
  InvalidThreshold: [
    {
      call: "setThreshold",
      args: () => [PROVIDER, token, THRESHOLD + 1n],
      says: () => [THRESHOLD + 1n, THRESHOLD / 2n, THRESHOLD],
    },
    {
      call: "setLowThreshold",
      args: () => [PROVIDER, token, THRESHOLD, THRESHOLD],
      says: () => [THRESHOLD, 0n, THRESHOLD],
    },
    // Half of an odd base is rounded up.
    {
      call: "registerProvider",
      args: () => register({ threshold: 3n }),
      says: () => [3n, 4n, 7n],
      before: () => world.act("admin", "listToken", [token, 7n]),
    },
  ],
  ExceedsGross: [
    { call: "refund", args: () => [facts, 10n * UNIT + 1n], says: () => [10n * UNIT + 1n, 10n * UNIT] },
    { call: "payOut", args: () => [facts, 10n * UNIT + 1n], says: () => [10n * UNIT + 1n, 10n * UNIT] },
    {
      call: "payOut",
      args: () => [{ ...facts, paidOut: 3n }, 10n * UNIT],
      says: () => [10n * UNIT, 10n * UNIT - 3n],
      before: () => world.act("arbiter", "payOut", [facts, 3n]),
    },
  ],
  ExceedsVault: [{ call: "payOut", args: () => [facts, HELD + 1n], says: () => [HELD + 1n, HELD] }],
  TooOld: [
    {
      call: "payOut",
      args: () => [facts, 1n],
      says: () => [facts.settledAt],
      before: () => waitFor(400 * 86_400 + 60),
    },
  ],
  NothingToRelease: [{ call: "releaseSurplus", args: () => [PROVIDER, token], says: NOTHING }],
  SafeCastOverflowedUintDowncast: [
    { call: "setReserve", args: () => [PROVIDER, token, 2n ** 96n], says: () => [96, 2n ** 96n] },
  ],
  SafeERC20FailedOperation: [
    { call: "sweepFees", args: () => [falseToken], says: () => [falseToken], before: makeFalseToken },
    {
      call: "depositEscrow",
      args: () => [PROVIDER, falseToken, 1n],
      says: () => [falseToken],
      before: async () => {
        await makeFalseToken();
        await world.act("admin", "listToken", [falseToken, 1n]);
        await world.act("registrar", "registerProvider", [PROVIDER, falseToken, who("wallet"), 1n]);
      },
    },
  ],
};
// reentrancy.node.test.ts covers the error of a callback. The library's errors of a clone's creation do not occur, because a clone is created once
// and without value.
const ELSEWHERE = ["ReentrancyGuardReentrantCall", "FailedDeployment", "InsufficientBalance"];

const CASES = Object.entries(REFUSED).flatMap(([error, cases]) => cases.map((one) => [error, one.call, one] as const));

test("every error of the contract is in the table", () => {
  const errors = settlementAbi.flatMap((entry) => (entry.type === "error" ? [entry.name] : []));
  expect([...errors].sort()).toEqual([...Object.keys(REFUSED), ...ELSEWHERE].sort());
});

test.each(CASES)("%s is an error of %s", async (errorName, call, { by, direct, before, args, says }) => {
  await before?.();
  const values = await args();
  const role = direct ? undefined : ROLE_OF.get(call);
  expect(await refusalOf(by ?? role ?? "consumer", call, values, role !== undefined)).toEqual({
    errorName,
    args: await says(),
  });
});

test("the contract's documentation names each error at the calls that have it", () => {
  const entries = documented();
  const unnamed = CASES.filter(([error, call]) => {
    const { details } = entries.find(({ name, kind }) => kind === "methods" && name === call) ?? {};
    return !details?.includes(`\`${error}\``);
  });
  // A token's own refusal comes through any call that moves it.
  expect(
    unnamed.filter(([error]) => error !== "SafeERC20FailedOperation").map(([...named]) => named.slice(0, 2)),
  ).toEqual([]);
});

test.each<[string, () => readonly unknown[], string]>([
  ["an authority that is no contract", () => [who("admin"), who("other"), token, 1n], "ZeroAddress"],
  ["no recipient of fees", () => [world.chain.authority, ZERO_ADDRESS, token, 1n], "ZeroAddress"],
  ["a token that is no contract", () => [world.chain.authority, who("other"), who("stranger"), 1n], "UnknownToken"],
])("the contract cannot be created with %s", async (_, args, errorName) => {
  const data = encodeDeployData({ ...artifacts.SettlementContract, args: args() });
  const refused = world.client.call({ account: who("other"), data });
  expect(await refused.then(() => null, creationError)).toBe(errorName);
});

function who(person: Person): Hex {
  return world.people[person].address;
}

function contract(): Hex {
  return world.chain.settlementContract;
}

async function refusalOf(person: Person, functionName: string, args: readonly unknown[], asRole: boolean) {
  const own = { address: contract(), abi: settlementAbi as Abi, functionName, args };
  const through = { address: world.chain.authority, abi: REFUSALS, functionName: "execute" };
  const call = asRole ? { ...through, args: [contract(), encodeFunctionData(own)] } : own;
  try {
    await world.client.simulateContract({ ...call, account: who(person) });
    return null;
  } catch (error) {
    const { data } = revertIn(error);
    return { errorName: data?.errorName, args: data?.args ?? [] };
  }
}

function creationError(error: unknown): string {
  const raw = error instanceof BaseError ? error.walk((e) => e instanceof Error && "data" in e) : null;
  const data = raw !== null && "data" in raw ? raw.data : undefined;
  if (typeof data !== "string") throw error;
  return decodeErrorResult({ abi: settlementAbi, data: data as Hex }).errorName;
}
