// A key on a network as a Signer: the object that owns its nonces there.
import type { ChainResult, Signer } from "../chain/gateway.ts";
import type { ChainSigner, SignerName } from "./chain-signer.ts";
import type { SignerStanding } from "./transactions.ts";

type SignersBinding = { readonly CHAIN_SIGNER: DurableObjectNamespace<ChainSigner> };

const objectOf = ({ CHAIN_SIGNER }: SignersBinding, signer: SignerName, network: string) =>
  CHAIN_SIGNER.get(CHAIN_SIGNER.idFromName(`${signer}:${network}`));

export function signerOn(binding: SignersBinding, signer: SignerName, network: string): Signer {
  const stub = objectOf(binding, signer, network);
  return { submit: (key, call) => stub.submit({ signer, network }, key, call) };
}

/** Looks after what waits, and tells how the key stands. */
export const tendSigner = (
  binding: SignersBinding,
  signer: SignerName,
  network: string,
): Promise<ChainResult<SignerStanding>> => objectOf(binding, signer, network).tend({ signer, network });
