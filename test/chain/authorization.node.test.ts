// payWithAuthorization (CHN-2): a payer without an allowance signs, anyone submits, and nobody can use the signature
// for anything else.
import { encodeAbiParameters, type Hex, keccak256, parseEventLogs, parseSignature, toFunctionSelector } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { describe, expect, test } from "vitest";
import { artifacts } from "../../scripts/chain/deploy.ts";
import {
  type AuthorizedPayment,
  payWithAuthorization,
  signPayment,
  submitAuthorized,
} from "../../scripts/chain/payments.ts";
import { settlementAbi } from "../../src/chain/contracts/abi.ts";
import {
  CONSUMER,
  INTENT,
  OTHER_PROVIDER,
  PROVIDER,
  REASON,
  UNIT,
  useWorld,
  type World,
  ZERO_HASH,
} from "./support.ts";

let world: World;
let token: Hex;
let signed: AuthorizedPayment;

useWorld(async (built) => {
  world = built;
  token = built.chain.token;
  await world.send("registrar", "registerProvider", [OTHER_PROVIDER, token, world.people.other.address, 0n]);
  // No allowance in this file: it must not be what pays.
  await world.sendTo("consumer", token, artifacts.TestUSDC.abi, "approve", [world.chain.settlementContract, 0n]);
  signed = await signPayment(world.anvil.chainId, world.people.consumer.privateKey, payment());
});

function payment() {
  return {
    settlementContract: world.chain.settlementContract,
    token,
    amount: 10n * UNIT,
    providerDidHash: PROVIDER,
    consumerDidHash: CONSUMER,
    intentHash: INTENT,
  };
}

const argsOf = (p: AuthorizedPayment) => [
  ...[p.token, p.from, p.amount, p.providerDidHash, p.consumerDidHash, p.intentHash, p.salt],
  ...[p.validAfter, p.validBefore, p.v, p.r, p.s],
];
const submit = (change: Partial<AuthorizedPayment> = {}) =>
  world.send("stranger", "payWithAuthorization", argsOf({ ...signed, ...change }));
const refusal = (change: Partial<AuthorizedPayment>) =>
  world.refusal("stranger", "payWithAuthorization", argsOf({ ...signed, ...change }));

// As the contract computes it, and so a payer's own software.
function nonceOf({ providerDidHash, consumerDidHash, intentHash, salt }: AuthorizedPayment): Hex {
  const words = [providerDidHash, consumerDidHash, intentHash, salt] as const;
  const bytes32 = { type: "bytes32" } as const;
  return keccak256(encodeAbiParameters([bytes32, bytes32, bytes32, bytes32], words));
}

// The token's errors, by selector, since the settlement contract hands them through.
const INVALID_SIGNATURE = toFunctionSelector("ERC3009InvalidSignature()");

describe("payWithAuthorization", () => {
  test("splits like a payment; the payer is who signed, not who submits", async () => {
    const { consumer, stranger, wallet, feeRecipient } = world.people;
    const receipt = await submit();
    const [settled, recorded] = parseEventLogs({ abi: settlementAbi, logs: receipt.logs });
    const parts = { gross: 10n * UNIT, fee: 5_000n, escrow: 999_500n, operational: 8_995_500n };
    expect(settled).toMatchObject({
      eventName: "Settled",
      args: { payer: consumer.address, intentHash: INTENT, ...parts },
    });
    expect(recorded).toMatchObject({ eventName: "SettlementRecorded", args: { payer: consumer.address } });
    expect(await world.balance(consumer.address)).toBe(990n * UNIT);
    expect(await world.balance(stranger.address)).toBe(0n);
    expect(await world.balance(feeRecipient.address)).toBe(5_000n);
    expect(await world.balance(await world.vault(PROVIDER))).toBe(999_500n);
    expect(await world.balance(wallet.address)).toBe(8_995_500n);
    expect(await world.balance(world.chain.settlementContract)).toBe(0n);
  });

  const CHANGES: [string, Partial<AuthorizedPayment>][] = [
    ["provider", { providerDidHash: OTHER_PROVIDER }],
    ["consumer", { consumerDidHash: REASON }],
    ["intent", { intentHash: REASON }],
    ["salt", { salt: REASON }],
    ["amount", { amount: 10n * UNIT - 1n }],
    ["end of validity", { validBefore: 2n ** 40n }],
    ["begin of validity", { validAfter: 1n }],
    ["signature", { r: REASON }],
  ];
  test.each(CHANGES)("cannot be given another %s", async (_, change) => {
    const before = await world.balance(world.people.consumer.address);
    expect(await refusal(change)).not.toBeNull();
    expect((await submit(change)).status).toBe("reverted");
    expect(await world.balance(world.people.consumer.address)).toBe(before);
    // The signature is still good for what it was made for.
    expect((await submit()).status).toBe("success");
  });

  test("cannot be charged to another payer", async () => {
    await world.mint(world.people.other.address, 100n * UNIT);
    expect((await submit({ from: world.people.other.address })).status).toBe("reverted");
  });

  test("is refused with the token's own reason", async () => {
    expect(await refusal({ salt: REASON })).toBe(INVALID_SIGNATURE);
  });

  test("is good once", async () => {
    expect((await submit()).status).toBe("success");
    expect((await submit()).status).toBe("reverted");
    expect(await world.balance(world.people.consumer.address)).toBe(990n * UNIT);
  });

  test("is refused before and after its time", async () => {
    const { privateKey } = world.people.consumer;
    const now = (await world.client.getBlock()).timestamp;
    const late = await signPayment(world.anvil.chainId, privateKey, payment(), { validBefore: now - 1n });
    const early = await signPayment(world.anvil.chainId, privateKey, payment(), { validAfter: now + 1_000n });
    for (const p of [late, early]) {
      expect((await world.send("stranger", "payWithAuthorization", argsOf(p))).status).toBe("reverted");
    }
  });

  test("cannot be taken to the token directly, by the submitter or by the payer", async () => {
    const { abi } = artifacts.TestUSDC;
    const { from, settlementContract, amount, validAfter, validBefore, v, r, s } = signed;
    const args = [from, settlementContract, amount, validAfter, validBefore, nonceOf(signed), v, r, s];
    for (const person of ["stranger", "consumer"] as const) {
      const received = await world.refusalAt(person, token, abi, "receiveWithAuthorization", args);
      expect(received).toBe("ERC20InvalidReceiver");
      const transferred = await world.refusalAt(person, token, abi, "transferWithAuthorization", args);
      expect(transferred).toBe("ERC3009InvalidSignature");
    }
  });

  test("is not good on another chain", async () => {
    const foreign = await signPayment(8453, world.people.consumer.privateKey, payment());
    expect((await world.send("stranger", "payWithAuthorization", argsOf(foreign))).status).toBe("reverted");
  });

  test("refuses what pay refuses, and a zero intent", async () => {
    expect(await refusal({ amount: 0n })).toBe("ZeroAmount");
    expect(await refusal({ providerDidHash: REASON })).toBe("UnknownProvider");
    expect(await refusal({ consumerDidHash: ZERO_HASH })).toBe("ZeroHash");
    expect(await refusal({ intentHash: ZERO_HASH })).toBe("ZeroHash");
    expect(await refusal({ token: world.people.other.address })).toBe("UnknownToken");
  });

  test("is signed like this by the scripts", async () => {
    const { consumer, stranger } = world.people;
    const keys = { payerKey: consumer.privateKey, submitterKey: stranger.privateKey };
    const hash = await payWithAuthorization(world.anvil.rpcUrl, keys, payment());
    expect((await world.client.getTransactionReceipt({ hash })).status).toBe("success");
    await expect(
      submitAuthorized(world.anvil.rpcUrl, stranger.privateKey, { ...signed, salt: ZERO_HASH }),
    ).rejects.toThrow();
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
