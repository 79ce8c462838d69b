// Right and wrong credentials as headers.
import { afterEach, beforeEach, vi } from "vitest";
import type { Surface } from "../../src/call.ts";
import type { Route } from "../../src/http/route.ts";
import { type CertificateClaims, issueCertificate, verifyCertificate } from "../../src/protocol/certificate.ts";
import { exportPublicJwk, generateKeyPair } from "../../src/protocol/ecdsa.ts";
import { computeJwkThumbprint } from "../../src/protocol/jwks.ts";
import { digestRequest, signProof } from "../../src/protocol/proof.ts";
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
  const digest = await digestRequest({ method, query: url.search, body: rawBody });
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

export async function claimsOf(of: World, { certificate }: Agent): Promise<CertificateClaims> {
  const { verification } = await of.deps.ca();
  const checked = await verifyCertificate(certificate, verification, { issuer: ISSUER, now: Date.now() });
  if (!checked.ok) throw new Error(checked.reason);
  return checked.claims;
}

/** The agent's certificate with other claims, signed by the CA itself. */
export const reissueCertificate = async (of: World, agent: Agent, change: Partial<CertificateClaims>) =>
  issueCertificate({ ...(await claimsOf(of, agent)), ...change }, (await of.deps.ca()).signing);

/** The agent's claims under a key that is not the CA's: with its own kid, or the CA's. */
export async function forgeCertificate(of: World, agent: Agent, borrowKid: boolean): Promise<string> {
  const { privateKey, publicKey } = await generateKeyPair();
  const kid = borrowKid
    ? (await of.deps.ca()).signing.kid
    : await computeJwkThumbprint(await exportPublicJwk(publicKey));
  return issueCertificate(await claimsOf(of, agent), { kid, privateKey });
}

/** Real time stands still during each test, so that a proof has its exact age also on a slow machine: proofs are judged in real time. */
export function stopRealTime(): void {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["Date"] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });
}

export const secondsAway = (seconds: number) => String(Math.floor(Date.now() / 1000) + seconds);

/** Calls an operator's route and shortens the answer. */
export const callOperator = (of: World, headers: Headers): Promise<Reply> =>
  of.call("GET", "/v1/operator/platforms?limit=1", { key: null, headers });

export async function outcomeOf(of: World, headers: Headers): Promise<unknown> {
  const { status, body } = await callOperator(of, headers);
  return status === 200 ? 200 : [status, body.code];
}

/** The challenge that a 401 names for each surface. */
const CHALLENGES: Readonly<Record<Surface, string | null>> = {
  agent: 'AEAP-Certificate realm="agents"',
  management: 'Service-Api-Key realm="platforms", Bearer realm="dashboard"',
  session: 'Bearer realm="dashboard"',
  verifier: 'Bearer realm="verifiers"',
  operator: 'Bearer realm="operators"',
  public: null,
};
/** A 401 names every way to authenticate on the route. */
export const challengeOf = ({ surfaces }: Route): string =>
  Object.entries(CHALLENGES)
    .filter(([surface]) => (surfaces as readonly string[]).includes(surface))
    .map(([, challenge]) => challenge)
    .join(", ");
