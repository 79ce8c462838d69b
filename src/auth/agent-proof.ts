// Specification 5, agent to service. Order of trust: the certificate against the published keys, the proof against the
// certificate's key, then (in the first trip) the agent's present state, then the replay memory. Whatever fails before
// the state answers with one code; the precise reason goes to the log.

import { effectiveAgentStatus } from "../agents/states.ts";
import {
  type AgentWithPrincipal,
  type CertificateRow,
  findLiveCertificate,
  findPublicAgent,
  platformOf,
} from "../agents/store.ts";
import type { AgentCall, AgentCaller } from "../call.ts";
import { type ErrorExtra, ServiceError } from "../core/errors.ts";
import { PROOF_WINDOW_SECONDS, SECOND_MS } from "../core/limits.ts";
import { present, type Reads, readTogether } from "../db/batch.ts";
import { findOutcome } from "../db/outcomes.ts";
import type { Environment } from "../db/scope.ts";
import { depsOf } from "../http/deps.ts";
import { openIdempotency, Replay } from "../http/idempotency.ts";
import { commitWithOutcome, type Performance, perform } from "../http/perform.ts";
import { chargeAddress, chargeCredential } from "../http/rate-limit.ts";
import { createRouter, type Incoming, type Router } from "../http/router.ts";
import { effectivePrincipalStatus } from "../principals/states.ts";
import { verifyCertificate } from "../protocol/certificate.ts";
import { isDid } from "../protocol/did.ts";
import { type ProofStatement, requestDigest, verifyProof } from "../protocol/proof.ts";

type Headers = { certificate: string; proof: string; timestamp: string };
type Proven = { r: string; text: string; signedAt: number };

const failed = (reason: string, extra: ErrorExtra = {}) =>
  new ServiceError("aeap_verification_failed", { ...extra, reason });

const REPLAYED = "This proof was used before: sign every call anew.";
const ENDED = "The certificate is no longer valid.";
/** Of the precise reasons, those that the caller's own headers show to anybody. */
const TOLD: Readonly<Record<string, ErrorExtra>> = {
  timestamp_malformed: { message: "AEAP-Timestamp is neither epoch seconds nor ISO 8601 with its zone." },
};

export const createAgentRouter = (): Router<"agent"> =>
  createRouter("agent", async (incoming, run, turnOf) => {
    const deps = depsOf(incoming.context);
    const real = Date.now(); // Contract 3: proofs stay on the real clock.
    const check = async (statement: ProofStatement) =>
      verifyProof({ statement, proof: headers.proof, key: certified.agentKey, now: real });
    let headers: Headers;
    let certified: Awaited<ReturnType<typeof checkCertificate>>;
    let own: Awaited<ReturnType<Check>>;
    try {
      headers = presented(incoming);
      certified = await checkCertificate(incoming, headers.certificate, real);
      own = await proveOwn(incoming, headers, certified.claims.sub, deps.config.serviceDid, check);
      if (!own.ok && incoming.definition.proofs !== "facilitation") throw failed(own.reason, TOLD[own.reason]);
    } catch (refusal) {
      await chargeAddress(incoming.context, deps);
      throw refusal;
    }
    const { claims } = certified;
    const did = claims.sub;
    // Certificates are public: only who holds the key uses up the agent's quota.
    await (own.ok ? chargeCredential(incoming.context, deps, did) : chargeAddress(incoming.context, deps));

    const claim = async (proven: Proven): Promise<boolean> => {
      const guard = deps.env.REPLAY.get(deps.env.REPLAY.idFromName(did));
      return guard.claim(`${proven.r}|${proven.text}`, proven.signedAt + (PROOF_WINDOW_SECONDS + 1) * SECOND_MS);
    };
    // Once for all attempts of this request: a second attempt is not a second use.
    let used: Promise<boolean> | null = null;
    const first = (proven: Proven): Promise<boolean> => {
      used ??= claim(proven);
      return used;
    };

    const performance: Performance = {
      env: deps.env,
      db: deps.db,
      now: deps.clock.now(),
      idempotency: await openIdempotency(incoming, `agent ${did}`, did),
      successStatus: incoming.definition.status,
      background: (work) => incoming.context.executionCtx.waitUntil(work),
      owner: null,
      turn: Promise.resolve(),
      endTurn: () => undefined,
    };
    const call: AgentCall = {
      surface: "agent",
      deps,
      db: deps.db,
      now: performance.now,
      requestId: incoming.context.get("requestId"),
      background: performance.background,
      did,
      claims,
      proven: own.ok,
      async proveBoundTo(calleeDid) {
        const statement = { kind: "bound", timestamp: headers.timestamp, callerDid: did, calleeDid } as const;
        const bound = await check(statement);
        if (!bound.ok) throw new ServiceError("proof_invalid", { reason: bound.reason });
        return !(await first(bound));
      },
      async read<R extends Reads>(reads: R, options?: { replays: "tell" }) {
        const { db, now, idempotency } = performance;
        const fresh = own.ok ? first(own) : Promise.resolve(true);
        fresh.catch(() => undefined);
        const identity = {
          agent: findPublicAgent(db, did),
          certificate: findLiveCertificate(db, did, claims.jti, now),
          outcome: idempotency ? findOutcome(db, platformOf(did), idempotency.requestKey, now) : null,
        };
        const [who, found] = await readTogether(db, present(identity), reads);
        const caller = toCaller(who.agent, who.certificate, now);
        performance.owner = caller.platformId;
        if (who.outcome) throw new Replay(who.outcome);
        const replayed = !(await fresh);
        if (replayed && options?.replays !== "tell") throw failed("replay", { type: "replay", message: REPLAYED });
        await performance.turn;
        return { ...found, caller, replayed };
      },
      commit: (statements, view) => commitWithOutcome(performance, statements, view),
    };
    return perform(performance, turnOf, () => run(call as never));
  });

function presented(incoming: Incoming): Headers {
  const { req } = incoming.context;
  const certificate = req.header("aeap-certificate");
  const proof = req.header("aeap-proof");
  const timestamp = req.header("aeap-timestamp");
  // Also for a management key: it is never a credential here (5, rule 1).
  if (certificate === undefined || certificate === "") throw new ServiceError("certificate_required");
  if (proof === undefined || timestamp === undefined) {
    const name = proof === undefined ? "AEAP-Proof" : "AEAP-Timestamp";
    throw failed("proof or timestamp missing", { message: `The header ${name} is missing.` });
  }
  return { certificate, proof, timestamp };
}

async function checkCertificate(incoming: Incoming, certificate: string, now: number) {
  const deps = depsOf(incoming.context);
  const { verification } = await deps.ca();
  const checked = await verifyCertificate(certificate, verification, { issuer: deps.config.issuer, now });
  if (!checked.ok) throw failed(checked.reason);
  return checked;
}

type Check = (statement: ProofStatement) => ReturnType<typeof verifyProof>;

/** The request-bound proof, or the bound one whose callee is the service itself (contract section 7). */
async function proveOwn(
  incoming: Incoming,
  headers: Headers,
  did: string,
  serviceDid: string,
  check: Check,
): ReturnType<Check> {
  const { url, rawBody } = incoming;
  const method = incoming.context.req.method;
  const digest = await requestDigest({ method, query: url.search, body: rawBody });
  if (!digest.ok) throw failed(digest.reason);
  const { timestamp } = headers;
  const request = await check({
    kind: "request",
    timestamp,
    agentDid: did,
    method,
    path: url.pathname,
    digest: digest.digest,
  });
  if (request.ok || !isDid(serviceDid)) return request;
  const bound = await check({ kind: "bound", timestamp, callerDid: did, calleeDid: serviceDid });
  return bound.ok ? bound : request;
}

function toCaller(found: AgentWithPrincipal | null, certificate: CertificateRow | null, now: number): AgentCaller {
  if (!found) throw failed("unknown agent");
  if (!certificate) throw failed("certificate replaced or unknown", { message: ENDED });
  const { agent, principal } = found;
  const status = effectiveAgentStatus(agent.status, effectivePrincipalStatus(principal, now));
  if (status === "REVOKED" || status === "TERMINATED") throw failed(`agent is ${status}`, { message: ENDED });
  if (status !== "ACTIVE") throw new ServiceError("agent_not_active", { detail: { did: agent.did, status } });
  return {
    did: agent.did,
    platformId: agent.platformId,
    principalId: agent.principalId,
    environment: agent.environment as Environment,
    economicRole: agent.economicRole,
  };
}
