// Tests a listed token that calls back in the middle of its transfers (CHN-1 to CHN-6): its call always fails, and the outer call ends as if the
// token had not called.
import { type Abi, encodeFunctionData, getAddress, type Hex } from "viem";
import { describe, expect, test } from "vitest";
import { authorityAbi, settlementAbi } from "../../scripts/chain/abi.ts";
import { type AuthorizedPayment, signPayment } from "../../scripts/chain/payments.ts";
import { ROLES } from "../../scripts/chain/roles.ts";
import { hashIntent } from "../../src/chain/hashes.ts";
import { isWhole } from "../support/scale.ts";
import {
  CONSUMER,
  eventsOf,
  type Facts,
  factsOf,
  OTHER_PROVIDER,
  PROVIDER,
  paymentOf,
  THRESHOLD,
  UNIT,
  useWorld,
  type World,
} from "./support.ts";
import { createTestContract, testContracts } from "./test-contracts.ts";

const LIMITLESS = 2n ** 256n - 1n;
const { abi } = testContracts.ReentrantToken;
const manager = authorityAbi as Abi;

// Every function that moves money, as the outer call and as the token's callback.
const FUNCTIONS = [
  ...["pay", "payIntent", "settle", "settleWithAuthorization", "depositEscrow", "refund", "releaseSurplus"],
  ...["sweepFees", "payOut"],
] as const;
type Name = (typeof FUNCTIONS)[number];
type Part = "outer" | "inner";

let world: World;
let token: Hex;
let facts: Record<Part, Facts>;
let signed: Record<Part, AuthorizedPayment>;
const INTENTS = { outer: hashIntent("pin_outer"), inner: hashIntent("pin_2") };
// The callback is about another provider, so that only the guard stops it.
const PROVIDERS = { outer: PROVIDER, inner: OTHER_PROVIDER };

useWorld(async (built) => {
  world = built;
  const { people, chain } = world;
  token = getAddress(await createTestContract(world, "ReentrantToken", []));
  await world.act("admin", "listToken", [token, THRESHOLD]);
  for (const provider of [PROVIDER, OTHER_PROVIDER]) {
    await world.act("registrar", "registerProvider", [provider, token, people.wallet.address, THRESHOLD]);
    await onToken("mint", [await world.vault(provider), 50n * UNIT]);
  }
  for (const account of [people.consumer.address, token, chain.settlementContract])
    await onToken("mint", [account, 1_000n * UNIT]);
  await world.sendTo("consumer", token, abi, "approve", [chain.settlementContract, LIMITLESS]);
  const approve = encodeFunctionData({ abi, functionName: "approve", args: [chain.settlementContract, LIMITLESS] });
  expect(await callBack(token, approve)).toBe(true);
  // The token is an arbiter, so that only the guard stops its payout.
  const grant = [ROLES.ARBITER_DELAYED.id, token, 0];
  await world.sendTo("owner", chain.authority, manager, "grantRole", grant);
  facts = { outer: await bought("outer"), inner: await bought("inner") };
  const sign = (part: Part) => {
    const payment = paymentOf(world, { token, providerDidHash: PROVIDERS[part], intentHash: INTENTS[part] });
    return signPayment(world.anvil.chainId, people.consumer.privateKey, chain.settlementContract, payment);
  };
  signed = { outer: await sign("outer"), inner: await sign("inner") };
});

const onToken = (functionName: string, args: readonly unknown[]) =>
  world.sendTo("other", token, abi, functionName, args);
const setCallBack = (to: Hex, data: Hex) => onToken("callBack", [to, data]);
const succeeded = () => world.client.readContract({ address: token, abi, functionName: "succeeded" });
const bought = async (part: Part): Promise<Facts> =>
  factsOf(world, await world.send("consumer", "pay", [token, 10n * UNIT, PROVIDERS[part], CONSUMER]));

/** Makes the token's call in a plain transfer of the token, outside other calls. Returns whether it succeeded. */
async function callBack(to: Hex, data: Hex) {
  await setCallBack(to, data);
  await world.sendTo("consumer", token, abi, "transfer", [world.people.other.address, 1n]);
  return succeeded();
}

function argsOf(name: Name, part: Part): readonly unknown[] {
  const provider = PROVIDERS[part];
  const { payment, from, validAfter, validBefore, salt, signature } = signed[part];
  const args: Readonly<Record<Name, readonly unknown[]>> = {
    pay: [token, UNIT, provider, CONSUMER],
    payIntent: [token, UNIT, provider, CONSUMER, INTENTS[part]],
    settle: [payment],
    settleWithAuthorization: [payment, from, validAfter, validBefore, salt, signature],
    depositEscrow: [provider, token, UNIT],
    refund: [facts[part], UNIT],
    releaseSurplus: [provider, token],
    sweepFees: [token],
    payOut: [facts[part], UNIT],
  };
  return args[name] ?? [];
}

function inner(name: Name): readonly [Hex, Hex] {
  const { settlementContract, authority } = world.chain;
  const data = encodeFunctionData({ abi: settlementAbi as Abi, functionName: name, args: argsOf(name, "inner") });
  if (name !== "payOut") return [settlementContract, data];
  return [authority, encodeFunctionData({ abi: manager, functionName: "execute", args: [settlementContract, data] })];
}

const outer = (name: Name) =>
  name === "payOut"
    ? world.act("arbiter", name, argsOf(name, "outer"))
    : world.send("consumer", name, argsOf(name, "outer"));

/** Returns the balances of all accounts of the token, in base units. */
const standing = async () => {
  const { people, chain } = world;
  const vaults = [await world.vault(PROVIDER), await world.vault(OTHER_PROVIDER)];
  const accounts = [...Object.values(people).map(({ address }) => address), ...vaults, chain.settlementContract, token];
  const balanceOf = (account: Hex) =>
    world.client.readContract({ address: token, abi, functionName: "balanceOf", args: [account] });
  return Promise.all(accounts.map(balanceOf));
};

test("every function with a guard is in the list", () => {
  const writes = settlementAbi.flatMap((entry) =>
    entry.type === "function" && entry.stateMutability === "nonpayable" ? [entry.name as string] : [],
  );
  const unguarded = Object.values(ROLES).flatMap(({ functions }) => functions.filter((name) => name !== "payOut"));
  expect([...FUNCTIONS, ...unguarded, "moveOperationalWallet", "moveRefundTo"].sort()).toEqual([...writes].sort());
});

test.each(FUNCTIONS)("%s by the token succeeds outside other calls", async (name) => {
  expect(await callBack(...inner(name))).toBe(true);
});

/** All functions in a whole run; otherwise three for each function, one of which is the function itself. */
const calledIn = (name: Name): Name[] =>
  FUNCTIONS.filter((_, at) => {
    const distance = (at - FUNCTIONS.indexOf(name) + FUNCTIONS.length) % FUNCTIONS.length;
    return isWhole() || distance % 4 === 0;
  });

describe.each(FUNCTIONS)("in the middle of %s", (name) => {
  test.each(calledIn(name))("the token's call of %s fails, and nothing else fails", async (called) => {
    const undisturbed = await world.client.snapshot();
    expect((await outer(name)).status).toBe("success");
    const expected = await standing();
    await world.client.revert({ id: undisturbed });
    await setCallBack(...inner(called));
    const receipt = await outer(name);
    expect([receipt.status, await succeeded(), await standing()]).toEqual(["success", false, expected]);
  });
});

describe("an operational wallet that is the token itself", () => {
  const move = async (): Promise<void> => {
    const { people, chain } = world;
    const change = [PROVIDER, token, people.wallet.address, token];
    await world.act("registrar", "setOperationalWallet", change);
    const args = [PROVIDER, token, people.stranger.address];
    const data = encodeFunctionData({ abi: settlementAbi, functionName: "moveOperationalWallet", args: args as never });
    await setCallBack(chain.settlementContract, data);
  };

  test("is paid if it moves in the middle of a payment, and the event says so", async () => {
    await move();
    const recorded = eventsOf(await outer("pay")).find(({ eventName }) => eventName === "SettlementRecorded");
    expect([await succeeded(), recorded?.args]).toMatchObject([true, { operationalWallet: token }]);
    expect(await world.read("splitOf", [PROVIDER, token])).toEqual([world.people.stranger.address, THRESHOLD]);
  });

  test("is not the wallet that the payer agreed to if it moves while the authorization is taken", async () => {
    await move();
    const { consumer } = world.people;
    const payment = { ...signed.outer.payment, operationalWallet: token };
    const contract = world.chain.settlementContract;
    const p = await signPayment(world.anvil.chainId, consumer.privateKey, contract, payment);
    const args = [p.payment, p.from, p.validAfter, p.validBefore, p.salt, p.signature];
    expect(await world.refusal("stranger", "settleWithAuthorization", args)).toBe("WalletDiffers");
    await setCallBack(contract, "0x");
    expect(await world.refusal("stranger", "settleWithAuthorization", args)).toBeNull();
  });
});
