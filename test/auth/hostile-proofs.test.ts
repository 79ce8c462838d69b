// No forged proof is accepted, and no form of a proof has two readings (PRF-2 to PRF-8, PRF-12): each is refused at the routes of agents with one
// code and its reason, in the sandbox and where proofs are checked. No row is written. One function judges the proofs at all places: all forgeries
// go to a route of agents and to a check, some to the other places, and all to all in `npm run test:long`.
import { beforeAll, describe, expect, it } from "vitest";
import { sign } from "../../src/protocol/ecdsa.ts";
import {
  buildProofText,
  digestRequest,
  formatProofTimestamp,
  type ProofStatement,
  signProof,
} from "../../src/protocol/proof.ts";
import { freshClient } from "../accounts/support.ts";
import { seller } from "../payments/support.ts";
import { isWhole } from "../support/scale.ts";
import { dumpDatabase, dumpObjects } from "../support/variants.ts";
import { type Agent, createWorld, env, expectStatus, type Json, type World } from "../support/world.ts";
import { FORGED_PROOFS, NO_TIMESTAMPS, type Proving, TIMESTAMPS } from "./forged-proofs.ts";
import { stopRealTime } from "./support.ts";

stopRealTime();
let world: World;
let agent: Agent;
let callee: Agent;
let intentId: string;
let before: unknown;
beforeAll(async () => {
  world = await createWorld();
  [agent, callee] = [await world.consumer(), await seller(world)];
  intentId = (await world.intent(agent, callee, "1.00")).intent_id;
  before = await written();
});

const written = async () => [await dumpDatabase(), await dumpObjects(env.REPLAY), await dumpObjects(env.IDEMPOTENCY)];
const now = (): string => formatProofTimestamp(Date.now());

// ---- Where a proof is presented ------------------------------------------------------------------------------------------

/** The statement to sign at a place, and the place's answer to a proof. */
type Place = {
  readonly name: string;
  readonly statement: (timestamp: string) => Promise<ProofStatement>;
  /** Returns the reason of the refusal, or null. */
  readonly present: (proof: string, timestamp: string) => Promise<string | null>;
};

async function requestAt(method: string, path: string, body: string, timestamp: string): Promise<ProofStatement> {
  const digest = await digestRequest({ method, query: "", body });
  if (!digest.ok) throw new Error(digest.reason);
  return { kind: "request", timestamp, agentDid: agent.did, method, path, digest: digest.digest };
}

const boundToCallee = async (timestamp: string): Promise<ProofStatement> => ({
  kind: "bound",
  timestamp,
  callerDid: agent.did,
  calleeDid: callee.did,
});

const runtime = (
  method: string,
  path: string,
  bodyOf: () => Json,
  statement?: Place["statement"],
  code = "aeap_verification_failed",
): Place => ({
  name: `${method} ${path}`,
  statement: statement ?? ((timestamp) => requestAt(method, path, bodyOf() ? JSON.stringify(bodyOf()) : "", timestamp)),
  present: async (proof, timestamp) => {
    const credential = { "AEAP-Certificate": agent.certificate, "AEAP-Proof": proof, "AEAP-Timestamp": timestamp };
    const headers = { ...freshClient(), ...credential, "Idempotency-Key": crypto.randomUUID() };
    const rawBody = bodyOf() && JSON.stringify(bodyOf());
    const reply = await world.call(method, path, { key: null, headers, ...(rawBody && { rawBody }) });
    if (reply.status !== 401) return null;
    expect([reply.body.code, reply.body.type, Object.keys(reply.body).sort()]).toEqual([
      code,
      undefined,
      ["code", "detail", "error", "message", "request_id", "status"],
    ]);
    expect(Object.keys(reply.body.detail).sort()).toEqual(["reason", "service_time", "signed_text"]);
    return reply.body.detail.reason;
  },
});

async function checked(body: Json): Promise<string | null> {
  const path = "/v1/verify/proof";
  const whole = { certificate: agent.certificate, ...body };
  const told = expectStatus(await world.call("POST", path, { key: null, headers: freshClient(), body: whole }), 200);
  if (told.verified) return null;
  expect(told).toEqual({ verified: false, reason: told.reason, agent_id: null });
  return told.reason;
}
let nonce = "";
const claim = () => ({ intent_id: intentId, payment_tx: `0x${"1".repeat(64)}` });
const order = () => ({ consumer_did: agent.did, provider_did: callee.did, amount: "1.00", currency: "USDC" });

const PLACES: readonly Place[] = [
  runtime("GET", "/v1/payment-intents/pin_none", () => undefined),
  runtime("POST", "/v1/payment-intents", order),
  runtime("POST", "/v1/facilitate", claim, boundToCallee, "proof_invalid"),
  {
    name: "the check of a bound proof",
    statement: boundToCallee,
    present: (proof, timestamp) => checked({ proof_type: "bound_proof", proof, timestamp, callee_did: callee.did }),
  },
  {
    name: "the check of a challenge response",
    statement: async (timestamp) => {
      nonce = expectStatus(await world.call("GET", "/v1/verify/challenge", { key: null }), 200).nonce;
      return { kind: "challenge", timestamp, nonce, agentDid: agent.did };
    },
    present: (proof, timestamp) => checked({ proof_type: "challenge_response", nonce, proof, timestamp }),
  },
];

const textOf = async ({ statement }: Place, timestamp: string): Promise<string> => {
  const stated = buildProofText(await statement(timestamp));
  if (!stated.ok) throw new Error(stated.reason);
  return stated.text;
};
const honest = (text: string) => sign(agent.privateKey, text);

/** All at the first place and at the last; elsewhere every tenth, starting with the first. */
const someAt = <T>(place: Place, all: readonly T[]): readonly T[] =>
  isWhole() || place === PLACES[0] || place === PLACES.at(-1) ? all : all.filter((_, at) => at % 10 === 0);

describe.each(PLACES)("at $name", (place) => {
  it.each(someAt(place, FORGED_PROOFS))("%s is refused", async (_name, make, reason) => {
    const timestamp = now();
    const proving: Proving = { text: await textOf(place, timestamp), timestamp, sign: honest };
    expect(await place.present(await make(proving), timestamp)).toBe(reason);
  });

  it.each(someAt(place, TIMESTAMPS))("a proof of %s is refused", async (_name, at, reason) => {
    const timestamp = at();
    const { proof } = await signProof(await place.statement(timestamp), agent.privateKey);
    expect(await place.present(proof, timestamp)).toBe(reason);
  });

  it.each(someAt(place, NO_TIMESTAMPS))("a proof of a timestamp in %s is refused", async (_name, at) => {
    const valid = now();
    const timestamp = at();
    const text = (await textOf(place, valid)).replace(valid, timestamp);
    const { proof } = await signProof(await place.statement(valid), agent.privateKey);
    for (const presented of [proof, btoa(String.fromCharCode(...(await honest(text))))])
      expect(await place.present(presented, timestamp)).toBe("timestamp_malformed");
  });

  it("an honest proof of every other place is refused", async () => {
    for (const other of PLACES) {
      if (other.statement === place.statement) continue;
      const timestamp = now();
      await place.statement(timestamp);
      const { proof } = await signProof(await other.statement(timestamp), agent.privateKey);
      expect(await place.present(proof, timestamp), other.name).toBe("signature_mismatch");
    }
  });
});

describe("afterwards", () => {
  it("no row, no proof in the memory and no Idempotency-Key has been written", async () => {
    expect(await written()).toEqual(before);
  });

  it("an honest proof is accepted at each place, so that each refusal was for its one fault", async () => {
    for (const place of PLACES) {
      const timestamp = now();
      const { proof } = await signProof(await place.statement(timestamp), agent.privateKey);
      expect(await place.present(proof, timestamp), place.name).toBeNull();
    }
  });

  it("a proof that fails does not use up a nonce, nor does a proof of another agent", async () => {
    const challenge = PLACES.at(-1);
    if (!challenge) throw new Error("no challenge");
    const timestamp = now();
    const statement = await challenge.statement(timestamp);
    const { proof } = await signProof(statement, callee.privateKey);
    expect(await challenge.present(proof, timestamp)).toBe("signature_mismatch");
    const { proof: answer } = await signProof(statement, agent.privateKey);
    expect(await challenge.present(answer, timestamp)).toBeNull();
    const { proof: again } = await signProof(statement, agent.privateKey);
    expect(await challenge.present(again, timestamp)).toBe("nonce_used");
  });
});
