// Provides the registrar's signer on a lab's chain, registrations to submit, and short ways to read their outcome.
import { encodeFunctionData } from "viem/utils";
import { afterEach, beforeEach, expect } from "vitest";
import { settlementAbi } from "../../scripts/chain/abi.ts";
import type { ChainCall, Submission } from "../../src/chain/gateway.ts";
import { hashDid } from "../../src/chain/hashes.ts";
import { MINUTE_MS } from "../../src/core/limits.ts";
import { createSigner, tendSigner } from "../../src/objects/signers.ts";
import type { SignerStanding } from "../../src/objects/transactions.ts";
import { account, asRole, chainOf, spoil } from "../support/chain.ts";
import { labOf, REGISTRAR, restoreLab } from "../support/lab.ts";
import { ageSent } from "../support/signer.ts";
import { env } from "../support/world.ts";

export type Asked = { readonly key: string; readonly call: ChainCall };

let last = 0;
export const nextDid = (): string => `did:aeap:${String(++last).padStart(8, "0")}-0000-4000-8000-000000000000`;
export const soon = (): number => Date.now() + MINUTE_MS;
export const outcome = (value: Submission) => ({ ok: true, value });

/** Returns the signer on a lab. Its node makes no faults when a test begins, and nothing waits after the test. */
export function useSigner(network: string) {
  const { lab, mine } = labOf(network);
  const signer = createSigner(env, "registrar", network);
  const submit = ({ key, call }: Asked) => signer.submit(key, call, "instead", soon());
  async function submitted(asked: Asked): Promise<string> {
    const result = await submit(asked);
    if (!result.ok || result.value.state !== "submitted") throw new Error(JSON.stringify(result));
    return result.value.txHash;
  }
  async function tend(): Promise<SignerStanding> {
    const result = await tendSigner(env, "registrar", network);
    if (!result.ok) throw new Error(result.error.reason);
    return result.value;
  }
  beforeEach(() => spoil(network));
  afterEach(async () => {
    await restoreLab(network);
    await ageSent(network, MINUTE_MS);
    await tend();
    await mine();
    await tend();
    expect((await tend()).waiting).toBe(0);
  });
  const registration = (did = nextDid(), wallet = account(8)) => registrationOn(network, did, wallet);
  return { lab, mine, signer, registration, submit, submitted, tend, ...readingsOf(network) };
}

function readingsOf(network: string) {
  const { lab } = labOf(network);
  return {
    count: async (block: "latest" | "pending") => Number(await lab("eth_getTransactionCount", REGISTRAR, block)),
    transaction: (hash: string) => lab("eth_getTransactionByHash", hash),
    isMined: async (hash: string) => (await lab("eth_getTransactionReceipt", hash)) !== null,
  };
}

/** Returns a registration that was not submitted yet, unless `did` is given. */
function registrationOn(network: string, did: string, wallet: string): Asked {
  const { token } = chainOf(network);
  const args = [hashDid(did), token as `0x${string}`, wallet as `0x${string}`, 15_000_000n] as const;
  const data = encodeFunctionData({ abi: settlementAbi, functionName: "registerProvider", args });
  return { key: `provider_split:${did}`, call: { network, ...asRole(network, data) } };
}
