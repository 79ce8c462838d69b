// Pays on a local chain as a consumer would.
import { encodeAbiParameters, type Hex, keccak256, parseSignature, toHex } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { settlementAbi, tokenAbi } from "../../src/chain/contracts/abi.ts";
import { clientFor, write } from "./client.ts";
import { artifacts } from "./deploy.ts";

export type Payment = {
  settlementContract: Hex;
  token: Hex;
  amount: bigint;
  providerDidHash: Hex;
  consumerDidHash: Hex;
};
export type IntentPayment = Payment & { intentHash: Hex };
export type AuthorizedPayment = IntentPayment & {
  from: Hex;
  salt: Hex;
  validAfter: bigint;
  validBefore: bigint;
  v: number;
  r: Hex;
  s: Hex;
};

/** Mints test money. `key` only pays the gas. */
export async function mintTestUsdc(rpcUrl: string, key: Hex, token: Hex, to: Hex, amount: bigint): Promise<Hex> {
  const { abi } = artifacts.TestUSDC;
  return write(rpcUrl, key, { address: token, abi, functionName: "mint", args: [to, amount] });
}

/** Approves `spender` (the settlement contract) for tokens of the key's account; without an amount, without limit. */
export async function approve(
  rpcUrl: string,
  key: Hex,
  token: Hex,
  spender: Hex,
  amount = 2n ** 256n - 1n,
): Promise<Hex> {
  return write(rpcUrl, key, { address: token, abi: tokenAbi, functionName: "approve", args: [spender, amount] });
}

/** The payment of AEA/P clients, which names no intent (CHN-2). Resolves once it is mined. */
export async function pay(rpcUrl: string, key: Hex, payment: Payment): Promise<Hex> {
  const { settlementContract: address, token, amount, providerDidHash, consumerDidHash } = payment;
  const args = [token, amount, providerDidHash, consumerDidHash];
  return write(rpcUrl, key, { address, abi: settlementAbi, functionName: "pay", args });
}

/** A payment for one intent, out of the allowance. */
export async function payIntent(rpcUrl: string, key: Hex, payment: IntentPayment): Promise<Hex> {
  const { settlementContract: address, token, amount, providerDidHash, consumerDidHash, intentHash } = payment;
  const args = [token, amount, providerDidHash, consumerDidHash, intentHash];
  return write(rpcUrl, key, { address, abi: settlementAbi, functionName: "payIntent", args });
}

/** Signs the payer's EIP-3009 authorization for one payment; its nonce binds it to provider, consumer and intent. */
export async function signPayment(
  chainId: number,
  payerKey: Hex,
  payment: IntentPayment,
  terms: { salt?: Hex; validAfter?: bigint; validBefore?: bigint } = {},
): Promise<AuthorizedPayment> {
  const account = privateKeyToAccount(payerKey);
  const { salt = randomHash(), validAfter = 0n, validBefore = BigInt(Math.floor(Date.now() / 1_000)) + 3_600n } = terms;
  const { providerDidHash, consumerDidHash, intentHash } = payment;
  const bytes32 = { type: "bytes32" } as const;
  const nonce = keccak256(
    encodeAbiParameters([bytes32, bytes32, bytes32, bytes32], [providerDidHash, consumerDidHash, intentHash, salt]),
  );
  const signature = await account.signTypedData({
    domain: { name: "USD Coin", version: "2", chainId, verifyingContract: payment.token },
    types: {
      ReceiveWithAuthorization: [
        { name: "from", type: "address" },
        { name: "to", type: "address" },
        { name: "value", type: "uint256" },
        { name: "validAfter", type: "uint256" },
        { name: "validBefore", type: "uint256" },
        { name: "nonce", type: "bytes32" },
      ],
    },
    primaryType: "ReceiveWithAuthorization",
    message: {
      from: account.address,
      to: payment.settlementContract,
      value: payment.amount,
      validAfter,
      validBefore,
      nonce,
    },
  });
  const { r, s, yParity } = parseSignature(signature);
  return { ...payment, from: account.address, salt, validAfter, validBefore, v: 27 + yParity, r, s };
}

/** Submits a signed payment; the submitter pays the gas and nothing else. */
export async function submitAuthorized(rpcUrl: string, submitterKey: Hex, payment: AuthorizedPayment): Promise<Hex> {
  const p = payment;
  const args = [p.token, p.from, p.amount, p.providerDidHash, p.consumerDidHash, p.intentHash, p.salt] as const;
  return write(rpcUrl, submitterKey, {
    address: p.settlementContract,
    abi: settlementAbi,
    functionName: "payWithAuthorization",
    args: [...args, p.validAfter, p.validBefore, p.v, p.r, p.s],
  });
}

/** Signs as the payer and submits as anyone. */
export async function payWithAuthorization(
  rpcUrl: string,
  keys: { payerKey: Hex; submitterKey: Hex },
  payment: IntentPayment,
): Promise<Hex> {
  const chainId = await clientFor(rpcUrl).getChainId();
  return submitAuthorized(rpcUrl, keys.submitterKey, await signPayment(chainId, keys.payerKey, payment));
}

function randomHash(): Hex {
  return toHex(crypto.getRandomValues(new Uint8Array(32)));
}
