// `npm run demo`: plays the whole path against a running service (or one that it starts itself), as its users would: a platform from sign-up to
// production, a provider, a consumer that pays on-chain and disputes the delivery, the arbiter, and a stranger that trusts only the published keys.
// Exits non-zero at the first unexpected answer.
import { compactVerify, createLocalJWKSet, decodeJwt, flattenedVerify, jwtVerify } from "jose";
import { formatAmount, parseAmount } from "../src/core/text.ts";
import { toCanonicalJson } from "../src/protocol/canonical-json.ts";
import { importPrivateKeyPem } from "../src/protocol/ecdsa.ts";
import {
  type Agent,
  agentHeaders,
  answerChallenge,
  boundHeaders,
  type Json,
  keyHeaders,
  must,
  payOnChain,
  pickAccounts,
  pickValue,
  send,
} from "./client.ts";
import { type RequestOptions as Call, goToProduction, signUp } from "./demo-account.ts";
import { playDispute } from "./demo-dispute.ts";
import { connectOrStart } from "./service.ts";

const AMOUNT = "10.00";
const MARKET = "GLOBAL-USDC";
/** The window in which a task is confirmed, or is auto-confirmed after it. */
const WINDOW_SECONDS = 72 * 3_600;

const colour = (code: number, text: string): string =>
  process.stdout.isTTY ? `\u001b[${code}m${text}\u001b[0m` : text;
const CHECK_MARK = colour(32, "✓");

async function step<T>(title: string, work: () => Promise<T>): Promise<T> {
  const start = performance.now();
  const result = await work();
  console.log(`${CHECK_MARK} ${title.padEnd(74)} ${colour(90, `${(performance.now() - start).toFixed(0)} ms`)}`);
  return result;
}

const service = await connectOrStart();
const { base_url: base, chain } = service.description;
/** The sandbox key of the account that the demo opens. */
let key = "";

async function request(path: string, call: Call = {}): Promise<Json> {
  const { method = "GET", body, headers = {}, expect = 200 } = call;
  const { status, text } = await send(base, { method, path, body }, headers);
  must(status === expect, `${method} ${path} answered ${status}, not ${expect}: ${text}`);
  return text === "" ? {} : (JSON.parse(text) as Json);
}

const manage = (path: string, call: Call = {}) =>
  request(path, { ...call, headers: { ...keyHeaders(key), ...call.headers } });

async function as(agent: Agent, path: string, call: Call = {}): Promise<Json> {
  const { method = "GET", body } = call;
  const proof = await agentHeaders(agent, { method, path, body });
  return request(path, { ...call, headers: { ...call.headers, ...proof } });
}

async function onboard(name: string, role: "PROVIDER" | "CONSUMER"): Promise<Agent> {
  const unique = `${name}-${Date.now().toString(36)}`;
  const principal = await step(`POST /v1/principals               the legal person behind ${name}`, () =>
    manage("/v1/principals", {
      method: "POST",
      expect: 201,
      body: {
        legal_name: `${unique} GmbH`,
        country: "DE",
        entity_type: "company",
        external_ref: unique,
        verification_attestation: { placeholder: true },
      },
    }),
  );
  const draft = await step(`POST /v1/agents                   ${name}, a ${role}, status DRAFT`, () =>
    manage("/v1/agents", {
      method: "POST",
      expect: 201,
      body: {
        principal_id: pickValue<string>(principal, "principal_id"),
        economic_role: role,
        profile: { display_name: name },
        endpoint_url: `https://${name.toLowerCase()}.example/agent`,
        scope: { authorized_actions: [role === "PROVIDER" ? "sell" : "purchase"], capabilities: ["translation"] },
      },
    }),
  );
  must(draft["status"] === "DRAFT" && draft["proof"] === null, "a registered agent is an unsigned DRAFT");
  const did = pickValue<string>(draft, "did");
  const credentials = await step(`POST /v1/agents/{did}/activate    ${did}`, () =>
    manage(`/v1/agents/${did}/activate`, { method: "POST", headers: { "Idempotency-Key": crypto.randomUUID() } }),
  );
  const key = await importPrivateKeyPem(pickValue(credentials, "private_key"));
  return { name, did, certificate: pickValue(credentials, "certificate"), key };
}

type Ratings = { provider: string; consumer: string };

async function ratingsOf({ provider, consumer }: { provider: Agent; consumer: Agent }): Promise<Ratings> {
  const ratingOf = async ({ did }: Agent): Promise<string> => {
    const { agent_rating } = await request(`/v1/agents/${did}/rating`);
    return agent_rating === null ? "unrated" : String(agent_rating);
  };
  return { provider: await ratingOf(provider), consumer: await ratingOf(consumer) };
}

async function playAllSteps(): Promise<void> {
  console.log(
    `\n${colour(1, "A platform from its sign-up to production, and three purchases between two agents")}, at ${base}\n`,
  );
  const player = { service: service.description, request, step };
  const account = await signUp(player);
  key = account.key;
  const provider = await onboard("Polyglot", "PROVIDER");
  const consumer = await onboard("Buyer", "CONSUMER");
  const { wallet } = pickAccounts(chain);
  const opened = await step(
    `POST …/scope/authorized_markets   ${MARKET} on ${chain.network}: vault and split on-chain`,
    () =>
      manage(`/v1/agents/${provider.did}/scope/authorized_markets`, {
        method: "POST",
        body: { markets: [{ market: MARKET, network: chain.network, operational_wallet: wallet.address }] },
      }),
  );
  must(pickValue(opened, "markets.0.status") === "ACTIVE", "the market is ACTIVE");
  const parties = { provider, consumer };
  const unrated = await ratingsOf(parties);

  await playHandshake(consumer, provider);
  const settled = await buyOnce(consumer, provider);
  const taskPath = taskPathOf(settled);
  await step("GET  /v1/tasks/{id}               open, to be confirmed within 72 hours", async () => {
    must((await as(provider, taskPath))["status"] === "open", "the task is open");
  });
  const confirmed = await step("POST /v1/tasks/{id}/confirm       the consumer: delivered as expected", () =>
    as(consumer, `${taskPath}/confirm`, { method: "POST", body: { outcome: "confirmed" } }),
  );
  must(confirmed["status"] === "confirmed", "the task is confirmed");
  await autoConfirmPurchase(consumer, provider);
  const rated = await ratingsOf(parties);
  must(rated.provider !== unrated.provider && rated.consumer !== unrated.consumer, "both ratings moved");
  const disputed = await buyOnce(consumer, provider);
  const { dispute, payout } = await playDispute({ ...player, manage, as }, { ...parties, settled: disputed });
  const ratings = [unrated, rated, await ratingsOf(parties)];
  await verifyOffline([provider, consumer], pickValue(settled, "receipt"));
  await goToProduction(player, account);
  await printSummary({ provider, settled, dispute, payout, ratings });
}

/** Opens an intent, pays it and facilitates the payment. */
async function buyOnce(consumer: Agent, provider: Agent): Promise<Json> {
  const intent = await step(`POST /v1/payment-intents          ${AMOUNT} USDC, within the consumer's policy`, () =>
    as(consumer, "/v1/payment-intents", {
      method: "POST",
      expect: 201,
      body: {
        consumer_did: consumer.did,
        provider_did: provider.did,
        amount: AMOUNT,
        currency: "USDC",
        // No other address can use the intent up.
        payer: pickAccounts(chain).payer.address,
      },
    }),
  );
  const paymentTx = await step(
    "on-chain                          approve, then settle on the settlement contract",
    () => payOnChain(chain, intent),
  );
  return facilitate(consumer, provider, intent, paymentTx);
}

const taskPathOf = (settled: Json): string => `/v1/tasks/${pickValue<string>(settled, "task_id")}`;

/** Makes a second purchase whose task is not answered: its window ends on the sandbox clock (ACC-28). */
async function autoConfirmPurchase(consumer: Agent, provider: Agent): Promise<void> {
  const taskPath = taskPathOf(await buyOnce(consumer, provider));
  await step("POST /v1/sandbox/clock/advance    the sandbox's clock goes forward by 72 hours", () =>
    manage("/v1/sandbox/clock/advance", { method: "POST", body: { seconds: WINDOW_SECONDS } }),
  );
  await step("GET  /v1/tasks/{id}               nobody answered: auto_confirmed", async () => {
    must((await as(provider, taskPath))["status"] === "auto_confirmed", "the task has confirmed itself");
  });
}

/** The handshake (PRF-14): the certificate, the possession of the key, and the live status. */
async function playHandshake(consumer: Agent, provider: Agent): Promise<void> {
  const nonce = await step("GET  /v1/verify/challenge         a nonce for the provider, 120 seconds", async () =>
    pickValue<string>(await request("/v1/verify/challenge"), "nonce"),
  );
  const { certificate } = provider;
  await step("POST /v1/verify/certificate       the provider's certificate holds", async () => {
    must(
      (await request("/v1/verify/certificate", { method: "POST", body: { certificate } }))["valid"] === true,
      "the certificate is valid",
    );
  });
  await step("POST /v1/verify/proof             the provider holds its key", async () => {
    const body = await answerChallenge(provider, nonce);
    must(
      (await request("/v1/verify/proof", { method: "POST", body }))["verified"] === true,
      "the challenge is answered",
    );
  });
  await step(
    `GET  /v1/agents/{did}/status      ${provider.name} is ACTIVE, asked for by ${consumer.name}`,
    async () => {
      must((await request(`/v1/agents/${provider.did}/status`))["status"] === "ACTIVE", "the provider is ACTIVE");
    },
  );
}

/** Facilitates as the provider, which presents the consumer's proof bound to it. */
async function facilitate(consumer: Agent, provider: Agent, intent: Json, paymentTx: string): Promise<Json> {
  const headers = await boundHeaders(consumer, provider);
  const body = { intent_id: pickValue<string>(intent, "intent_id"), payment_tx: paymentTx };
  const settled = await step(
    "POST /v1/facilitate               proof, settlement on-chain, escrow credited, task opened",
    () => request("/v1/facilitate", { method: "POST", body, headers }),
  );
  const units = (name: string) => {
    const parsed = parseAmount(pickValue<string>(settled, name), 6);
    must(parsed.ok, `${name} is an amount`);
    return parsed.units;
  };
  const parts = units("fee_amt") + units("escrow_credited") + units("operational_amt");
  must(parts === units("gross_amt"), `fee, escrow and operational make ${formatAmount(parts, 6)}`);
  return settled;
}

/** Verifies as a stranger does, with the published keys and a JOSE library, and nothing of this service. */
async function verifyOffline(agents: readonly Agent[], receipt: string): Promise<void> {
  const jwks = createLocalJWKSet((await request("/.well-known/aeap-ca-jwks")) as never);
  for (const agent of agents) {
    await step(
      `offline                           ${agent.name}'s certificate and document verify; a changed byte does not`,
      async () => {
        const { payload } = await jwtVerify(agent.certificate, jwks, { typ: "aeap-cert+jwt", algorithms: ["ES256"] });
        must(payload.sub === agent.did, "the certificate names the agent");
        const { proof, live, ...content } = await request(`/v1/agents/${agent.did}/aid`);
        must(typeof proof === "string" && live !== undefined, "the document is signed");
        const [header = "", , signature = ""] = proof.split(".");
        const jws = (document: unknown) => ({
          protected: header,
          payload: base64url(toCanonicalJson(document)),
          signature,
        });
        await flattenedVerify(jws(content), jwks);
        const forged = await flattenedVerify(jws({ ...content, version: 99 }), jwks).catch(() => null);
        must(forged === null, "a changed document does not verify");
      },
    );
  }
  await step("offline                           the settlement receipt verifies", async () => {
    await compactVerify(receipt, jwks);
  });
}

const base64url = (text: string): string => Buffer.from(text, "utf8").toString("base64url");

type Left = { provider: Agent; settled: Json; dispute: Json; payout: Json; ratings: readonly Ratings[] };

async function printSummary({ provider, settled, dispute, payout, ratings }: Left): Promise<void> {
  const aid = await request(`/v1/agents/${provider.did}/aid`);
  const line = (name: string, value: unknown) => console.log(`  ${name.padEnd(22)} ${String(value)}`);
  console.log(`\n${colour(1, "What it left")}\n`);
  line("provider", provider.did);
  line("gross", `${settled["gross_amt"]} ${settled["currency"]}`);
  line("  fee", settled["fee_amt"]);
  line(
    "  escrow",
    `${settled["escrow_credited"]} (vault holds ${settled["escrow_balance"]}, ${settled["escrow_state"]})`,
  );
  line("  operational", settled["operational_amt"]);
  line("transaction", settled["tx_hash"]);
  line("dispute window closes", settled["dispute_window_closes_at"]);
  line("dispute", `${dispute["dispute_id"]}, ${dispute["resolution"]}`);
  line("  refund", `${dispute["refund_amount"]}, and a bounty of ${dispute["bounty_amount"]}`);
  line("  paid by the vault", `${payout["amount"]} in ${payout["tx_hash"]} (it holds ${payout["held"]})`);
  for (const side of ["provider", "consumer"] as const)
    line(`rating of the ${side}`, ratings.map((at) => at[side]).join(" → "));
  printDocument("The receipt, as either party can prove it offline", decodeJwt(pickValue<string>(settled, "receipt")));
  printDocument("The award, as either party can prove it offline", decodeJwt(pickValue<string>(dispute, "award")));
  printDocument(`The identity document of ${provider.name}, at ${base}/v1/agents/${provider.did}/aid`, aid);
}

/** Prints a signed document for people, with shortened certificates, keys and signatures. */
function printDocument(title: string, value: unknown): void {
  const short = (_name: string, part: unknown) =>
    typeof part === "string" && part.length > 72 ? `${part.slice(0, 60)}… (${part.length} characters)` : part;
  const text = JSON.stringify(value, short, 2);
  console.log(`\n${colour(1, title)}\n\n${text.replace(/^/gm, "  ")}`);
}

try {
  await playAllSteps();
} catch (thrown) {
  console.error(`${colour(31, "✗")} ${thrown instanceof Error ? thrown.message : String(thrown)}`);
  process.exitCode = 1;
} finally {
  await service.stop();
}
