// What the cases play with: a platform's calls, agents that sign, and payments on the local chain.
import { devAccounts } from "../scripts/chain/anvil.ts";
import { approve, mintTestUsdc, payIntent } from "../scripts/chain/payments.ts";
import { didHash, intentHash } from "../src/chain/hashes.ts";
import type { Network } from "../src/chain/networks.ts";
import { importPrivateKeyPem } from "../src/protocol/ecdsa.ts";
import { proofTimestamp, requestDigest, signProof } from "../src/protocol/proof.ts";
import type { Stage } from "./stage.ts";
import { type Ask, type Reply, send } from "./wire.ts";

export type PlayedAgent = { did: string; certificate: string; privateKey: CryptoKey; principalId: string };
export type Json = Record<string, unknown>;

/** Everything that a case may need, made through the API before the first one is measured. */
export type Play = {
  readonly stage: Stage;
  readonly network: Network;
  readonly principalId: string;
  readonly consumer: PlayedAgent;
  readonly provider: PlayedAgent;
  /** A number of its own for every body. */
  readonly next: () => number;
};

const AMOUNT = { text: "10.00", units: 10_000_000n } as const;
const WALLETS = devAccounts();

export async function startPlay(stage: Stage): Promise<Play> {
  const [network] = stage.networks;
  if (!network) throw new Error("no network");
  let count = 0;
  const next = () => ++count;
  const buyer = await text(stage, manage(stage, "POST", "/v1/principals", principalBody(next())), "principal_id");
  const seller = await text(stage, manage(stage, "POST", "/v1/principals", principalBody(next())), "principal_id");
  const consumer = await playedAgent(stage, "CONSUMER", buyer);
  const provider = await playedAgent(stage, "PROVIDER", seller);
  await must(
    stage,
    manage(stage, "POST", `${agentPath(provider.did)}/scope/authorized_markets`, marketBody(network)),
    200,
  );
  await fillWallet(network);
  return { stage, network, principalId: buyer, consumer, provider, next };
}

// ---- Asks ------------------------------------------------------------------------------------------------------------

export const manage = (stage: Stage, method: string, path: string, body?: Json): Ask => ({
  method,
  path,
  headers: { "Service-Api-Key": stage.key },
  ...(body && { body: JSON.stringify(body) }),
});

export const anyone = (method: string, path: string, body?: Json, headers: Record<string, string> = {}): Ask => ({
  method,
  path,
  headers,
  ...(body && { body: JSON.stringify(body) }),
});

/** A call as an agent, its proof over exactly what is sent. */
export async function as(agent: PlayedAgent, method: string, path: string, body?: Json): Promise<Ask> {
  const raw = body ? JSON.stringify(body) : "";
  const url = new URL(path, "http://service.test");
  const digest = await requestDigest({ method, query: url.search, body: raw });
  if (!digest.ok) throw new Error(digest.reason);
  const timestamp = proofTimestamp(Date.now());
  const statement = {
    kind: "request",
    timestamp,
    agentDid: agent.did,
    method,
    path: url.pathname,
    digest: digest.digest,
  } as const;
  const { proof } = await signProof(statement, agent.privateKey);
  return { method, path, headers: proofHeaders(agent, proof, timestamp), ...(body && { body: raw }) };
}

/** The consumer's headers, its proof bound to another agent. */
export async function asBound(agent: PlayedAgent, calleeDid: string, ask: Omit<Ask, "headers">): Promise<Ask> {
  const timestamp = proofTimestamp(Date.now());
  const statement = { kind: "bound", timestamp, callerDid: agent.did, calleeDid } as const;
  const { proof } = await signProof(statement, agent.privateKey);
  return { ...ask, headers: proofHeaders(agent, proof, timestamp) };
}

const proofHeaders = (agent: PlayedAgent, proof: string, timestamp: string) => ({
  "AEAP-Certificate": agent.certificate,
  "AEAP-Proof": proof,
  "AEAP-Timestamp": timestamp,
});

export const agentPath = (did: string): string => `/v1/agents/${did}`;

// ---- What others did before ------------------------------------------------------------------------------------------

export async function must(stage: Stage, ask: Ask | Promise<Ask>, status: number): Promise<Reply> {
  const asked = await ask;
  const reply = await send(stage.origin, asked);
  if (reply.status === status) return reply;
  throw new Error(`${asked.method} ${asked.path}: expected ${status}, got ${reply.status}: ${reply.body.toString()}`);
}

export const json = (reply: Reply): Json => JSON.parse(reply.body.toString()) as Json;

const text = async (stage: Stage, ask: Ask, member: string): Promise<string> =>
  String(json(await must(stage, ask, 201))[member]);

export async function draft(stage: Stage, role: "CONSUMER" | "PROVIDER", principalId: string): Promise<string> {
  return text(stage, manage(stage, "POST", "/v1/agents", agentBody(role, principalId)), "did");
}

async function playedAgent(stage: Stage, role: "CONSUMER" | "PROVIDER", principalId: string): Promise<PlayedAgent> {
  const did = await draft(stage, role, principalId);
  const credentials = json(await must(stage, manage(stage, "POST", `${agentPath(did)}/activate`), 200));
  const privateKey = await importPrivateKeyPem(String(credentials["private_key"]));
  return { did, certificate: String(credentials["certificate"]), privateKey, principalId };
}

export const principalBody = (n: number): Json => ({
  legal_name: `Acme Robotics ${n} GmbH`,
  country: "DE",
  entity_type: "company",
  external_ref: `crm-${n}`,
  verification_attestation: { placeholder: true },
});

export const agentBody = (role: "CONSUMER" | "PROVIDER", principalId: string): Json => ({
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
  markets: [{ market: `GLOBAL-${currency}`, network, operational_wallet: wallet(8).address }],
});

export const orderBody = ({ consumer, provider, network }: Play): Json => ({
  consumer_did: consumer.did,
  provider_did: provider.did,
  amount: AMOUNT.text,
  currency: network.currency,
});

export async function openIntent(play: Play): Promise<string> {
  const reply = await must(play.stage, as(play.consumer, "POST", "/v1/payment-intents", orderBody(play)), 201);
  return String(json(reply)["intent_id"]);
}

// ---- On the chain ----------------------------------------------------------------------------------------------------

function wallet(index: number) {
  const found = WALLETS[index];
  if (!found) throw new Error(`anvil has no account ${index}`);
  return found;
}

type Address = `0x${string}`;
const chainOf = ({ rpc_url, token, settlement_contract }: Network) =>
  ({ rpcUrl: rpc_url, token: token as Address, settlementContract: settlement_contract as Address }) as const;

async function fillWallet(network: Network): Promise<void> {
  const { rpcUrl, token, settlementContract } = chainOf(network);
  const payer = wallet(9);
  await mintTestUsdc(rpcUrl, payer.privateKey, token, payer.address, AMOUNT.units * 1_000_000n);
  await approve(rpcUrl, payer.privateKey, token, settlementContract);
}

/** A payment of the intent; the transaction's hash, once it is mined. */
export async function pay({ network, consumer, provider }: Play, intentId: string): Promise<string> {
  const { rpcUrl, token, settlementContract } = chainOf(network);
  return payIntent(rpcUrl, wallet(9).privateKey, {
    settlementContract,
    token,
    amount: AMOUNT.units,
    providerDidHash: didHash(provider.did),
    consumerDidHash: didHash(consumer.did),
    intentHash: intentHash(intentId),
  });
}

/** A settled purchase: its task, and the call that facilitated it. */
export async function facilitated(play: Play): Promise<{ taskId: string; intentId: string; txHash: string }> {
  const intentId = await openIntent(play);
  const txHash = await pay(play, intentId);
  const body = { intent_id: intentId, payment_tx: txHash };
  const reply = await must(play.stage, as(play.consumer, "POST", "/v1/facilitate", body), 200);
  return { taskId: String(json(reply)["task_id"]), intentId, txHash };
}
