// Tests that a local chain starts on a free port, reports plainly when it cannot, and continues where it stopped.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { encodeFunctionData } from "viem";
import { afterEach, beforeEach, expect, test } from "vitest";
import { authorityAbi, settlementAbi } from "../../scripts/chain/abi.ts";
import { type Anvil, type AnvilOptions, startAnvil, syncClock } from "../../scripts/chain/anvil.ts";
import { callContract, createClient, mineBlocks } from "../../scripts/chain/client.ts";
import { type DeployOptions, deployContracts } from "../../scripts/chain/deploy.ts";
import { approve, mintTestUsdc, pay } from "../../scripts/chain/payments.ts";
import { addressesOf, roleAccounts } from "../../scripts/ephemeral.ts";
import { createChainGateway } from "../../src/chain/evm.ts";
import { CONSUMER, must, networkOf, PROVIDER, THRESHOLD, UNIT } from "./support.ts";

let folder: string;
const running: Anvil[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "anvil-test-"));
});
afterEach(async () => {
  await Promise.all(running.splice(0).map((anvil) => anvil.stop()));
  rmSync(folder, { recursive: true });
});

async function start(options: Partial<AnvilOptions> = {}): Promise<Anvil> {
  const anvil = await startAnvil({ chainId: 84532, port: 0, ...options });
  running.push(anvil);
  return anvil;
}

function deployment(anvil: Anvil): DeployOptions {
  const [deployer] = anvil.accounts;
  if (!deployer) throw new Error("too few accounts");
  const { feeRecipient, ...holders } = roleAccounts();
  return { deployerKey: deployer.privateKey, keys: addressesOf(holders), feeRecipient: feeRecipient.address };
}

test("a chain answers at once with its chain id and funded accounts", async () => {
  const anvil = await start();
  const client = createClient(anvil.rpcUrl);
  expect(await client.getChainId()).toBe(84532);
  expect(anvil.accounts).toHaveLength(10);
  expect(anvil.accounts[0]?.address).toBe("0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266");
  for (const { address } of anvil.accounts) expect(await client.getBalance({ address })).toBeGreaterThan(0n);
});

test("a port in use is reported in one line", async () => {
  const { port } = await start();
  await expect(start({ port })).rejects.toThrow(new Error(`anvil did not start: port ${port} is in use`));
});

test("a chain that started late gives its blocks the machine's time", async () => {
  const second = () => Math.floor(Date.now() / 1_000);
  const { rpcUrl } = await start({ genesis: second() - 90 });
  const client = createClient(rpcUrl);
  await syncClock(rpcUrl);
  const before = second();
  await mineBlocks(rpcUrl, 1);
  const { timestamp } = await client.getBlock();
  expect(Number(timestamp)).toBeGreaterThanOrEqual(before);
  expect(Number(timestamp)).toBeLessThanOrEqual(second());
});

test("a repeated deployment sends nothing, and another chain gets the same addresses", async () => {
  const [first, second] = await Promise.all([start(), start()]);
  const options = deployment(first);
  const deployed = await deployContracts(first.rpcUrl, options);
  const block = await createClient(first.rpcUrl).getBlockNumber();
  expect(await deployContracts(first.rpcUrl, options)).toEqual(deployed);
  expect(await deployContracts(first.rpcUrl, { ...options, known: deployed })).toEqual(deployed);
  expect(await createClient(first.rpcUrl).getBlockNumber()).toBe(block);
  expect(await deployContracts(second.rpcUrl, { ...options, known: deployed })).toEqual(deployed);
});

test("the client never connects to a public chain", async () => {
  await expect(mineBlocks("https://sepolia.base.org", 1)).rejects.toThrow("not a local chain: sepolia.base.org");
});

test.each(["SIGTERM", "SIGINT"] as const)(
  "a chain keeps its balances, nonces, receipts and logs after a %s",
  async (signal) => {
    const statePath = join(folder, "state.json");
    const first = await start({ statePath });
    const { settlementContract, authority, token } = await deployContracts(first.rpcUrl, deployment(first));
    const [, registrar, , , consumer, wallet] = first.accounts;
    if (!registrar || !consumer || !wallet) throw new Error("too few accounts");
    const args = [PROVIDER, token, wallet.address, THRESHOLD] as const;
    const register = encodeFunctionData({ abi: settlementAbi, functionName: "registerProvider", args });
    await callContract(first.rpcUrl, registrar.privateKey, {
      address: authority,
      abi: authorityAbi,
      functionName: "execute",
      args: [settlementContract, register],
    });
    await mintTestUsdc(first.rpcUrl, consumer.privateKey, token, consumer.address, 100n * UNIT);
    await approve(first.rpcUrl, consumer.privateKey, token, settlementContract);
    const payment = { settlementContract, token, amount: UNIT, providerDidHash: PROVIDER, consumerDidHash: CONSUMER };
    const hash = await pay(first.rpcUrl, consumer.privateKey, payment);
    const before = await look(first.rpcUrl);
    process.kill(first.pid, signal);
    await first.stop();

    const second = await start({ statePath });
    expect(await look(second.rpcUrl)).toEqual(before);
    await pay(second.rpcUrl, consumer.privateKey, payment);

    async function look(rpcUrl: string) {
      const client = createClient(rpcUrl);
      const common = {
        network: "base-sepolia",
        chain_id: 84532,
        kind: "testnet",
        currency: "USDC",
        decimals: 6,
      } as const;
      const network = networkOf({
        ...common,
        rpc_url: rpcUrl,
        settlement_contract: settlementContract,
        authority,
        token,
        required_confirmations: 1,
      });
      const gateway = createChainGateway([network]);
      return {
        settlement: must(await gateway.readSettlement("base-sepolia", hash)),
        provider: must(await gateway.readProvider("base-sepolia", PROVIDER)),
        nonce: await client.getTransactionCount({ address: consumer?.address ?? settlementContract }),
        logs: await client.getLogs({ address: settlementContract, fromBlock: 0n }),
      };
    }
  },
);
