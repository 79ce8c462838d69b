// Plays every operation in a story of two agents; the requests and answers are the examples of the documents. Fails with the names of
// declared operations that were not played.
import { setTimeout as sleep } from "node:timers/promises";
import { encodeFunctionData, erc20Abi, type Hex } from "viem";
import { importPrivateKeyPem } from "../../src/protocol/ecdsa.ts";
import { createClient } from "../chain/client.ts";
import { mintTestUsdc } from "../chain/payments.ts";
import { type Agent, answerChallenge, boundHeaders, must, payOnChain, pickAccounts, pickValue } from "../client.ts";
import { fireCron } from "../local-worker.ts";
import type { ServiceDescription } from "../stack.ts";
import type { Example } from "./examples.ts";
import { playAccount } from "./play-account.ts";
import { playCustomers } from "./play-customers.ts";
import { playDisputes } from "./play-disputes.ts";
import { playPrincipal } from "./play-principals.ts";
import { playProfile } from "./play-profile.ts";
import { playWebhooks } from "./play-webhooks.ts";
import { Stage, showUntil } from "./stage.ts";

const MARKET = "GLOBAL-USDC";
const LITTLE_GAS = 10n ** 15n;
const GAS = 10n ** 18n;
/** In base units. */
const SURPLUS = 20_000_000n;

/** @throws Surprise at the first answer that differs from its declaration, or with the names of operations that were not played */
export async function playOperations(service: ServiceDescription): Promise<Record<string, Example>> {
  const stage = new Stage(service);
  await playProfile(stage);
  await playPrincipal(stage);
  await playAccount(stage);
  await playCustomers(stage);
  await playWebhooks(stage);
  await readService(stage);
  const { provider, consumer } = await onboard(stage);
  const registrationTx = await openMarket(stage, provider);
  await handshake(stage, provider);
  await purchase(stage, provider, consumer);
  await playDisputes(stage, provider, consumer);
  await readAgents(stage, provider, consumer);
  await readActivity(stage, consumer);
  await reconcile(stage, provider);
  await operate(stage, registrationTx);
  await releaseSurplus(stage, provider);
  const params = { did: provider.did, market: MARKET };
  await stage.show("removeAuthorizedMarket", { params, query: { network: service.chain.network } });
  return stage.examples();
}

async function readService(stage: Stage): Promise<void> {
  for (const operation of ["getHealth", "getDiscovery", "getCaJwks", "getCaJwksJson", "getRatingMethod"]) {
    await stage.show(operation);
  }
  await stage.show("listMarkets", { query: { limit: "2" } });
  await stage.show("getPlatform");
}

// ---- Onboarding ----------------------------------------------------------------------------------------------------------

const PRINCIPALS = {
  provider: { legal_name: "Polyglot Translations GmbH", country: "DE", external_ref: "crm-4711" },
  consumer: { legal_name: "Atelier Lumière SARL", country: "FR", external_ref: "crm-4712" },
};

const AGENTS = {
  provider: {
    economic_role: "PROVIDER",
    cert_tier: "TIER_2",
    profile: {
      display_name: "Polyglot",
      description: "Translates contracts, and keeps your glossary.",
      catalog_url: "https://polyglot.example/catalog",
    },
    endpoint_url: "https://polyglot.example/agent",
    scope: { authorized_actions: ["sell"], capabilities: ["translation", "proofreading"], dispute_window_days: 14 },
  },
  consumer: {
    economic_role: "CONSUMER",
    profile: { display_name: "Lumière Purchasing", description: "Buys what the atelier needs." },
    endpoint_url: "https://lumiere.example/purchasing",
    scope: {
      authorized_actions: ["purchase"],
      capabilities: ["procurement"],
      max_transaction_value: "250.00",
      spending_limit: { amount: "1000.00", currency: "USDC", window_days: 30 },
      minimum_counterparty_cert_tier: "TIER_2",
    },
  },
};

async function onboard(stage: Stage): Promise<{ provider: Agent; consumer: Agent }> {
  const number = await freeNumber(stage);
  const provider = await register(stage.show.bind(stage), "provider", number);
  await showEnds(stage, number);
  const consumer = await register(stage.ask.bind(stage), "consumer", number);
  await stage.show("patchAgent", {
    params: { did: consumer.did },
    body: {
      profile: { description: "Buys what the atelier and its suppliers need." },
      external_ref: `buyer-7${number}`,
      metadata: { team: "procurement" },
    },
  });
  await stage.show("patchAgentScope", {
    params: { did: consumer.did },
    body: { max_transaction_value: "500.00", minimum_counterparty_cert_tier: "TIER_2" },
  });
  const params = { did: provider.did };
  const reason = "Maintenance until Monday.";
  await stage.show("patchAgentStatus", { params, body: { status: "SUSPENDED", reason } });
  await stage.ask("patchAgentStatus", { params, body: { status: "ACTIVE" } });
  await stage.show("reissueAgentCertificate", { params });
  const held = pickValue<string>(await stage.show("getAgentCertificate", { params }), "certificate");
  const renewed = await stage.ask("getAgentCertificate", { params: { did: consumer.did } });
  return {
    provider: { ...provider, certificate: held },
    consumer: { ...consumer, certificate: pickValue(renewed, "certificate") },
  };
}

/** Rotates, transfers and revokes another provider, because the rest of the play needs the first one. */
async function showEnds(stage: Stage, number: string): Promise<void> {
  const found = await stage.ask("listPrincipals", {
    query: { external_ref: `${PRINCIPALS.provider.external_ref}${number.replace(" ", "-")}` },
  });
  const principal_id = pickValue<{ principal_id: string }[]>(found, "data")[0]?.principal_id;
  const drafted = await stage.ask("registerAgent", { body: { principal_id, ...AGENTS.provider } });
  const params = { did: pickValue<string>(drafted, "did") };
  await stage.ask("activateAgent", { params, headers: { "Idempotency-Key": crypto.randomUUID() } });
  const headers = { "Idempotency-Key": crypto.randomUUID() };
  await stage.show("rotateAgentKey", { params, headers, body: { grace_hours: 24 } });
  const account = await stage.ask("getPlatform");
  const transfer = { "Idempotency-Key": crypto.randomUUID() };
  await stage.show("transferAgent", {
    params,
    headers: transfer,
    body: { principal_id: pickValue<string>(account, "tenant_principal_id") },
  });
  await stage.show("revokeAgent", { params, body: { reason: "Its operator has closed." } });
}

/** Names and references are unique: the first play on a service uses them bare, later plays add a number. */
async function freeNumber(stage: Stage): Promise<string> {
  const { external_ref } = PRINCIPALS.provider;
  const taken = pickValue<unknown[]>(await stage.ask("listPrincipals", { query: { external_ref } }), "data");
  return taken.length === 0 ? "" : ` ${Date.now()}`;
}

async function register(call: Stage["show"], side: "provider" | "consumer", number: string): Promise<Agent> {
  const { legal_name, country, external_ref } = PRINCIPALS[side];
  const principal = await call("registerPrincipal", {
    body: {
      legal_name: `${legal_name}${number}`,
      country,
      entity_type: "company",
      external_ref: `${external_ref}${number.replace(" ", "-")}`,
      verification_attestation: { placeholder: true },
    },
  });
  const principal_id = pickValue<string>(principal, "principal_id");
  const draft = await call("registerAgent", { body: { principal_id, ...AGENTS[side] } });
  const did = pickValue<string>(draft, "did");
  // Read early: each event of an overview contains a whole agent, and later there are many.
  await call("getAgentOverview", { params: { did } });
  const headers = { "Idempotency-Key": crypto.randomUUID() };
  const credentials = await call("activateAgent", { params: { did }, headers });
  await call("getPrincipal", { params: { principal_id } });
  const key = await importPrivateKeyPem(pickValue(credentials, "private_key"));
  return { name: side, did, certificate: pickValue(credentials, "certificate"), key };
}

/** Returns the transaction that registered the provider with the contract. */
async function openMarket(stage: Stage, { did }: Agent): Promise<Hex> {
  const { chain } = stage.service;
  const wallet = pickAccounts(chain).wallet.address;
  const opened = await stage.show("authorizeMarkets", {
    params: { did },
    body: { markets: [{ market: MARKET, network: chain.network, operational_wallet: wallet }] },
  });
  must(pickValue(opened, "markets.0.status") === "ACTIVE", "the market is ACTIVE");
  await stage.show("listAuthorizedMarkets", { params: { did } });
  return pickValue(opened, "markets.0.registration_tx");
}

// ---- A purchase ----------------------------------------------------------------------------------------------------------

async function handshake(stage: Stage, provider: Agent): Promise<void> {
  const { certificate } = provider;
  const nonce = pickValue<string>(await stage.show("getChallenge"), "nonce");
  const checked = await stage.show("verifyCertificate", { body: { certificate } });
  const proved = await stage.show("verifyProof", { body: await answerChallenge(provider, nonce) });
  const aid = await stage.ask("getAgentAid", { params: { did: provider.did } });
  const read = await stage.show("verifyAid", { body: { aid } });
  const holds = [pickValue(checked, "valid"), pickValue(proved, "verified"), pickValue(read, "valid")];
  must(
    holds.every((one) => one === true),
    "the provider is who it says",
  );
}

/** Requests each kind of result, and the document or a part of it in every media type. */
async function resolveEveryForm(stage: Stage, did: string): Promise<void> {
  const types = ["did-resolution", "did", "did+json", "did+ld+json", "ld+json", "json"];
  const asked = types.map((type) => [did, `application/${type}`] as const);
  for (const [identifier, Accept] of [...asked, [`${did}#aid`, "application/did-url-dereferencing"] as const]) {
    await stage.show("resolveDid", { params: { identifier }, headers: { Accept } });
  }
}

async function purchase(stage: Stage, provider: Agent, consumer: Agent): Promise<void> {
  const { chain } = stage.service;
  const parties = { consumer_did: consumer.did, provider_did: provider.did };
  const body = { ...parties, amount: "10.50", currency: "USDC" };
  const { consumer_did: did, ...tried } = body;
  await stage.show("evaluateSpendPolicy", { params: { did }, body: tried });
  const intent = await stage.show("createPaymentIntent", { as: consumer, body });
  const intent_id = pickValue<string>(intent, "intent_id");
  await stage.show("getPaymentIntent", { as: provider, params: { intent_id } });
  const order = { market: MARKET, network: chain.network, ...parties, amount: "2.00" };
  const address = await stage.show("getPaymentAddress", { as: consumer, query: order });
  await stage.show("cancelPaymentIntent", {
    as: consumer,
    params: { intent_id: pickValue<string>(address, "intent_id") },
  });

  const payment_tx = await payOnChain(chain, intent);
  const headers = await boundHeaders(consumer, provider);
  const settled = await stage.show("facilitate", { headers, body: { intent_id, payment_tx } });
  await stage.show("listPaymentIntents", { as: provider, query: { status: "SETTLED" } });
  const params = { task_id: pickValue<string>(settled, "task_id") };
  await stage.show("getTask", { as: provider, params });
  const confirmation = { outcome: "confirmed", note: "On time, and the glossary was kept." };
  await stage.show("confirmTask", { as: consumer, params, body: confirmation });
}

// ---- Its records ---------------------------------------------------------------------------------------------------------

async function readAgents(stage: Stage, provider: Agent, consumer: Agent): Promise<void> {
  const params = { did: provider.did };
  for (const operation of ["getAgent", "getAgentAid", "getAgentStatus", "getAgentDidDocument", "getAgentRating"]) {
    await stage.show(operation, { params });
  }
  await stage.show("syncAgentEscrow", { params });
  await stage.show("getAgentEscrow", { params });
  await stage.show("getAgentAid", { params, headers: { Accept: "application/jwt" } });
  await stage.show("getAgentDidWebDocument", { params });
  await stage.show("getContext");
  await resolveEveryForm(stage, provider.did);
  await stage.show("getStatusList", { params: { n: "1" } });
  for (const list of ["listAgentTasks", "listAgentTransactions", "listAgentEvents"]) {
    await stage.show(list, { params, query: { limit: "1" } });
  }
  await stage.show("listTransactions", { query: { limit: "1" } });
  await stage.show("listTransactions", { headers: { Accept: "text/csv" } });
  await stage.show("listTasks", { query: { limit: "1" } });
  await stage.show("listTasks", { headers: { Accept: "text/csv" } });
  await stage.show("listPrincipals", { query: { limit: "1" } });
  const events = await stage.show("listEvents", { query: { limit: "1", subject: consumer.did } });
  await stage.show("getEvent", { params: { event_id: String(pickValue(events, "data.0.id")) } });
  const listed = await stage.show("listAgents", { query: { limit: "1" } });
  must(pickValue(listed, "data.0.did") === consumer.did, "the newest agent comes first");
  await readDirectory(stage, provider);
}

/** The number of requests for a head, which is signed within a minute after a change. */
const HEAD_TRIES = 45;
async function readDirectory(stage: Stage, { did }: Agent): Promise<void> {
  await stage.show("listDirectory", { query: { limit: "1" } });
  await stage.show("getDirectoryEntry", { params: { did } });
  await stage.show("listDirectoryChanges", { query: { limit: "2" } });
  for (let n = 1; ; n++) {
    try {
      await stage.show("getDirectoryHead");
      return;
    } catch (thrown) {
      if (n === HEAD_TRIES) throw thrown;
      await sleep(2_000);
    }
  }
}

/** Reads the newest entries of the platform's log, as a page and as CSV, and verifies the log. */
async function readActivity(stage: Stage, { did }: Agent): Promise<void> {
  const query = { subject_type: "agent", subject_id: did, limit: "2" };
  await stage.show("listActivity", { query });
  await stage.show("listActivity", { query, headers: { Accept: "text/csv" } });
  must(pickValue(await stage.show("verifyActivity"), "valid") === true, "the activity log is whole");
}

/** Deposits more than the threshold into the vault, and releases the surplus. */
async function releaseSurplus(stage: Stage, { did }: Agent): Promise<void> {
  const { chain } = stage.service;
  const params = { did };
  const vault = pickValue<Hex>(await stage.ask("getAgentEscrow", { params }), "escrow.0.escrow_wallet");
  await mintTestUsdc(chain.rpc_url, pickAccounts(chain).payer.private_key, chain.token, vault, SURPLUS);
  await stage.show("releaseAgentEscrow", { params, body: { network: chain.network } });
}

/** Takes a token unit out of the vault, which no key can do but the local chain can, so that a difference is found. */
async function reconcile(stage: Stage, { did }: Agent): Promise<void> {
  const { chain } = stage.service;
  const params = { did };
  const vault = pickValue<Hex>(await stage.ask("getAgentEscrow", { params }), "escrow.0.escrow_wallet");
  const client = createClient(chain.rpc_url);
  await client.impersonateAccount({ address: vault });
  await client.setBalance({ address: vault, value: GAS });
  const data = encodeFunctionData({
    abi: erc20Abi,
    functionName: "transfer",
    args: [pickAccounts(chain).payer.address, 1n],
  });
  const hash = await client.sendUnsignedTransaction({ from: vault, to: chain.token, data });
  await client.waitForTransactionReceipt({ hash });
  await stage.ask("syncAgentEscrow", { params });
  must(
    pickValue<unknown[]>(await stage.show("listDifferences", { query: { did } }), "data").length > 0,
    "a difference is listed",
  );
}

async function operate(stage: Stage, registrationTx: Hex): Promise<void> {
  await stage.show("listPlatforms", { query: { limit: "1" } });
  const { chain, base_url } = stage.service;
  const client = createClient(chain.rpc_url);
  const { from: address } = await client.getTransaction({ hash: registrationTx });
  const value = await client.getBalance({ address });
  // Lowers the registrar's gas and fires the cron: a service that has just started has no job and no alert to show.
  await client.setBalance({ address, value: LITTLE_GAS });
  try {
    await fireCron(base_url);
    await showUntil(stage, "listJobs", (job) => job["finished_at"] !== null);
    await stage.show("getAuthority");
    await stage.show("listNetworks");
    const alert = await showUntil(stage, "listAlerts", ({ kind }) => kind === "low_gas");
    await stage.show("acknowledgeAlert", { params: { alert_id: pickValue(alert, "alert_id") } });
    await showUntil(stage, "listActivityHeads", ({ seq }) => Number(seq) > 0);
    await showUntil(stage, "listOperatorActivity", ({ action }) => action === "alert.acknowledged");
  } finally {
    await client.setBalance({ address, value });
  }
}
