// One object per network and key: it owns the key's nonce sequence, so that two registrations never take one nonce. Bytes
// whose arrival is unknown are kept and sent again before anything else: their nonce is not free.
import { DurableObject } from "cloudflare:workers";
import type { ChainCall, ChainResult, Submission } from "../chain/gateway.ts";
import { parseNetworks } from "../chain/networks.ts";
import { type ChainSender, createChainSender } from "../chain/sender.ts";
import { addressOf, signCall } from "../chain/sign.ts";
import { MINUTE_MS } from "../core/limits.ts";

/** What of the bindings it needs. */
type SignerEnv = { NETWORKS: string; CHAIN_REGISTRAR_KEY: string };

type Sent = { network: string; nonce: number; raw: string; hash: string; at: number; arrived: boolean };

const LAST_SENT = "last_sent";
/** How long our own count of nonces is believed over a node that lags behind another. */
const NONCE_MEMORY_MS = MINUTE_MS;

export class ChainSigner extends DurableObject<SignerEnv> {
  private last: Promise<unknown> = Promise.resolve();

  /** Signs and sends, in order. Nothing is sent when the dry run refuses. */
  submit(call: ChainCall): Promise<ChainResult<Submission>> {
    const mine = this.last.then(() => this.send(call));
    this.last = mine.catch(() => undefined);
    return mine;
  }

  private async send(call: ChainCall): Promise<ChainResult<Submission>> {
    const sender = createChainSender(parseNetworks(this.env.NETWORKS));
    const before = await this.ctx.storage.get<Sent>(LAST_SENT);
    if (before && !before.arrived) {
      const again = await this.deliver(sender, before);
      if (!again.ok) return again;
    }
    const privateKey = this.env.CHAIN_REGISTRAR_KEY;
    const prepared = await sender.prepare(call, addressOf(privateKey));
    if (!prepared.ok) return prepared;
    if (prepared.value.state === "refused") return { ok: true, value: prepared.value };
    const { chainId, gas, maxFeePerGas, maxPriorityFeePerGas } = prepared.value;
    const remembered = before && Date.now() - before.at < NONCE_MEMORY_MS ? before.nonce + 1 : 0;
    const nonce = Math.max(prepared.value.nonce, remembered);
    const { to, data, network } = call;
    const { raw, hash } = await signCall({
      privateKey,
      chainId,
      nonce,
      to,
      data,
      gas,
      maxFeePerGas,
      maxPriorityFeePerGas,
    });
    const sent: Sent = { network, nonce, raw, hash, at: Date.now(), arrived: false };
    await this.ctx.storage.put(LAST_SENT, sent);
    return this.deliver(sender, sent);
  }

  private async deliver(sender: ChainSender, sent: Sent): Promise<ChainResult<Submission>> {
    const delivered = await sender.sendRaw(sent.network, { raw: sent.raw, hash: sent.hash });
    if (!delivered.ok) return delivered;
    // Refused by the node: the nonce was not used, so nothing of it is remembered.
    if (delivered.value.state === "refused") await this.ctx.storage.delete(LAST_SENT);
    else await this.ctx.storage.put(LAST_SENT, { ...sent, arrived: true });
    return delivered;
  }
}
