// Tests that payments through an earlier edition of the contract stay readable next to the present edition (CHN-22).
import { type Abi, encodeFunctionData, type Hex } from "viem";
import { expect, test } from "vitest";
import { authorityAbi, settlementAbi } from "../../scripts/chain/abi.ts";
import { artifacts, deployContracts } from "../../scripts/chain/deploy.ts";
import { addressesOf } from "../../scripts/ephemeral.ts";
import { createChainGateway } from "../../src/chain/evm.ts";
import { type Network, selectEdition } from "../../src/chain/networks.ts";
import { driveAct } from "../../src/chain/vault-acts.ts";
import { HOUR_MS } from "../../src/core/limits.ts";
import {
  CONSUMER,
  factsOf,
  INTENT,
  keySigner,
  must,
  PROVIDER,
  pay,
  senderFor,
  THRESHOLD,
  UNIT,
  useWorld,
  type World,
} from "./support.ts";

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

test("a payment through an earlier edition is read with the contract that took it", async () => {
  const { transactionHash } = await payEarlier();
  expect(await settlementsOf(transactionHash)).toEqual([]);
  const [settled] = await settlementsOf(transactionHash, { earlier_editions: [earlier] });
  expect(settled).toMatchObject({ contract: earlier.settlement_contract.toLowerCase(), gross: UNIT });
});

test("a payout for an earlier edition comes from the vault of that edition", async () => {
  const { token } = world.chain;
  const facts = await factsOf(world, await payEarlier());
  const settlement = { ...facts, settledAt: Number(facts.settledAt) };
  const act = { kind: "payout", settlement, amount: 9n } as const;
  const networks = { ...world.network, earlier_editions: [earlier] };
  const tools = {
    chain: createChainGateway([networks]),
    signer: keySigner(senderFor(world), world.people.arbiter.privateKey),
  };
  const drive = (contract: string) => {
    const network = selectEdition(networks, contract);
    return network && driveAct(tools, network, act, null, Date.now() + HOUR_MS);
  };
  const before = await world.balance(world.people.consumer.address);
  expect(await drive(world.chain.settlementContract)).toMatchObject({ state: "failed", reason: "UnknownSettlement" });
  expect(await drive(earlier.settlement_contract.toUpperCase().replace("0X", "0x"))).toMatchObject({ state: "done" });
  expect(await world.balance(world.people.consumer.address)).toBe(before + 9n);
  expect(selectEdition(networks, token)).toBeNull();
});

test("an act on one edition does not replace a waiting act on another", async () => {
  const networks = { ...world.network, earlier_editions: [earlier] };
  const purposes: string[] = [];
  const signer = keySigner(senderFor(world), world.people.arbiter.privateKey);
  const tools = {
    chain: createChainGateway([networks]),
    signer: {
      ...signer,
      submit: (...[purpose, ...rest]: Parameters<typeof signer.submit>) => {
        purposes.push(purpose);
        return signer.submit(purpose, ...rest);
      },
    },
  };
  const act = { kind: "reserve", providerDidHash: PROVIDER, reserve: 5n } as const;
  for (const contract of [world.chain.settlementContract, earlier.settlement_contract]) {
    const network = selectEdition(networks, contract);
    expect(network && (await driveAct(tools, network, act, null, Date.now() + HOUR_MS))).toMatchObject({
      state: "done",
    });
    const address = contract as Hex;
    const args = [PROVIDER, world.chain.token] as const;
    expect(await world.client.readContract({ address, abi: settlementAbi, functionName: "reserveOf", args })).toBe(5n);
  }
  expect(new Set(purposes).size).toBe(2);
});

test("the present edition is read next to an earlier one", async () => {
  const { transactionHash } = await pay(world, UNIT);
  const [settled] = await settlementsOf(transactionHash, { earlier_editions: [earlier] });
  expect(settled).toMatchObject({ contract: world.chain.settlementContract.toLowerCase() });
});
