// The payment vectors against two other implementations, viem and the contract itself on anvil (CHN-2, CHN-8), and the integrators' page, run as they
// would run it.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Abi, encodeFunctionData, type Hex, hashTypedData, keccak256, recoverTypedDataAddress } from "viem";
import { type PrivateKeyAccount, privateKeyToAccount } from "viem/accounts";
import { describe, expect, test } from "vitest";
import { settlementAbi } from "../../scripts/chain/abi.ts";
import { awaitReceipt } from "../../scripts/chain/client.ts";
import { computeKeccak256 as ownKeccak256, toChecksumAddress } from "../../src/protocol/keccak.ts";
import { computeAuthorizationNonce, type PayableIntent } from "../../src/protocol/payment.ts";
import { CONSUMER, eventsOf, INTENT, PROVIDER, UNIT, useWorld, type World } from "../chain/support.ts";
import { make, PAYER, stated, terms, VECTORS } from "./payment-vectors.ts";

let world: World;
useWorld((built) => {
  world = built;
});

test("Keccak-256 equals viem's, for every length up to two blocks", () => {
  for (let length = 0; length <= 2 * 136 + 1; length++) {
    const bytes = Uint8Array.from({ length }, (_, i) => (i * 31 + length) % 256);
    expect(ownKeccak256(bytes)).toBe(keccak256(bytes));
  }
});

test("an address is accepted in one case or with its checksum", () => {
  const { address } = PAYER;
  const digits = address.slice(2);
  for (const text of [address, address.toLowerCase(), `0x${digits.toUpperCase()}`]) {
    expect(toChecksumAddress(text)).toBe(address);
  }
  const swapped = [...digits].map((digit) =>
    digit === digit.toLowerCase() ? digit.toUpperCase() : digit.toLowerCase(),
  );
  for (const text of [`0x${swapped.join("")}`, digits, `0X${digits}`, `${address}0`]) {
    expect(toChecksumAddress(text)).toBeUndefined();
  }
});

describe.each(VECTORS)("$name", (vector) => {
  test("equals what Node computes", () => {
    expect(vector).toMatchObject(stated(vector));
  });

  test("has the contract's key and nonce", async () => {
    const { prepared, authorization } = make(vector);
    expect(await world.read("keyOf", [prepared.payment])).toBe(vector.settlement_key);
    expect(await world.read("nonceOf", [prepared.payment, authorization.salt])).toBe(vector.nonce);
  });

  test("has viem's calldata", () => {
    const { payment } = make(vector).prepared;
    const { from, salt, validAfter, validBefore } = terms(vector);
    const { token, amount, providerDidHash, consumerDidHash, intentHash } = payment;
    const calls: [keyof typeof vector.calldata, readonly unknown[]][] = [
      ["settle", [payment]],
      ["payIntent", [token, amount, providerDidHash, consumerDidHash, intentHash]],
      ["settleWithAuthorization", [payment, from, validAfter, validBefore, salt, vector.signature]],
    ];
    for (const [functionName, args] of calls) {
      expect(vector.calldata[functionName]).toBe(encodeFunctionData({ abi: settlementAbi as Abi, functionName, args }));
    }
  });

  test("has viem's digest, and the payer's signature over it", async () => {
    const { typedData } = make(vector).authorization;
    expect(hashTypedData(typedData)).toBe(vector.digest);
    if (typedData.message.from !== PAYER.address) return;
    const signature = vector.signature as Hex;
    expect(await recoverTypedDataAddress({ ...typedData, signature })).toBe(PAYER.address);
    expect(await privateKeyToAccount(PAYER.private_key).signTypedData(typedData)).toBe(signature);
  });
});

type Printed = {
  payByAuthorization: (
    intent: PayableIntent,
    account: PrivateKeyAccount,
    terms: { maxFeeBps?: number; refundTo: string },
  ) => Promise<{ to: Hex; data: Hex }>;
};
async function printed(): Promise<Printed> {
  const page = readFileSync("docs/proofs.md", "utf8");
  const [, block = ""] = /```js\n(import \{ authorize,[\s\S]*?)```/.exec(page) ?? [];
  const [, path = ""] = /from "(.*?)"/.exec(block) ?? [];
  const file = join(import.meta.dirname, "../../docs", path);
  // A module of a data URL cannot import other files, so its import is replaced.
  const code = block.replace(/^import (\{.*\}) from ".*";$/m, "const $1 = globalThis.paymentModule;");
  Object.assign(globalThis, { paymentModule: await import(/* @vite-ignore */ file) });
  return (await import(/* @vite-ignore */ `data:text/javascript,${encodeURIComponent(code)}`)) as Printed;
}

test("the printed code pays an intent by authorization, and the submitter cannot change the payment", async () => {
  const { consumer, wallet, other } = world.people;
  const { settlementContract: contract, token } = world.chain;
  const intent: PayableIntent = {
    ...{ amount_base_units: String(10n * UNIT), token, contract, chain_id: world.anvil.chainId },
    ...{ provider_did_hash: PROVIDER, consumer_did_hash: CONSUMER, intent_hash: INTENT },
    ...{ operational_wallet: wallet.address.toLowerCase(), expires_at: "2200-01-01T00:00:00.000Z" },
  };
  const { payByAuthorization } = await printed();
  const account = privateKeyToAccount(consumer.privateKey);
  const { to, data } = await payByAuthorization(intent, account, { refundTo: other.address });
  expect(to).toBe(contract);
  const client = world.client;
  const send = (sent: Hex) =>
    client.transport.request({
      method: "eth_call",
      params: [{ from: world.people.stranger.address, to, data: sent }, "latest"],
    });
  const turned = data.replaceAll(
    other.address.slice(2).toLowerCase(),
    world.people.stranger.address.slice(2).toLowerCase(),
  );
  expect(turned).not.toBe(data);
  await expect(send(turned as Hex)).rejects.toThrow();
  const hash = await client.transport.request({
    method: "eth_sendTransaction",
    params: [{ from: world.people.stranger.address, to, data }],
  });
  const receipt = await awaitReceipt(client, hash as Hex);
  expect(eventsOf(receipt)).toMatchObject([
    { eventName: "Settled", args: { payer: consumer.address, gross: 10n * UNIT } },
    { eventName: "SettlementRecorded", args: { refundTo: other.address } },
  ]);
});

test("another salt results in another nonce, and so does any other member", () => {
  for (const vector of VECTORS) {
    const { payment } = make(vector).prepared;
    const { salt } = terms(vector);
    const other: Hex = `0x${"12".repeat(32)}`;
    expect(computeAuthorizationNonce(payment, other)).not.toBe(vector.nonce);
    for (const [name, value] of Object.entries(payment)) {
      const changed =
        typeof value === "bigint"
          ? value - 1n
          : typeof value === "number"
            ? value ^ 1
            : value.length > 42
              ? other
              : PAYER.address;
      if (changed === value) continue;
      expect(computeAuthorizationNonce({ ...payment, [name]: changed }, salt), name).not.toBe(vector.nonce);
    }
  }
});
