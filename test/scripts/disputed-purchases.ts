// Helpers for the test of killed refunds: disputed purchases, the acts that refund them, the state of each on the chain and in the database, and the
// contract call that a request of the Worker makes.
import { decodeFunctionData, type Hex, parseTransaction } from "viem";
import { generatePrivateKey, privateKeyToAddress } from "viem/accounts";
import { authorityAbi, settlementAbi, tokenAbi } from "../../scripts/chain/abi.ts";
import { devAccounts } from "../../scripts/chain/anvil.ts";
import { callContract, createClient } from "../../scripts/chain/client.ts";
import { approve, depositEscrow, mintTestUsdc, settle } from "../../scripts/chain/payments.ts";
import { type Agent, agentHeaders, type Json, pickValue, send } from "../../scripts/client.ts";
import { roleAccounts } from "../../scripts/ephemeral.ts";
import { fireCron } from "../../scripts/local-worker.ts";
import { hashDid } from "../../src/chain/hashes.ts";
import { type PayableIntent, preparePayment } from "../../src/protocol/payment.ts";
import type { RpcCall } from "./held-node.ts";
import type { KillableWorker } from "./killable-worker.ts";

const MAX_FEE_BPS = 5;
const GROSS = 100_000_000n;

const [providers, payer] = [devAccounts()[8], devAccounts()[9]];
if (!providers || !payer) throw new Error("anvil has no accounts");
/** The account of every provider's operational wallet. */
const operational = providers;
const buyer = payer;

export type Purchase = {
  readonly provider: Agent;
  readonly transactionId: string;
  readonly disputeId: string;
  readonly key: Hex;
  /** The address for its refunds, which receives nothing else. */
  readonly wallet: Hex;
  /** The vault's balance before any refund, in base units. */
  readonly held: number;
};

// ---- Purchases --------------------------------------------------------------------------------------------------------

/** Creates a provider, buys from it for a hundred, and disputes the amount. */
export async function disputed(worker: KillableWorker, consumer: Agent, amount: string): Promise<Purchase> {
  const provider = await worker.agent("PROVIDER");
  const { network, rpcUrl, token, contract } = worker.chain;
  const market = { market: "GLOBAL-USDC", network, operational_wallet: operational.address };
  await worker.manage(`/v1/agents/${provider.did}/scope/authorized_markets`, { markets: [market] }, 200);
  const order = { consumer_did: consumer.did, provider_did: provider.did, amount: "100.00", currency: "USDC" };
  const intent = await as(worker, consumer, "/v1/payment-intents", order, 201);
  const wallet = privateKeyToAddress(generatePrivateKey());
  const { payment, settlementKey } = preparePayment(intent as PayableIntent, {
    maxFeeBps: MAX_FEE_BPS,
    refundTo: wallet,
  });
  await mintTestUsdc(rpcUrl, buyer.privateKey, token, buyer.address, GROSS);
  await approve(rpcUrl, buyer.privateKey, token, contract, GROSS);
  const payment_tx = await settle(rpcUrl, buyer.privateKey, contract, payment);
  const paid = { intent_id: pickValue<string>(intent, "intent_id"), payment_tx };
  const transactionId = pickValue<string>(await as(worker, consumer, "/v1/facilitate", paid, 200), "transaction_id");
  const filing = { transaction_id: transactionId, reason: "not_delivered", disputed_amount: amount };
  const disputeId = pickValue<string>(await worker.manage("/v1/disputes", filing, 201), "dispute_id");
  const held = await heldBy(worker, provider);
  return { provider, transactionId, disputeId, key: settlementKey, wallet, held };
}

async function as(worker: KillableWorker, agent: Agent, path: string, body: Json, status: number): Promise<Json> {
  for (;;) {
    const sent = { method: "POST", path, body };
    const reply = await send(worker.baseUrl, sent, await agentHeaders(agent, sent));
    if (reply.status === status) return JSON.parse(reply.text) as Json;
    if (reply.status !== 503) throw new Error(`${path} answered ${reply.status}: ${reply.text}`);
    // Fires the cron, because the jobs have not read the chain for a while.
    await fireCron(worker.baseUrl);
  }
}

export async function toArbiter({ manage }: KillableWorker, { disputeId }: Purchase): Promise<void> {
  await manage(`/v1/disputes/${disputeId}/respond`, { message: "It was delivered." }, 200);
  await manage(`/v1/disputes/${disputeId}/escalate`, {}, 200);
}

/** Awards the whole disputed amount. */
export const award = ({ operate }: KillableWorker, { disputeId }: Purchase): Promise<Json> =>
  operate(`/v1/operator/disputes/${disputeId}/resolve`, { resolution: "upheld", reason: "Nothing came." }, 200);

export const concede = ({ manage }: KillableWorker, { disputeId }: Purchase): Promise<Json> =>
  manage(`/v1/disputes/${disputeId}/concede`, {}, 200);

export async function deposit({ chain }: KillableWorker, { provider }: Purchase, amount: bigint): Promise<void> {
  const { rpcUrl, token, contract } = chain;
  await mintTestUsdc(rpcUrl, buyer.privateKey, token, buyer.address, amount);
  await approve(rpcUrl, buyer.privateKey, token, contract, amount);
  const into = { settlementContract: contract, token, amount, providerDidHash: hashDid(provider.did) };
  await depositEscrow(rpcUrl, buyer.privateKey, into);
}

/** Refunds an amount from the provider's own wallet. Resolves once it is mined. */
export async function giveBack(worker: KillableWorker, one: Purchase, amount: bigint): Promise<void> {
  const { rpcUrl, token, contract } = worker.chain;
  const { privateKey, address } = operational;
  const [row] = rows(worker, "select tx_hash, gross from transactions where transaction_id = ?", one.transactionId);
  const client = createClient(rpcUrl);
  const { blockNumber } = await client.getTransactionReceipt({ hash: String(row?.["tx_hash"]) as Hex });
  const { timestamp } = await client.getBlock({ blockNumber });
  const settlement = {
    key: one.key,
    providerDidHash: hashDid(one.provider.did),
    token,
    gross: BigInt(Number(row?.["gross"])),
    refundTo: one.wallet,
    settledAt: timestamp,
    paidOut: 0n,
  };
  await mintTestUsdc(rpcUrl, privateKey, token, address, amount);
  await approve(rpcUrl, privateKey, token, contract, amount);
  const call = { address: contract, abi: settlementAbi, functionName: "refund", args: [settlement, amount] };
  await callContract(rpcUrl, privateKey, call);
}

// ---- The state of a refund --------------------------------------------------------------------------------------------

export function rows(worker: KillableWorker, text: string, ...values: (string | number)[]): Json[] {
  using database = worker.database("d1", "disputes");
  return database
    .prepare(text)
    .all(...values)
    .map((row) => ({ ...row }));
}

export const heldBy = async (worker: KillableWorker, { did }: Agent): Promise<number> =>
  Number(await view(worker, "escrowBalance", [hashDid(did), worker.chain.token]));

const view = ({ chain }: KillableWorker, functionName: "escrowBalance" | "reserveOf", args: readonly [Hex, Hex]) =>
  createClient(chain.rpcUrl).readContract({ address: chain.contract, abi: settlementAbi, functionName, args });

/**
 * Reads its state on the chain, in base units: the parts that the vault paid, the parts that wait for a block, the received amount, and the reserve.
 */
export async function onChain(worker: KillableWorker, { provider, key, wallet }: Purchase) {
  const { rpcUrl, contract: address, token } = worker.chain;
  const client = createClient(rpcUrl);
  const paid = await client.getContractEvents({
    address,
    abi: settlementAbi,
    eventName: "PaidOut",
    args: { key },
    fromBlock: 0n,
  });
  const { pending } = await client.getTxpoolContent();
  const [, waiting = {}] =
    Object.entries(pending).find(([from]) => from.toLowerCase() === roleAccounts().arbiter.address.toLowerCase()) ?? [];
  const parts = Object.values(waiting).map(({ input }) => payOutIn(input));
  return {
    paid: paid.map(({ args }) => Number(args.amount)),
    waiting: parts.filter((part) => part?.key === key).map((part) => part?.amount),
    received: Number(
      await client.readContract({ address: token, abi: tokenAbi, functionName: "balanceOf", args: [wallet] }),
    ),
    reserve: Number(await view(worker, "reserveOf", [hashDid(provider.did), token])),
  };
}

/** Reads its refund in the database: the dispute, the award's payout, the escrow, and the provider's own refund. */
export function recorded(worker: KillableWorker, { disputeId, key, provider: { did } }: Purchase): Json {
  using database = worker.database("d1", "disputes");
  const one = (text: string, value: string) => database.prepare(text).get(value);
  return {
    ...one("select status, refund_status, paid_out from disputes where dispute_id = ?", disputeId),
    ...one("select wanted, status as payout from chain_operations where kind = 'payout' and subject = ?", disputeId),
    ...one("select owed, disputed from escrows where did = ?", did),
    ...one("select status as refund from chain_operations where kind = 'refund' and subject = ?", key),
    ...one("select count(*) as refunds from refunds where settlement_key = ?", key),
  };
}

/** Reads everything that a refund leaves, including its events. */
export async function endOf(worker: KillableWorker, one: Purchase): Promise<Json> {
  const { did } = one.provider;
  const lines = rows(
    worker,
    "select kind, amount from ledger_lines where did = ? and reversed = 0 order by number",
    did,
  );
  const told = rows(
    worker,
    `select type || ' ' || (object ->> 'refund_status') || ' ' || (object ->> 'paid_from_vault') as said from events
      where object ->> 'dispute_id' = ? order by seq`,
    one.disputeId,
  ).map(({ said }) => String(said));
  // The contract's events show which part it was.
  const { wanted: _part, ...found } = recorded(worker, one);
  return {
    ...found,
    ...(await onChain(worker, one)),
    held: await heldBy(worker, one.provider),
    sum: lines.reduce((sum, { amount }) => sum + Number(amount), 0),
    payouts: lines.filter(({ kind }) => kind === "payout").map(({ amount }) => -Number(amount)),
    // Timing decides whether a transaction was seen while it waited.
    told: told.filter((said) => !said.includes(" sent ")),
    twice: rows(worker, "select type, object from events group by type, object having count(*) > 1"),
    alerts: rows(worker, "select kind, subject, message from alerts where kind <> 'arbitration_waiting'"),
  };
}

/** Runs a minute's jobs after making everything that waits for its next check due. */
export async function minute(worker: KillableWorker): Promise<void> {
  const now = Date.now();
  const later = "status = 'waiting' and kind in ('payout', 'reserve') and next_check_at > ?";
  rows(worker, `update chain_operations set next_check_at = ? where ${later}`, now, now);
  await fireCron(worker.baseUrl);
}

// ---- Calls of the Worker ----------------------------------------------------------------------------------------------

type Called = { readonly name: string; readonly args: readonly unknown[] };

/** The contract function that a request calls, even if the call goes through the authority. */
export function calledBy({ method, params }: RpcCall): Called | null {
  if (method === "eth_sendRawTransaction") return calledIn(parseTransaction(params[0] as Hex).data);
  const { data } = (params[0] ?? {}) as { data?: Hex };
  return calledIn(data);
}

function calledIn(data: Hex | undefined): Called | null {
  if (data === undefined) return null;
  try {
    const { functionName: name, args = [] } = decodeFunctionData({ abi: [...settlementAbi, ...authorityAbi], data });
    return name === "execute" ? calledIn(args[1] as Hex) : { name, args };
  } catch {
    // A call of another contract.
    return null;
  }
}

function payOutIn(data: Hex): { readonly key: Hex; readonly amount: number } | null {
  const called = calledIn(data);
  if (called?.name !== "payOut") return null;
  const [{ key }, amount] = called.args as [{ key: Hex }, bigint];
  return { key, amount: Number(amount) };
}
