// What was paid through an earlier edition of the contract stays readable beside the present one (CHN-22).
import { type Abi, encodeFunctionData, type Hex } from "viem";
import { expect, test } from "vitest";
import { artifacts, deployContracts } from "../../scripts/chain/deploy.ts";
import { addressesOf } from "../../scripts/ephemeral.ts";
import { authorityAbi, settlementAbi } from "../../src/chain/contracts/abi.ts";
import { createChainGateway } from "../../src/chain/evm.ts";
import type { Network } from "../../src/chain/networks.ts";
import { CONSUMER, INTENT, must, PROVIDER, pay, THRESHOLD, UNIT, useWorld, type World } from "./support.ts";

let world: World;
let earlier: { settlement_contract: Hex; authority: Hex };
useWorld(async (built) => {
  world = built;
  const { admin, consumer, feeRecipient, wallet } = world.people;
  const { token } = world.chain;
  const { settlementContract, authority } = await deployContracts(world.anvil.rpcUrl, {
    deployerKey: admin.privateKey,
    keys: addressesOf(world.people),
    feeRecipient: feeRecipient.address,
    token,
    salt: `0x${"07".repeat(32)}`,
  });
  earlier = { settlement_contract: settlementContract, authority };
  const args = [PROVIDER, token, wallet.address, THRESHOLD] as const;
  const register = encodeFunctionData({ abi: settlementAbi, functionName: "registerProvider", args });
  await world.sendTo("registrar", authority, authorityAbi as Abi, "execute", [settlementContract, register]);
  await world.sendTo("consumer", token, artifacts.TestUSDC.abi, "approve", [settlementContract, 100n * UNIT]);
  expect(await world.balance(consumer.address)).toBe(1_000n * UNIT);
});

const settlementsOf = async (hash: string, change: Partial<Network> = {}) => {
  const gateway = createChainGateway([{ ...world.network, ...change }]);
  const reading = must(await gateway.readSettlement(world.network.network, hash));
  return reading.state === "mined" ? reading.settlements : [];
};
const payEarlier = () =>
  world.sendTo("consumer", earlier.settlement_contract, settlementAbi as Abi, "payIntent", [
    world.chain.token,
    UNIT,
    PROVIDER,
    CONSUMER,
    INTENT,
  ]);

test("a payment through an earlier edition is read, with the contract that took it", async () => {
  const { transactionHash } = await payEarlier();
  expect(await settlementsOf(transactionHash)).toEqual([]);
  const [settled] = await settlementsOf(transactionHash, { earlier_editions: [earlier] });
  expect(settled).toMatchObject({ contract: earlier.settlement_contract.toLowerCase(), gross: UNIT });
});

test("the present edition is read beside it", async () => {
  const { transactionHash } = await pay(world, UNIT);
  const [settled] = await settlementsOf(transactionHash, { earlier_editions: [earlier] });
  expect(settled).toMatchObject({ contract: world.chain.settlementContract.toLowerCase() });
});
