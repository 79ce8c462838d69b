// Tests which addresses are vaults, on a real chain (CHN-3, MKT-24): computed addresses and code are those of the contract, and a node is asked for
// the code at an address once, with a short timeout.
import { type Abi, encodeFunctionData, type Hex, keccak256, toHex } from "viem";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { authorityAbi, settlementAbi } from "../../scripts/chain/abi.ts";
import { deployContracts } from "../../scripts/chain/deploy.ts";
import { addressesOf } from "../../scripts/ephemeral.ts";
import { createChainGateway } from "../../src/chain/evm.ts";
import type { Network } from "../../src/chain/networks.ts";
import { createRpc } from "../../src/chain/rpc.ts";
import { computeImplementation, computeVaultAddress, isVaultCode } from "../../src/chain/vaults.ts";
import { buildWorld, PROVIDER, proxyTo, type SpoilingNode, startSilentNode, THRESHOLD, type World } from "./support.ts";

const NOBODY = keccak256(toHex("a provider that nobody has registered"));
let world: World;
/** The contract of an earlier edition, and the network that has it. */
let earlier: Hex;
let authority: Hex;
let network: Network;
const proxies: SpoilingNode[] = [];
/** A provider's vault, its vault in the earlier edition, and an account without code. */
let vault: string;
let earlierVault: string;
let person: string;

beforeAll(async () => {
  world = await buildWorld();
  const { admin, feeRecipient } = world.people;
  const other = await deployContracts(world.anvil.rpcUrl, {
    deployerKey: admin.privateKey,
    keys: addressesOf(world.people),
    feeRecipient: feeRecipient.address,
    token: world.chain.token,
    salt: `0x${"0e".repeat(32)}`,
  });
  [earlier, authority] = [other.settlementContract, other.authority];
  network = {
    ...world.network,
    earlier_editions: [{ settlement_contract: earlier, authority }],
  };
  vault = (await world.vault(PROVIDER)).toLowerCase();
  earlierVault = computeVaultAddress(earlier, PROVIDER);
  person = world.people.stranger.address.toLowerCase();
});
afterAll(() => world?.stop());
afterEach(() => {
  for (const proxy of proxies.splice(0)) proxy.close();
});

const viewOf = (address: Hex, functionName: "vaultOf" | "vaultImplementation", ...args: readonly Hex[]) =>
  world.client.readContract({ address, abi: settlementAbi, functionName, args } as never) as Promise<string>;

describe("a computed vault", () => {
  test("has the address that the contract states, in each edition, before the vault is created and afterwards", async () => {
    for (const contract of [world.chain.settlementContract, earlier]) {
      const implementation = await viewOf(contract, "vaultImplementation");
      expect(computeImplementation(contract)).toBe(implementation.toLowerCase());
      for (const provider of [PROVIDER, NOBODY]) {
        const said = await viewOf(contract, "vaultOf", provider);
        expect(computeVaultAddress(contract, provider)).toBe(said.toLowerCase());
        expect(computeVaultAddress(contract.toLowerCase(), provider)).toBe(said.toLowerCase());
      }
    }
  });

  test("has the code that the contract creates, and no other code counts", async () => {
    const codeAt = async (address: string) => (await world.client.getCode({ address: address as Hex })) ?? "0x";
    const code = await codeAt(vault);
    expect(isVaultCode(network, code)).toBe(true);
    expect(isVaultCode(network, code.toUpperCase().replace("0X", "0x"))).toBe(true);
    const clone = (of: string) => `0x363d3d373d3d3d363d73${of.slice(2)}5af43d82803e903d91602b57fd5bf3`;
    expect(isVaultCode(network, clone(computeImplementation(earlier)))).toBe(true);
    expect(isVaultCode(world.network, clone(computeImplementation(earlier)))).toBe(false);
    const others = [
      "0x",
      `${code}00`,
      code.slice(0, -2),
      clone(world.chain.token),
      // An account that has delegated itself to the vaults' code (EIP-7702) still has its key.
      `0xef0100${computeImplementation(earlier).slice(2)}`,
      await codeAt(world.chain.token),
      await codeAt(world.chain.settlementContract),
      await codeAt(computeImplementation(earlier)),
    ];
    expect(others.map((other) => isVaultCode(network, other))).toEqual(others.map(() => false));
  });
});

describe("finding vaults", () => {
  const CODE = "eth_getCode";
  const findBy = (change: Partial<Network>, rpc = createRpc()) =>
    createChainGateway([{ ...network, ...change }], rpc).findVaults(network.network, [
      person,
      vault,
      world.chain.token,
    ]);
  const startProxy = async (change?: (body: string) => string | Promise<string>) => {
    const proxy = await proxyTo(world.anvil.rpcUrl, change);
    proxies.push(proxy);
    return proxy;
  };

  test("takes one request for all addresses", async () => {
    const proxy = await startProxy();
    expect(await findBy({ rpc_url: proxy.url })).toEqual({ ok: true, value: [vault] });
    expect(proxy.requests).toEqual([[CODE, CODE, CODE, "eth_chainId"]]);
  });

  test("asks neither again nor a second node if the first one fails, and returns no vault then", async () => {
    const [dead, second] = [await startProxy(() => "[]"), await startProxy()];
    const failed = { ok: false, error: { kind: "chain_unavailable", network: network.network, reason: "bad_answer" } };
    expect(await findBy({ rpc_url: dead.url, fallback_rpc_url: second.url })).toEqual(failed);
    expect([dead.requests.length, second.requests.length]).toEqual([1, 0]);
    expect(await findBy({ chain_id: 1 })).toMatchObject({ error: { reason: "wrong_chain" } });
  });

  test("waits two seconds for a slow node, and asks it once", async () => {
    const slow = await startSilentNode(world.anvil.rpcUrl);
    proxies.push(slow);
    const found = await findBy({ rpc_url: slow.url }, createRpc(fetch, slow.limit));
    expect(found).toMatchObject({ error: { reason: "timeout" } });
    expect([slow.limits, slow.requests.length]).toEqual([[2_000], 1]);
  });

  test("treats an address without an answer as no vault, and believes the other answers", async () => {
    const spoil = (at: number, answer: object) => (body: string) =>
      JSON.stringify(JSON.parse(body).map((item: { id: number }) => (item.id === at ? { id: at, ...answer } : item)));
    for (const answer of [{ error: { code: -32005, message: "too many" } }, { result: null }, { result: 7 }]) {
      const first = await startProxy(spoil(0, answer));
      expect(await findBy({ rpc_url: first.url })).toEqual({ ok: true, value: [vault] });
      const second = await startProxy(spoil(1, answer));
      expect(await findBy({ rpc_url: second.url })).toEqual({ ok: true, value: [] });
    }
  });

  test("finds the vaults of an earlier edition too", async () => {
    const { token } = world.chain;
    const args = [PROVIDER, token, person as Hex, THRESHOLD] as const;
    const register = encodeFunctionData({ abi: settlementAbi, functionName: "registerProvider", args });
    await world.sendTo("registrar", authority, authorityAbi as Abi, "execute", [earlier, register]);
    const found = await createChainGateway([network]).findVaults(network.network, [earlierVault, vault, person]);
    expect(found).toEqual({ ok: true, value: [earlierVault, vault] });
  });
});
