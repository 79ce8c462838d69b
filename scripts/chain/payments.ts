// Pays on a local chain as a consumer would.
import { encodeAbiParameters, getAbiItem, type Hex, keccak256, toHex } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { settlementAbi, tokenAbi } from "../../src/chain/contracts/abi.ts";
import { write } from "./client.ts";
import { artifacts } from "./deploy.ts";

export type Payment = {
  settlementContract: Hex;
  token: Hex;
  amount: bigint;
  providerDidHash: Hex;
  consumerDidHash: Hex;
};
export type IntentPayment = Payment & { intentHash: Hex };
/** What a payer agrees to, as the contract has it (SettlementContract.Payment). */
export type FullPayment = {
  token: Hex;
  amount: bigint;
  providerDidHash: Hex;
  consumerDidHash: Hex;
  intentHash: Hex;
  operationalWallet: Hex;
  maxFeeBps: number;
  deadline: bigint;
  refundTo: Hex;
};
export type AuthorizedPayment = {
  settlementContract: Hex;
  payment: FullPayment;
  from: Hex;
  validAfter: bigint;
  validBefore: bigint;
  salt: Hex;
  signature: Hex;
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

type Terms = { salt?: Hex; validAfter?: bigint; validBefore?: bigint; from?: Hex };

/** Signs the payer's EIP-3009 authorization of one payment; its nonce binds it to the whole of the payment. */
export async function signPayment(
  chainId: number,
  payerKey: Hex,
  settlementContract: Hex,
  payment: FullPayment,
  terms: Terms = {},
): Promise<AuthorizedPayment> {
  const account = privateKeyToAccount(payerKey);
  const { salt = randomHash(), validAfter = 0n, validBefore = payment.deadline, from = account.address } = terms;
  const { inputs } = getAbiItem({ abi: settlementAbi, name: "nonceOf" });
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
      from,
      to: settlementContract,
      value: payment.amount,
      validAfter,
      validBefore,
      nonce: keccak256(encodeAbiParameters(inputs, [payment, salt])),
    },
  });
  return { settlementContract, payment, from, validAfter, validBefore, salt, signature };
}

/** Submits a signed payment; the submitter pays the gas and nothing else. */
export async function submitAuthorized(rpcUrl: string, submitterKey: Hex, signed: AuthorizedPayment): Promise<Hex> {
  const { settlementContract: address, payment, from, validAfter, validBefore, salt, signature } = signed;
  const args = [payment, from, validAfter, validBefore, salt, signature];
  return write(rpcUrl, submitterKey, { address, abi: settlementAbi, functionName: "settleWithAuthorization", args });
}

function randomHash(): Hex {
  return toHex(crypto.getRandomValues(new Uint8Array(32)));
}
