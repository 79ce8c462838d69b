// Right and wrong credentials as headers.
import { requestDigest, signProof } from "../../src/protocol/proof.ts";
import { type Agent, ISSUER, type Reply, type World } from "../support/world.ts";

export type Headers = Record<string, string>;
export type Attempt = { method: string; path: string; rawBody: string };

export const key = (rawKey: string): Headers => ({ "Service-Api-Key": rawKey });
export const bearer = (token: string): Headers => ({ Authorization: `Bearer ${token}` });
export const access = (token: string): Headers => ({ "Cf-Access-Jwt-Assertion": token });
export const flipped = (text: string, at: number): string =>
  text.slice(0, at) + (text[at] === "A" ? "B" : "A") + text.slice(at + 1);

type Proving = {
  at?: string;
  signer?: CryptoKey;
  certificate?: string;
  path?: string;
  rawBody?: string;
  method?: string;
};
/** A request-bound proof of the attempt with the given changes. */
export async function prove(
  of: Agent,
  attempt: Attempt,
  { at, signer, certificate, ...other }: Proving = {},
): Promise<Headers> {
  const { method, path, rawBody } = { ...attempt, ...other };
  const url = new URL(path, ISSUER);
  const timestamp = at ?? String(Math.floor(Date.now() / 1000));
  const digest = await requestDigest({ method, query: url.search, body: rawBody });
  if (!digest.ok) throw new Error(digest.reason);
  const statement = {
    kind: "request",
    timestamp,
    agentDid: of.did,
    method,
    path: url.pathname,
    digest: digest.digest,
  } as const;
  const { proof } = await signProof(statement, signer ?? of.privateKey);
  return { "AEAP-Certificate": certificate ?? of.certificate, "AEAP-Proof": proof, "AEAP-Timestamp": timestamp };
}

export const without = async (headers: Promise<Headers>, name: string): Promise<Headers> => {
  const { [name]: _left, ...rest } = await headers;
  return rest;
};

export const secondsAway = (seconds: number) => String(Math.floor(Date.now() / 1000) + seconds);

/** Calls an operator's route and shortens the answer. */
export const callOperator = (of: World, headers: Headers): Promise<Reply> =>
  of.call("GET", "/v1/operator/platforms?limit=1", { key: null, headers });

export async function outcomeOf(of: World, headers: Headers): Promise<unknown> {
  const { status, body } = await callOperator(of, headers);
  return status === 200 ? 200 : [status, body.code];
}
