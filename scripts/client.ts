// A service's callers as scripts play them: a platform with its key, agents that sign their requests, and a payer on the local chain.
import type { Hex } from "viem";
import { type PayableIntent, preparePayment } from "../src/protocol/payment.ts";
import { digestRequest, formatProofTimestamp, type ProofStatement, signProof } from "../src/protocol/proof.ts";
import { approve, mintTestUsdc, settle } from "./chain/payments.ts";
import type { ChainDescription } from "./stack.ts";

export type Json = Record<string, unknown>;
export type Agent = {
  readonly name: string;
  readonly did: string;
  readonly certificate: string;
  readonly key: CryptoKey;
};
export type Sent = {
  readonly method: string;
  /** The path with its query. */
  readonly path: string;
  readonly body?: unknown;
  /** The parts of a form, instead of a body. */
  readonly form?: Readonly<Record<string, string | File>>;
};
export type Reply = { readonly status: number; readonly headers: Headers; readonly text: string };

/** An answer that is not the expected one. */
export class UnexpectedAnswer extends Error {}

export function must(condition: boolean, what: string): asserts condition {
  if (!condition) throw new UnexpectedAnswer(what);
}

/** Returns a value of an answer by its path. */
export function pickValue<T>(from: unknown, path: string): T {
  let value = from;
  for (const name of path.split(".")) value = (value as Json | null | undefined)?.[name];
  must(value !== undefined, `the answer has no ${path}: ${JSON.stringify(from)}`);
  return value as T;
}

export async function send(base: string, sent: Sent, headers: Record<string, string> = {}): Promise<Reply> {
  const { method, path, body, form } = sent;
  const parts = new FormData();
  for (const [name, value] of Object.entries(form ?? {})) parts.append(name, value);
  const response = await fetch(new URL(path, base), {
    method,
    headers: { ...(body !== undefined && { "Content-Type": "application/json" }), ...headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    ...(form && { body: parts }),
  });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

// ---- Callers -------------------------------------------------------------------------------------------------------------

export const keyHeaders = (key: string) => ({ "Service-Api-Key": key });
export const operatorHeaders = (key: string) => ({ Authorization: `Bearer ${key}` });

/** Signs as an agent: the proof covers the method, the path, and the query or the body. */
export async function agentHeaders(agent: Agent, sent: Sent): Promise<Record<string, string>> {
  const [path = "", query = ""] = sent.path.split("?");
  const body = sent.body === undefined ? "" : JSON.stringify(sent.body);
  const digest = await digestRequest({ method: sent.method, query, body });
  must(digest.ok, "the request can be signed");
  const timestamp = formatProofTimestamp(Date.now());
  const what = { agentDid: agent.did, method: sent.method, path, digest: digest.digest };
  return headersOf(agent, { kind: "request", timestamp, ...what });
}

/** The caller's proof, bound to the agent that presents it. */
export function boundHeaders(caller: Agent, callee: Agent): Promise<Record<string, string>> {
  const timestamp = formatProofTimestamp(Date.now());
  return headersOf(caller, { kind: "bound", timestamp, callerDid: caller.did, calleeDid: callee.did });
}

/** The body of POST /v1/verify/proof for an agent that answered a challenge. */
export async function answerChallenge(agent: Agent, nonce: string) {
  const timestamp = formatProofTimestamp(Date.now());
  const { proof } = await signProof({ kind: "challenge", timestamp, nonce, agentDid: agent.did }, agent.key);
  return { proof_type: "challenge_response", certificate: agent.certificate, nonce, proof, timestamp } as const;
}

async function headersOf(agent: Agent, statement: ProofStatement): Promise<Record<string, string>> {
  const { proof } = await signProof(statement, agent.key);
  return { "AEAP-Certificate": agent.certificate, "AEAP-Proof": proof, "AEAP-Timestamp": statement.timestamp };
}

// ---- On the chain --------------------------------------------------------------------------------------------------------

/** Two accounts of the local chain: a provider's wallet, and a payer. */
export function pickAccounts(chain: ChainDescription) {
  const [wallet, payer] = [chain.accounts.at(-2), chain.accounts.at(-1)];
  must(wallet !== undefined && payer !== undefined, "the local chain has accounts");
  return { wallet, payer };
}

/** Hundredths of a percent, as the contract has it. */
const FEE_BPS = 5;

/**
 * Approves and pays an intent as it was answered, in test tokens that it mints. The payer fixes the wallet and the fee, so a payment to another
 * wallet, or with a higher fee, fails.
 */
export async function payOnChain(chain: ChainDescription, intent: unknown): Promise<Hex> {
  const { address, private_key: key } = pickAccounts(chain).payer;
  const { contract, payment } = preparePayment(intent as PayableIntent, { maxFeeBps: FEE_BPS, refundTo: address });
  await mintTestUsdc(chain.rpc_url, key, payment.token, address, payment.amount);
  await approve(chain.rpc_url, key, payment.token, contract, payment.amount);
  return settle(chain.rpc_url, key, contract, payment);
}
