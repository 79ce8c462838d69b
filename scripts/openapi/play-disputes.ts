// Plays four disputes between the two agents: one is settled, one conceded, one withdrawn, and one decided by an arbiter.
import { setTimeout as sleep } from "node:timers/promises";
import { encodeFunctionData, getAbiItem, type Hex } from "viem";
import { authorityAbi } from "../../src/chain/abi.ts";
import { SIGNER_ROLES } from "../../src/chain/sign.ts";
import { createClient } from "../chain/client.ts";
import { type Agent, boundHeaders, must, payOnChain, pickValue } from "../client.ts";
import { fireCron } from "../local-worker.ts";
import type { Stage } from "./stage.ts";

export async function playDisputes(stage: Stage, provider: Agent, consumer: Agent): Promise<void> {
  const [settled, conceded, withdrawn, decided] = await purchases(stage, provider, consumer, 4);
  await settle(stage, provider, consumer, String(settled));
  await concede(stage, provider, consumer, String(conceded));
  await withdraw(stage, consumer, String(withdrawn));
  await decide(stage, provider, consumer, String(decided));
}

async function purchases(stage: Stage, provider: Agent, consumer: Agent, count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let n = 0; n < count; n++) {
    const order = { consumer_did: consumer.did, provider_did: provider.did, amount: "10.50", currency: "USDC" };
    const intent = await stage.ask("createPaymentIntent", { as: consumer, body: order });
    const body = {
      intent_id: pickValue<string>(intent, "intent_id"),
      payment_tx: await payOnChain(stage.service.chain, intent),
    };
    const headers = await boundHeaders(consumer, provider);
    ids.push(pickValue(await stage.ask("facilitate", { headers, body }), "transaction_id"));
  }
  return ids;
}

async function filed(
  stage: Stage,
  consumer: Agent,
  transaction_id: string,
  call: Stage["show"],
): Promise<{ dispute_id: string }> {
  const body = {
    transaction_id,
    reason: "not_as_described",
    description: "The third page was not translated.",
    disputed_amount: "1.00",
  };
  const dispute = await call.call(stage, "fileDispute", { as: consumer, body });
  return { dispute_id: pickValue(dispute, "dispute_id") };
}

async function settle(stage: Stage, provider: Agent, consumer: Agent, id: string): Promise<void> {
  await stage.show("getFacilitationStanding", { params: { facilitation_id: id } });
  const params = await filed(stage, consumer, id, stage.show);
  const body = { message: "The third page was hard to read; we offer half.", offer_amount: "0.50" };
  await stage.show("respondToDispute", { as: provider, params, body });
  await stage.show("acceptOffer", { as: consumer, params });
}

async function concede(stage: Stage, provider: Agent, consumer: Agent, id: string): Promise<void> {
  const params = await filed(stage, consumer, id, stage.ask);
  await stage.show("concedeDispute", { as: provider, params });
}

async function withdraw(stage: Stage, consumer: Agent, id: string): Promise<void> {
  const params = await filed(stage, consumer, id, stage.ask);
  await stage.show("withdrawDispute", { as: consumer, params });
}

async function decide(stage: Stage, provider: Agent, consumer: Agent, id: string): Promise<void> {
  const params = await filed(stage, consumer, id, stage.ask);
  await stage.ask("respondToDispute", { as: provider, params, body: { message: "It was translated." } });
  const evidence = {
    description: "The file as it was delivered.",
    uri: "https://lumiere.example/evidence/4711",
    sha256: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    media_type: "application/pdf",
    submitted_by: "consumer",
  };
  await stage.show("addDisputeEvidence", { as: consumer, params, body: evidence });
  await stage.show("escalateDispute", { as: consumer, params });
  await stage.show("listAllDisputes", { query: { limit: "1" } });
  const verdict = { resolution: "partially_upheld", refund_amount: "0.75", reason: "A page of four is missing." };
  await delayPayouts(stage, 1);
  await stage.show("resolveDispute", { params, body: verdict });
  await stage.show("getDispute", { as: consumer, params });
  await stage.show("getDisputeCase", { params });
  await stage.show("listDisputes", { query: { limit: "1" } });
  await stage.show("listDisputes", { headers: { Accept: "text/csv" } });
  await repeatPayout(stage, params);
}

// ---- A payout that the guardian cancels --------------------------------------------------------------------------------------

/** A little longer than the time after which the service checks a scheduled payout. */
const CHECKED_AFTER_MS = 61_000;
const WAIT_MS = 180_000;
const [ARBITER_DELAYED, GUARDIAN, OWNER] = [SIGNER_ROLES.ARBITER_DELAYED.id, 6n, 7n] as const;
const GAS = 10n ** 18n;

type Params = { readonly dispute_id: string };
type Chain = Stage["service"]["chain"];

async function holderOf({ rpc_url, authority: address }: Chain, role: bigint): Promise<Hex> {
  const event = getAbiItem({ abi: authorityAbi, name: "RoleGranted" });
  const logs = await createClient(rpc_url).getLogs({
    address,
    event,
    args: { roleId: role },
    fromBlock: 0n,
    strict: true,
  });
  const [first] = logs;
  must(first !== undefined, "the role has a holder");
  return first.args.account;
}

/** Calls the authority as the holder of a role, whom the local chain impersonates. */
async function callAs(chain: Chain, role: bigint, data: Hex): Promise<void> {
  const client = createClient(chain.rpc_url);
  const from = await holderOf(chain, role);
  await client.impersonateAccount({ address: from });
  await client.setBalance({ address: from, value: GAS });
  const hash = await client.sendUnsignedTransaction({ from, to: chain.authority, data });
  await client.waitForTransactionReceipt({ hash });
  await client.stopImpersonatingAccount({ address: from });
}

/** Sets the delay of payouts on the local chain. */
async function delayPayouts({ service: { chain } }: Stage, seconds: number): Promise<void> {
  const args = [ARBITER_DELAYED, await holderOf(chain, ARBITER_DELAYED), seconds] as const;
  await callAs(chain, OWNER, encodeFunctionData({ abi: authorityAbi, functionName: "grantRole", args }));
}

/** The guardian cancels a payout, and an operator has it paid again. */
async function repeatPayout(stage: Stage, params: Params): Promise<void> {
  const { chain, base_url } = stage.service;
  await refundIs(stage, params, "sent", async () => undefined);
  const event = getAbiItem({ abi: authorityAbi, name: "OperationScheduled" });
  const client = createClient(chain.rpc_url);
  const last = (await client.getLogs({ address: chain.authority, event, fromBlock: 0n, strict: true })).at(-1);
  must(last !== undefined, "the payout is scheduled");
  const args = [last.args.caller, last.args.target, last.args.data] as const;
  await callAs(chain, GUARDIAN, encodeFunctionData({ abi: authorityAbi, functionName: "cancel", args }));
  await sleep(CHECKED_AFTER_MS);
  await refundIs(stage, params, "outstanding", () => fireCron(base_url));
  const body = { reason: "The arbiter's key was rotated, and the award stands." };
  await stage.show("repeatPayout", { params, body });
  await delayPayouts(stage, 0);
}

async function refundIs(
  stage: Stage,
  params: Params,
  status: string,
  meanwhile: () => Promise<unknown>,
): Promise<void> {
  for (const until = Date.now() + WAIT_MS; ; await sleep(1_000)) {
    await meanwhile();
    if (pickValue(await stage.ask("getDisputeCase", { params }), "refund_status") === status) return;
    must(Date.now() < until, `the refund never was ${status}`);
  }
}
