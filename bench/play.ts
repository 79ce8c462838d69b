// Shared by the cases: the calls of two platforms, agents that sign, and payments on the local chain.
import { setTimeout } from "node:timers/promises";
import { type Agent, agentHeaders, boundHeaders, type Json, keyHeaders, operatorHeaders } from "../scripts/client.ts";
import type { Network } from "../src/chain/networks.ts";
import { DAY_MS } from "../src/core/limits.ts";
import { importPrivateKeyPem } from "../src/protocol/ecdsa.ts";
import { AMOUNT, fillWallet, LARGE_AMOUNT, operationalWallet, payFor } from "./payer.ts";
import { accredit, type Platform, type Stage } from "./stage.ts";
import { type Ask, type Reply, send } from "./wire.ts";

export type PlayedAgent = Agent & { readonly principalId: string };
export type Role = "CONSUMER" | "PROVIDER";

/** The agents of the cases, registered through the API before the first case is measured. */
export type Play = {
  readonly stage: Stage;
  readonly network: Network;
  readonly principalId: string;
  readonly consumer: PlayedAgent;
  readonly provider: PlayedAgent;
  /** A provider without sales, for the cases of jobs about markets. */
  readonly idle: PlayedAgent;
  /** A delegate of the consumer, and that delegate's own delegate. */
  readonly delegates: readonly [PlayedAgent, PlayedAgent];
  /** An agent of the second platform. */
  readonly stranger: PlayedAgent;
  /** A platform whose clock is ahead: a tenth of the history of its principal and its agent has ended, and no job has recorded it. */
  readonly ahead: Ahead;
  /** Returns a new number each time, for unique bodies. */
  readonly next: () => number;
};

export type Ahead = { readonly platform: Platform; readonly agent: PlayedAgent; readonly customerId: string };

export async function startPlay(stage: Stage): Promise<Play> {
  const [network] = stage.networks;
  if (!network) throw new Error("no network");
  let count = 0;
  const next = () => ++count;
  const { platform, second } = stage;
  const buyer = await principal(stage, platform, next());
  const seller = await principal(stage, platform, next());
  const consumer = await agent(stage, platform, "CONSUMER", buyer);
  const first = await agent(stage, platform, "CONSUMER", buyer, { delegated_by: consumer.did });
  const delegates = [first, await agent(stage, platform, "CONSUMER", buyer, { delegated_by: first.did })] as const;
  const stranger = await agent(stage, second, "CONSUMER", await principal(stage, second, next()));
  const [provider, idle] = [await openProvider(stage, seller), await openProvider(stage, seller)];
  await fillWallet(network);
  const ahead = await getAhead(stage, next());
  const play = { stage, network, principalId: buyer, consumer, provider, idle, delegates, stranger, ahead, next };
  // Brings the vault to its threshold now, so that it does not happen in the middle of a case.
  await buyAndFacilitate(play, play, LARGE_AMOUNT);
  await follow(play);
  return play;
}

// ---- Calls -----------------------------------------------------------------------------------------------------------

export const manageAs = ({ key }: Platform, method: string, path: string, body?: Json): Ask => ({
  method,
  path,
  headers: keyHeaders(key),
  ...(body && { body: JSON.stringify(body) }),
});

export const manage = ({ platform }: Stage, method: string, path: string, body?: Json): Ask =>
  manageAs(platform, method, path, body);

export const operate = ({ operatorKey }: Stage, method: string, path: string, body?: Json): Ask => ({
  method,
  path,
  headers: operatorHeaders(operatorKey),
  ...(body && { body: JSON.stringify(body) }),
});

export const anyone = (method: string, path: string, body?: Json, headers: Record<string, string> = {}): Ask => ({
  method,
  path,
  headers,
  ...(body && { body: JSON.stringify(body) }),
});

/** A call as an agent, with a request-bound proof. */
export async function as(caller: Agent, method: string, path: string, body?: Json): Promise<Ask> {
  const headers = await agentHeaders(caller, { method, path, body });
  return { method, path, headers, ...(body && { body: JSON.stringify(body) }) };
}

/** A call with the caller's proof bound to another agent. */
export const asBound = async (caller: Agent, callee: Agent, ask: Omit<Ask, "headers">): Promise<Ask> => ({
  ...ask,
  headers: await boundHeaders(caller, callee),
});

export const keyed = (play: Play, ask: Ask): Ask => ({
  ...ask,
  headers: { ...ask.headers, "Idempotency-Key": `bench-${play.next()}` },
});

export const agentPath = (did: string): string => `/v1/agents/${did}`;
export const marketsPath = (did: string): string => `${agentPath(did)}/scope/authorized_markets`;

// ---- Preparation -----------------------------------------------------------------------------------------------------

export async function must(stage: Stage, ask: Ask | Promise<Ask>, status: number): Promise<Reply> {
  const asked = await ask;
  const reply = await send(stage.origin, asked);
  if (reply.status === status) return reply;
  throw new Error(`${asked.method} ${asked.path}: expected ${status}, got ${reply.status}: ${reply.body.toString()}`);
}

export const json = (reply: Reply): Json => JSON.parse(reply.body.toString()) as Json;

const text = async (stage: Stage, ask: Ask, member: string): Promise<string> =>
  String(json(await must(stage, ask, 201))[member]);

export const principal = (stage: Stage, platform: Platform, n: number): Promise<string> =>
  text(stage, manageAs(platform, "POST", "/v1/principals", principalBody(n)), "principal_id");

export const draft = (stage: Stage, role: Role, principalId: string): Promise<string> =>
  text(stage, manage(stage, "POST", "/v1/agents", agentBody(role, principalId)), "did");

export async function agent(
  stage: Stage,
  platform: Platform,
  role: Role,
  principalId: string,
  extra: Json = {},
): Promise<PlayedAgent> {
  const body = { ...agentBody(role, principalId), ...extra };
  const did = await text(stage, manageAs(platform, "POST", "/v1/agents", body), "did");
  const credentials = json(await must(stage, manageAs(platform, "POST", `${agentPath(did)}/activate`), 200));
  const key = await importPrivateKeyPem(String(credentials["private_key"]));
  return { name: role, did, certificate: String(credentials["certificate"]), key, principalId };
}

/** The number of days by which a platform's clock is ahead. */
export const DAYS_AHEAD = 100;

async function getAhead(stage: Stage, n: number): Promise<Ahead> {
  const platform = await accredit(stage.origin, "Platform Ahead");
  const { platformId } = platform;
  const customer = manageAs(platform, "POST", "/v1/customers", { name: "Client" });
  const customerId = await text(stage, customer, "customer_id");
  const owner = await principal(stage, platform, n);
  const played = await agent(stage, platform, "CONSUMER", owner);
  const offset = DAYS_AHEAD * DAY_MS;
  await stage.sql([
    // Marks the history's due rows as recorded, so that the sweep of moved sandboxes finds nothing there.
    {
      sql: "update platforms set clock_offset_ms = ?, clock_recorded_to = ? where platform_id = ?",
      params: [offset, Number.MAX_SAFE_INTEGER, platformId],
    },
    // Keeps a page from writing a use of its key.
    {
      sql: "update management_keys set last_used_at = ? where platform_id = ?",
      params: [Date.now() + offset, platformId],
    },
  ]);
  return { platform, agent: played, customerId };
}

/** An ACTIVE provider with an open market. */
export const openProvider = async (stage: Stage, principalId: string): Promise<PlayedAgent> =>
  openMarket(stage, await agent(stage, stage.platform, "PROVIDER", principalId));

export type PlayedPair = { readonly consumer: PlayedAgent; readonly provider: PlayedAgent };

/** Opens two agents of two principals, which have not traded yet. */
export async function openPair({ stage, next }: Play): Promise<PlayedPair> {
  const provider = await openProvider(stage, await principal(stage, stage.platform, next()));
  const owner = await principal(stage, stage.platform, next());
  return { provider, consumer: await agent(stage, stage.platform, "CONSUMER", owner) };
}

/** The number of times that a market is requested, because a chain that has just started may be late. */
const MARKET_REQUESTS_MAX = 10;

export async function openMarket(stage: Stage, provider: PlayedAgent): Promise<PlayedAgent> {
  const [network] = stage.networks;
  if (!network) return provider;
  const ask = manage(stage, "POST", marketsPath(provider.did), marketBody(network));
  for (let time = 0; time < MARKET_REQUESTS_MAX; time++) {
    const { markets } = json(await must(stage, ask, 200)) as { markets: readonly { status: string }[] };
    if (markets.every(({ status }) => status === "ACTIVE")) return provider;
    await setTimeout(1_000);
  }
  throw new Error(`the market of ${provider.did} does not open`);
}

export const principalBody = (n: number): Json => ({
  legal_name: `Acme Robotics ${n} GmbH`,
  country: "DE",
  entity_type: "company",
  external_ref: `crm-${n}`,
  verification_attestation: { placeholder: true },
});

export const agentBody = (role: Role, principalId: string): Json => ({
  principal_id: principalId,
  economic_role: role,
  profile: { display_name: role === "PROVIDER" ? "Polyglot" : "Buyer", description: "Does its work." },
  endpoint_url: "https://agent.example/v1",
  scope: {
    authorized_actions: [role === "PROVIDER" ? "sell" : "purchase"],
    capabilities: ["translation"],
    dispute_window_days: 14,
    ...(role === "CONSUMER" && { spending_limit: { amount: "1000000.00", currency: "USDC", window_days: 30 } }),
  },
});

export const marketBody = ({ network, currency }: Network): Json => ({
  markets: [{ market: `GLOBAL-${currency}`, network, operational_wallet: operationalWallet() }],
});

/** A message of the follower about the network of the play. */
export const followAsk = ({ network }: Pick<Play, "network">): Ask => ({
  method: "POST",
  path: `/__bench/follow?network=${network.network}`,
});

/** Books everything that the chain has. */
export const follow = (play: Pick<Play, "stage" | "network">): Promise<unknown> =>
  must(play.stage, followAsk(play), 200);

// ---- Purchases -------------------------------------------------------------------------------------------------------

export type Pair = { readonly consumer: PlayedAgent; readonly provider: PlayedAgent };

export const orderBody = ({ currency }: Network, { consumer, provider }: Pair, amount = AMOUNT): Json => ({
  consumer_did: consumer.did,
  provider_did: provider.did,
  amount: amount.text,
  currency,
});

export async function openIntent({ stage, network }: Play, pair: Pair, amount = AMOUNT): Promise<string> {
  const order = orderBody(network, pair, amount);
  const reply = await must(stage, as(pair.consumer, "POST", "/v1/payment-intents", order), 201);
  return String(json(reply)["intent_id"]);
}

export type Paid = { readonly intentId: string; readonly txHash: string };

/** Opens an intent and pays it on the chain, without facilitating it. */
export async function openAndPay(play: Play, pair: Pair, amount = AMOUNT): Promise<Paid> {
  const intentId = await openIntent(play, pair, amount);
  const parties = { consumerDid: pair.consumer.did, providerDid: pair.provider.did };
  return { intentId, txHash: await payFor(play.network, parties, intentId, amount) };
}

export const facilitation = ({ intentId, txHash }: Paid): Json => ({ intent_id: intentId, payment_tx: txHash });

export type Settled = Paid & { readonly taskId: string; readonly transactionId: string };

/** Opens, pays and facilitates a purchase. */
export async function buyAndFacilitate(play: Play, pair: Pair = play, amount = AMOUNT): Promise<Settled> {
  const purchase = await openAndPay(play, pair, amount);
  const asked = as(pair.consumer, "POST", "/v1/facilitate", facilitation(purchase));
  const settled = json(await must(play.stage, asked, 200));
  return { ...purchase, taskId: String(settled["task_id"]), transactionId: String(settled["transaction_id"]) };
}
