// Compares the demo's output with the state of the service and the chain afterwards.
import { decodeFunctionData, type Hex, parseEventLogs } from "viem";
import { expect } from "vitest";
import { settlementAbi } from "../../scripts/chain/abi.ts";
import { createClient } from "../../scripts/chain/client.ts";
import type { ServiceDescription } from "../../scripts/stack.ts";
import { verifyAward } from "../../src/protocol/award.ts";

/**
 * Expects that the sale and the dispute changed both ratings, and that the consumer fixed the wallet, the fee, the deadline and the address for
 * refunds.
 */
export async function expectPlayed(service: ServiceDescription, output: string): Promise<void> {
  await expectRefunded(service, output);
  const [, sold, lost] = /rating of the provider +unrated → (0\.\d+) → (0\.\d+)$/m.exec(output) ?? [];
  const [, bought, won] = /rating of the consumer +unrated → (0\.\d+) → (0\.\d+)$/m.exec(output) ?? [];
  expect(Number(lost)).toBeLessThan(Number(sold));
  expect(Number(won)).toBeGreaterThan(Number(bought));
  const [, hash = ""] = /transaction +(0x[0-9a-f]{64})/.exec(output) ?? [];
  const { input } = await createClient(service.chain.rpc_url).getTransaction({ hash: hash as Hex });
  expect(decodeFunctionData({ abi: settlementAbi, data: input }).functionName).toBe("settle");
}

/** The steps in the order in which they are played. */
const DISPUTED = [
  /^✓ POST \/v1\/disputes /m,
  /^✓ POST …\/disputes\/\{id\}\/respond /m,
  /^✓ POST …\/disputes\/\{id\}\/evidence /m,
  /^✓ on-chain +the provider puts 10\.00 USDC into its vault /m,
  /^✓ POST \/v1\/sandbox\/clock\/advance +the sandbox's clock goes forward by seven days /m,
  /^✓ GET {2}\/v1\/disputes\/\{id\} .*: arbitration /m,
  /^✓ POST …\/disputes\/\{id\}\/resolve /m,
  /^✓ offline +the award verifies/m,
  /^✓ GET {2}\/v1\/disputes\/\{id\} .*: paid /m,
  /^✓ on-chain +the consumer's wallet holds the refund/m,
  /^✓ GET {2}\/v1\/tasks\/\{id\} .*: rejected /m,
  /^✓ GET {2}\/v1\/agents\/\{did\}\/rating /m,
];

/** Expects that the service, the published keys and the chain have the purchase and the dispute that the demo names. */
export async function expectRefunded(service: ServiceDescription, output: string): Promise<void> {
  const places = DISPUTED.map((step) => output.search(step));
  expect(places.filter((at) => at < 0)).toEqual([]);
  expect(places).toEqual(places.toSorted((one, other) => one - other));
  const { base_url, operator_key, chain } = service;
  const read = async <T>(path: string, headers: Record<string, string> = {}): Promise<T> =>
    (await fetch(new URL(path, base_url), { headers })).json() as Promise<T>;
  const [, id = ""] = /^ +dispute +(dsp_\w+), upheld$/m.exec(output) ?? [];
  const file = await read<Record<string, unknown>>(`/v1/operator/disputes/${id}`, {
    Authorization: `Bearer ${operator_key}`,
  });
  expect(file).toMatchObject({
    status: "resolved",
    resolution: "upheld",
    disputed_amount: "8.00",
    escalated_at: file["pre_arb_deadline"],
    messages: [{ offer_amount: "2.00" }],
    evidence: [{ submitted_by: "consumer" }],
    refund_status: "paid",
    paid_from_vault: "9.00",
    bounty_outstanding: "0.00",
    task: { status: "confirmed", outcome: "rejected", score: 0 },
  });
  const keys = await read<{ keys: JsonWebKey[] }>("/.well-known/aeap-ca-jwks");
  expect(await verifyAward(file["award"], keys, { issuer: base_url })).toMatchObject({
    ok: true,
    claims: { jti: id, refund_amount: "8.00", bounty_amount: "1.00" },
  });
  const [, hash = ""] = /^ +paid by the vault +9\.00 in (0x[0-9a-f]{64}) /m.exec(output) ?? [];
  const { logs } = await createClient(chain.rpc_url).getTransactionReceipt({ hash: hash as Hex });
  const [paid] = parseEventLogs({ abi: settlementAbi, logs, eventName: "PaidOut" });
  expect(paid?.args).toMatchObject({ refundTo: chain.accounts.at(-1)?.address, amount: 9_000_000n });
}
