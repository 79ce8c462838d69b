// Books the contract's events alone (CHN-3, CHN-4): the balance of each vault, the sum of the fees, and the facts of each settlement.
import { encodeAbiParameters, getAbiItem, type Hex, keccak256, parseEventLogs, type RpcLog } from "viem";
import { settlementAbi } from "../../scripts/chain/abi.ts";
import type { Facts } from "./support.ts";

const [FACTS] = getAbiItem({ abi: settlementAbi, name: "payOut" }).inputs;
export const commitmentTo = (facts: Facts): Hex => keccak256(encodeAbiParameters([FACTS], [facts]));
export const eventsIn = (logs: readonly RpcLog[]) => parseEventLogs({ abi: settlementAbi, logs: logs as never });
type Event = ReturnType<typeof eventsIn>[number];

export class Books {
  /** Base units by provider and token. */
  readonly vaults: Record<string, bigint> = {};
  readonly fees: Record<Hex, bigint> = {};
  readonly settlements: Record<Hex, Facts> = {};
  readonly commitments: Record<Hex, Hex> = {};
  readonly #intents = new Set<string>();
  readonly #refunded = new Map<Hex, bigint>();

  /** Books the events of one transaction. Returns the vault balances that the events state, by provider and token. */
  add(events: readonly Event[], settledAt: bigint): Record<string, bigint> {
    const said: Record<string, bigint> = {};
    events.forEach((event, index) => {
      if (event.eventName === "Settled") {
        const { providerDidHash, consumerDidHash, intentHash, token, gross, fee, escrow, operational } = event.args;
        if (gross !== fee + escrow + operational) throw new Error("the parts are not the gross");
        const intent = [providerDidHash, consumerDidHash, intentHash, token, gross].join();
        if (BigInt(intentHash) !== 0n && this.#intents.has(intent)) throw new Error("an intent was paid twice");
        this.#intents.add(intent);
        this.fees[token] = (this.fees[token] ?? 0n) + fee;
        this.#book(providerDidHash, token, escrow);
        const recorded = events[index + 1];
        if (recorded?.eventName !== "SettlementRecorded") throw new Error("a settlement was not recorded");
        const { key, refundTo, vaultBalance } = recorded.args;
        if (this.settlements[key]) throw new Error("a key was used twice");
        this.#keep({ key, providerDidHash, token, gross, refundTo, settledAt, paidOut: 0n });
        said[`${providerDidHash} ${token}`] = vaultBalance;
      } else if (event.eventName === "PaidOut") {
        const { key, providerDidHash, token, amount, vaultBalance } = event.args;
        const settlement = this.settlements[key];
        if (!settlement) throw new Error("a payout of no settlement");
        const paidOut = settlement.paidOut + amount;
        if (paidOut > settlement.gross) throw new Error("more was paid out than was paid");
        this.#keep({ ...settlement, paidOut });
        this.#book(providerDidHash, token, -amount);
        said[`${providerDidHash} ${token}`] = vaultBalance;
      } else if (event.eventName === "RefundToSet") {
        const { key, refundTo } = event.args;
        const settlement = this.settlements[key];
        if (!settlement) throw new Error("a new address for refunds of no settlement");
        this.#keep({ ...settlement, refundTo });
      } else if (event.eventName === "Refunded") {
        const { key, amount } = event.args;
        const { gross = 0n, paidOut = 0n } = this.settlements[key] ?? {};
        const refunded = (this.#refunded.get(key) ?? 0n) + amount;
        if (paidOut + refunded > gross) throw new Error("more was refunded than was left");
        this.#refunded.set(key, refunded);
      } else if (event.eventName === "EscrowDeposited" || event.eventName === "SurplusReleased") {
        const { providerDidHash, token, amount, vaultBalance } = event.args;
        this.#book(providerDidHash, token, event.eventName === "EscrowDeposited" ? amount : -amount);
        said[`${providerDidHash} ${token}`] = vaultBalance;
      } else if (event.eventName === "FeesSwept") {
        const { token, amount } = event.args;
        this.fees[token] = (this.fees[token] ?? 0n) - amount;
      }
    });
    return said;
  }

  #book(provider: Hex, token: Hex, amount: bigint): void {
    const vault = `${provider} ${token}`;
    this.vaults[vault] = (this.vaults[vault] ?? 0n) + amount;
  }

  #keep(facts: Facts): void {
    this.settlements[facts.key] = facts;
    this.commitments[facts.key] = commitmentTo(facts);
  }
}
