// The registrar as the gateway's Signer: the object that owns the key's nonces on one network.

import type { Signer } from "../chain/gateway.ts";
import type { ChainSigner } from "./chain-signer.ts";

export function registrarOn(
  env: { readonly CHAIN_SIGNER: DurableObjectNamespace<ChainSigner> },
  network: string,
): Signer {
  const stub = env.CHAIN_SIGNER.get(env.CHAIN_SIGNER.idFromName(`registrar:${network}`));
  return { submit: (call) => stub.submit(call) };
}
