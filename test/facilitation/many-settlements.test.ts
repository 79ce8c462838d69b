// One transaction may hold any number of settlements, as a batching contract makes them, and each of them can be facilitated (FAC-9).
import { encodeAbiParameters, encodeFunctionData } from "viem/utils";
import { beforeAll, expect, it } from "vitest";
import { settlementAbi, tokenAbi } from "../../scripts/chain/abi.ts";
import { hashDid } from "../../src/chain/hashes.ts";
import { account, chainOf, mintAbi, rpc, send } from "../support/chain.ts";
import { copyRow } from "../support/copies.ts";
import { isWhole } from "../support/scale.ts";
import { type Agent, createWorld, expectStatus, type Json, type World } from "../support/world.ts";
import { asClient, asProvider, facilitated, paid, pairOf, refused, stateOf } from "./support.ts";

const NETWORK = "base-sepolia";
const SETTLEMENTS = isWhole() ? 60 : 12;
const UNITS = 1_000_000;
type Hex = `0x${string}`;

/**
 * The code of a contract that makes calls of equal length one after another, and reverts if one of them does. Its input is the callee, the length of
 * a call, then the calls.
 */
const MANY_CALLS =
  "0x6040360380604060003760005b81811015602e57600060006020358360006000355af11560305760203501600c565b005b600080fd";
const GAS = "0x1c9c380";
const PAYER = "0x00000000000000000000000000000000000ca115";

const onChain = (method: string, ...params: unknown[]): Promise<Json> => rpc(NETWORK, method, params);

/** Makes the calls in one transaction. */
async function callMany(callee: string, calls: readonly Hex[]): Promise<string> {
  const [first = "0x"] = calls;
  const types = [{ type: "address" }, { type: "uint256" }] as const;
  const head = encodeAbiParameters(types, [callee as Hex, BigInt((first.length - 2) / 2)]);
  const data = head + calls.map((call) => call.slice(2)).join("");
  return send(NETWORK, account(6), PAYER, data, GAS);
}

/** Builds the calls of many payments for one provider that name no intent. */
async function payMany(buyers: readonly Agent[], provider: Agent): Promise<string> {
  const { settlement_contract: contract, token } = chainOf(NETWORK);
  await onChain("anvil_setCode", PAYER, MANY_CALLS);
  const approve = { abi: tokenAbi, functionName: "approve", args: [contract as Hex, 2n ** 256n - 1n] } as const;
  await callMany(token, [encodeFunctionData(approve)]);
  const amount = BigInt(UNITS);
  const minted = [PAYER, amount * BigInt(buyers.length)] as const;
  await callMany(token, [encodeFunctionData({ abi: mintAbi, functionName: "mint", args: minted })]);
  const calls = buyers.map(({ did }) => {
    const args = [token as Hex, amount, hashDid(provider.did), hashDid(did)] as const;
    return encodeFunctionData({ abi: settlementAbi, functionName: "pay", args });
  });
  return callMany(contract, calls);
}

let world: World;
beforeAll(async () => {
  world = await createWorld();
});

it(`each of ${SETTLEMENTS} settlements of one transaction can be facilitated, and none twice`, async () => {
  const pair = await pairOf(world);
  const { provider } = pair;
  const last = { provider, consumer: await world.consumer() };
  const intents: Json[] = [];
  for (let i = 1; i < SETTLEMENTS; i++) intents.push(await world.intent(pair.consumer, provider, "1.00"));
  const lastIntent = await world.intent(last.consumer, provider, "1.00");
  const buyers = [...intents.map(() => pair.consumer), last.consumer];
  const tx = await payMany(buyers, provider);
  expect((await onChain("eth_getTransactionReceipt", tx)).status).toBe("0x1");

  for (const intent of intents) {
    const settled = expectStatus(await asProvider(world, { ...pair, intent, tx }), 200);
    expect(settled).toMatchObject({ intent_id: intent.intent_id, gross_amt: "1.00" });
  }
  const settledLast = expectStatus(await asClient(world, { ...last, intent: lastIntent, tx }), 200);
  expect(settledLast.intent_id).toBe(lastIntent.intent_id);

  const { transactions } = await stateOf(world, provider.did);
  const places = new Set(transactions.map(({ logIndex }) => logIndex));
  expect([transactions.length, places.size]).toEqual([SETTLEMENTS, SETTLEMENTS]);
  const further = await world.intent(pair.consumer, provider, "1.00");
  const act = () => asProvider(world, { ...pair, intent: further, tx });
  const { detail } = await refused(world, [provider.did], act, 409, "settlement_verification_failed");
  expect(detail).toEqual({ failed_check: "already_facilitated" });
});

it("a transaction of the same hash on another network does not count against it", async () => {
  const pair = await pairOf(world);
  const earlier = await facilitated(world, pair);
  const purchase = await paid(world, pair);
  const other = {
    transaction_id: "'fac_other'",
    intent_id: "'pin_other'",
    task_id: "'tsk_other'",
    settlement_key: "'0x'",
    network: "'base'",
    tx_hash: `'${purchase.tx}'`,
  };
  await copyRow("transactions", `transaction_id = '${earlier.fac.transaction_id}'`, other, { to: 1 });
  expect(expectStatus(await asProvider(world, purchase), 200)).toMatchObject({
    tx_hash: purchase.tx,
    network: NETWORK,
  });
});
