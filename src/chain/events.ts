// Decodes the events of the contract and its authority from a transaction's logs (CHN-11): a log counts only if one of the network's own contracts
// emitted it. Log indices count from the transaction's first log, because the index within a block changes when the transaction is mined again
// (FAC-9).
import { decodeEventLog } from "viem/utils";
import * as z from "zod";
import { settlementAbi } from "./abi.ts";
import { decodeAuthorityEvent, indexEvents, listAuthorities } from "./acts.ts";
import type { ContractEvent } from "./gateway.ts";
import type { Network } from "./networks.ts";

const hex = z.templateLiteral(["0x", z.string().regex(/^[0-9a-fA-F]*$/)]);
export const quantity = z.string().regex(/^0x[0-9a-fA-F]{1,64}$/);
export const logSchema = z.object({
  address: hex,
  topics: z.array(hex).max(4),
  data: hex,
  logIndex: quantity,
  blockTimestamp: quantity.nullish(),
});
export const receiptSchema = z.object({
  transactionHash: hex,
  status: quantity,
  blockNumber: quantity,
  blockHash: hex,
  logs: z.array(logSchema),
});

export type Log = z.infer<typeof logSchema>;
export type Receipt = z.infer<typeof receiptSchema>;

export function decodeEvents(logs: readonly Log[], network: Network): ContractEvent[] {
  const first = Number(logs[0]?.logIndex ?? 0);
  return logs.flatMap((log, at) => {
    const place = { logIndex: Number(log.logIndex) - first, contract: log.address.toLowerCase() };
    if (listAuthorities(network).includes(place.contract)) {
      const told = decodeAuthorityEvent(log);
      return told ? [{ ...told, ...place } as ContractEvent] : [];
    }
    const event = decodeOwnLog(log, network);
    const next = logs[at + 1];
    const behind = next?.address.toLowerCase() === place.contract ? decodeOwnLog(next, network) : undefined;
    const read = event && toContractEvent(event, behind);
    return read ? [{ ...read, ...place } as ContractEvent] : [];
  });
}

/** Returns the addresses of the present edition and the earlier ones, in lower case. */
export const listEditionContracts = ({ settlement_contract, earlier_editions }: Network): string[] =>
  [settlement_contract, ...earlier_editions.map((edition) => edition.settlement_contract)].map((one) =>
    one.toLowerCase(),
  );

const decodeOwnLog = (log: Log, network: Network) =>
  listEditionContracts(network).includes(log.address.toLowerCase()) ? decodeLog(log) : undefined;

type Decoded = NonNullable<ReturnType<typeof decodeLog>>;

const findEventAbi = indexEvents(settlementAbi);

function decodeLog({ data, topics: [signature, ...rest] }: Log) {
  const abi = signature && findEventAbi(signature);
  if (!abi) return undefined;
  try {
    return decodeEventLog({ abi, data, topics: [signature, ...rest] });
  } catch {
    return undefined;
  }
}

/** The next log completes some events: for `Settled` it states key and wallet, for a wallet change it states who confirmed it. */
function toContractEvent(event: Decoded, behind: Decoded | undefined) {
  switch (event.eventName) {
    case "Settled": {
      if (behind?.eventName !== "SettlementRecorded") return undefined;
      const { token, payer, intentHash, ...amounts } = event.args;
      const { key, operationalWallet, refundTo, vaultBalance } = behind.args;
      return {
        kind: "settled",
        ...amounts,
        settlementKey: key,
        intentHash: /^0x0*$/.test(intentHash) ? null : intentHash,
        token: token.toLowerCase(),
        payer: payer.toLowerCase(),
        operationalWallet: operationalWallet.toLowerCase(),
        refundTo: refundTo.toLowerCase(),
        vaultBalance,
      };
    }
    case "EscrowDeposited":
    case "SurplusReleased": {
      const { providerDidHash, token, amount, vaultBalance } = event.args;
      const kind = event.eventName === "EscrowDeposited" ? "deposit" : "release";
      return { kind, providerDidHash, token: token.toLowerCase(), amount, vaultBalance };
    }
    case "PaidOut": {
      const { key: settlementKey, refundTo: to, token, ...amounts } = event.args;
      const refundTo = to.toLowerCase();
      return { kind: "payout", settlementKey, refundTo, token: token.toLowerCase(), ...amounts };
    }
    case "Refunded": {
      const { key: settlementKey, from, refundTo, token, amount } = event.args;
      const [payer, receiver] = [from.toLowerCase(), refundTo.toLowerCase()];
      return { kind: "refund", settlementKey, from: payer, refundTo: receiver, token: token.toLowerCase(), amount };
    }
    case "RefundToSet":
      return { kind: "refund_to", settlementKey: event.args.key, refundTo: event.args.refundTo.toLowerCase() };
    case "OperationalWalletSet": {
      const { providerDidHash, token, operationalWallet: wallet } = event.args;
      const confirmedBy =
        behind?.eventName === "OperationalWalletConfirmed" ? behind.args.previous.toLowerCase() : null;
      const operationalWallet = wallet.toLowerCase();
      return { kind: "wallet", providerDidHash, token: token.toLowerCase(), operationalWallet, confirmedBy };
    }
    case "ThresholdSet":
      return { kind: "threshold", ...event.args, token: event.args.token.toLowerCase() };
    case "ReserveSet":
      return { kind: "reserve", ...event.args, token: event.args.token.toLowerCase() };
    case "ProviderRegistered": {
      const { providerDidHash, token, operationalWallet, threshold } = event.args;
      const split = { operationalWallet: operationalWallet.toLowerCase(), threshold };
      return { kind: "registered", providerDidHash, token: token.toLowerCase(), ...split };
    }
    case "FeeSet":
      return { kind: "act", words: `the fee is now ${event.args.feeBps} hundredths of a percent` };
    case "FeeRecipientSet":
      return { kind: "act", words: `fees now go to ${event.args.feeRecipient}` };
    case "TokenListed": {
      const { token, base } = event.args;
      const words = base === 0n ? `${token} is no longer accepted` : `${token} is accepted, with the base ${base}`;
      return { kind: "act", words };
    }
    case "Paused":
      return { kind: "paused" };
    case "Unpaused":
      return { kind: "unpaused" };
    default:
      return undefined;
  }
}
