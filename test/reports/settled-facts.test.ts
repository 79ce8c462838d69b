// Facts that a settlement fixes stay fixed (FAC-12, FAC-13): the window, the document's version, the parties, the wallet, the fee and the parts. They
// stay in the transaction, its receipt, the lists, the CSV and the events, whatever changes afterwards.
import { encodeFunctionData } from "viem/utils";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { settlementAbi } from "../../scripts/chain/abi.ts";
import { followThresholds } from "../../src/escrow/follow-threshold.ts";
import { importPrivateKeyPem } from "../../src/protocol/ecdsa.ts";
import { importJwks } from "../../src/protocol/jwks.ts";
import { verifyReceipt } from "../../src/protocol/receipt.ts";
import { report } from "../agents/reports-support.ts";
import { asProvider, confirm, type Paid } from "../facilitation/support.ts";
import { account, asRole, ownContract, payOnChain, send } from "../support/chain.ts";
import { type Agent, createWorld, env, expectStatus, type Json, type World } from "../support/world.ts";

const NETWORK = "base-sepolia";
const [ADMIN, WALLET] = [account(0), account(7)];
const FEE_BPS = 5n;
const { contract, authority } = ownContract();

let world: World;
beforeAll(async () => {
  const networks = (JSON.parse(env.NETWORKS) as Json[])
    .filter(({ network }) => network === NETWORK)
    .map((network) => ({ ...network, settlement_contract: contract, authority }));
  world = await createWorld({ NETWORKS: JSON.stringify(networks) });
});
const setFee = async (bps: bigint): Promise<void> => {
  const data = encodeFunctionData({ abi: settlementAbi, functionName: "setFeeBps", args: [bps] });
  await send(NETWORK, ADMIN, authority, asRole(NETWORK, data, contract).data);
};
afterAll(() => setFee(FEE_BPS));

async function buy(consumer: Agent, provider: Agent, amount: string): Promise<Paid & { fac: Json }> {
  const intent = await world.intent(consumer, provider, amount);
  const units = Number(intent.amount_base_units);
  const tx = await payOnChain(consumer.did, provider.did, units, { contract, intentId: intent.intent_id });
  const purchase = { consumer, provider, intent, tx };
  return { ...purchase, fac: expectStatus(await asProvider(world, purchase), 200) };
}

/** Reads every answer that shows a purchase. */
async function toldOf({ consumer, provider, intent, fac, tx }: Paid & { fac: Json }) {
  const ofIt = (rows: Json[]) => rows.filter((row) => JSON.stringify(row).includes(fac.transaction_id));
  const csv = expectStatus(await world.call("GET", "/v1/transactions", { headers: { Accept: "text/csv" } }), 200);
  const lists = [];
  for (const { did } of [consumer, provider]) {
    lists.push(ofIt((await report(world, did, "transactions", "limit=100")).data));
    const { data } = await report(world, did, "events", "limit=100");
    lists.push(ofIt(data).filter(({ type }) => ["transaction.settled", "task.opened", "intent.paid"].includes(type)));
  }
  const stored = await env.DB.prepare("select * from transactions where transaction_id = ?")
    .bind(fac.transaction_id)
    .first();
  return {
    stored,
    lists,
    account: ofIt(expectStatus(await world.call("GET", "/v1/transactions?limit=100"), 200).data),
    line: csv.split("\r\n").filter((line: string) => line.startsWith(fac.transaction_id)),
    version: await worldText(`/v1/agents/${provider.did}/aid?version=${fac.provider_aid_version}`),
    intent: await ownIntent(consumer, intent.intent_id),
    tx,
  };
}
const worldText = async (path: string): Promise<string> => (await world.call("GET", path, { key: null })).text;
async function ownIntent(consumer: Agent, id: string): Promise<Json> {
  const { hold_released: _released, ...intent } = expectStatus(
    await world.as(consumer, "GET", `/v1/payment-intents/${id}`),
    200,
  );
  return intent;
}

describe("a settled transaction", () => {
  let purchase: Paid & { fac: Json };
  let before: Awaited<ReturnType<typeof toldOf>>;
  let consumer: Agent;
  let provider: Agent;

  beforeAll(async () => {
    [consumer, provider] = [await world.consumer(), await world.provider()];
    purchase = await buy(consumer, provider, "10.00");
    before = await toldOf(purchase);
  });

  it("keeps all its facts, and its receipt byte for byte, after everything that it was made of has changed", async () => {
    const did = provider.did;
    const patch = (path: string, body: Json) => world.call("PATCH", `/v1/agents/${did}${path}`, { body });
    expectStatus(await patch("/scope", { dispute_window_days: 0, capabilities: ["painting"] }), 200);
    expectStatus(
      await patch("", { profile: { display_name: "Another name" }, endpoint_url: "https://other.example/" }),
      200,
    );
    const markets = [{ market: "GLOBAL-USDC", network: NETWORK, operational_wallet: WALLET }];
    const moved = await world.call("POST", `/v1/agents/${did}/scope/authorized_markets`, { body: { markets } });
    expect(expectStatus(moved, 200).markets).toMatchObject([
      { status: "ACTIVE", operational_wallet: WALLET.toLowerCase() },
    ]);
    for (const agent of [provider, consumer]) {
      const body = { principal_id: await world.principal() };
      expectStatus(await world.call("POST", `/v1/agents/${agent.did}/transfer`, { body }), 200);
      const { certificate, private_key } = expectStatus(
        await world.call("POST", `/v1/agents/${agent.did}/rotate-key`, { body: { grace_hours: 1 } }),
        200,
      );
      Object.assign(agent, { certificate, privateKey: await importPrivateKeyPem(private_key) });
    }
    await setFee(50n);
    expectStatus(await confirm(world, consumer, purchase.fac.task_id), 200);
    const later = await buy(consumer, provider, "20.00");
    await world.run(followThresholds);

    // All of its sources did change.
    expect(later.fac).toMatchObject({ dispute_window_days: 0, dispute_window_closes_at: null, fee_amt: "0.10" });
    expect(later.fac.provider_aid_version).toBeGreaterThan(purchase.fac.provider_aid_version);
    expect(purchase.fac).toMatchObject({ dispute_window_days: 14, fee_amt: "0.005", status: "settled" });
    const claims = await claimsOf(later.fac.receipt);
    expect(claims.operational_wallet).toBe(WALLET.toLowerCase());
    expect((await claimsOf(purchase.fac.receipt)).operational_wallet).toBe(account(8).toLowerCase());
    const { agent_rating } = expectStatus(await world.call("GET", `/v1/agents/${did}/rating`, { key: null }), 200);
    expect(agent_rating).not.toBeNull();

    expect(await toldOf(purchase)).toEqual(before);
    // A retry answers from the stored rows, with the receipt that was signed at the settlement.
    const again = await asProvider(world, purchase);
    expect(expectStatus(again, 200)).toEqual(purchase.fac);
    expect(again.body.receipt).toBe(purchase.fac.receipt);
  });

  async function claimsOf(receipt: string): Promise<Json> {
    const { body: jwks } = await world.call("GET", "/.well-known/aeap-ca-jwks", { key: null });
    const verified = await verifyReceipt(receipt, await importJwks(jwks), { issuer: world.deps.config.issuer });
    if (!verified.ok) throw new Error(verified.reason);
    return verified.claims;
  }
});
