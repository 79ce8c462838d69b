// Authenticates an agent (PRF-1 to PRF-12). Order of trust: the certificate against the published keys, the proof against the
// certificate's key, then (in the first trip) the agent's present state, then the memory of used proofs. Every failure before the state
// has one code (proof-refusals.ts).
import type { AgentCaller } from "../call.ts";
import { type ErrorCode, ServiceError } from "../core/errors.ts";
import { PROOF_WINDOW_SECONDS, REPEATED_ACT_SECONDS } from "../core/limits.ts";
import { type AgentStatus, isFinal } from "../core/vocabulary.ts";
import type { CertificateRow } from "../db/tables/agents.ts";
import type { Credential, Entrance } from "../http/call.ts";
import type { Incoming } from "../http/incoming.ts";
import { findLiveCertificate } from "../identity/certificate-store.ts";
import { type CallingAgent, findCallingAgent, platformOf } from "../identity/store.ts";
import { effectiveAgentStatus, effectivePrincipalStatus } from "../principals/standing.ts";
import { type CertificateCheck, verifyCertificate } from "../protocol/certificate.ts";
import { isDid } from "../protocol/did.ts";
import { type ProofCheck, type ProofStatement, requestDigest, verifyProof } from "../protocol/proof.ts";
import { openProofMemory, type ProofMemory, type ProofUse } from "./proof-memory.ts";
import { explained, type ProofRefusal, proofRefusal } from "./proof-refusals.ts";

export const agentEntrance: Entrance = {
  presents: ({ context }) => Boolean(context.req.header("aeap-certificate")),
  check: checkAgent,
  challenge: () => 'AEAP-Certificate realm="agents"',
};

type Certified = Extract<CertificateCheck, { ok: true }>;
type Proven = Extract<ProofCheck, { ok: true }>;
/** The credentials of a call, with the certificate verified. */
type Presented = {
  readonly incoming: Incoming;
  readonly certified: Certified;
  readonly did: string;
  readonly proof: string;
  readonly timestamp: string;
  /** Real time, epoch milliseconds: test clocks do not move proofs (ACC-9). */
  readonly now: number;
  /** The act that the proof may be repeated for (PRF-8); empty where it may not. */
  readonly act: string;
  readonly memory: ProofMemory;
};

async function checkAgent(incoming: Incoming): Promise<Credential> {
  const presented = await presentedBy(incoming);
  const { did, certified, memory, act } = presented;
  const { claims } = certified;
  const own = await proveOwn(presented);
  if (!own.ok && !incoming.route.boundProofs) throw await explained(incoming.deps, did, own.reason, own.statement);
  // Used once for all attempts of this request.
  const use = once((proven: Proven) => memory.use(proven, act));
  // A caller that has shown only a certificate, which is public, learns nothing about the agent's state (PRF-11).
  let held: ServiceError | null = null;
  return {
    // Certificates are public: only the holder of the key is charged to the agent's quota.
    quota: own.ok ? did : null,
    keys: { space: `agent ${did}`, secret: did, platformId: platformOf(did) },
    reads: (db) => {
      // The memory is asked at the same time as the database.
      if (own.ok) use(own.proven).catch(() => undefined);
      return {
        agent: findCallingAgent(db, did),
        certificate: findLiveCertificate(db, did, claims.jti, presented.now),
      };
    },
    offsetOf: ({ agent }: Who) => (agent?.environment === "sandbox" ? agent.clockOffsetMs : null),
    admit: async ({ agent, certificate }: Who, now) => {
      const judged = judgeCaller(did, agent, certificate, now);
      if ("reason" in judged) throw await explained(incoming.deps, did, judged.reason, own.statement);
      const { caller, refusal } = judged;
      if (refusal && own.ok) throw refusal;
      held = refusal;
      return { caller, platformId: caller.platformId };
    },
    settle: async () => {
      const refused = own.ok ? REFUSED_USE[await use(own.proven)] : null;
      if (own.ok && refused) throw await explained(incoming.deps, did, refused, own.statement);
    },
    parts: {
      did,
      claims,
      proven: own.ok,
      proveBoundTo: async (calleeDid: string) => {
        await proveBound(presented, calleeDid, use);
        if (held) throw held;
      },
      unproven: (code: ErrorCode) => {
        const reason = own.ok ? "other_agent_named" : own.reason;
        return explained(incoming.deps, did, reason, own.statement, code);
      },
    },
  };
}

async function presentedBy(incoming: Incoming): Promise<Presented> {
  const { req } = incoming.context;
  const { deps, route, validBody } = incoming;
  const certificate = req.header("aeap-certificate");
  // Also for a management key, which is never a credential here (CRED-3).
  if (certificate === undefined || certificate === "") throw new ServiceError("certificate_required");
  const proof = req.header("aeap-proof");
  const timestamp = req.header("aeap-timestamp");
  if (proof === undefined) throw proofRefusal("proof_missing");
  if (timestamp === undefined) throw proofRefusal("timestamp_missing");
  const now = Date.now();
  const { verification } = await deps.ca();
  const certified = await verifyCertificate(certificate, verification, { issuer: deps.config.issuer, now });
  if (!certified.ok) throw proofRefusal(certified.reason);
  const did = certified.claims.sub;
  const act = route.act && validBody !== undefined ? route.act(validBody) : "";
  return { incoming, certified, did, proof, timestamp, now, act, memory: openProofMemory(deps.env, did) };
}

type OwnProof =
  | { readonly ok: true; readonly proven: Proven; readonly statement: ProofStatement }
  | { readonly ok: false; readonly reason: ProofRefusal; readonly statement: ProofStatement | null };

/** Verifies the request-bound proof, or a proof bound to the service itself (PRF-6). */
async function proveOwn(presented: Presented): Promise<OwnProof> {
  const { incoming, did, timestamp } = presented;
  const { url, rawBody, context, deps } = incoming;
  const { method } = context.req;
  const digest = await requestDigest({ method, query: url.search, body: rawBody });
  if (!digest.ok) return { ok: false, reason: digest.reason, statement: null };
  const statement: ProofStatement = {
    kind: "request",
    timestamp,
    agentDid: did,
    method,
    path: url.pathname,
    digest: digest.digest,
  };
  const request = await check(presented, statement);
  if (request.ok) return { ok: true, proven: request, statement };
  const { serviceDid } = deps.config;
  const asService = { kind: "bound", timestamp, callerDid: did, calleeDid: serviceDid } as const;
  const bound = isDid(serviceDid) ? await check(presented, asService) : null;
  return bound?.ok
    ? { ok: true, proven: bound, statement: asService }
    : { ok: false, reason: request.reason, statement };
}

/** Throws `proof_invalid` when the proof is not bound to this agent, and refuses a proof that was used for another act. */
async function proveBound(
  presented: Presented,
  calleeDid: string,
  use: (proven: Proven) => ReturnType<ProofMemory["use"]>,
): Promise<void> {
  const { incoming, did, timestamp } = presented;
  const statement: ProofStatement = { kind: "bound", timestamp, callerDid: did, calleeDid };
  const bound = await check(presented, statement);
  if (!bound.ok) throw await explained(incoming.deps, did, bound.reason, statement, "proof_invalid");
  const refused = REFUSED_USE[await use(bound)];
  const code = refused === "timestamp_too_old" ? "proof_invalid" : undefined;
  if (refused) throw await explained(incoming.deps, did, refused, statement, code);
}

/** The refusal of a good proof by what the memory knows of it. */
const REFUSED_USE: Readonly<Record<ProofUse, ProofRefusal | null>> = {
  first: null,
  same: null,
  replay: "replay",
  late: "timestamp_too_old",
};

/** A proof of a repeatable act is accepted for longer; the memory then decides whether it is the same act (PRF-8). */
const check = ({ proof, certified, now, act }: Presented, statement: ProofStatement): Promise<ProofCheck> =>
  verifyProof({
    statement,
    proof,
    key: certified.agentKey,
    now,
    windowSeconds: { before: act === "" ? PROOF_WINDOW_SECONDS : REPEATED_ACT_SECONDS, after: PROOF_WINDOW_SECONDS },
  });

function once<A, T>(make: (argument: A) => Promise<T>): (argument: A) => Promise<T> {
  let made: Promise<T> | undefined;
  return (argument) => {
    made ??= make(argument);
    return made;
  };
}

type Who = { readonly agent: CallingAgent | null; readonly certificate: CertificateRow | null };

/** Returns the caller and the refusal of its state, or the reason why its certificate no longer counts (PRF-10). */
function judgeCaller(
  did: string,
  agent: CallingAgent | null,
  certificate: CertificateRow | null,
  now: number,
): { caller: AgentCaller; refusal: ServiceError | null } | { reason: ProofRefusal } {
  if (!agent) return { reason: "agent_unknown" };
  if (!certificate) return { reason: "certificate_ended" };
  const { platformId, principalId, environment, economicRole, principalStatus, attestationExpiresAt } = agent;
  const standing = effectivePrincipalStatus({ status: principalStatus, attestationExpiresAt }, now);
  const status = effectiveAgentStatus(agent.status, standing);
  if (isFinal(status)) return { reason: "agent_ended" };
  return {
    caller: { did, platformId, principalId, environment, economicRole },
    refusal: stateRefusal(agent, did, status),
  };
}

function stateRefusal({ platformStatus }: CallingAgent, did: string, status: AgentStatus): ServiceError | null {
  if (platformStatus === "SUSPENDED" || platformStatus === "CLOSED") return new ServiceError("account_suspended");
  return status === "ACTIVE" ? null : new ServiceError("agent_not_active", { detail: { did, status } });
}
