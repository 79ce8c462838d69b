// The registrar as the gateway's Signer: the object that owns the key's nonces on one network.
import type { Env } from "../context.ts";
import type { Signer } from "./gateway.ts";

export function registrarOn(env: Env, network: string): Signer {
  const stub = env.CHAIN_SIGNER.get(env.CHAIN_SIGNER.idFromName(`registrar:${network}`));
  return { submit: (call) => stub.submit(call) };
}
