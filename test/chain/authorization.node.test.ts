// Tests settleWithAuthorization (CHN-2): a payer without an allowance signs, anyone submits, and the signature cannot be used for anything else.
import {
  type Abi,
  encodeAbiParameters,
  encodeFunctionData,
  getAbiItem,
  type Hex,
  keccak256,
  parseEventLogs,
  parseSignature,
  serializeCompactSignature,
  serializeSignature,
  signatureToCompactSignature,
  toFunctionSelector,
  toHex,
} from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { describe, expect, test } from "vitest";
import { settlementAbi } from "../../scripts/chain/abi.ts";
import { artifacts } from "../../scripts/chain/deploy.ts";
import {
  type AuthorizedPayment,
  type FullPayment,
  signPayment,
  submitAuthorized,
} from "../../scripts/chain/payments.ts";
import {
  factsOf,
  INTENT,
  OTHER_PROVIDER,
  PROVIDER,
  paymentOf,
  REASON,
  THRESHOLD,
  UNIT,
  useWorld,
  type World,
  ZERO_HASH,
} from "./support.ts";
import { createTestContract, testContracts } from "./test-contracts.ts";

let world: World;
let token: Hex;
let signed: AuthorizedPayment;

useWorld(async (built) => {
  world = built;
  token = built.chain.token;
  await world.act("registrar", "registerProvider", [OTHER_PROVIDER, token, world.people.other.address, THRESHOLD]);
  // The payer has no allowance in this file, so that an allowance cannot be what pays.
  await world.sendTo("consumer", token, artifacts.TestUSDC.abi, "approve", [world.chain.settlementContract, 0n]);
  signed = await sign();
});

const sign = (
  change: Partial<FullPayment> = {},
  terms: Parameters<typeof signPayment>[4] = {},
  chainId = world.anvil.chainId,
) =>
  signPayment(
    chainId,
    world.people.consumer.privateKey,
    world.chain.settlementContract,
    paymentOf(world, change),
    terms,
  );

type Change = Partial<FullPayment> & Partial<Omit<AuthorizedPayment, "payment" | "settlementContract">>;
function argsOf({ payment, from, validAfter, validBefore, salt, signature }: AuthorizedPayment, change: Change = {}) {
  const terms = { from, validAfter, validBefore, salt, signature, ...change };
  const fields = Object.fromEntries(
    Object.entries(payment).map(([name, value]) => [name, change[name as keyof FullPayment] ?? value]),
  );
  return [fields, terms.from, terms.validAfter, terms.validBefore, terms.salt, terms.signature];
}
const submit = (change: Change = {}, by = signed) =>
  world.send("stranger", "settleWithAuthorization", argsOf(by, change));
const refusal = (change: Change, by = signed) =>
  world.refusal("stranger", "settleWithAuthorization", argsOf(by, change));

// Computes the nonce as the contract does, and as a payer's own software would.
const nonceOf = ({ payment, salt }: AuthorizedPayment): Hex => {
  const { inputs } = getAbiItem({ abi: settlementAbi, name: "nonceOf" });
  return keccak256(encodeAbiParameters(inputs, [payment, salt]));
};

const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
const otherS = (signature: Hex): Hex => {
  const { r, s, yParity } = parseSignature(signature);
  return serializeSignature({ r, s: toHex(ORDER - BigInt(s), { size: 32 }), yParity: 1 - yParity });
};
const compact = (signature: Hex): Hex =>
  serializeCompactSignature(signatureToCompactSignature(parseSignature(signature)));
const withParity = (signature: Hex): Hex => `${signature.slice(0, -2)}0${parseSignature(signature).yParity}` as Hex;

// An error of the token, by its selector, because the settlement contract passes it through.
const INVALID_SIGNATURE = toFunctionSelector("ERC3009InvalidSignature()");

describe("settleWithAuthorization", () => {
  test("splits like a payment, and the payer is the signer, not the submitter", async () => {
    const { consumer, stranger, wallet } = world.people;
    const receipt = await submit();
    const [settled, recorded] = parseEventLogs({ abi: settlementAbi, logs: receipt.logs });
    const parts = { gross: 10n * UNIT, fee: 5_000n, escrow: 999_500n, operational: 8_995_500n };
    expect(settled).toMatchObject({
      eventName: "Settled",
      args: { payer: consumer.address, intentHash: INTENT, ...parts },
    });
    expect(recorded).toMatchObject({ eventName: "SettlementRecorded", args: { refundTo: consumer.address } });
    expect(await world.balance(consumer.address)).toBe(990n * UNIT);
    expect(await world.balance(stranger.address)).toBe(0n);
    expect(await world.balance(await world.vault(PROVIDER))).toBe(999_500n);
    expect(await world.balance(wallet.address)).toBe(8_995_500n);
    // The contract holds the fee.
    expect(await world.balance(world.chain.settlementContract)).toBe(5_000n);
  });

  const CHANGES: [string, () => Change][] = [
    ["amount", () => ({ amount: 10n * UNIT - 1n })],
    ["provider", () => ({ providerDidHash: OTHER_PROVIDER, operationalWallet: world.people.other.address })],
    ["consumer", () => ({ consumerDidHash: REASON })],
    ["intent", () => ({ intentHash: REASON })],
    ["wallet", () => ({ operationalWallet: world.people.other.address })],
    ["highest fee", () => ({ maxFeeBps: 6 })],
    ["deadline", () => ({ deadline: 10_000_000_001n })],
    ["address for refunds", () => ({ refundTo: world.people.stranger.address })],
    ["salt", () => ({ salt: REASON })],
    ["end of validity", () => ({ validBefore: 2n ** 40n })],
    ["start of validity", () => ({ validAfter: 1n })],
    ["signature", () => ({ signature: `${signed.signature.slice(0, -4)}0000` as Hex })],
    ["form of the same signature (the other s)", () => ({ signature: otherS(signed.signature) })],
    ["form of the same signature (compact)", () => ({ signature: compact(signed.signature) })],
    ["form of the same signature (a parity of 0 or 1)", () => ({ signature: withParity(signed.signature) })],
    ["longer signature", () => ({ signature: `${signed.signature}00` })],
    ["shorter signature", () => ({ signature: signed.signature.slice(0, -2) as Hex })],
    ["no signature", () => ({ signature: "0x" })],
  ];
  test.each(CHANGES)("refuses a change: %s", async (_, change) => {
    const before = await world.balance(world.people.consumer.address);
    expect(await refusal(change())).not.toBeNull();
    expect((await submit(change())).status).toBe("reverted");
    expect(await world.balance(world.people.consumer.address)).toBe(before);
    // The signature is still valid for its own payment.
    expect((await submit()).status).toBe("success");
  });

  test("cannot be charged to another payer", async () => {
    await world.mint(world.people.other.address, 100n * UNIT);
    expect((await submit({ from: world.people.other.address })).status).toBe("reverted");
  });

  test("is refused for the token's own reason", async () => {
    expect(await refusal({ salt: REASON })).toBe(INVALID_SIGNATURE);
  });

  test("works once, whoever submits it first", async () => {
    const front = await world.send("other", "settleWithAuthorization", argsOf(signed));
    expect(front.status).toBe("success");
    expect((await submit()).status).toBe("reverted");
    // The front-runner only paid the gas.
    expect(await world.balance(world.people.consumer.address)).toBe(990n * UNIT);
    expect(await world.balance(world.people.other.address)).toBe(0n);
  });

  test("refuses a second authorization of an intent that was paid", async () => {
    await submit();
    expect(await refusal({}, await sign())).toBe("AlreadyPaid");
  });

  test("refuses an authorization before and after its time", async () => {
    const now = (await world.client.getBlock()).timestamp;
    const late = await sign({}, { validBefore: now - 1n });
    const early = await sign({}, { validAfter: now + 1_000n });
    const past = await sign({ deadline: now - 1n }, { validBefore: now + 1_000n });
    for (const p of [late, early]) expect((await submit({}, p)).status).toBe("reverted");
    expect(await refusal({}, past)).toBe("DeadlinePassed");
  });

  test("has an authorization that neither submitter nor payer can use at the token directly", async () => {
    const { abi } = artifacts.TestUSDC;
    const { from, settlementContract, payment, validAfter, validBefore, signature } = signed;
    const args = [from, settlementContract, payment.amount, validAfter, validBefore, nonceOf(signed), signature];
    for (const person of ["stranger", "consumer"] as const) {
      const received = await world.refusalAt(person, token, abi, "receiveWithAuthorization", args);
      expect(received).toBe("ERC20InvalidReceiver");
    }
  });

  test("has an authorization that the token's transferWithAuthorization refuses", async () => {
    const { from, settlementContract, payment, validAfter, validBefore, signature } = signed;
    const { r, s, yParity } = parseSignature(signature);
    const args = [
      from,
      settlementContract,
      payment.amount,
      validAfter,
      validBefore,
      nonceOf(signed),
      27 + yParity,
      r,
      s,
    ];
    const refused = world.refusalAt("stranger", token, artifacts.TestUSDC.abi, "transferWithAuthorization", args);
    expect(await refused).toBe("ERC3009InvalidSignature");
  });

  test("takes no other token of the payer", async () => {
    const other = await createTestContract(world, "UsdcLike", []);
    const { consumer, wallet } = world.people;
    await world.act("admin", "listToken", [other, THRESHOLD]);
    await world.act("registrar", "registerProvider", [PROVIDER, other, wallet.address, THRESHOLD]);
    const { abi } = testContracts.UsdcLike;
    await world.sendTo("other", other, abi, "mint", [consumer.address, 100n * UNIT]);
    expect((await submit({ token: other })).status).toBe("reverted");
    const by = await sign({ token: other });
    expect([(await submit({}, by)).status, (await submit({ token }, by)).status]).toEqual(["success", "reverted"]);
  });

  test("uses no allowance", async () => {
    await world.sendTo("consumer", token, artifacts.TestUSDC.abi, "approve", [signed.settlementContract, 100n * UNIT]);
    await submit();
    const allowance = { address: token, abi: artifacts.TestUSDC.abi, functionName: "allowance" };
    const args = [world.people.consumer.address, signed.settlementContract];
    expect(await world.client.readContract({ ...allowance, args })).toBe(100n * UNIT);
  });

  test("takes nothing once the payer has paid the intent in another way", async () => {
    await world.sendTo("consumer", token, artifacts.TestUSDC.abi, "approve", [signed.settlementContract, 100n * UNIT]);
    await world.send("consumer", "settle", [signed.payment]);
    expect(await refusal({})).toBe("AlreadyPaid");
    expect(await world.balance(world.people.consumer.address)).toBe(990n * UNIT);
  });

  test("refuses an authorization for another chain", async () => {
    expect((await submit({}, await sign({}, {}, 8453))).status).toBe("reverted");
  });

  test("refuses what settle refuses", async () => {
    const refused = async (change: Partial<FullPayment>) => refusal({}, await sign(change));
    expect(await refusal({ amount: 0n })).toBe(INVALID_SIGNATURE);
    expect(await refused({ amount: 0n })).toBe("ZeroAmount");
    expect(await refused({ providerDidHash: REASON })).toBe("UnknownProvider");
    expect(await refused({ consumerDidHash: ZERO_HASH })).toBe("ZeroHash");
    expect(await refused({ intentHash: ZERO_HASH })).toBe("ZeroHash");
    expect(await refused({ operationalWallet: world.people.other.address })).toBe("WalletDiffers");
    expect(await refused({ maxFeeBps: 4 })).toBe("FeeTooHigh");
    expect(await refused({ refundTo: `0x${"0".repeat(40)}` })).toBe("ZeroAddress");
    expect(await refusal({ token: world.people.other.address })).toBe("UnknownToken");
  });

  test("accepts the signature of a smart wallet (ERC-1271) for the wallet's own money", async () => {
    const { consumer, stranger } = world.people;
    const wallet = await createTestContract(world, "SmartWallet", [consumer.address]);
    await world.mint(wallet, 20n * UNIT);
    const by = await sign({ refundTo: wallet }, { from: wallet });
    expect((await submit({}, by)).status).toBe("success");
    expect(await world.balance(wallet)).toBe(10n * UNIT);
    expect(await world.balance(consumer.address)).toBe(1_000n * UNIT);
    const payment = paymentOf(world, { intentHash: REASON });
    const foreign = await signPayment(world.anvil.chainId, stranger.privateKey, signed.settlementContract, payment, {
      from: wallet,
    });
    expect(await refusal({}, foreign)).toBe(INVALID_SIGNATURE);
  });

  test("does not stop a smart wallet from paying from its allowance, and refunds go to it", async () => {
    const { consumer } = world.people;
    const { settlementContract } = world.chain;
    const wallet = await createTestContract(world, "SmartWallet", [consumer.address]);
    await world.mint(wallet, 20n * UNIT);
    const run = (to: Hex, abi: Abi, functionName: string, args: readonly unknown[]) => {
      const call = [to, encodeFunctionData({ abi, functionName, args })];
      return world.sendTo("consumer", wallet, testContracts.SmartWallet.abi, "run", call);
    };
    await run(token, artifacts.TestUSDC.abi, "approve", [settlementContract, 10n * UNIT]);
    const named = [token, 10n * UNIT, PROVIDER, signed.payment.consumerDidHash, INTENT];
    const facts = await factsOf(world, await run(settlementContract, settlementAbi as Abi, "payIntent", named));
    expect([facts.refundTo.toLowerCase(), await world.balance(wallet)]).toEqual([wallet.toLowerCase(), 10n * UNIT]);
    await world.act("arbiter", "payOut", [facts, 7n]);
    expect(await world.balance(wallet)).toBe(10n * UNIT + 7n);
  });

  test("accepts what the scripts sign", async () => {
    const { rpcUrl } = world.anvil;
    const { privateKey } = world.people.stranger;
    await expect(submitAuthorized(rpcUrl, privateKey, { ...signed, salt: ZERO_HASH })).rejects.toThrow();
    const hash = await submitAuthorized(rpcUrl, privateKey, signed);
    expect((await world.client.getTransactionReceipt({ hash })).status).toBe("success");
  });

  test("uses the key and the nonce that the contract computes", async () => {
    expect(await world.read("nonceOf", [signed.payment, signed.salt])).toBe(nonceOf(signed));
    const [, recorded] = parseEventLogs({ abi: settlementAbi, logs: (await submit()).logs });
    expect(recorded?.args).toMatchObject({ key: await world.read("keyOf", [signed.payment]) });
  });
});

describe("the test token", () => {
  const { abi } = artifacts.TestUSDC;
  const read = (functionName: string, args: readonly unknown[] = []) =>
    world.client.readContract({ address: token, abi, functionName, args });

  test("looks like USDC", async () => {
    expect(await read("symbol")).toBe("USDC");
    expect(await read("decimals")).toBe(6);
    expect(await read("name")).toBe("USD Coin");
    expect(await read("version")).toBe("2");
    expect(await read("DOMAIN_SEPARATOR")).toMatch(/^0x[0-9a-f]{64}$/);
  });

  test("lets a payer cancel an authorization before it is used", async () => {
    const nonce = nonceOf(signed);
    const signature = await privateKeyToAccount(world.people.consumer.privateKey).signTypedData({
      domain: { name: "USD Coin", version: "2", chainId: world.anvil.chainId, verifyingContract: token },
      types: {
        CancelAuthorization: [
          { name: "authorizer", type: "address" },
          { name: "nonce", type: "bytes32" },
        ],
      },
      primaryType: "CancelAuthorization",
      message: { authorizer: world.people.consumer.address, nonce },
    });
    const { r, s, yParity } = parseSignature(signature);
    await world.sendTo("stranger", token, abi, "cancelAuthorization", [signed.from, nonce, 27 + yParity, r, s]);
    expect(await read("authorizationState", [signed.from, nonce])).toBe(true);
    expect((await submit()).status).toBe("reverted");
  });
});
