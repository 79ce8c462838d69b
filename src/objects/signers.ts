// Creates the Signer of a key on a network: a client of the object that owns the key's nonces.
import type { ChainResult, Signer } from "../chain/gateway.ts";
import { toUnavailable } from "../chain/rpc.ts";
import { SIGNERS, type SignerName } from "../chain/sign.ts";
import { SECOND_MS } from "../core/limits.ts";
import type { ChainSigner } from "./chain-signer.ts";
import type { SignerStanding } from "./transactions.ts";

const TENDED_WITHIN_MS = 30 * SECOND_MS;

type SignersBinding = { readonly CHAIN_SIGNER: DurableObjectNamespace<ChainSigner> };

const getSignerObject = ({ CHAIN_SIGNER }: SignersBinding, signer: SignerName, network: string) =>
  CHAIN_SIGNER.get(CHAIN_SIGNER.idFromName(`${signer}:${network}`));

export function createSigner(binding: SignersBinding, signer: SignerName, network: string): Signer {
  const stub = getSignerObject(binding, signer, network);
  const on = { signer, network };
  return {
    address: () => stub.address(on),
    submit: (key, call, place, until) => awaitWorkUntil(stub.submit(on, key, call, place, until), network, until),
    withdraw: (key, until) => awaitWorkUntil(stub.withdraw(on, key, until), network, until),
  };
}

/** Stops waiting at `until`. The object finishes work that it has begun, and the next attempt finds the outcome under its key. */
async function awaitWorkUntil<T>(
  work: Promise<ChainResult<T>>,
  network: string,
  until: number,
): Promise<ChainResult<T>> {
  const late = scheduler.wait(Math.max(0, until - Date.now())).then(() => toUnavailable(network, "timeout"));
  return Promise.race([work, late]);
}

export async function findOwnTransactions(
  binding: SignersBinding,
  network: string,
  hashes: readonly string[],
): Promise<ReadonlySet<string>> {
  const ask = (signer: SignerName) => getSignerObject(binding, signer, network).signed({ signer, network }, hashes);
  return new Set((await Promise.all(SIGNERS.map(ask))).flat());
}

export const tendSigner = (
  binding: SignersBinding,
  signer: SignerName,
  network: string,
): Promise<ChainResult<SignerStanding>> => {
  const until = Date.now() + TENDED_WITHIN_MS;
  return awaitWorkUntil(getSignerObject(binding, signer, network).tend({ signer, network }, until), network, until);
};
