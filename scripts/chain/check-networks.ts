// Reads networks as their chains have them, as the service shows them to operators (CHN-31): a line for each fault.
import { liveFaultsOf } from "../../src/chain/live-faults.ts";
import { readNetworkFacts, type SignerAddresses } from "../../src/chain/network-facts.ts";
import { type NetworkInput, parseNetworks } from "../../src/chain/networks.ts";

/** None where all is as it should be. A node that does not answer is a line, and no error. */
export async function checkNetworks(inputs: readonly NetworkInput[], signers: SignerAddresses): Promise<string[]> {
  const seen = await readNetworkFacts(parseNetworks(JSON.stringify(inputs)), signers);
  return seen.flatMap(({ network, ...facts }) =>
    liveFaultsOf(network, facts, Date.now()).map((fault) => `${network.network}: ${fault}`),
  );
}
