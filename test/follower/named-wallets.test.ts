// A provider's wallet names another wallet on-chain, which names the next one (FAC-17, FAC-22, CHN-29).
import { expect, it } from "vitest";
import { asProvider } from "../facilitation/support.ts";
import { rows } from "../promotion/support.ts";
import { payOnChain, rpc } from "../support/chain.ts";
import { createWorld, expectStatus, type Json } from "../support/world.ts";
import { escrowOf, follow, headTime, mineBehind, moveWallet } from "./support.ts";

const NETWORK = "base-sepolia";
/** More wallets than the agent's row keeps. */
const NAMED = Array.from({ length: 110 }, (_, n) => `0x${(n + 1).toString(16).padStart(40, "b")}`);

it("counts payments to any of 110 named wallets, and none that these wallets pay", async () => {
  const world = await createWorld();
  const [provider, consumer] = [await world.provider(), await world.consumer()];
  const [bought, soon, later] = [
    await world.intent(consumer, provider, "10.00"),
    await world.intent(consumer, provider, "5.00"),
    await world.intent(consumer, provider, "4.00"),
  ];
  const pay = (intent: Json, units: number, from?: string): Promise<string> =>
    payOnChain(consumer.did, provider.did, units, { intentId: intent.intent_id, ...(from !== undefined && { from }) });
  const shown = async (intent: Json): Promise<unknown> => {
    const reply = await world.as(consumer, "GET", `/v1/payment-intents/${intent.intent_id}`);
    const { status, payment } = expectStatus(reply, 200);
    return [status, payment];
  };
  let holder: string = (await escrowOf(provider.did)).operational_wallet;
  let tx = "";
  await rpc(NETWORK, "anvil_autoImpersonateAccount", [true]);
  for (const wallet of NAMED) {
    await rpc(NETWORK, "anvil_setBalance", [holder, "0xde0b6b3a7640000"]);
    await moveWallet(provider.did, holder, wallet);
    if (tx === "") tx = await pay(bought, 10_000_000);
    holder = wallet;
  }
  // The first payment comes in the minute of the naming, the second one later.
  await mineBehind(await headTime());
  await pay(soon, 5_000_000, NAMED[0]);
  await follow(world);
  await pay(later, 4_000_000, NAMED[0]);
  await rpc(NETWORK, "anvil_autoImpersonateAccount", [false]);
  await follow(world);
  expect([await shown(soon), await shown(later)]).toEqual([
    ["ABANDONED", null],
    ["ABANDONED", null],
  ]);
  const [{ message }] = await rows("select message from alerts where subject = ?", `${provider.did} on ${NETWORK}`);
  expect(message).toContain(`the contract pays ${NAMED.at(-1)}`);
  expect(message).toContain(`${NAMED.at(-2)}, a wallet of the provider, made the change`);
  expectStatus(await asProvider(world, { provider, consumer, intent: bought, tx }), 200);
});
