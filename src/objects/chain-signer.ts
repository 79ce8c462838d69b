// One object for each key and network owns the key's nonces and works on one call at a time (CHN-15).
import { DurableObject } from "cloudflare:workers";
import type { ChainCall, ChainResult, Precedence, Submission, Withdrawal } from "../chain/gateway.ts";
import { parseNetworks } from "../chain/networks.ts";
import { toUnavailable } from "../chain/rpc.ts";
import { createChainSender } from "../chain/sender.ts";
import { deriveAddress, type SignerName } from "../chain/sign.ts";
import { memoizeBy } from "../core/retry.ts";
import { SentTransactions } from "./sent-transactions.ts";
import {
  type SignerStanding,
  type SigningDesk,
  submitTransaction,
  tendTransactions,
  withdrawTransactions,
} from "./transactions.ts";

type SignerEnv = { NETWORKS: string; CHAIN_REGISTRAR_KEY: string; CHAIN_ARBITER_KEY: string };
const networksOf = memoizeBy((env: SignerEnv) => parseNetworks(env.NETWORKS));
const KEY_OF: Readonly<Record<SignerName, (env: SignerEnv) => string>> = {
  registrar: (env) => env.CHAIN_REGISTRAR_KEY,
  arbiter: (env) => env.CHAIN_ARBITER_KEY,
};

export type SignerKey = { readonly signer: SignerName; readonly network: string };

export class ChainSigner extends DurableObject<SignerEnv> {
  private last: Promise<unknown> = Promise.resolve();
  private readonly pause = (ms: number): Promise<unknown> => scheduler.wait(ms);

  /** Sends nothing if the dry run fails. `place` says whether a different call that waits under this key is replaced or kept. */
  submit(
    on: SignerKey,
    key: string,
    call: ChainCall,
    place: Precedence,
    until: number,
  ): Promise<ChainResult<Submission>> {
    return this.inOrder(on, until, (desk) => submitTransaction(desk, key, call, place));
  }

  withdraw(on: SignerKey, key: string, until: number): Promise<ChainResult<Withdrawal>> {
    return this.inOrder(on, until, (desk) => withdrawTransactions(desk, key));
  }

  async address({ signer }: SignerKey): Promise<ChainResult<string>> {
    return { ok: true, value: deriveAddress(KEY_OF[signer](this.env)) };
  }

  async signed({ signer }: SignerKey, hashes: readonly string[]): Promise<string[]> {
    const { sql } = this.ctx.storage;
    return new SentTransactions(sql, deriveAddress(KEY_OF[signer](this.env))).signed(hashes);
  }

  tend(on: SignerKey, until: number): Promise<ChainResult<SignerStanding>> {
    return this.inOrder(on, until, tendTransactions);
  }

  /** Skips work whose caller no longer waits when its turn comes: with a slow node it would keep all later calls waiting. */
  private inOrder<T>(
    on: SignerKey,
    until: number,
    work: (desk: SigningDesk) => Promise<ChainResult<T>>,
  ): Promise<ChainResult<T>> {
    const desk = this.deskOf(on);
    if (!desk) return Promise.resolve(toUnavailable(on.network, "unknown_network"));
    const mine = this.last.then(() => (Date.now() < until ? work(desk) : toUnavailable(on.network, "timeout")));
    this.last = mine.catch(() => undefined);
    return mine;
  }

  private deskOf({ signer, network: name }: SignerKey): SigningDesk | null {
    const network = networksOf(this.env).find((known) => known.network === name);
    if (!network) return null;
    const privateKey = KEY_OF[signer](this.env);
    const address = deriveAddress(privateKey);
    const sent = new SentTransactions(this.ctx.storage.sql, address);
    return { sender: createChainSender(network), privateKey, address, sent, pause: this.pause };
  }
}
