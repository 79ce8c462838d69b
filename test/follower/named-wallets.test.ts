// A provider's own wallet names another one on-chain, and that one the next: what was paid to any of them counts, however many they are (FAC-17,
// CHN-29).
import { expect, it } from "vitest";
import { asProvider } from "../facilitation/support.ts";
import { rows } from "../promotion/support.ts";
import { payOnChain, rpc } from "../support/chain.ts";
import { createWorld, expectStatus } from "../support/world.ts";
import { escrowOf, follow, moveWallet } from "./support.ts";

const NETWORK = "base-sepolia";
/** More than the service keeps of a provider's wallets in its row. */
const NAMED = Array.from({ length: 110 }, (_, n) => `0x${(n + 1).toString(16).padStart(40, "b")}`);

it("counts what was paid to a wallet that the provider had, however often it has moved on since", async () => {
  const world = await createWorld();
  const [provider, consumer] = [await world.provider(), await world.consumer()];
  const intent = await world.intent(consumer, provider, "10.00");
  let holder: string = (await escrowOf(provider.did)).operational_wallet;
  let tx = "";
  await rpc(NETWORK, "anvil_autoImpersonateAccount", [true]);
  for (const wallet of NAMED) {
    await rpc(NETWORK, "anvil_setBalance", [holder, "0xde0b6b3a7640000"]);
    await moveWallet(provider.did, holder, wallet);
    if (tx === "") tx = await payOnChain(consumer.did, provider.did, 10_000_000, { intentId: intent.intent_id });
    holder = wallet;
  }
  await rpc(NETWORK, "anvil_autoImpersonateAccount", [false]);
  await follow(world);
  const [{ message }] = await rows("select message from alerts where subject = ?", `${provider.did} on ${NETWORK}`);
  expect(message).toContain(`the contract pays ${NAMED.at(-1)}`);
  expect(message).toContain(`${NAMED.at(-2)}, a wallet of the provider, named it itself`);
  expectStatus(await asProvider(world, { provider, consumer, intent, tx }), 200);
});
