// The chain of the random histories of money: each act is a block of its own, dated by the history's clock, and blocks are rolled back. Only
// money-histories.test.ts uses the network `lab-money`.
import { encodeFunctionData } from "viem/utils";
import { settlementAbi, tokenAbi } from "../../scripts/chain/abi.ts";
import { hashDid, hashIntent } from "../../src/chain/hashes.ts";
import { account, asRole, chainOf, mintAbi, rpc } from "../support/chain.ts";
import { labOf } from "../support/lab.ts";
import { env, type Json } from "../support/world.ts";
import type { Block } from "./money-model.ts";

export const LAB = "lab-money";
const { lab } = labOf(LAB);
const [REGISTRAR, ARBITER, PAYER] = [account(1), account(2), account(9)];
const SECOND = 1_000;

type Hex = `0x${string}`;
const hex = (text: string): Hex => text as Hex;
const call = encodeFunctionData;
const { settlement_contract: contract, token } = chainOf(LAB);

/** The lab as the service configures it: its blocks come by themselves, so their times say up to when it was read. */
export const networkOf = (firstBlock: number, confirmations: number): string =>
  JSON.stringify(
    (JSON.parse(env.NETWORKS) as Json[])
      .filter(({ network }) => network === LAB)
      .map((entry) => ({
        ...entry,
        block_seconds: 2,
        first_block: firstBlock,
        required_confirmations: confirmations,
      })),
  );

export type Sent = { readonly hash: string; readonly nonce: number; readonly ok: boolean };
/** A transaction that a reorg removed, in its new block. */
type Again = { readonly hash: string; readonly block: Block; readonly ok: boolean };
type Signed = { readonly hash: string; readonly raw: string; readonly from: string; readonly nonce: number };

export class MoneyChain {
  /** The history's instant: whole seconds, in epoch milliseconds. */
  #now: number;
  readonly blocks: Block[] = [];
  /** The signed transaction of each block. */
  readonly #signed = new Map<number, Signed>();
  /** Transactions whose blocks are gone. */
  #gone: Signed[] = [];
  readonly onTime: (now: number) => void;

  private constructor(now: number, head: Block, onTime: (now: number) => void) {
    this.#now = now;
    this.blocks.push(head);
    this.onTime = onTime;
  }

  /** Begins at the newest block. */
  static async begin(onTime: (now: number) => void): Promise<MoneyChain> {
    const head = await headOf();
    return new MoneyChain(head.at, head, onTime);
  }

  get head(): Block {
    return this.blocks.at(-1) as Block;
  }
  get now(): number {
    return this.#now;
  }

  wait(seconds: number): void {
    this.#now += seconds * SECOND;
    this.onTime(this.#now);
  }

  /** Mines an empty block, a second later. */
  async mine(): Promise<void> {
    await this.#next();
    await lab("anvil_mine", "0x1");
    await this.#noted();
  }

  async #next(): Promise<void> {
    this.wait(1);
    await lab("evm_setNextBlockTimestamp", this.#now / SECOND);
  }
  async #noted(): Promise<void> {
    const head = await headOf();
    if (head.at !== this.#now || head.number !== this.head.number + 1) throw new Error("the chain has other blocks");
    this.blocks.push(head);
  }

  /** Sends a transaction in a block of its own, a second later. */
  async send(from: string, to: string, data: string): Promise<Sent> {
    await this.#next();
    // The node answers once the block is mined.
    const { transactionHash: hash, status } = await lab("eth_sendTransactionSync", { from, to, data, gas: "0x2dc6c0" });
    await this.#noted();
    const [raw, { nonce }] = [await lab("debug_getRawTransaction", hash), await lab("eth_getTransactionByHash", hash)];
    this.#signed.set(this.head.number, { hash, raw, from, nonce: Number(nonce) });
    return { hash, nonce: Number(nonce), ok: status === "0x1" };
  }

  /** Mines a transaction again whose block is gone, if its nonce is free. Returns null if there is none. */
  async resend(): Promise<Again | null> {
    const free = await Promise.all(this.#gone.map(async ({ from, nonce }) => (await nonceOf(from)) === nonce));
    const one = this.#gone.find((_, n) => free[n]);
    return one ? this.#again(one) : null;
  }

  async #again(one: Signed): Promise<Again> {
    await this.#next();
    const { transactionHash: hash, status } = await lab("eth_sendRawTransactionSync", one.raw);
    await this.#noted();
    this.#signed.set(this.head.number, one);
    this.#gone = this.#gone.filter((other) => other !== one);
    return { hash, block: this.head, ok: status === "0x1" };
  }

  /** How many transactions the payer has sent on this chain. */
  nonce = (): Promise<number> => nonceOf(PAYER);

  /**
   * Removes the newest blocks. The first `back` of their transactions come back, in blocks of their own, and empty blocks follow until the chain is
   * longer than it was. Returns each transaction that came back.
   */
  async reorganise(depth: number, back: number): Promise<{ kept: Block; returned: Again[] }> {
    const gone = this.blocks.slice(-depth);
    const signed = gone.flatMap(({ number }) => this.#signed.get(number) ?? []);
    await lab("anvil_rollback", depth);
    this.blocks.splice(-depth);
    const kept = this.head;
    for (const { number } of gone) this.#signed.delete(number);
    this.#gone.push(...signed);
    const returned: Again[] = [];
    for (const one of signed.slice(0, back)) returned.push(await this.#again(one));
    while (this.head.number <= (gone.at(-1)?.number ?? 0)) await this.mine();
    return { kept, returned };
  }

  // ---- The contract's calls ------------------------------------------------------------------------------------------------

  /** Gives the payer enough for every payment of a run. */
  async fund(): Promise<void> {
    await this.send(PAYER, token, call({ abi: mintAbi, functionName: "mint", args: [hex(PAYER), 10n ** 15n] }));
    const args = [hex(contract), 2n ** 256n - 1n] as const;
    await this.send(PAYER, token, call({ abi: tokenAbi, functionName: "approve", args }));
  }

  pay(consumer: string, provider: string, units: number, intentId: string | null): Promise<Sent> {
    const facts = [hex(token), BigInt(units), hashDid(provider), hashDid(consumer)] as const;
    const data =
      intentId === null
        ? call({ abi: settlementAbi, functionName: "pay", args: facts })
        : call({ abi: settlementAbi, functionName: "payIntent", args: [...facts, hashIntent(intentId)] });
    return this.send(PAYER, contract, data);
  }

  deposit(provider: string, units: number): Promise<Sent> {
    const args = [hashDid(provider), hex(token), BigInt(units)] as const;
    return this.send(PAYER, contract, call({ abi: settlementAbi, functionName: "depositEscrow", args }));
  }

  transfer(vault: string, units: number): Promise<Sent> {
    return this.send(
      PAYER,
      token,
      call({ abi: tokenAbi, functionName: "transfer", args: [hex(vault), BigInt(units)] }),
    );
  }

  release(provider: string): Promise<Sent> {
    const args = [hashDid(provider), hex(token)] as const;
    return this.send(PAYER, contract, call({ abi: settlementAbi, functionName: "releaseSurplus", args }));
  }

  setThreshold(provider: string, units: number): Promise<Sent> {
    const args = [hashDid(provider), hex(token), BigInt(units)] as const;
    const role = asRole(LAB, call({ abi: settlementAbi, functionName: "setThreshold", args }));
    return this.send(REGISTRAR, role.to, role.data);
  }

  /** `row`: a facilitated transaction. */
  payOut(row: Json, settledAt: number, paidOut: number, units: number): Promise<Sent> {
    const settlement = {
      key: row.settlement_key,
      providerDidHash: hashDid(row.provider_did),
      token: hex(token),
      gross: BigInt(row.gross),
      refundTo: row.refund_to || row.payer,
      settledAt: BigInt(settledAt / SECOND),
      paidOut: BigInt(paidOut),
    };
    const args = [settlement, BigInt(units)] as const;
    const role = asRole(LAB, call({ abi: settlementAbi, functionName: "payOut", args }));
    return this.send(ARBITER, role.to, role.data);
  }

  /** Base units in a vault at the end of a block. */
  async heldAt(provider: string, block: number): Promise<number> {
    const args = [hashDid(provider), hex(token)] as const;
    const data = call({ abi: settlementAbi, functionName: "escrowBalance", args });
    return Number(await rpc<string>(LAB, "eth_call", [{ to: contract, data }, `0x${block.toString(16)}`]));
  }
}

export async function headOf(): Promise<Block> {
  const { number, timestamp } = await lab("eth_getBlockByNumber", "latest", false);
  return { number: Number(number), at: Number(timestamp) * SECOND };
}

const nonceOf = async (from: string): Promise<number> => Number(await lab("eth_getTransactionCount", from, "latest"));
