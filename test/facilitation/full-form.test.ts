// A payment in the full form, as its payer builds it from the intent's answer (CHN-2, FAC-15): it is facilitated, and the receipt names the payer,
// the paid wallet and the address for refunds.
import { encodeFunctionData } from "viem/utils";
import { beforeAll, expect, it } from "vitest";
import { tokenAbi } from "../../scripts/chain/abi.ts";
import { importJwks } from "../../src/protocol/jwks.ts";
import { encodeSettle, type PayableIntent, preparePayment } from "../../src/protocol/payment.ts";
import { verifyReceipt } from "../../src/protocol/receipt.ts";
import { account, mintAbi, send } from "../support/chain.ts";
import { createWorld, expectStatus, type World } from "../support/world.ts";
import { asClient, asConsumer, asProvider, pairOf } from "./support.ts";

const NETWORK = "base-sepolia";
const LIMITLESS = 2n ** 256n - 1n;
const [PAYER, WALLET, REFUND_TO] = [account(7), account(8), account(6)];

let world: World;
beforeAll(async () => {
  world = await createWorld();
});

it.each([
  ["by the provider", asProvider],
  ["with the consumer's proof", asConsumer],
  ["in the client form", asClient],
] as const)("is facilitated %s", async (_form, facilitate) => {
  const pair = await pairOf(world);
  const intent = await world.intent(pair.consumer, pair.provider, "10.00");
  const { contract, payment, settlementKey } = preparePayment(intent as unknown as PayableIntent, {
    maxFeeBps: 5,
    refundTo: REFUND_TO,
  });
  const mint = { abi: mintAbi, functionName: "mint", args: [PAYER as `0x${string}`, payment.amount] } as const;
  const approve = { abi: tokenAbi, functionName: "approve", args: [contract, LIMITLESS] } as const;
  await send(NETWORK, PAYER, payment.token, encodeFunctionData(mint));
  await send(NETWORK, PAYER, payment.token, encodeFunctionData(approve));
  const tx = await send(NETWORK, PAYER, contract, encodeSettle(payment));
  const { receipt } = expectStatus(await facilitate(world, { ...pair, intent, tx }), 200);
  const { body: jwks } = await world.call("GET", "/.well-known/aeap-ca-jwks", { key: null });
  const { issuer } = world.deps.config;
  expect(await verifyReceipt(receipt, await importJwks(jwks), { issuer })).toMatchObject({
    ok: true,
    claims: {
      payer: PAYER.toLowerCase(),
      operational_wallet: WALLET.toLowerCase(),
      refund_to: REFUND_TO.toLowerCase(),
      settlement_key: settlementKey,
      contract: contract.toLowerCase(),
    },
  });
});
