// Contract section 1, Networks: known by name, and by CAIP-2 beside it.
import type { Network } from "../chain/gateway.ts";

export const caip2Of = (network: Pick<Network, "chain_id">): string => `eip155:${network.chain_id}`;

/** By name or CAIP-2; null when the configuration has no such network. */
export const findNetwork = (networks: readonly Network[], nameOrCaip2: string): Network | null =>
  networks.find((known) => known.network === nameOrCaip2 || caip2Of(known) === nameOrCaip2) ?? null;

/** CAIP-2 of a stored network's name. One that was ever used stays configured; should it not, its name is all there is. */
export const caip2Named = (networks: readonly Network[], name: string): string => {
  const known = findNetwork(networks, name);
  return known ? caip2Of(known) : name;
};
