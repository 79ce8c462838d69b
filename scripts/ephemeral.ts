// The chains and secrets of one run of the tests or of the bench, which are discarded afterwards.

import type { Hex } from "viem";
import type { NetworkInput } from "../src/chain/networks.ts";
import { computeSha256Hex } from "../src/core/encoding.ts";
import { computeBaseThreshold } from "../src/escrow/threshold.ts";
import { generateDid } from "../src/protocol/did.ts";
import { type Anvil, type AnvilAccount, devAccounts, startAnvil } from "./chain/anvil.ts";
import { deployContracts } from "./chain/deploy.ts";
import { type Delays, type Keys, NO_DELAYS } from "./chain/roles.ts";
import { newSealKey, newSigningJwk, randomText } from "./secrets.ts";

export type EphemeralChain = { readonly anvil: Anvil; readonly entry: NetworkInput };
type Money = Pick<NetworkInput, "currency" | "decimals" | "escrow_base">;
type ChainPlan = Pick<NetworkInput, "network" | "kind"> & {
  readonly chainId: number;
  readonly confirmations?: number;
  /** Without delays, every call of a role is executed at once. */
  readonly delays?: Delays;
  /** Epoch seconds of the first block. */
  readonly genesis?: number;
  readonly states?: number;
  /** The currency, if it is not the test token's, and the function that creates the token on the new chain. */
  readonly money?: Money & {
    readonly create: (rpcUrl: string, deployer: Hex) => Promise<Hex>;
  };
};

const TEST_MONEY: Money = { currency: "USDC", decimals: 6 };

/** The accounts of the contracts' roles. */
export function roleAccounts(): Record<keyof Keys | "feeRecipient", AnvilAccount> {
  const [admin, registrar, arbiter, feeRecipient, guardian, owner] = devAccounts();
  if (!admin || !registrar || !arbiter || !feeRecipient || !guardian || !owner)
    throw new Error("anvil has no accounts");
  return { owner, admin, registrar, arbiter, feeRecipient, guardian };
}

export const addressesOf = (accounts: Record<keyof Keys, AnvilAccount>): Keys => ({
  owner: accounts.owner.address,
  admin: accounts.admin.address,
  registrar: accounts.registrar.address,
  arbiter: accounts.arbiter.address,
  guardian: accounts.guardian.address,
});

/** Starts a chain on a free port with the contracts deployed on it, and returns its entry of NETWORKS. */
export async function startEphemeralChain(plan: ChainPlan): Promise<EphemeralChain> {
  const { network, chainId, kind, confirmations = 1, delays = NO_DELAYS, money, ...options } = plan;
  const { currency, decimals, escrow_base } = money ?? TEST_MONEY;
  const { feeRecipient, ...holders } = roleAccounts();
  const anvil = await startAnvil({ chainId, port: 0, ...options });
  const created = money && { token: await money.create(anvil.rpcUrl, holders.admin.address) };
  const { settlementContract, authority, token } = await deployContracts(anvil.rpcUrl, {
    ...created,
    base: BigInt(computeBaseThreshold({ decimals, escrow_base })),
    deployerKey: holders.admin.privateKey,
    keys: addressesOf(holders),
    feeRecipient: feeRecipient.address,
    delays,
  });
  const entry: NetworkInput = {
    network,
    chain_id: chainId,
    kind,
    rpc_url: anvil.rpcUrl,
    settlement_contract: settlementContract,
    authority,
    token,
    currency,
    decimals,
    ...(escrow_base !== undefined && { escrow_base }),
    required_confirmations: confirmations,
    block_seconds: 0,
  };
  return { anvil, entry };
}

/** Deploys the contracts again on a chain, at other addresses, with the existing token. */
export async function deployAgain(
  rpcUrl: string,
  token: Hex,
  salt: Hex,
  otherKeys: Partial<Keys> = {},
): Promise<{ contract: Hex; authority: Hex }> {
  const { feeRecipient, ...holders } = roleAccounts();
  const { settlementContract, authority } = await deployContracts(rpcUrl, {
    deployerKey: holders.admin.privateKey,
    keys: { ...addressesOf(holders), ...otherKeys },
    feeRecipient: feeRecipient.address,
    token,
    salt,
  });
  return { contract: settlementContract, authority };
}

/** New secrets of a Worker, for the operator's key. */
export const drawSecrets = async (operatorKey: string) => ({
  CA_KEYS: JSON.stringify([{ jwk: newSigningJwk(), use: "signing" }]),
  SERVICE_DID: generateDid(),
  NONCE_KEY: randomText(32),
  OPERATOR_KEY_HASHES: await computeSha256Hex(operatorKey),
  CHAIN_REGISTRAR_KEY: roleAccounts().registrar.privateKey,
  CHAIN_ARBITER_KEY: roleAccounts().arbiter.privateKey,
  WEBHOOK_SEAL_KEYS: newSealKey(),
  ACCOUNT_SEAL_KEYS: newSealKey(),
});
