// Payments of consumers on the local chain.
import { encodeFunctionData } from "viem";
import { type AnvilAccount, devAccounts } from "../scripts/chain/anvil.ts";
import { sendData } from "../scripts/chain/client.ts";
import { approve, depositEscrow, mintTestUsdc, payIntent } from "../scripts/chain/payments.ts";
import { roleAccounts } from "../scripts/ephemeral.ts";
import { authorityAbi, settlementAbi } from "../src/chain/abi.ts";
import { hashDid, hashIntent } from "../src/chain/hashes.ts";
import type { Network } from "../src/chain/networks.ts";

export type Amount = { readonly text: string; readonly units: bigint };
export const AMOUNT: Amount = { text: "10.00", units: 10_000_000n };
/** Fills a provider's vault beyond every threshold. */
export const LARGE_AMOUNT: Amount = { text: "1000.00", units: 1_000_000_000n };
const WALLETS = devAccounts();
const PAYER = 9;
const SELLER = 8;
const SUBMITTER = 7;

function wallet(index: number): AnvilAccount {
  const found = WALLETS[index];
  if (!found) throw new Error(`anvil has no account ${index}`);
  return found;
}

export const payerAccount = (): AnvilAccount => wallet(PAYER);

/** The account that pays the gas of signed payments. */
export const submitterAccount = (): AnvilAccount => wallet(SUBMITTER);

/** The address that receives the providers' share. */
export const operationalWallet = (): string => wallet(SELLER).address;

type Address = `0x${string}`;
const chainOf = ({ rpc_url, token, settlement_contract }: Network) =>
  ({ rpcUrl: rpc_url, token: token as Address, settlementContract: settlement_contract as Address }) as const;

export async function fillWallet(network: Network): Promise<void> {
  const { rpcUrl, token, settlementContract } = chainOf(network);
  const payer = wallet(PAYER);
  await mintTestUsdc(rpcUrl, payer.privateKey, token, payer.address, LARGE_AMOUNT.units * 1_000_000n);
  await approve(rpcUrl, payer.privateKey, token, settlementContract);
}

/** Pays an intent and returns the transaction's hash once it is mined. */
export async function payFor(
  network: Network,
  parties: { readonly consumerDid: string; readonly providerDid: string },
  intentId: string,
  amount: Amount = AMOUNT,
): Promise<string> {
  const { rpcUrl, token, settlementContract } = chainOf(network);
  return payIntent(rpcUrl, wallet(PAYER).privateKey, {
    settlementContract,
    token,
    amount: amount.units,
    providerDidHash: hashDid(parties.providerDid),
    consumerDidHash: hashDid(parties.consumerDid),
    intentHash: hashIntent(intentId),
  });
}

/** Deposits an amount into a provider's vault; resolves once it is mined. */
export async function depositFor(network: Network, providerDid: string, amount: bigint): Promise<void> {
  const { rpcUrl, token, settlementContract } = chainOf(network);
  const deposit = { settlementContract, token, amount, providerDidHash: hashDid(providerDid) };
  await depositEscrow(rpcUrl, wallet(PAYER).privateKey, deposit);
}

/** Sets a threshold with the registrar's key, bypassing the service. */
export async function setThresholdFor(network: Network, did: string, units: bigint): Promise<void> {
  const contract = network.settlement_contract as Address;
  const args = [hashDid(did), network.token as Address, units] as const;
  const call = encodeFunctionData({ abi: settlementAbi, functionName: "setThreshold", args });
  const data = encodeFunctionData({ abi: authorityAbi, functionName: "execute", args: [contract, call] });
  await sendData(network.rpc_url, roleAccounts().registrar.privateKey, network.authority as Address, data);
}
