// The demo's part about a dispute: the filing, the parties' seven days, the arbiter, and the refund from the provider's vault.
import { compactVerify, createLocalJWKSet, decodeJwt, jwtVerify } from "jose";
import type { Hex } from "viem";
import { hashDid } from "../src/chain/hashes.ts";
import { computeSha256Hex } from "../src/core/encoding.ts";
import { parseAmount } from "../src/core/text.ts";
import { tokenAbi } from "./chain/abi.ts";
import { createClient } from "./chain/client.ts";
import { approve, depositEscrow } from "./chain/payments.ts";
import { type Agent, type Json, must, operatorHeaders, pickAccounts, pickValue } from "./client.ts";
import type { Player, Request, RequestOptions } from "./demo-account.ts";
import { sleep } from "./processes.ts";

/** A player that can also call with the account's key, and as one of its agents. */
export type Trader = Player & {
  readonly manage: Request;
  readonly as: (agent: Agent, path: string, call?: RequestOptions) => Promise<Json>;
};
/** `settled`: the answer of the purchase's facilitation. */
export type Purchase = { readonly provider: Agent; readonly consumer: Agent; readonly settled: Json };

const [DISPUTED, OFFER, DEPOSIT] = ["8.00", "2.00", "10.00"] as const;
const DECIMALS = 6;
/** The time in which the parties may agree. */
const DAYS_SECONDS = 7 * 24 * 3_600;
/** The resolution sends the vault's payment at once; if that is lost, the cron finds it within a minute. */
const PAYMENT_WAIT_MS = 90_000;
const LOOK_MS = 200;
/** The error of binary floats. */
const FLOAT_NOISE = 1e-9;

/** Plays the dispute to its end, and returns it as the consumer reads it then, with the vault's payment. */
export async function playDispute(
  trader: Trader,
  purchase: Purchase,
): Promise<{ readonly dispute: Json; readonly payout: Json }> {
  const before = await sumsOf(trader, purchase);
  const balance = await balanceOf(trader, purchase);
  const id = await playFiling(trader, purchase);
  await playAnswer(trader, purchase, id);
  await fundVault(trader, purchase);
  await passToArbiter(trader, purchase, id);
  await verifyAward(trader, await playDecision(trader, id), id);
  const dispute = await awaitRefund(trader, purchase, id);
  const payout = await checkMoney(trader, purchase, dispute, balance);
  await checkTask(trader, purchase);
  await checkRatings(trader, purchase, before);
  return { dispute, payout };
}

const pathOf = (id: string): string => `/v1/disputes/${id}`;

/**
 * Files a dispute, which holds the task and reserves the amount in the vault. Until the vault holds that much, the provider's escrow is CONSTRAINED.
 */
async function playFiling({ as, request, step }: Trader, { provider, consumer, settled }: Purchase): Promise<string> {
  const gross = pickValue<string>(settled, "gross_amt");
  const dispute = await step(
    `POST /v1/disputes                 the consumer disputes ${DISPUTED} of ${gross} USDC`,
    () =>
      as(consumer, "/v1/disputes", {
        method: "POST",
        expect: 201,
        headers: { "Idempotency-Key": crypto.randomUUID() },
        body: {
          transaction_id: pickValue<string>(settled, "transaction_id"),
          reason: "not_as_described",
          description: "Four of the five pages are not translated.",
          resolution_sought: "The price of these pages.",
          disputed_amount: DISPUTED,
        },
      }),
  );
  must(dispute["status"] === "pre_arbitration", "the parties have their days");
  await step("GET  /v1/tasks/{id}               the dispute holds it: disputed", async () => {
    const task = await as(provider, `/v1/tasks/${pickValue<string>(settled, "task_id")}`);
    must(task["status"] === "disputed", "the task is held");
  });
  await step("GET  /v1/agents/{did}/status      more is disputed than the vault holds: CONSTRAINED", async () => {
    const { escrow_state } = await request(`/v1/agents/${provider.did}/status`);
    must(escrow_state === "CONSTRAINED", "the provider's escrow is CONSTRAINED");
  });
  return pickValue(dispute, "dispute_id");
}

/** The parties do not agree: the provider offers less, and the consumer does not accept it. */
async function playAnswer({ as, step }: Trader, { provider, consumer }: Purchase, id: string): Promise<void> {
  const answered = await step(`POST …/disputes/{id}/respond      the provider offers ${OFFER}`, () =>
    as(provider, `${pathOf(id)}/respond`, {
      method: "POST",
      body: { message: "One page is missing; we give its price back.", offer_amount: OFFER },
    }),
  );
  must(answered["offer_amount"] === OFFER, "the offer stands");
  await step("POST …/disputes/{id}/evidence     the consumer hands in what it got: a link and its digest", async () => {
    const body = {
      description: "The file as it was delivered.",
      uri: "https://buyer.example/evidence/delivered.txt",
      sha256: await computeSha256Hex("Page 1: translated. Pages 2 to 5: as they were."),
      media_type: "text/plain",
    };
    await as(consumer, `${pathOf(id)}/evidence`, { method: "POST", expect: 201, body });
  });
}

/** Anyone may deposit into a vault. Here the provider does, from its earnings. */
async function fundVault({ service: { chain }, manage, step }: Trader, { provider, settled }: Purchase): Promise<void> {
  const { contract, token } = readPlace(settled);
  const { private_key: key } = pickAccounts(chain).wallet;
  const amount = BigInt(toUnits(DEPOSIT));
  await step(`on-chain                          the provider puts ${DEPOSIT} USDC into its vault`, async () => {
    await approve(chain.rpc_url, key, token, contract, amount);
    const deposit = { settlementContract: contract, token, amount, providerDidHash: hashDid(provider.did) };
    await depositEscrow(chain.rpc_url, key, deposit);
  });
  await step("POST …/agents/{did}/escrow/sync   the vault holds what is disputed", async () => {
    const report = await manage(`/v1/agents/${provider.did}/escrow/sync`, { method: "POST" });
    must(report["escrow_state"] !== "CONSTRAINED", "the deposit has lifted the constraint");
  });
}

async function passToArbiter({ as, manage, step }: Trader, { consumer }: Purchase, id: string): Promise<void> {
  await step("POST /v1/sandbox/clock/advance    the sandbox's clock goes forward by seven days", () =>
    manage("/v1/sandbox/clock/advance", { method: "POST", body: { seconds: DAYS_SECONDS } }),
  );
  await step("GET  /v1/disputes/{id}            the parties did not agree: arbitration", async () => {
    const dispute = await as(consumer, pathOf(id));
    must(dispute["status"] === "arbitration", "the dispute is the arbiter's");
    must(dispute["escalated_at"] === dispute["pre_arb_deadline"], "it is so from the end of the parties' days");
  });
}

/** Resolves the dispute and returns the award. */
async function playDecision({ service, request, step }: Trader, id: string): Promise<string> {
  const headers = operatorHeaders(service.operator_key);
  await step("GET  …/operator/disputes/{id}     the arbiter reads the whole file", async () => {
    const { messages, evidence, receipt } = await request(`/v1/operator/disputes/${id}`, { headers });
    const pieces = [messages, evidence].map((list) => (list as unknown[]).length);
    must(pieces.join() === "1,1" && typeof receipt === "string", "the file has what both said, and the receipt");
  });
  const decided = await step(
    "POST …/disputes/{id}/resolve      upheld: an award is signed, and the vault owes it",
    () =>
      request(`/v1/operator/disputes/${id}/resolve`, {
        method: "POST",
        headers,
        body: { resolution: "upheld", reason: "Four of five pages were delivered as they had been sent." },
      }),
  );
  must(decided["resolution"] === "upheld" && decided["refund_from"] === "vault", "the vault pays the award");
  return pickValue(decided, "award");
}

/** Waits for the arbiter's chain operation, which pays after the resolution. */
async function awaitRefund({ as, step }: Trader, { consumer }: Purchase, id: string): Promise<Json> {
  return step("GET  /v1/disputes/{id}            the vault has paid it out on-chain: paid", async () => {
    const until = Date.now() + PAYMENT_WAIT_MS;
    let dispute = await as(consumer, pathOf(id));
    while (dispute["refund_status"] !== "paid") {
      const { refund_status, paid_from_vault } = dispute;
      must(Date.now() < until, `the refund is ${refund_status}, with ${paid_from_vault} paid from the vault`);
      await sleep(LOOK_MS);
      dispute = await as(consumer, pathOf(id));
    }
    must(dispute["bounty_outstanding"] === "0.00", "the bounty is paid too");
    return dispute;
  });
}

/** Verifies the award as a stranger, who needs only the published keys, as for a receipt. */
async function verifyAward({ request, step }: Trader, award: string, id: string): Promise<void> {
  const jwks = createLocalJWKSet((await request("/.well-known/aeap-ca-jwks")) as never);
  await step("offline                           the award verifies; one about another amount does not", async () => {
    const { payload } = await jwtVerify(award, jwks, { typ: "aeap-award+jwt", algorithms: ["ES256"] });
    must(payload.jti === id && payload["refund_amount"] === DISPUTED, "the award is about this dispute");
    const [header, , signature] = award.split(".");
    const changed = Buffer.from(JSON.stringify({ ...payload, refund_amount: "9.00" })).toString("base64url");
    const forged = await compactVerify([header, changed, signature].join("."), jwks).catch(() => null);
    must(forged === null, "a changed award does not verify");
  });
}

/** Checks that the payment is the vault's newest movement, and that the paying wallet received it. */
async function checkMoney(
  trader: Trader,
  purchase: Purchase,
  { refund_amount, bounty_amount }: Json,
  balance: number,
): Promise<Json> {
  const { manage, step } = trader;
  const awarded = toUnits(String(refund_amount)) + toUnits(String(bounty_amount));
  const payout = await step("POST …/agents/{did}/escrow/sync   the vault's newest movement is the payout", async () => {
    const report = await manage(`/v1/agents/${purchase.provider.did}/escrow/sync`, { method: "POST" });
    const newest = pickValue<Json>(report, "escrow.0.movements.0");
    must(
      newest["kind"] === "payout" && toUnits(pickValue(newest, "amount")) === awarded,
      "all of the award is paid out",
    );
    return newest;
  });
  await step("on-chain                          the consumer's wallet holds the refund and the bounty", async () => {
    const received = (await balanceOf(trader, purchase)) - balance;
    must(received === awarded, `the wallet got ${received} base units, and ${awarded} were awarded`);
  });
  return payout;
}

async function checkTask({ as, step }: Trader, { provider, settled }: Purchase): Promise<void> {
  await step("GET  /v1/tasks/{id}               the end of the dispute has closed it: rejected", async () => {
    const { outcome, score } = await as(provider, `/v1/tasks/${pickValue<string>(settled, "task_id")}`);
    must(outcome === "rejected" && score === 0, "the task is rejected");
  });
}

/** Checks that the provider's signal is 0 at three times the payment's weight (TSK-9), and the consumer's is 1, because it filed within a day. */
async function checkRatings(trader: Trader, purchase: Purchase, before: BothSums): Promise<void> {
  await trader.step("GET  /v1/agents/{did}/rating      the provider's fell, the consumer's rose", async () => {
    const after = await sumsOf(trader, purchase);
    must(after.provider.rating < before.provider.rating, "the provider's rating fell");
    must(after.consumer.rating > before.consumer.rating, "the consumer's rating rose");
    const added = (side: keyof BothSums, sum: "weight" | "weighted") => after[side][sum] - before[side][sum];
    const weight = added("consumer", "weight");
    const isAbout = (value: number, expected: number) => Math.abs(value - expected) < FLOAT_NOISE * weight;
    must(isAbout(added("consumer", "weighted"), weight), "the consumer's signal is 1");
    must(isAbout(added("provider", "weight"), 3 * weight), "the verdict weighs three times the payment");
    must(isAbout(added("provider", "weighted"), 0), "the provider's signal is 0");
  });
}

type Sums = { readonly rating: number; readonly weight: number; readonly weighted: number };
type BothSums = { readonly provider: Sums; readonly consumer: Sums };

async function sumsOf({ request }: Trader, { provider, consumer }: Purchase): Promise<BothSums> {
  const of = async ({ did }: Agent): Promise<Sums> => {
    const rating = await request(`/v1/agents/${did}/rating`);
    return { rating: pickValue(rating, "agent_rating"), ...pickValue<Omit<Sums, "rating">>(rating, "sums") };
  };
  return { provider: await of(provider), consumer: await of(consumer) };
}

/** The addresses that a settlement names, by its receipt. */
const readPlace = (settled: Json) =>
  decodeJwt<{ contract: Hex; token: Hex; refund_to: Hex }>(pickValue<string>(settled, "receipt"));

async function balanceOf({ service: { chain } }: Trader, { settled }: Purchase): Promise<number> {
  const { token, refund_to } = readPlace(settled);
  const call = { address: token, abi: tokenAbi, functionName: "balanceOf", args: [refund_to] } as const;
  return Number(await createClient(chain.rpc_url).readContract(call));
}

function toUnits(amount: string): number {
  const parsed = parseAmount(amount, DECIMALS);
  must(parsed.ok, `${amount} is an amount`);
  return parsed.units;
}
