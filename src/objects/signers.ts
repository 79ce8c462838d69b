// Makes a Signer of a key on a network: a client of the object that owns its nonces.
import type { ChainResult, Signer } from "../chain/gateway.ts";
import type { ChainSigner, SignerName } from "./chain-signer.ts";
import type { SignerStanding } from "./transactions.ts";

type SignersBinding = { readonly CHAIN_SIGNER: DurableObjectNamespace<ChainSigner> };

const objectOf = ({ CHAIN_SIGNER }: SignersBinding, signer: SignerName, network: string) =>
  CHAIN_SIGNER.get(CHAIN_SIGNER.idFromName(`${signer}:${network}`));

export function signerOn(binding: SignersBinding, signer: SignerName, network: string): Signer {
  const stub = objectOf(binding, signer, network);
  const on = { signer, network };
  return {
    submit: (key, call, place) => stub.submit(on, key, call, place),
    withdraw: (key) => stub.withdraw(on, key),
  };
}

/** Tends waiting transactions and returns the standing of the key. */
export const tendSigner = (
  binding: SignersBinding,
  signer: SignerName,
  network: string,
): Promise<ChainResult<SignerStanding>> => objectOf(binding, signer, network).tend({ signer, network });
