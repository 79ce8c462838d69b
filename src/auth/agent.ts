// Authenticates an agent (PRF-1 to PRF-12). Order of trust: the certificate against the published keys, the proof against the certificate's key,
// then (in the first trip) the agent's present state, then the memory of used proofs. Every failure before the state has the same code
// (proof-refusals.ts).
import type { AgentCaller } from "../call.ts";
import type { Env } from "../context.ts";
import { ServiceError } from "../core/errors.ts";
import { PROOF_WINDOW_SECONDS, REPEATED_ACT_SECONDS, SECOND_MS } from "../core/limits.ts";
import { isFinal } from "../core/vocabulary.ts";
import type { CertificateRow } from "../db/tables/agents.ts";
import type { Credential, Entrance } from "../http/call.ts";
import type { Incoming } from "../http/incoming.ts";
import { toIssuedClaims } from "../identity/certificate.ts";
import { findLiveCertificate } from "../identity/certificate-store.ts";
import { type CallingAgent, findCallingAgent, selectAgentPlatform } from "../identity/store.ts";
import { toEffectiveAgentStatus, toEffectivePrincipalStatus } from "../principals/effective-status.ts";
import { type CertificateCheck, verifyCertificate } from "../protocol/certificate.ts";
import { isDid } from "../protocol/did.ts";
import { digestRequest, type ProofCheck, type ProofStatement, verifyProof } from "../protocol/proof.ts";
import { explainRefusal, type ProofRefusal, type RefusalPlace, toProofRefusalError } from "./proof-refusals.ts";

export const agentEntrance: Entrance = {
  presents: ({ context }) => Boolean(context.req.header("aeap-certificate")),
  check: checkAgent,
  challenge: () => 'AEAP-Certificate realm="agents"',
};

type Certified = Extract<CertificateCheck, { ok: true }>;
type ProvenProof = Extract<ProofCheck, { ok: true }>;
type PresentedCredentials = {
  readonly incoming: Incoming;
  readonly certified: Certified;
  readonly did: string;
  readonly proof: string | undefined;
  readonly timestamp: string | undefined;
  /** Real time in epoch milliseconds: test clocks do not move proofs (ACC-9). */
  readonly now: number;
  /** The act for which the proof may be repeated (PRF-8); empty if it may not be repeated. */
  readonly act: string;
  readonly memory: ProofMemory;
};

async function checkAgent(incoming: Incoming): Promise<Credential> {
  const presented = await readPresented(incoming);
  const { did, certified, memory, act, now } = presented;
  const [own, issued] = await Promise.all([verifyOwnProof(presented), toIssuedClaims(certified)]);
  if (!own.ok && !incoming.route.boundProofs) throw await toProofRefusal(presented, own.reason, own.statement);
  // The proof is used once for all attempts of this request.
  const use = callOnce((proven: ProvenProof) => memory.use(proven, act));
  let proven: ProofStatement | null = own.ok ? own.statement : null;
  // A caller that has shown only a certificate, which is public, learns nothing about the agent's state (PRF-11).
  let held: StateRefusal = null;
  const refuseHeld = async () => {
    if (held instanceof ServiceError) throw held;
    if (held) throw await toProofRefusal(presented, held, proven);
  };
  const unproven = () =>
    proven || own.ok
      ? toProofRefusal(presented, "other_agent_named", proven)
      : toProofRefusal(presented, own.reason, own.statement);
  return {
    // Certificates are public: only the holder of the key is charged to the agent's quota.
    quota: own.ok ? { of: "agent", did } : { of: "address" },
    keys: { space: `agent ${did}`, secret: did, platformId: selectAgentPlatform(did) },
    reads: (db) => {
      // Starts the lookup in the memory, which then runs at the same time as the database trip.
      if (own.ok) use(own.proven).catch(() => undefined);
      return {
        agent: findCallingAgent(db, did),
        certificate: findLiveCertificate(db, issued, now),
      };
    },
    offsetOf: ({ agent }: FoundCaller) => (agent?.environment === "sandbox" ? agent.clockOffsetMs : null),
    admit: async ({ agent, certificate }: FoundCaller, clock) => {
      const caller = agent && toAgentCaller(did, agent);
      held = agent ? judgeAgentState(did, agent, certificate, clock) : "agent_unknown";
      if (proven) await refuseHeld();
      if (!caller) throw await unproven();
      return { caller, platformId: caller.platformId };
    },
    settle: async () => {
      if (own.ok) await refuseReusedProof(presented, await use(own.proven), own.statement);
    },
    parts: {
      did,
      claims: certified.claims,
      proven: own.ok,
      proveBoundTo: async (calleeDid: string) => {
        proven = await verifyBoundProof(presented, calleeDid, use);
        await refuseHeld();
      },
      unproven,
    },
  };
}

async function readPresented(incoming: Incoming): Promise<PresentedCredentials> {
  const { req } = incoming.context;
  const { deps, route, validBody } = incoming;
  const certificate = req.header("aeap-certificate");
  // Also refuses a management key, which is never a credential here (CRED-3).
  if (certificate === undefined || certificate === "") throw new ServiceError("certificate_required");
  const now = Date.now();
  const { verification } = await deps.ca();
  const certified = await verifyCertificate(certificate, verification, { issuer: deps.config.issuer, now });
  if (!certified.ok) throw toProofRefusalError(certified.reason, chooseRefusalPlace(incoming));
  const did = certified.claims.sub;
  return {
    incoming,
    certified,
    did,
    proof: req.header("aeap-proof"),
    timestamp: req.header("aeap-timestamp"),
    now,
    act: route.act && validBody !== undefined ? route.act(validBody, deps.config) : "",
    memory: openProofMemory(deps.env, did),
  };
}

type OwnProof =
  | { readonly ok: true; readonly proven: ProvenProof; readonly statement: ProofStatement }
  | { readonly ok: false; readonly reason: ProofRefusal; readonly statement: ProofStatement | null };

/** Verifies the request-bound proof, or a proof bound to the service itself (PRF-6). */
async function verifyOwnProof(presented: PresentedCredentials): Promise<OwnProof> {
  const { incoming, did, proof, timestamp } = presented;
  if (timestamp === undefined) {
    return { ok: false, reason: proof === undefined ? "proof_missing" : "timestamp_missing", statement: null };
  }
  const { url, rawBody, context, deps } = incoming;
  const { method } = context.req;
  const digest = await digestRequest({ method, query: url.search, body: rawBody });
  if (!digest.ok) return { ok: false, reason: digest.reason, statement: null };
  const statement: ProofStatement = {
    kind: "request",
    timestamp,
    agentDid: did,
    method,
    path: url.pathname,
    digest: digest.digest,
  };
  const request = await verifyPresentedProof(presented, statement);
  if (request.ok) return { ok: true, proven: request, statement };
  const { serviceDid } = deps.config;
  const asService = { kind: "bound", timestamp, callerDid: did, calleeDid: serviceDid } as const;
  const bound = isDid(serviceDid) ? await verifyPresentedProof(presented, asService) : null;
  return bound?.ok
    ? { ok: true, proven: bound, statement: asService }
    : { ok: false, reason: request.reason, statement };
}

/**
 * Verifies a proof bound to this agent, and refuses a proof that was used for another act. A body that names no act does not use the proof up,
 * because the call is refused anyway.
 */
async function verifyBoundProof(
  presented: PresentedCredentials,
  calleeDid: string,
  use: (proven: ProvenProof) => ReturnType<ProofMemory["use"]>,
): Promise<ProofStatement> {
  const { did, timestamp, act } = presented;
  if (timestamp === undefined) throw await toProofRefusal(presented, "timestamp_missing", null);
  const statement: ProofStatement = { kind: "bound", timestamp, callerDid: did, calleeDid };
  const bound = await verifyPresentedProof(presented, statement);
  if (!bound.ok) throw await toProofRefusal(presented, bound.reason, statement);
  if (act !== "") await refuseReusedProof(presented, await use(bound), statement);
  return statement;
}

const REFUSAL_BY_USE: Readonly<Record<ProofUse, ProofRefusal | null>> = {
  first: null,
  same: null,
  replay: "replay",
  late: "timestamp_too_old",
};

async function refuseReusedProof(
  presented: PresentedCredentials,
  used: ProofUse,
  statement: ProofStatement,
): Promise<void> {
  const refused = REFUSAL_BY_USE[used];
  if (refused) throw await toProofRefusal(presented, refused, statement);
}

const toProofRefusal = (
  { incoming, did }: PresentedCredentials,
  reason: ProofRefusal,
  statement: ProofStatement | null,
): Promise<ServiceError> => explainRefusal(incoming.deps, did, reason, statement, chooseRefusalPlace(incoming));

/** Only facilitation accepts proofs bound to the counterparty (FAC-2). */
const chooseRefusalPlace = ({ route }: Incoming): RefusalPlace => (route.boundProofs ? "facilitation" : "call");

/** A proof of a repeatable act is accepted for longer; the memory then decides whether it is the same act (PRF-8). */
async function verifyPresentedProof(
  { proof, certified, now, act }: PresentedCredentials,
  statement: ProofStatement,
): Promise<PresentedProofCheck> {
  if (proof === undefined) return { ok: false, reason: "proof_missing" };
  const before = act === "" ? PROOF_WINDOW_SECONDS : REPEATED_ACT_SECONDS;
  const windowSeconds = { before, after: PROOF_WINDOW_SECONDS };
  return verifyProof({ statement, proof, key: certified.agentKey, now, windowSeconds });
}
type PresentedProofCheck = ProofCheck | { readonly ok: false; readonly reason: "proof_missing" };

function callOnce<A, T>(make: (argument: A) => Promise<T>): (argument: A) => Promise<T> {
  let made: Promise<T> | undefined;
  return (argument) => {
    made ??= make(argument);
    return made;
  };
}

type FoundCaller = { readonly agent: CallingAgent | null; readonly certificate: CertificateRow | null };

function toAgentCaller(did: string, agent: CallingAgent): AgentCaller {
  const { platformId, principalId, environment, economicRole } = agent;
  return { did, platformId, principalId, environment, economicRole };
}

/** The refusal of a caller by its stored state, or the reason why its certificate no longer counts (PRF-10). */
type StateRefusal = ServiceError | ProofRefusal | null;

function judgeAgentState(
  did: string,
  agent: CallingAgent,
  certificate: CertificateRow | null,
  now: number,
): StateRefusal {
  if (!certificate) return "certificate_ended";
  const { platformStatus, principalStatus, attestationExpiresAt, accountStopped } = agent;
  const standing = toEffectivePrincipalStatus({ status: principalStatus, attestationExpiresAt, accountStopped }, now);
  const status = toEffectiveAgentStatus(agent.status, standing);
  if (isFinal(status) || platformStatus === "CLOSED") return "agent_ended";
  if (platformStatus === "SUSPENDED") return new ServiceError("account_suspended");
  return status === "ACTIVE" ? null : new ServiceError("agent_not_active", { detail: { did, status } });
}

// ---- The memory of used proofs (PRF-7, PRF-8) ----------------------------------------------------------------------------

/** `first`: not seen before. `same`: used before for the same act. `late`: its window passed before it was used for this act. */
type ProofUse = "first" | "same" | "replay" | "late";
type ProofMemory = { readonly use: (proven: ProvenProof, act: string) => Promise<ProofUse> };

/** Keeps each proof and its act until the window has passed: the same act may be repeated under the proof, any other use is a replay. */
function openProofMemory({ REPLAY }: Pick<Env, "REPLAY">, did: string): ProofMemory {
  const guard = REPLAY.get(REPLAY.idFromName(did));
  return {
    use: async ({ r, text, signedAt }, act) => {
      const mark = `${r}|${text}`;
      const remembered = act === "" ? PROOF_WINDOW_SECONDS : REPEATED_ACT_SECONDS;
      const late = Date.now() > signedAt + PROOF_WINDOW_SECONDS * SECOND_MS;
      // After its window a proof counts only for the act that it was used for within the window.
      if (late) return (await guard.isUsedFor(mark, act)) ? "same" : "late";
      return guard.use(mark, act, signedAt + (remembered + 1) * SECOND_MS);
    },
  };
}
