// Checks networks on their chains, as the service shows them to operators (CHN-31).
import { findLiveFaults } from "../../src/chain/live-faults.ts";
import { readNetworkFacts, type SignerAddresses } from "../../src/chain/network-facts.ts";
import { type NetworkInput, parseNetworks } from "../../src/chain/networks.ts";

/** Returns a line for each fault. A node that does not answer is a line, not an error. */
export async function checkNetworks(inputs: readonly NetworkInput[], signers: SignerAddresses): Promise<string[]> {
  const seen = await readNetworkFacts(parseNetworks(JSON.stringify(inputs)), signers);
  return seen.flatMap(({ network, ...facts }) =>
    findLiveFaults(network, facts, Date.now()).map((fault) => `${network.network}: ${fault}`),
  );
}
