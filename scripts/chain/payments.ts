// Pays on a local chain as a consumer would.
import type { Hex } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { authorize, drawSalt, type Payment } from "../../src/protocol/payment.ts";
import { settlementAbi, tokenAbi } from "./abi.ts";
import { callContract } from "./client.ts";
import { artifacts } from "./deploy.ts";

export type PlainPayment = {
  settlementContract: Hex;
  token: Hex;
  amount: bigint;
  providerDidHash: Hex;
  consumerDidHash: Hex;
};
export type IntentPayment = PlainPayment & { intentHash: Hex };
/** The terms that a payer agrees to, as the contract's `Payment` has them. */
export type FullPayment = Payment;
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
  return callContract(rpcUrl, key, { address: token, abi, functionName: "mint", args: [to, amount] });
}

/** Approves `spender` (the settlement contract) for tokens of the key's account; by default without limit. */
export async function approve(
  rpcUrl: string,
  key: Hex,
  token: Hex,
  spender: Hex,
  amount = 2n ** 256n - 1n,
): Promise<Hex> {
  return callContract(rpcUrl, key, { address: token, abi: tokenAbi, functionName: "approve", args: [spender, amount] });
}

/** Pays as AEA/P clients do, without naming an intent (CHN-2). Resolves once it is mined. */
export async function pay(rpcUrl: string, key: Hex, payment: PlainPayment): Promise<Hex> {
  const { settlementContract: address, token, amount, providerDidHash, consumerDidHash } = payment;
  const args = [token, amount, providerDidHash, consumerDidHash];
  return callContract(rpcUrl, key, { address, abi: settlementAbi, functionName: "pay", args });
}

export async function payIntent(rpcUrl: string, key: Hex, payment: IntentPayment): Promise<Hex> {
  const { settlementContract: address, token, amount, providerDidHash, consumerDidHash, intentHash } = payment;
  const args = [token, amount, providerDidHash, consumerDidHash, intentHash];
  return callContract(rpcUrl, key, { address, abi: settlementAbi, functionName: "payIntent", args });
}

/** Pays on full terms: with another wallet, with a higher fee or after the deadline nothing is paid. */
export async function settle(rpcUrl: string, key: Hex, settlementContract: Hex, payment: FullPayment): Promise<Hex> {
  const call = { address: settlementContract, abi: settlementAbi, functionName: "settle", args: [payment] };
  return callContract(rpcUrl, key, call);
}

type Terms = { salt?: Hex; validAfter?: bigint; validBefore?: bigint; from?: Hex };

/** Signs the payer's EIP-3009 authorization of one payment. Its nonce binds it to the whole payment. */
export async function signPayment(
  chainId: number,
  payerKey: Hex,
  settlementContract: Hex,
  payment: FullPayment,
  terms: Terms = {},
): Promise<AuthorizedPayment> {
  const account = privateKeyToAccount(payerKey);
  const { salt = drawSalt(), from = account.address } = terms;
  const prepared = { chainId, contract: settlementContract, payment };
  const { typedData, ...authorization } = authorize(prepared, { ...terms, from, salt });
  const signature = await account.signTypedData(typedData);
  return { settlementContract, payment, ...authorization, signature };
}

/** Submits a signed payment; the submitter pays the gas and nothing else. */
export async function submitAuthorized(rpcUrl: string, submitterKey: Hex, signed: AuthorizedPayment): Promise<Hex> {
  const { settlementContract: address, payment, from, validAfter, validBefore, salt, signature } = signed;
  const args = [payment, from, validAfter, validBefore, salt, signature];
  return callContract(rpcUrl, submitterKey, {
    address,
    abi: settlementAbi,
    functionName: "settleWithAuthorization",
    args,
  });
}

/** Deposits tokens from the allowance into a provider's vault, as anyone may. */
export async function depositEscrow(
  rpcUrl: string,
  key: Hex,
  { settlementContract: address, token, amount, providerDidHash }: Omit<PlainPayment, "consumerDidHash">,
): Promise<Hex> {
  const args = [providerDidHash, token, amount];
  return callContract(rpcUrl, key, { address, abi: settlementAbi, functionName: "depositEscrow", args });
}
