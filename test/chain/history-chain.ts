// Runs the random histories on a chain: resolves names, and mines each act as a block of its own.
import {
  type Abi,
  decodeErrorResult,
  encodeAbiParameters,
  encodeFunctionData,
  getAddress,
  type Hex,
  keccak256,
  type RpcLog,
  toHex,
} from "viem";
import { authorityAbi, settlementAbi } from "../../scripts/chain/abi.ts";
import { artifacts } from "../../scripts/chain/deploy.ts";
import { type FullPayment, signPayment } from "../../scripts/chain/payments.ts";
import type { Delays } from "../../scripts/chain/roles.ts";
import { hashIntent } from "../../src/chain/hashes.ts";
import { PROVIDERS } from "./history-calls.ts";
import { type Account, type Act, type Call, NONE, OF_CONSUMER, vaultOf } from "./history-words.ts";
import { buildWorld, PEOPLE, type Person, type World, ZERO_ADDRESS, ZERO_HASH } from "./support.ts";
import { createTestContract, testContracts } from "./test-contracts.ts";

export const ABIS = {
  contract: settlementAbi as Abi,
  authority: authorityAbi as Abi,
  token: testContracts.ReentrantToken.abi,
  vault: artifacts.EscrowVault.abi,
} as const;
const ERRORS = Object.values(ABIS).flatMap((abi) => abi.filter(({ type }) => type === "error"));
// Enough for every act with its callbacks. A fixed limit lets a refused act be mined as reverted.
const GAS = "0x4c4b40";

export type Reading = {
  readonly label: string;
  readonly of: keyof typeof ABIS;
  readonly at: Account;
  readonly view: string;
  readonly args: readonly unknown[];
  readonly expected: unknown;
};
type Receipt = { readonly status: Hex; readonly logs: RpcLog[] };
type Transaction = { readonly to: Hex; readonly data: Hex };

export class Chain {
  readonly world: World;
  readonly #names: ReadonlyMap<string, Hex>;

  private constructor(world: World, names: ReadonlyMap<string, Hex>) {
    [this.world, this.#names] = [world, names];
  }

  static async build(delays: Delays): Promise<Chain> {
    const world = await buildWorld(undefined, delays);
    const implementation = await createTestContract(world, "UsdcLike", []);
    // The proxy passes on every caller except its admin, who does not act here.
    const usdc = await createTestContract(world, "UsdcProxy", [implementation, implementation]);
    const hooked = await createTestContract(world, "ReentrantToken", []);
    const hashes = [
      "provider0",
      "provider1",
      "provider2",
      "consumer0",
      "consumer1",
      "intent0",
      "intent1",
      "salt0",
      "salt1",
    ];
    const names: [string, Hex][] = hashes.map((name) => [name, keccak256(toHex(name))]);
    const { settlementContract: contract, authority } = world.chain;
    const addresses: [string, Hex][] = [
      ...Object.entries({ contract, authority, usdc, hooked, zero: ZERO_ADDRESS }),
      ...PEOPLE.map((person): [string, Hex] => [person, world.people[person].address]),
    ];
    for (const provider of PROVIDERS)
      addresses.push([vaultOf(provider), await world.vault(keccak256(toHex(provider)))]);
    names.push([OF_CONSUMER, hashIntent("pin_0", world.people.consumer.address)]);
    names.push([NONE, ZERO_HASH], ...addresses.map(([name, address]): [string, Hex] => [name, getAddress(address)]));
    return new Chain(world, new Map(names));
  }

  // ---- Names -----------------------------------------------------------------------------------------------------------

  hex(name: string): Hex {
    const [kind, provider = "", consumer = "", intent = "", token = "", amount = "0"] = name.split(" ");
    if (kind === "plain") return hashOf(["address", "uint256"], [this.hex("contract"), BigInt(provider)]);
    if (kind === "intent") {
      const hashes = [provider, consumer, intent, token].map((part) => this.hex(part));
      return hashOf(["bytes32", "bytes32", "bytes32", "address", "uint256"], [...hashes, BigInt(amount)]);
    }
    const hex = this.#names.get(name);
    if (hex === undefined) throw new Error(`nothing stands for ${name}`);
    return hex;
  }

  resolve(value: unknown): unknown {
    if (typeof value === "string") return value.startsWith("0x") || value === "" ? value : this.hex(value);
    if (Array.isArray(value)) return value.map((one) => this.resolve(one));
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, this.resolve(one)]));
  }

  async transactionOf(act: Act): Promise<Transaction> {
    if (act.on === "contract") return { to: this.hex("contract"), data: await this.#dataOf(act.call) };
    if (act.on === "vault") return this.#transaction(act.vault, "vault", "release", ["usdc", act.to, 1n]);
    if (act.on === "authority") {
      const scheduled = ["contract", await this.#dataOf(act.call)];
      const args = { execute: scheduled, schedule: [...scheduled, 0], cancel: [act.whose, ...scheduled] }[act.how];
      return this.#transaction("authority", "authority", act.how, args);
    }
    const { fn, args } = act.call;
    if (fn !== "callBack") return this.#transaction(act.on, "token", fn, args);
    const inner = args[0] === null ? { to: ZERO_ADDRESS, data: "0x" } : await this.transactionOf(args[0]);
    return this.#transaction(act.on, "token", fn, [inner.to, inner.data]);
  }

  /** Returns the id under which the authority keeps a scheduled call. */
  async operationOf(by: Account, call: Call): Promise<Hex> {
    const operation = [this.hex(by), this.hex("contract"), await this.#dataOf(call)];
    return hashOf(["address", "address", "bytes"], operation);
  }

  #transaction(at: Account, of: keyof typeof ABIS, functionName: string, args: readonly unknown[]): Transaction {
    return {
      to: this.hex(at),
      data: encodeFunctionData({ abi: ABIS[of], functionName, args: this.resolve(args) as unknown[] }),
    };
  }

  async #dataOf(call: Call): Promise<Hex> {
    if (call.fn !== "settleWithAuthorization")
      return this.#transaction("contract", "contract", call.fn, call.args).data;
    const [payment, from, validAfter, validBefore, salt, signer] = call.args;
    const { privateKey } = this.world.people[signer as Person];
    const terms = { salt: this.hex(salt), validAfter, validBefore, from: this.hex(from) };
    const agreed = this.resolve(payment) as FullPayment;
    const { signature } = await signPayment(this.world.anvil.chainId, privateKey, this.hex("contract"), agreed, terms);
    return this.#transaction("contract", "contract", call.fn, [payment, from, validAfter, validBefore, salt, signature])
      .data;
  }

  // ---- Blocks ------------------------------------------------------------------------------------------------------------

  /** Mines the act at that time. Returns the reason of its refusal, or the contract's logs. */
  async mine(act: Act, at: bigint): Promise<string | RpcLog[]> {
    const { request } = this.world.client.transport;
    const call = { from: this.hex(act.by), ...(await this.transactionOf(act)) };
    await request({ method: "evm_setNextBlockTimestamp", params: [Number(at)] });
    const receipt: Receipt = await request({ method: "eth_sendTransactionSync", params: [{ ...call, gas: GAS }] });
    const contract = this.hex("contract").toLowerCase();
    if (receipt.status === "0x1") return receipt.logs.filter(({ address }) => address === contract);
    // A reverted act leaves the state unchanged, so a call in the same block is refused for the same reason.
    const answer = request({ method: "eth_call", params: [call, "latest"] });
    const data = await answer.then(
      () => "0x" as const,
      (error: { data?: Hex }) => error.data ?? "0x",
    );
    if (data === "0x") return "no reason";
    const { errorName, args } = decodeErrorResult({ abi: ERRORS, data });
    return errorName === "Error" ? String(args?.[0]) : errorName;
  }

  /** Reads the state after the last block by label, all in one call. */
  async read(readings: readonly Reading[]): Promise<Record<string, unknown>> {
    const contracts = readings.map(({ of, at, view, args }) => {
      return { address: this.hex(at), abi: ABIS[of], functionName: view, args: this.resolve(args) as unknown[] };
    });
    const together = { allowFailure: false, deployless: true, batchSize: 1_000_000 } as const;
    const values = await this.world.client.multicall({ contracts, ...together });
    return Object.fromEntries(readings.map(({ label }, index) => [label, values[index]]));
  }
}

function hashOf(types: readonly string[], values: readonly unknown[]): Hex {
  return keccak256(
    encodeAbiParameters(
      types.map((type) => ({ type })),
      values,
    ),
  );
}
