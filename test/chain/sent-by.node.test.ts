// Tests that the sender and the nonce of a transaction come from its own bytes (PAY-11).
import { type Hex, keccak256 } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { expect, test } from "vitest";
import { recoverSender } from "../../src/chain/sent-by.ts";
import { useWorld, type World } from "./support.ts";

let world: World;
useWorld((built) => {
  world = built;
});

const account = privateKeyToAccount(`0x${"42".repeat(32)}`);
const NONCE = 3;
const TO = "0x00000000000000000000000000000000000000aa";
const BODY = { chainId: 84532, nonce: NONCE, to: TO, value: 0n, gas: 100_000n, data: "0x0102" } as const;
const GAS_PRICE = { gasPrice: 2_000_000_000n };
const FEES = { maxFeePerGas: 2_000_000_000n, maxPriorityFeePerGas: 1n };
const accessList = [{ address: TO, storageKeys: [`0x${"01".repeat(32)}`] }] as const;

const SIGNED: Record<string, () => Promise<Hex>> = {
  legacy: () => account.signTransaction({ type: "legacy", ...BODY, ...GAS_PRICE }),
  "legacy without a chain": () => {
    const { chainId: _any, ...body } = BODY;
    return account.signTransaction({ type: "legacy", ...body, ...GAS_PRICE });
  },
  "EIP-2930": () => account.signTransaction({ type: "eip2930", ...BODY, ...GAS_PRICE, accessList }),
  "EIP-1559": () => account.signTransaction({ type: "eip1559", ...BODY, ...FEES, accessList }),
  "EIP-7702": async () => {
    const authorization = await account.signAuthorization({ address: TO, chainId: 84532, nonce: 1 });
    return account.signTransaction({ type: "eip7702", ...BODY, ...FEES, authorizationList: [authorization] });
  },
};

/** A legacy transaction states its chain only in its signature. */
const OTHER_CHAIN: Record<string, { chainId: Hex }> = { legacy: { chainId: "0x1" } };

/** Sends a transaction, and returns the answer of the node. */
async function shown(raw: Hex): Promise<Record<string, unknown>> {
  const { client } = world;
  await client.transport.request({ method: "anvil_dropAllTransactions", params: [] });
  await client.setBalance({ address: account.address, value: 10n ** 18n });
  const hash = await client.sendRawTransaction({ serializedTransaction: raw });
  expect(hash).toBe(keccak256(raw));
  return (await client.transport.request({ method: "eth_getTransactionByHash", params: [hash] })) as Record<
    string,
    unknown
  >;
}

test.each(Object.keys(SIGNED))(
  "a %s transaction shows its sender and nonce, and no answer with an altered field does",
  async (name) => {
    const raw = await SIGNED[name]?.();
    if (!raw) throw new Error("nothing signed");
    const hash = keccak256(raw);
    const told = await shown(raw);
    expect(await recoverSender(hash, told)).toEqual({ from: account.address.toLowerCase(), nonce: NONCE });
    // The sender and the place in the answer are ignored.
    expect(
      await recoverSender(hash, {
        ...told,
        from: TO,
        hash: `0x${"00".repeat(32)}`,
        blockNumber: "0x9",
        ...OTHER_CHAIN[name],
      }),
    ).toEqual({
      from: account.address.toLowerCase(),
      nonce: NONCE,
    });
    for (const [field, value] of Object.entries({
      nonce: "0x1",
      value: "0x1",
      to: account.address,
      input: "0x",
      gas: "0x1",
    }))
      expect([field, await recoverSender(hash, { ...told, [field]: value })]).toEqual([field, undefined]);
    for (const field of ["r", "s", "nonce", "input"]) {
      const { [field]: _left, ...rest } = told;
      expect([field, await recoverSender(hash, rest)]).toEqual([field, undefined]);
    }
  },
);

test("anything but a transaction shows no sender", async () => {
  for (const answer of [null, undefined, {}, [], "0x", { type: "0x7e", nonce: "0x3", input: "0x" }])
    expect(await recoverSender(`0x${"00".repeat(32)}`, answer)).toBeUndefined();
});
