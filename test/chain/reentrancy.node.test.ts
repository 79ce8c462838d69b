// A listed token that calls back in the middle of its transfers (CHN-1 to CHN-6): whatever it calls, in the middle of whatever, gets nowhere, and
// what was going on ends as if it had not called.
import { type Abi, encodeFunctionData, getAddress, type Hex } from "viem";
import { describe, expect, test } from "vitest";
import { authorityAbi, settlementAbi } from "../../scripts/chain/abi.ts";
import { type AuthorizedPayment, signPayment } from "../../scripts/chain/payments.ts";
import { ROLES } from "../../scripts/chain/roles.ts";
import { intentHash } from "../../src/chain/hashes.ts";
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

// Every function that moves money: once as what goes on, once as what the token calls back.
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
const INTENTS = { outer: intentHash("pin_outer"), inner: intentHash("pin_2") };
// What the token calls is about another provider, so that nothing but the guard is in its way.
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
  // Even a token that is an arbiter is stopped.
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

/** Whether the token's call would pass outside of everything: it is made in a transfer of the token alone. */
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

/** All that the token's accounts hold, in base units. */
const standing = async () => {
  const { people, chain } = world;
  const vaults = [await world.vault(PROVIDER), await world.vault(OTHER_PROVIDER)];
  const accounts = [...Object.values(people).map(({ address }) => address), ...vaults, chain.settlementContract, token];
  const balanceOf = (account: Hex) =>
    world.client.readContract({ address: token, abi, functionName: "balanceOf", args: [account] });
  return Promise.all(accounts.map(balanceOf));
};

test("every function with a guard is played", () => {
  const writes = settlementAbi.flatMap((entry) =>
    entry.type === "function" && entry.stateMutability === "nonpayable" ? [entry.name as string] : [],
  );
  const unguarded = Object.values(ROLES).flatMap(({ functions }) => functions.filter((name) => name !== "payOut"));
  expect([...FUNCTIONS, ...unguarded, "moveOperationalWallet", "moveRefundTo"].sort()).toEqual([...writes].sort());
});

test.each(FUNCTIONS)("%s by the token passes outside of everything", async (name) => {
  expect(await callBack(...inner(name))).toBe(true);
});

/** All in a whole run; else each function three times, once in the middle of itself. */
const calledIn = (name: Name): Name[] =>
  FUNCTIONS.filter((_, at) => {
    const distance = (at - FUNCTIONS.indexOf(name) + FUNCTIONS.length) % FUNCTIONS.length;
    return isWhole() || distance % 4 === 0;
  });

describe.each(FUNCTIONS)("in the middle of %s", (name) => {
  test.each(calledIn(name))("the token's call of %s fails, and nothing else does", async (called) => {
    const undisturbed = await world.client.snapshot();
    expect((await outer(name)).status).toBe("success");
    const expected = await standing();
    await world.client.revert({ id: undisturbed });
    await setCallBack(...inner(called));
    const receipt = await outer(name);
    expect([receipt.status, await succeeded(), await standing()]).toEqual(["success", false, expected]);
  });
});

describe("the operational wallet that is the token itself", () => {
  const move = async (): Promise<void> => {
    const { people, chain } = world;
    const change = [PROVIDER, token, people.wallet.address, token];
    await world.act("registrar", "setOperationalWallet", change);
    const args = [PROVIDER, token, people.stranger.address];
    const data = encodeFunctionData({ abi: settlementAbi, functionName: "moveOperationalWallet", args: args as never });
    await setCallBack(chain.settlementContract, data);
  };

  test("and moves on in the middle of a payment is paid, and so it is told", async () => {
    await move();
    const recorded = eventsOf(await outer("pay")).find(({ eventName }) => eventName === "SettlementRecorded");
    expect([await succeeded(), recorded?.args]).toMatchObject([true, { operationalWallet: token }]);
    expect(await world.read("splitOf", [PROVIDER, token])).toEqual([world.people.stranger.address, THRESHOLD]);
  });

  test("and moves on while the payer's authorization is taken is not what the payer agreed to", async () => {
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
